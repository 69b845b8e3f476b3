/* SPDX-License-Identifier: MIT */
/* The object stores that the tree's repository borrows from (git clone --shared, --reference): mounts of the plan. */
#include "base/fs.h"
#include "plan/inside.h"
#include "plan/internal.h"
#include "sandrun/git.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A store does not name back who borrows from it, so the list alone decides what is shown, and the list lies in the tree (or, of a
 * linked worktree, in the repository that was believed by its naming the tree). git copies no such list when it clones: outside of a
 * staged run it is the doing of whoever keeps this tree. In a staged one it may be a model's, who could name any repository of the
 * machine: there preflight refuses it, with the line for the policy.
 */
static const char list[] = ".git/objects/info/alternates";

bool sr_plan_may_borrow(int tree_fd)
{
    struct stat st;
    return faccessat(tree_fd, list, F_OK, 0) == 0 || (fstatat(tree_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode));
}

static bool has_directory(int fd, const char *name)
{
    struct stat st;
    return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Both are made with every repository; a list that names anything else shows nothing of it. */
static bool is_store(const char *path)
{
    cleanup_fd int fd = sr_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    return fd >= 0 && has_directory(fd, "pack") && has_directory(fd, "info");
}

/* Would it stand over something that the plan has already? */
static bool covers(const struct sr_plan *p, const char *path)
{
    for (size_t i = 0; i < p->n_mounts; i++)
        if (sr_path_below(p->mounts[i].target, path) || sr_path_below(path, p->mounts[i].target))
            return true;
    return sr_path_below(p->tree_target, path) || sr_path_below(p->tree, path) || sr_path_below(path, p->tree) ||
           (p->git_common_dir && sr_path_below(p->git_common_dir, path));
}

/* The store's path when it can be mounted there and git, which goes by the list's spelling, finds it: without a link in it. */
static char *mountable(const struct sr_plan *p, const char *store, const char *caller_home)
{
    cleanup_inside struct inside w;
    inside_walk(p, store, &w);
    cleanup_free char *clean = sr_path_clean(store), *real = realpath(store, NULL);
    if (w.end == INSIDE_THERE || !clean || !real || strcmp(clean, real) != 0)
        return NULL;
    return covers(p, real) || sr_path_covers_system(real, caller_home) || !is_store(real) ? NULL : steal_ptr(&real);
}

static void mount_add(struct sr_plan *p, const char *store, const char *from)
{
    p->mounts = sr_reallocarray(p->mounts, p->n_mounts + 1, sizeof *p->mounts);
    p->mounts[p->n_mounts++] = (struct sr_mount){ .source = sr_strdup(store),
                                                  .target = sr_strdup(store),
                                                  .readonly = true,
                                                  .reason = sr_strdup("the tree's git repository borrows objects from it") };
    p->provenance = sr_reallocarray(p->provenance, p->n_provenance + 1, sizeof *p->provenance);
    p->provenance[p->n_provenance++] =
        (struct sr_plan_provenance){ .field = sr_asprintf("mounts.%s", store), .layer = sr_strdup("tree"), .file = sr_strdup(from) };
}

void sr_plan_git_alternates(struct sr_plan *p, const char *caller_home)
{
    cleanup_fd int tree = open(p->tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cleanup_git struct sr_git *g = NULL;
    cleanup_strv struct sr_strv stores = { 0 };
    struct sr_error unread = { 0 }; /* preflight meets it again, and says it */
    if (p->staged || p->uncontained || tree < 0 || !sr_plan_may_borrow(tree) || sr_git_open(p->tree, &g, &unread) < 0 ||
        sr_git_alternates(g, &stores, &unread) < 0)
        return;
    cleanup_free char *from = sr_path_join(sr_git_common_dir(g), "objects/info/alternates");
    for (size_t i = 0; i < stores.n; i++) {
        cleanup_free char *store = mountable(p, stores.v[i], caller_home);
        if (store)
            mount_add(p, store, from);
    }
    sr_plan_mounts_sort(p);
}
