/* SPDX-License-Identifier: MIT */
/* Removing whole trees of any depth with a bounded number of descriptors. */
#include "base/fs.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * The recursion goes DEPTH_MAX levels down, a descriptor each. A directory below that is renamed up into the top of the tree that is
 * being removed and met again by the next scan of it, so configure's "confdir3" trees, deeper than PATH_MAX, need no more
 * descriptors than shallow ones. nftw(3) is not an option: it walks by path names, which a process can swap for links under it.
 */
enum { DEPTH_MAX = 48 };

struct removal {
    int top;           /* where deep directories are lifted to */
    unsigned lifted;   /* counter for their names */
    const char *name;  /* for messages */
};

static int remove_entry(struct removal *r, int dirfd, const char *name, int depth, struct sr_error *err);

/* A directory for reading its entries; 0555 and 0000 ones (Go's module cache, overlay's work/work) are made passable first. */
static int open_for_removal(int dirfd, const char *name, bool is_top)
{
    /* the top is named by the caller, by whatever path; below it nothing leads elsewhere */
    const uint64_t resolve = is_top ? 0 : RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
    /* only what lacks a bit is touched: chmod of every directory would cost a call each */
    struct stat st;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700) {
        cleanup_fd int path = sr_openat2(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, resolve);
        char proc[64];
        snprintf(proc, sizeof proc, "/proc/self/fd/%d", path);
        /* fchmod(2) refuses O_PATH descriptors; the magic link names this very inode */
        if (path >= 0 && chmod(proc, 0700) < 0)
            return -1;
    }
    return sr_openat2(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, resolve);
}

static int remove_children(struct removal *r, int fd, int depth, struct sr_error *err)
{
    int scan = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = scan < 0 ? NULL : fdopendir(scan);
    if (!dir) {
        if (scan >= 0)
            close(scan);
        return sr_error_sys(err, "file.remove", "cannot remove %s: reading a directory of it", r->name);
    }
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(dir);
        if (!e)
            return errno ? sr_error_sys(err, "file.remove", "cannot remove %s", r->name) : 0;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (remove_entry(r, fd, e->d_name, depth, err) < 0)
            return -1;
    }
}

static int lift(struct removal *r, int dirfd, const char *name, struct sr_error *err)
{
    char up[32];
    snprintf(up, sizeof up, ".lifted-%u", r->lifted++);
    if (renameat(dirfd, name, r->top, up) < 0)
        return sr_error_sys(err, "file.remove", "cannot remove %s: lifting the deep directory %s", r->name, name);
    return 0;
}

static int remove_entry(struct removal *r, int dirfd, const char *name, int depth, struct sr_error *err)
{
    if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
        return 0;
    /* EISDIR is Linux's answer for a directory, EPERM the one of POSIX */
    if (errno != EISDIR && errno != EPERM)
        return sr_error_sys(err, "file.remove", "cannot remove %s: %s in it", r->name, name);
    if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
        return 0;
    cleanup_fd int fd = open_for_removal(dirfd, name, depth == 0);
    if (fd < 0)
        return sr_error_sys(err, "file.remove", "cannot remove %s: opening %s in it", r->name, name);
    if (depth >= DEPTH_MAX)
        return lift(r, dirfd, name, err);
    if (r->top < 0) {
        r->top = fd;
        unsigned before;
        do {
            before = r->lifted;
            if (remove_children(r, fd, depth + 1, err) < 0)
                return -1;
        } while (r->lifted != before);
    } else if (remove_children(r, fd, depth + 1, err) < 0) {
        return -1;
    }
    if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return sr_error_sys(err, "file.remove", "cannot remove %s: the directory %s", r->name, name);
    return 0;
}

int sr_remove_at(int dirfd, const char *name, struct sr_error *err)
{
    struct removal r = { .top = -1, .name = name };
    return remove_entry(&r, dirfd, name, 0, err);
}
