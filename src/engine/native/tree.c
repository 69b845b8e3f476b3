/* SPDX-License-Identifier: MIT */
/* The tree at its own path: copy-on-write, read-only or direct; then the policy's mounts. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/native/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static struct native_held held_tree(const struct native *n)
{
    return (struct native_held){ .what = "the tree", .path = n->plan->tree, .fd = n->tree_fd, .lower = "l", .upper = "u", .work = "w" };
}

static struct native_held held_git(const struct native *n)
{
    return (struct native_held){ .what = "the git directory", .path = n->plan->git_common_dir, .fd = n->git_fd, .lower = "gl", .upper = "gu", .work = "gw" };
}

static int hold(struct native *n, int *ret_mnt, struct sr_error *err)
{
    const struct native_held tree = held_tree(n);
    n->tree_mode = n->plan->tree_mode;
    return native_hold(n, &tree, &n->tree_mode, ret_mnt, err);
}

static int direct(struct native *n, int *ret_mnt, struct sr_error *err)
{
    const struct native_held held = held_tree(n);
    cleanup_fd int tree = native_hold_open(&held, err);
    if (tree < 0)
        return -1;
    n->tree_mode = SR_TREE_DIRECT;
    return native_clone_mount(tree, "", true, NATIVE_HELD_ATTR, n->id.userns_fd, ret_mnt, err);
}

static int read_only(struct native *n, int *ret_mnt, struct sr_error *err)
{
    const struct native_held tree = held_tree(n);
    const struct native_layers layers = { .of = n->plan->tree, .lower = "l:empty" };
    int made = native_hold_lower(n, &tree, err);
    if (made == 0)
        made = native_overlay(n, &layers, ret_mnt, err);
    if (made < 0 && native_hold_refused(err)) {
        sr_error_clear(err);
        made = native_hold_copy(n, &tree, MOUNT_ATTR_RDONLY, ret_mnt, err);
    }
    n->tree_mode = SR_TREE_READONLY;
    return made;
}

static int (*const tree_modes[SR_WRITES_COUNT])(struct native *n, int *ret_mnt, struct sr_error *err) = {
    [SR_WRITES_HOLD] = hold,
    [SR_WRITES_KEEP] = hold,
    [SR_WRITES_NONE] = read_only,
    [SR_WRITES_DIRECT] = direct,
};

/* ---- the git directory of a linked worktree or a submodule ---- */

/* Held like the tree, since what a commit writes goes there; read-only where the tree is, and where writes are real. */
static int make_git(struct native *n, struct sr_error *err)
{
    if (!sr_plan_git_held(n->plan))
        return 0;
    const struct native_held git = held_git(n);
    n->git_mode = n->plan->tree_mode;
    if (native_hold_places(n, &git, err) < 0 || native_hold(n, &git, &n->git_mode, &n->git_mnt, err) < 0)
        return sr_error_wrap(err, "holding the git directory %s", git.path);
    return 0;
}

static int attach_git(struct native *n, struct sr_error *err)
{
    const char *dir = n->plan->git_common_dir;
    if (!dir || n->git_attached)
        return 0;
    n->git_attached = true;
    if (n->git_mnt < 0)
        return native_attach_view(n, dir, dir, n->id.userns_fd, err);
    return native_attach(n->root_fd, n->git_mnt, dir, true, err);
}

/* ---- steps ---- */

static int hand_over(struct native *n, struct sr_error *err)
{
    struct stat tree, git = { 0 };
    cleanup_fd int upper = openat(n->scratch_fd, "u", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int home = openat(n->scratch_fd, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int git_upper = n->git_mnt < 0 ? -1 : openat(n->scratch_fd, "gu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (upper < 0 || home < 0 || fstat(upper, &tree) < 0 || (n->git_mnt >= 0 && fstat(git_upper, &git) < 0))
        return sr_error_sys(err, "engine.broken", "cannot open the scratch");
    struct native_msg m = { .type = MSG_SCRATCH, .status = (int)n->tree_mode };
    m.scratch.root_mode = tree.st_mode;
    m.scratch.git_mode = n->git_mode;
    m.scratch.git_root_mode = git.st_mode;
    const int fds[] = { upper, home, git_upper };
    if (native_send(n->sock, &m, fds, git_upper < 0 ? 2 : 3) < 0)
        return sr_error_sys(err, "engine.broken", "cannot hand the scratch to the supervisor");
    struct native_msg go;
    /* two trees with the same bytes cannot show that a directory was made anew: the supervisor looks at the copy first */
    if (n->tree_mode == SR_TREE_COPY && (native_recv(n->sock, &go, NULL, 0, NULL) != 1 || go.type != MSG_GO))
        return sr_error_set(err, "engine.broken", "the supervisor went away during set-up");
    return 0;
}

int step_tree(struct native *n, struct sr_error *err)
{
    cleanup_fd int mnt = -1;
    const struct sr_plan *p = n->plan;
    if (make_git(n, err) < 0 || tree_modes[p->writes](n, &mnt, err) < 0)
        return -1;
    /* a worktree may stand in its own repository's directory: parents first, or the tree would be covered */
    if (p->git_common_dir && sr_path_below(p->tree_target, p->git_common_dir) && attach_git(n, err) < 0)
        return -1;
    if (native_attach(n->root_fd, mnt, p->tree_target, true, err) < 0)
        return -1;
    return hand_over(n, err);
}

/* A writable mount is one of the named opt-outs: the directory itself, with what is mounted below it. */
static int attach_writable(struct native *n, const char *source, const char *target, struct sr_error *err)
{
    struct stat st;
    cleanup_fd int mnt = -1;
    if (stat(source, &st) < 0)
        return sr_error_sys(err, "plan.mount", "cannot mount %s", source);
    cleanup_fd int fd = sr_openat2(AT_FDCWD, source, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return sr_error_sys(err, "plan.mount", "cannot mount %s", source);
    if (native_clone_mount(fd, "", true, NATIVE_HELD_ATTR, n->id.userns_fd, &mnt, err) < 0)
        return -1;
    return native_attach(n->root_fd, mnt, target, S_ISDIR(st.st_mode), err);
}

static int attach_policy_mount(struct native *n, const struct sr_mount *m, struct sr_error *err)
{
    return m->readonly ? native_attach_view(n, m->source, m->target, n->id.userns_fd, err) : attach_writable(n, m->source, m->target, err);
}

int step_mounts(struct native *n, struct sr_error *err)
{
    const struct sr_plan *p = n->plan;
    for (size_t i = 0; i < p->n_mounts; i++) {
        /* mounts are in bytewise order, which puts a parent before what is below it */
        if (p->git_common_dir && strcmp(p->git_common_dir, p->mounts[i].target) < 0 && attach_git(n, err) < 0)
            return -1;
        if (attach_policy_mount(n, &p->mounts[i], err) < 0)
            return -1;
    }
    return attach_git(n, err);
}
