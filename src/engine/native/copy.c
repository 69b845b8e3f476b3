/* SPDX-License-Identifier: MIT */
/* The copy mode of the tree. */
#include "engine/native/copy.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *name, struct sr_error *err)
{
    return sr_error_sys(err, "engine.unavailable.copy", "cannot copy %s of the tree", name);
}

static uint32_t shifted(const struct native_copy_ids *ids, uint32_t id, uint32_t own)
{
    return id < ids->count ? ids->base + id : own;
}

/* Owner, mode and times, in this order: chown clears bits of the mode, and both touch the times. */
static int dress(int dst, const char *name, const struct stat *st, const struct native_copy_ids *ids)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    if (ids->shift &&
        fchownat(dst, name, shifted(ids, st->st_uid, ids->uid), shifted(ids, st->st_gid, ids->gid), AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (!S_ISLNK(st->st_mode) && fchmodat(dst, name, st->st_mode & 07777, 0) < 0)
        return -1;
    return utimensat(dst, name, times, AT_SYMLINK_NOFOLLOW);
}

static int copy_bytes(int in, int out)
{
    if (ioctl(out, FICLONE, in) == 0)
        return 0;
    for (;;) {
        ssize_t n = copy_file_range(in, NULL, out, NULL, 1 << 30, 0);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            break;
    }
    if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
    char chunk[65536];
    for (ssize_t n; (n = read(in, chunk, sizeof chunk)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || write(out, chunk, (size_t)n) != n)
            return -1;
    }
    return 0;
}

static int copy_file(int src, int dst, const char *name, const struct stat *st, struct sr_error *err)
{
    cleanup_fd int in = openat(src, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat again;
    if (in < 0 || fstat(in, &again) < 0)
        return failed(name, err);
    if (again.st_ino != st->st_ino || !S_ISREG(again.st_mode))
        return sr_error_set(err, "engine.unavailable.copy", "%s of the tree was replaced while it was copied", name);
    cleanup_fd int out = openat(dst, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_bytes(in, out) < 0)
        return failed(name, err);
    return 0;
}

static int copy_link(int src, int dst, const char *name, struct sr_error *err)
{
    char target[4096];
    ssize_t len = readlinkat(src, name, target, sizeof target - 1);
    if (len < 0)
        return failed(name, err);
    target[len] = '\0';
    return symlinkat(target, dst, name) < 0 ? failed(name, err) : 0;
}

static int copy_children(int src, int dst, const struct native_copy_ids *ids, int depth, struct sr_error *err);

static int copy_directory(int src, int dst, const char *name, const struct native_copy_ids *ids, int depth, struct sr_error *err)
{
    if (depth >= NATIVE_COPY_DEPTH_MAX)
        return sr_error_set(err, "engine.unavailable.copy", "the tree is more than %d directories deep, too deep to copy", NATIVE_COPY_DEPTH_MAX);
    if (mkdirat(dst, name, 0700) < 0)
        return failed(name, err);
    cleanup_fd int in = openat(src, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_fd int out = openat(dst, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in < 0 || out < 0)
        return failed(name, err);
    return copy_children(in, out, ids, depth + 1, err);
}

static int copy_entry(int src, int dst, const char *name, const struct native_copy_ids *ids, int depth, struct sr_error *err)
{
    struct stat st;
    int done = 0;
    if (fstatat(src, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : failed(name, err); /* a host edit took it away meanwhile */
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        done = copy_file(src, dst, name, &st, err);
        break;
    case S_IFDIR:
        done = copy_directory(src, dst, name, ids, depth, err);
        break;
    case S_IFLNK:
        done = copy_link(src, dst, name, err);
        break;
    case S_IFIFO:
        done = mkfifoat(dst, name, 0600) < 0 ? failed(name, err) : 0;
        break;
    default:
        return 0;
    }
    if (done < 0)
        return -1;
    return dress(dst, name, &st, ids) < 0 ? failed(name, err) : 0;
}

static int copy_children(int src, int dst, const struct native_copy_ids *ids, int depth, struct sr_error *err)
{
    int scan = openat(src, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = scan < 0 ? NULL : fdopendir(scan);
    if (!dir)
        return failed("a directory", err);
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(dir);
        if (!e)
            return errno ? failed("a directory", err) : 0;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (copy_entry(src, dst, e->d_name, ids, depth, err) < 0)
            return -1;
    }
}

int native_copy_tree(int src, int dst, const struct native_copy_ids *ids, struct sr_error *err)
{
    return copy_children(src, dst, ids, 0, err);
}
