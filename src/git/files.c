/* SPDX-License-Identifier: MIT */
/* Files of a repository: beneath its directory, no links, no waiting, bounded. */
#include "base/fs.h"
#include "git/private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

/* What open(2) says when there is nothing of this name: a parent may be a file, and a name longer
 * than any can be. */
static bool is_missing(int e)
{
    return e == ENOENT || e == ENOTDIR || e == ENAMETOOLONG;
}

int git_open_file(int dirfd, const char *path, off_t *ret_size, struct sr_error *err)
{
    /* O_NONBLOCK: opening a FIFO for reading would otherwise wait for a writer that never comes. */
    cleanup_fd int fd = sr_openat2(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0,
                                   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 && is_missing(errno))
        return -1;
    if (fd < 0) {
        const char *code = errno == ELOOP || errno == EXDEV ? "git.unsupported" : "git.corrupt";
        sr_error_sys(err, code, "opening %s of the repository, links not followed", path);
        return -2;
    }
    struct stat st;
    if (fstat(fd, &st) < 0) {
        sr_error_sys(err, "git.corrupt", "reading %s of the repository", path);
        return -2;
    }
    if (S_ISDIR(st.st_mode))
        return -1;
    if (!S_ISREG(st.st_mode)) {
        sr_error_set(err, "git.corrupt", "%s of the repository is not a regular file", path);
        return -2;
    }
    *ret_size = st.st_size;
    return steal_fd(&fd);
}

int git_read_file(int dirfd, const char *path, size_t max, struct sr_buf *ret, struct sr_error *err)
{
    off_t size;
    cleanup_fd int fd = git_open_file(dirfd, path, &size, err);
    if (fd < 0)
        return fd == -1 ? 0 : -1;
    sr_buf_reset(ret);
    ret->max = max;
    for (;;) {
        char chunk[8192];
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sr_error_sys(err, "git.corrupt", "reading %s of the repository", path);
        if (n == 0)
            break;
        sr_buf_add(ret, chunk, (size_t)n);
        if (ret->overflow)
            return sr_error_set(err, "git.too_large",
                                "%s of the repository is larger than %zu bytes", path, max);
    }
    sr_buf_add(ret, "", 0); /* data is never NULL afterwards */
    return 1;
}

int git_pread(int fd, void *out, size_t len, off_t off, const char *name, struct sr_error *err)
{
    char *p = out;
    while (len) {
        ssize_t n = pread(fd, p, len, off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sr_error_sys(err, "git.corrupt", "reading %s of the repository", name);
        if (n == 0)
            return sr_error_set(err, "git.corrupt", "%s of the repository ends too early", name);
        p += n;
        off += n;
        len -= (size_t)n;
    }
    return 0;
}

void git_chomp(struct sr_buf *b)
{
    while (b->len && (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == '\r'))
        b->data[--b->len] = '\0';
}
