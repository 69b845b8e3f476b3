/* SPDX-License-Identifier: MIT */
/* A directory of the host held copy-on-write: an overlay over it, or a copy where its filesystem carries none. */
#include "engine/native/hold.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/native/copy.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

int native_hold_open(const struct native_held *h, struct sr_error *err)
{
    struct stat here, there;
    cleanup_fd int fd = sr_openat2(AT_FDCWD, h->path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 || fstat(fd, &here) < 0 || fstat(h->fd, &there) < 0)
        return sr_error_sys(err, "plan.tree", "cannot open %s %s", h->what, h->path);
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
        return sr_error_set(err, "plan.tree", "%s %s was replaced while the run was being set up", h->what, h->path);
    return steal_fd(&fd);
}

int native_hold_places(struct native *n, const struct native_held *h, struct sr_error *err)
{
    if (mkdirat(n->scratch_fd, h->upper, 0755) < 0 || mkdirat(n->scratch_fd, h->work, 0700) < 0)
        return sr_error_sys(err, "engine.unavailable.tmpfs", "cannot make a directory of the scratch for %s", h->what);
    if (fchownat(n->scratch_fd, h->upper, n->id.host_uid, n->id.host_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return sr_error_sys(err, "engine.unavailable.identity", "cannot give the scratch's %s to the check", h->upper);
    return 0;
}

/* The merged root shows the upper's attributes, so the upper gets those of the directory. */
static int dress_upper(const struct native *n, const struct native_held *h, struct sr_error *err)
{
    struct stat st;
    if (fstat(h->fd, &st) < 0)
        return sr_error_sys(err, "plan.tree", "cannot look at %s %s", h->what, h->path);
    const struct timespec times[2] = { st.st_atim, st.st_mtim };
    if (fchmodat(n->scratch_fd, h->upper, st.st_mode & 07777, 0) < 0 || utimensat(n->scratch_fd, h->upper, times, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.overlay", "cannot give the upper the attributes of %s", h->what);
    return 0;
}

int native_hold_lower(struct native *n, const struct native_held *h, struct sr_error *err)
{
    cleanup_fd int dir = native_hold_open(h, err);
    cleanup_fd int lower = -1;
    if (dir < 0)
        return -1;
    /*
     * An ordinary caller's mount namespace got its mounts locked together, and a clone must take them all (mount_namespaces(7));
     * directories with mounts below them are refused before (the overlay would show what lies under those).
     */
    if (native_clone_mount(dir, "", !n->id.privileged, NATIVE_HELD_ATTR | MOUNT_ATTR_RDONLY, n->id.userns_fd, &lower, err) < 0)
        return -1;
    return native_attach(n->scratch_fd, lower, h->lower, true, err);
}

static int by_overlay(struct native *n, const struct native_held *h, int *ret_mnt, struct sr_error *err)
{
    const struct native_layers layers = { .of = h->path, .lower = h->lower, .upper = h->upper, .work = h->work };
    if (native_hold_lower(n, h, err) < 0 || dress_upper(n, h, err) < 0)
        return -1;
    return native_overlay(n, &layers, ret_mnt, err);
}

int native_hold_copy(struct native *n, const struct native_held *h, uint64_t attr, int *ret_mnt, struct sr_error *err)
{
    cleanup_fd int upper = openat(n->scratch_fd, h->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (upper < 0)
        return sr_error_sys(err, "engine.unavailable.copy", "cannot open the copy of %s", h->what);
    const struct native_copy_ids ids = { .shift = n->id.privileged, .base = SR_ID_BASE, .count = SR_ID_COUNT, .uid = n->id.host_uid, .gid = n->id.host_gid };
    if (native_copy_tree(h->fd, upper, &ids, err) < 0 || dress_upper(n, h, err) < 0)
        return -1;
    return native_clone_mount(n->scratch_fd, h->upper, false, NATIVE_HELD_ATTR | attr, -1, ret_mnt, err);
}

bool native_hold_refused(const struct sr_error *err)
{
    return strcmp(err->code, "engine.unavailable.idmapped_mount") == 0 || strcmp(err->code, "engine.unavailable.overlay") == 0;
}

int native_hold(struct native *n, const struct native_held *h, enum sr_tree_mode *mode, int *ret_mnt, struct sr_error *err)
{
    struct sr_error first = { 0 };
    if (*mode != SR_TREE_COPY) {
        *mode = SR_TREE_OVERLAY;
        if (by_overlay(n, h, ret_mnt, err) == 0)
            return 0;
        if (!native_hold_refused(err))
            return -1;
        first = *err;
        sr_error_clear(err);
    }
    *mode = SR_TREE_COPY;
    if (native_hold_copy(n, h, 0, ret_mnt, err) == 0)
        return 0;
    if (!sr_error_is_set(&first))
        return -1;
    cleanup_free char *why = sr_strdup(err->text);
    *err = first;
    return sr_error_wrap(err, "%s can be held neither by a copy (%s) nor by an overlay", h->what, why);
}
