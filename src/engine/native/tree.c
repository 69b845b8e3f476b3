/* SPDX-License-Identifier: MIT */
/* The tree at its own path: copy-on-write, read-only or direct; then the policy's mounts. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/native/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define TREE_ATTR (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The tree in this mount namespace; it must be what the supervisor opened, whoever renamed what meanwhile. */
static int open_tree_again(const struct native *n, struct sr_error *err)
{
    struct stat here, there;
    cleanup_fd int fd = sr_openat2(AT_FDCWD, n->plan->tree, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 || fstat(fd, &here) < 0 || fstat(n->tree_fd, &there) < 0)
        return sr_error_sys(err, "plan.tree", "cannot open the tree %s", n->plan->tree);
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
        return sr_error_set(err, "plan.tree", "the tree %s was replaced while the run was being set up", n->plan->tree);
    return steal_fd(&fd);
}

/* The merged root shows the upper's attributes, so the upper gets those of the tree. */
static int dress_upper(struct native *n, struct sr_error *err)
{
    struct stat st;
    if (fstat(n->tree_fd, &st) < 0)
        return sr_error_sys(err, "plan.tree", "cannot look at the tree %s", n->plan->tree);
    const struct timespec times[2] = { st.st_atim, st.st_mtim };
    if (fchmodat(n->scratch_fd, "u", st.st_mode & 07777, 0) < 0 || utimensat(n->scratch_fd, "u", times, 0) < 0 ||
        fstatat(n->scratch_fd, "u", &st, AT_SYMLINK_NOFOLLOW) < 0)
        return sr_error_sys(err, "engine.unavailable.overlay", "cannot give the upper the attributes of the tree");
    n->root_mode = st.st_mode;
    return 0;
}

/* The tree as a mount of its own at l of the scratch: what overlays stand on. */
static int attach_lower(struct native *n, uint64_t attr, struct sr_error *err)
{
    cleanup_fd int tree = open_tree_again(n, err);
    cleanup_fd int lower = -1;
    if (tree < 0)
        return -1;
    /*
     * An ordinary caller's mount namespace got its mounts locked together, and a clone must take them all (mount_namespaces(7));
     * trees with mounts below them are refused before (the overlay would show what lies under those).
     */
    if (native_clone_mount(tree, "", !n->id.privileged, TREE_ATTR | attr, n->id.userns_fd, &lower, err) < 0)
        return -1;
    return native_attach(n->scratch_fd, lower, "l", true, err);
}

static int hold_by_overlay(struct native *n, int *ret_mnt, struct sr_error *err)
{
    if (attach_lower(n, MOUNT_ATTR_RDONLY, err) < 0 || dress_upper(n, err) < 0)
        return -1;
    n->tree_mode = SR_TREE_OVERLAY;
    return native_overlay(n, "l", true, ret_mnt, err);
}

static int hold_by_copy(struct native *n, int *ret_mnt, struct sr_error *err)
{
    cleanup_fd int upper = openat(n->scratch_fd, "u", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (upper < 0)
        return sr_error_sys(err, "engine.unavailable.copy", "cannot open the copy of the tree");
    const struct native_copy_ids ids = { .shift = n->id.privileged, .base = SR_ID_BASE, .count = SR_ID_COUNT, .uid = n->id.host_uid, .gid = n->id.host_gid };
    if (native_copy_tree(n->tree_fd, upper, &ids, err) < 0 || dress_upper(n, err) < 0)
        return -1;
    n->tree_mode = SR_TREE_COPY;
    return native_clone_mount(n->scratch_fd, "u", false, TREE_ATTR, -1, ret_mnt, err);
}

/* What makes the copy mode the answer: this tree's filesystem, not the host, refuses. */
static bool refused_by_filesystem(const struct sr_error *err)
{
    return strcmp(err->code, "engine.unavailable.idmapped_mount") == 0 || strcmp(err->code, "engine.unavailable.overlay") == 0;
}

static int hold(struct native *n, int *ret_mnt, struct sr_error *err)
{
    if (n->plan->tree_mode == SR_TREE_COPY)
        return hold_by_copy(n, ret_mnt, err);
    if (hold_by_overlay(n, ret_mnt, err) == 0)
        return 0;
    if (!refused_by_filesystem(err))
        return -1;
    struct sr_error first = *err;
    sr_error_clear(err);
    if (hold_by_copy(n, ret_mnt, err) == 0)
        return 0;
    cleanup_free char *why = sr_strdup(err->text);
    *err = first;
    return sr_error_wrap(err, "the tree can be held neither by a copy (%s) nor by an overlay", why);
}

static int direct(struct native *n, int *ret_mnt, struct sr_error *err)
{
    cleanup_fd int tree = open_tree_again(n, err);
    if (tree < 0)
        return -1;
    n->tree_mode = SR_TREE_DIRECT;
    return native_clone_mount(tree, "", true, TREE_ATTR, n->id.userns_fd, ret_mnt, err);
}

static int read_only(struct native *n, int *ret_mnt, struct sr_error *err)
{
    int made = attach_lower(n, MOUNT_ATTR_RDONLY, err);
    if (made == 0)
        made = native_overlay(n, "l:empty", false, ret_mnt, err);
    if (made < 0 && refused_by_filesystem(err)) {
        sr_error_clear(err);
        cleanup_fd int copy = -1;
        if (hold_by_copy(n, &copy, err) < 0)
            return -1;
        made = native_clone_mount(n->scratch_fd, "u", false, TREE_ATTR | MOUNT_ATTR_RDONLY, -1, ret_mnt, err);
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

int step_tree(struct native *n, struct sr_error *err)
{
    cleanup_fd int mnt = -1;
    if (tree_modes[n->plan->writes](n, &mnt, err) < 0)
        return -1;
    if (native_attach(n->root_fd, mnt, n->plan->tree_target, true, err) < 0)
        return -1;
    struct native_msg m = { .type = MSG_SCRATCH, .status = (int)n->tree_mode, .root_mode = n->root_mode };
    cleanup_fd int upper = openat(n->scratch_fd, "u", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_fd int home = openat(n->scratch_fd, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fds[] = { upper, home };
    if (upper < 0 || home < 0 || native_send(n->sock, &m, fds, 2) < 0)
        return sr_error_sys(err, "engine.broken", "cannot hand the scratch to the supervisor");
    struct native_msg go;
    /* two trees with the same bytes cannot show that a directory was made anew: the supervisor looks at the copy first */
    if (n->tree_mode == SR_TREE_COPY && (native_recv(n->sock, &go, NULL, 0, NULL) != 1 || go.type != MSG_GO))
        return sr_error_set(err, "engine.broken", "the supervisor went away during set-up");
    return 0;
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
    if (native_clone_mount(fd, "", true, TREE_ATTR, n->id.userns_fd, &mnt, err) < 0)
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
    for (size_t i = 0; i < p->n_mounts; i++)
        if (attach_policy_mount(n, &p->mounts[i], err) < 0)
            return -1;
    return p->git_common_dir ? native_attach_view(n, p->git_common_dir, p->git_common_dir, n->id.userns_fd, err) : 0;
}
