/* SPDX-License-Identifier: MIT */
/* The repository of a linked worktree or a submodule, which lies outside the tree and has to be seen by the check. */
#include "base/fs.h"
#include "base/text.h"
#include "plan/internal.h"
#include "sandrun/git.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SMALL_FILE_MAX = 1024 * 1024 };

/*
 * The tree's ".git" file, or link, is written by whoever writes the tree: believed alone, it would mount any repository of this
 * machine into the check. So the repository has to name the tree back, in a file that is outside the tree: "gitdir" of a
 * linked worktree, core.worktree of a submodule. The administrative directory has to lie in the common one, or a forged
 * one inside the tree could answer for a repository it does not belong to.
 */

/* Reads dir/name; NULL when it cannot be. */
static char *read_text(const char *dir, const char *name)
{
    cleanup_free char *path = sr_path_join(dir, name);
    cleanup_buf struct sr_buf b = SR_BUF(SMALL_FILE_MAX);
    struct sr_error ignored = { 0 };
    if (sr_file_read_at(AT_FDCWD, path, SMALL_FILE_MAX, &b, &ignored) < 0)
        return NULL;
    return sr_buf_steal(&b);
}

/* Do both name the same file, links resolved? value is relative to dir. */
static bool same_place(const char *dir, const char *value, const char *expected)
{
    cleanup_free char *joined = sr_path_join(dir, value);
    cleanup_free char *a = realpath(joined, NULL);
    cleanup_free char *b = realpath(expected, NULL);
    return a && b && strcmp(a, b) == 0;
}

static bool worktree_names_back(const char *dir, const char *tree)
{
    cleanup_free char *back = read_text(dir, "gitdir");
    cleanup_free char *dotgit = sr_path_join(tree, ".git");
    if (!back)
        return false;
    back[strcspn(back, "\n")] = '\0';
    return same_place(dir, back, dotgit);
}

/* "worktree = VALUE" in [core], as `git submodule` writes it. A spelling with quotes or continuations is not understood,
 * and so refused: a submodule that git itself set up has neither. */
static bool submodule_names_back(const char *dir, const char *tree)
{
    cleanup_free char *config = read_text(dir, "config");
    bool core = false;
    char *save = NULL;
    for (char *line = config ? strtok_r(config, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        line += strspn(line, " \t");
        if (*line == '[') {
            core = sr_text_starts(line, "[core]");
        } else if (core && sr_text_starts(line, "worktree")) {
            const char *value = line + strlen("worktree");
            value += strspn(value, " \t");
            if (*value++ != '=')
                continue;
            return same_place(dir, value + strspn(value, " \t"), tree);
        }
    }
    return false;
}

static bool names_back(const char *dir, const char *common, const char *tree)
{
    if (strcmp(dir, common) == 0)
        return submodule_names_back(dir, tree);
    return sr_path_below(dir, common) && worktree_names_back(dir, tree);
}

int sr_plan_git_common(const char *tree, bool staged, char **ret, struct sr_error *err)
{
    cleanup_free char *dotgit = sr_path_join(tree, ".git");
    struct stat st;
    *ret = NULL;
    if (lstat(dotgit, &st) < 0 || S_ISDIR(st.st_mode))
        return 0;
    cleanup_git struct sr_git *g = NULL;
    struct sr_error none = { 0 };
    if (sr_git_open(tree, &g, &none) < 0)
        return 0; /* it leads to no repository: a copied tree. Nothing is mounted, so nothing is given away. */
    const char *dir = sr_git_dir(g), *common = sr_git_common_dir(g);
    if (sr_path_below(common, tree))
        return 0;
    if (sr_path_covers_system(common, NULL) || !names_back(dir, common, tree)) {
        if (S_ISLNK(st.st_mode) && !staged)
            return 0; /* people share one so. Nothing is mounted; only a staged run takes its policy from there. */
        sr_error_set(err, "plan.tree", "the tree %s names %s as its repository by its .git, but that repository does not "
                     "name this tree as one of its working trees", tree, common);
        return sr_error_hint(err, "`git worktree repair`, or `git submodule absorbgitdirs`, when the tree was moved");
    }
    *ret = sr_strdup(common);
    return 0;
}

/* A directory of the repository, when it lies in the tree: ".git" may be a link or a file that leads to another place there. */
static void protect_beneath(struct sr_plan *p, const char *dir)
{
    if (!sr_path_below(dir, p->tree) || strcmp(dir, p->tree) == 0)
        return;
    const char *relative = dir + strlen(p->tree) + 1;
    for (size_t i = 0; i < p->protect.n; i++)
        if (sr_path_below(relative, p->protect.v[i]))
            return;
    sr_strv_add(&p->protect, relative);
}

void sr_plan_git_protect(struct sr_plan *p)
{
    cleanup_git struct sr_git *g = NULL;
    struct sr_error none = { 0 };
    if (p->writes != SR_WRITES_DIRECT)
        return;
    if (!sr_strv_has(&p->protect, ".git"))
        sr_strv_add(&p->protect, ".git");
    if (sr_git_open(p->tree, &g, &none) < 0)
        return; /* no repository: one that the command makes is listed as what it is */
    protect_beneath(p, sr_git_dir(g));
    protect_beneath(p, sr_git_common_dir(g));
}
