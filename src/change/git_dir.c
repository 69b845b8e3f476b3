/* SPDX-License-Identifier: MIT */
/* The git directory of a linked worktree or a submodule, which lies outside of the tree. */
#include "change/git_class.h"
#include "change/set.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int sr_changes_add_git(struct sr_changeset *set, struct sr_changeset *git, const char *dir, int before_fd, int after_fd,
                       struct sr_error *err)
{
    if (dir[0] != '/')
        return sr_error_set(err, "internal.path", "the git directory %s is not absolute", dir);
    const struct sr_classify_options o = { .tree_fd = before_fd, .after_fd = after_fd };
    const struct sr_view view = { git, &o, false };
    sr_set_sort_paths(git);
    /* those that had no room in the list are counted all the same */
    set->total += git->total - git->n;
    set->overflow |= git->overflow;
    for (size_t i = 0; i < git->n; i++) {
        struct sr_change *c = &git->v[i];
        c->cls = sr_git_class_below(c->path);
        if (c->cls == SR_CLASS_GIT_INDEX && sr_git_refreshed(&view, c))
            c->cls = SR_CLASS_CACHE;
    }
    /* the paths once every class is known: the view looks them up */
    for (size_t i = 0; i < git->n; i++) {
        bool root = strcmp(git->v[i].path, ".") == 0;
        char *path = root ? sr_strdup(dir) : sr_path_join(dir, git->v[i].path);
        free(git->v[i].path);
        git->v[i].path = path;
        sr_set_take(set, &git->v[i]);
    }
    git->n = 0;
    sr_changeset_clear(git);
    sr_set_sort_bytes(set);
    return 0;
}
