/* SPDX-License-Identifier: MIT */
/* Contents of entries: opened only when regular, digested with sparse files in mind. */
#include "base/mem.h"
#include "change/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024, LINK_MAX_BYTES = 64 * 1024 };

static int open_unreadable(int dirfd, const char *name, int flags)
{
    cleanup_fd int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char self[64];
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (chmod(self, (st.st_mode & 07777) | S_IRUSR) < 0)
        return -1;
    cleanup_fd int opened = openat(dirfd, name, flags);
    if (chmod(self, st.st_mode & 07777) < 0)
        return -1;
    return steal_fd(&opened);
}

int sr_walk_open_file(int dirfd, const char *name, bool force, struct stat *now)
{
    int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    cleanup_fd int fd = openat(dirfd, name, flags);
    if (fd < 0 && errno == EACCES && force)
        fd = open_unreadable(dirfd, name, flags);
    if (fd < 0 || fstat(fd, now) < 0)
        return -1;
    if (!S_ISREG(now->st_mode)) {
        errno = ESTALE;
        return -1;
    }
    return steal_fd(&fd);
}

static bool all_zero(const unsigned char *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Moves *at to the block that holds the next data; false at the end. */
static bool data_next(int fd, off_t size, off_t *at)
{
    off_t data = lseek(fd, *at, SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        return false;
    if (data > *at) /* an error otherwise: a file system without SEEK_DATA has no holes to skip */
        *at = data - data % BLOCK;
    return *at < size;
}

static ssize_t block_read(int fd, unsigned char *block, off_t at)
{
    size_t have = 0;
    while (have < BLOCK) {
        ssize_t n = pread(fd, block + have, BLOCK - have, at + (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Only the blocks that are not all zero, each with its offset: the same for the same bytes,
 * wherever the holes are. */
static int digest_blocks(int fd, off_t size, unsigned char out[SR_SHA256_SIZE])
{
    unsigned char block[BLOCK];
    struct sr_sha256 c;
    sr_sha256_init(&c);
    for (off_t at = 0; data_next(fd, size, &at); at += BLOCK) {
        ssize_t have = block_read(fd, block, at);
        if (have < 0)
            return -1;
        if (all_zero(block, (size_t)have))
            continue;
        uint64_t where[2] = { (uint64_t)at, (uint64_t)have };
        sr_sha256_update(&c, where, sizeof where);
        sr_sha256_update(&c, block, (size_t)have);
    }
    sr_sha256_final(&c, out);
    return 0;
}

static int digest_file(int dirfd, const char *name, bool force, struct sr_entry_state *ret,
                       struct sr_error *err)
{
    struct stat now;
    cleanup_fd int fd = sr_walk_open_file(dirfd, name, force, &now);
    if (fd < 0)
        return sr_error_sys(err, "snapshot.read", "cannot open the file %s to read its content",
                            name);
    ret->size = (uint64_t)now.st_size;
    if (now.st_size > SR_WALK_PLAIN_MAX) {
        if (digest_blocks(fd, now.st_size, ret->digest) < 0)
            return sr_error_sys(err, "snapshot.read", "cannot read the file %s", name);
    } else if (sr_sha256_fd(fd, name, ret->digest, &ret->size, err) < 0) {
        snprintf(err->code, sizeof err->code, "snapshot.read");
        return -1;
    }
    ret->has_digest = true;
    return 0;
}

char *sr_walk_link(int dirfd, const char *name)
{
    for (size_t cap = 256; cap <= LINK_MAX_BYTES; cap *= 4) {
        cleanup_free char *s = sr_malloc(cap);
        ssize_t n = readlinkat(dirfd, name, s, cap);
        if (n < 0)
            return NULL;
        if ((size_t)n < cap) {
            s[n] = '\0';
            return steal_ptr(&s);
        }
    }
    errno = ENAMETOOLONG;
    return NULL;
}

struct sr_entry_state sr_walk_state(const struct stat *st)
{
    bool sized = S_ISREG(st->st_mode) || S_ISLNK(st->st_mode);
    return (struct sr_entry_state){ .mode = st->st_mode,
                                    .size = sized ? (uint64_t)st->st_size : 0 };
}

int sr_walk_digest(int dirfd, const char *name, bool force, const struct stat *st,
                   struct sr_entry_state *ret, struct sr_error *err)
{
    *ret = sr_walk_state(st);
    if (S_ISREG(st->st_mode))
        return digest_file(dirfd, name, force, ret, err);
    if (S_ISLNK(st->st_mode)) {
        cleanup_free char *target = sr_walk_link(dirfd, name);
        if (!target)
            return sr_error_sys(err, "snapshot.read", "cannot read the link %s", name);
        sr_sha256_bytes(target, strlen(target), ret->digest);
        ret->has_digest = true;
    } else if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) {
        uint64_t dev[2] = { major(st->st_rdev), minor(st->st_rdev) };
        sr_sha256_bytes(dev, sizeof dev, ret->digest);
        ret->has_digest = true;
    }
    return 0;
}
