/* SPDX-License-Identifier: MIT */
/* What stays as it is in the tree, whatever else may be written. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/git.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)

/* Each is a mount; a tree that vendors more repositories than this is no tree to write to directly. */
enum { NESTED_MAX = 256 };

/* A mount upon the path itself: it can be neither written to, nor renamed, nor removed, and a link not led elsewhere. */
static int protect(int tree, const char *path, struct sr_error *err)
{
    cleanup_fd int mnt = -1;
    /* a link in the way is not followed: what it leads to is not what the policy names, and must not pass for it either */
    cleanup_fd int at = sr_openat2(tree, path, O_PATH | O_NOFOLLOW, 0, BENEATH);
    if (at < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (at < 0 && errno == ELOOP) {
        sr_error_set(err, "plan.protect", "cannot protect %s: its path leads through a link", path);
        return sr_error_hint(err, "name in tree.protect the path that the link leads to");
    }
    if (at < 0)
        return sr_error_sys(err, "plan.protect", "cannot protect %s", path);
    const uint64_t attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY;
    if (native_clone_mount(at, "", false, attr, -1, &mnt, err) < 0)
        return sr_error_wrap(err, "protecting %s", path);
    if (move_mount(mnt, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | NATIVE_T_EMPTY_PATH) < 0)
        return sr_error_sys(err, "plan.protect", "cannot protect %s", path);
    return 0;
}

/* ---- writes to the real tree: the repositories below it run hooks on the host too ---- */

struct nested {
    const struct sr_plan *plan;
    int tree;
    unsigned found;
    struct sr_strv todo; /* directories to look at, beneath the tree */
};

static int entry_look(struct nested *w, int dirfd, const char *dir, const struct dirent *e, struct sr_error *err)
{
    struct stat st;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return 0;
    cleanup_free char *path = strcmp(dir, ".") == 0 ? sr_strdup(e->d_name) : sr_path_join(dir, e->d_name);
    if (sr_git_below(e->d_name)) {
        if (sr_strv_has(&w->plan->protect, path))
            return 0;
        if (w->found++ < NESTED_MAX)
            return protect(w->tree, path, err);
        sr_error_set(err, "plan.protect", "the tree holds more than %d repositories, too many to protect each", NESTED_MAX);
        return sr_error_hint(err, "\"tree\": { \"writes\": \"hold\" }");
    }
    bool dirent_knows = e->d_type != DT_UNKNOWN;
    if (dirent_knows ? e->d_type == DT_DIR : fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        sr_strv_take(&w->todo, steal_ptr(&path));
    return 0;
}

static int directory_look(struct nested *w, const char *path, struct sr_error *err)
{
    int fd = sr_openat2(w->tree, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, BENEATH);
    cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (errno == EACCES || errno == ENOENT) /* nobody's to look at, or gone meanwhile */
            return 0;
        return sr_error_sys(err, "plan.protect", "cannot look for repositories in %.200s of the tree", path);
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (entry_look(w, dirfd(dir), path, e, err) < 0)
            return -1;
    return 0;
}

static int protect_nested(const struct sr_plan *plan, int tree, struct sr_error *err)
{
    struct nested w = { .plan = plan, .tree = tree };
    int done = 0;
    sr_strv_add(&w.todo, ".");
    while (w.todo.n && done == 0) {
        cleanup_free char *path = w.todo.v[--w.todo.n];
        done = directory_look(&w, path, err);
    }
    sr_strv_clear(&w.todo);
    return done;
}

int step_protect(struct native *n, struct sr_error *err)
{
    const struct sr_plan *p = n->plan;
    cleanup_fd int tree = sr_openat2(n->root_fd, p->tree_target + 1, O_PATH | O_DIRECTORY, 0, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
    if (tree < 0)
        return sr_error_sys(err, "engine.unavailable.mount_point", "cannot open the tree inside");
    for (size_t i = 0; i < p->protect.n; i++)
        if (protect(tree, p->protect.v[i], err) < 0)
            return -1;
    return p->writes == SR_WRITES_DIRECT ? protect_nested(p, tree, err) : 0;
}
