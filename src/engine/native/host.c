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

/* A small file is copied: that is cheaper than a mount, which is also taken down again at the end. */
enum { SMALL_MAX = 16 * 1024 };

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

static int failed(const char *path, struct sr_error *err)
{
    return sr_error_sys(err, "engine.unavailable.rootfs", "cannot bring %s of the host into the new root", path);
}

/* The directory of path below the new root. Only what this file made stands there so far: no name of it leads elsewhere. */
static int make_parent(struct native *n, const char *path, struct sr_error *err)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *parent = sr_strndup(path + 1, slash > path ? (size_t)(slash - path) - 1 : 0);
    return *parent ? sr_mkdir_p(n->root_fd, parent, 0755, err) : 0;
}

static int copy_link(struct native *n, const char *path, struct sr_error *err)
{
    char target[4096];
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len < 0)
        return failed(path, err);
    target[len] = '\0';
    if (symlinkat(target, n->root_fd, path + 1) == 0)
        return 0;
    if (errno == ENOENT && make_parent(n, path, err) < 0)
        return -1;
    return symlinkat(target, n->root_fd, path + 1) < 0 ? failed(path, err) : 0;
}

static int create(struct native *n, const char *path, struct sr_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(n->root_fd, path + 1, flags, 0644);
    if (fd < 0 && errno == ENOENT) {
        if (make_parent(n, path, err) < 0)
            return -1;
        fd = openat(n->root_fd, path + 1, flags, 0644);
    }
    return fd < 0 ? failed(path, err) : fd;
}

/* 1: copied. 0: too large, or not readable: bound then, and as readable inside as it is here. */
static int copy_small(struct native *n, const char *path, struct sr_error *err)
{
    char bytes[SMALL_MAX + 1];
    cleanup_fd int in = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t len = in < 0 ? -1 : read(in, bytes, sizeof bytes);
    if (len < 0 || len > SMALL_MAX)
        return 0;
    cleanup_fd int out = create(n, path, err);
    if (out < 0)
        return -1;
    return sr_write_all(out, bytes, (size_t)len) < 0 ? failed(path, err) : 1;
}

static int bind_path(struct native *n, const char *path, bool dir, struct sr_error *err)
{
    cleanup_fd int mnt = -1;
    if (native_clone_mount(AT_FDCWD, path, dir, 0, n->id.nobody_fd, &mnt, err) < 0) {
        if (n->id.nobody_fd < 0 || !dir)
            return -1;
        /* no idmapped mounts here, as where the host's root is an overlay itself: a view keeps its sockets out of reach as well */
        sr_error_clear(err);
        return native_attach_view(n, path, path, -1, err);
    }
    return native_attach(n->root_fd, mnt, path, dir, err);
}

static int add_path(struct native *n, const struct sr_host_path *p, struct sr_error *err)
{
    struct stat st;
    if (lstat(p->path, &st) < 0)
        return errno == ENOENT ? 0 : failed(p->path, err); /* the table has what any distribution has */
    if (S_ISLNK(st.st_mode))
        return copy_link(n, p->path, err);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return sr_error_set(err, "engine.unavailable.rootfs", "%s is neither a file, a directory nor a link", p->path);
    /* what is not for everybody is bound, and stays as shut inside as it is here: a copy by root would open it */
    if (S_ISREG(st.st_mode) && st.st_size <= SMALL_MAX && (st.st_mode & S_IROTH)) {
        int copied = copy_small(n, p->path, err);
        if (copied != 0)
            return copied < 0 ? -1 : 0;
    }
    return bind_path(n, p->path, S_ISDIR(st.st_mode), err);
}

/* Where services keep sockets. An ordinary caller cannot map owners away, and gets views of these. */
static int add_view(struct native *n, const struct sr_host_path *p, struct sr_error *err)
{
    struct stat st;
    if (lstat(p->path, &st) < 0)
        return errno == ENOENT ? 0 : failed(p->path, err);
    if (!S_ISDIR(st.st_mode))
        return add_path(n, p, err);
    if (native_attach_view(n, p->path, p->path, -1, err) == 0)
        return 0;
    if (strcmp(err->code, "engine.unavailable.nested_mount") != 0)
        return -1;
    sr_error_clear(err); /* the check does without it, and what names it is not found */
    return 0;
}

int step_host_paths(struct native *n, struct sr_error *err)
{
    bool views = n->id.nobody_fd < 0;
    for (size_t i = 0; i < sr_host_paths_n; i++)
        if (sr_host_paths[i].kind != SR_HOST_OPT && add_path(n, &sr_host_paths[i], err) < 0)
            return -1;
    /* a caller who can map owners away has nothing to hide again in what is bound already */
    for (size_t i = 0; !views && i < sr_host_paths_n; i++)
        if (sr_host_paths[i].kind == SR_HOST_OPT && !sr_path_below(sr_host_paths[i].path, "/usr") && add_path(n, &sr_host_paths[i], err) < 0)
            return -1;
    if (seal(n, err) < 0)
        return -1;
    for (size_t i = 0; views && i < sr_host_paths_n; i++)
        if (sr_host_paths[i].kind == SR_HOST_OPT && add_view(n, &sr_host_paths[i], err) < 0)
            return -1;
    return 0;
}
