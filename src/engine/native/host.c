/* SPDX-License-Identifier: MIT */
/* The host's root filesystem as a check sees it: the paths of the shipped table, read-only. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/*
 * Some forty paths: their attributes are set by one recursive call after the last, before anything else is attached, instead of one
 * each. Nothing foreign runs in between.
 */
static int seal(struct native *n, struct sr_error *err)
{
    struct mount_attr all = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
    struct mount_attr root = { .attr_clr = MOUNT_ATTR_RDONLY };
    if (mount_setattr(n->root_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &all, sizeof all) < 0 ||
        mount_setattr(n->root_fd, "", AT_EMPTY_PATH, &root, sizeof root) < 0)
        return sr_error_sys(err, "engine.unavailable.mount_setattr", "cannot make the root filesystem read-only");
    return 0;
}

static int copy_link(struct native *n, const char *path, struct sr_error *err)
{
    char target[4096];
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len < 0)
        return sr_error_sys(err, "engine.unavailable.rootfs", "cannot read the link %s", path);
    target[len] = '\0';
    const char *slash = strrchr(path, '/');
    cleanup_free char *parent = sr_strndup(path + 1, slash > path ? (size_t)(slash - path) - 1 : 0);
    if (*parent && sr_mkdir_p(n->root_fd, parent, 0755, err) < 0)
        return -1;
    if (symlinkat(target, n->root_fd, path + 1) < 0)
        return sr_error_sys(err, "engine.unavailable.rootfs", "cannot make the link %s", path);
    return 0;
}

static int bind_path(struct native *n, const char *path, bool dir, struct sr_error *err)
{
    cleanup_fd int mnt = -1;
    if (native_clone_mount(AT_FDCWD, path, dir, 0, -1, &mnt, err) < 0)
        return -1;
    return native_attach(n->root_fd, mnt, path, dir, err);
}

static int add_path(struct native *n, const struct sr_host_path *p, struct sr_error *err)
{
    struct stat st;
    if (lstat(p->path, &st) < 0)
        /* the table has what any distribution has */
        return errno == ENOENT ? 0 : sr_error_sys(err, "engine.unavailable.rootfs", "cannot look at %s", p->path);
    if (S_ISLNK(st.st_mode))
        return copy_link(n, p->path, err);
    if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
        return bind_path(n, p->path, S_ISDIR(st.st_mode), err);
    return sr_error_set(err, "engine.unavailable.rootfs", "%s is neither a file, a directory nor a link", p->path);
}

int step_host_paths(struct native *n, struct sr_error *err)
{
    for (size_t i = 0; i < sr_host_paths_n; i++)
        if (sr_host_paths[i].kind != SR_HOST_OPT && add_path(n, &sr_host_paths[i], err) < 0)
            return -1;
    if (seal(n, err) < 0)
        return -1;
    for (size_t i = 0; i < sr_host_paths_n; i++) {
        struct stat st;
        const char *path = sr_host_paths[i].path;
        if (sr_host_paths[i].kind != SR_HOST_OPT || lstat(path, &st) < 0)
            continue;
        int done = S_ISDIR(st.st_mode) ? native_attach_view(n, path, path, err) : add_path(n, &sr_host_paths[i], err);
        if (done < 0)
            return -1;
    }
    return 0;
}
