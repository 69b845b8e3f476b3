/* SPDX-License-Identifier: MIT */
/* Digests of files that did not change since they were last hashed. */
#include "image/digest_cache.h"

#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char file_name[] = "host-digests";
static const char magic[16] = "sandrun digest1";
enum { FRESH_SECONDS = 2 };

/* Written as it lies in memory, for this machine: no padding may carry what was there before. */
_Static_assert(sizeof(struct digest_entry) == 7 * 8 + SR_SHA256_SIZE,
               "digest_entry has no padding");

static struct digest_entry key_of(const struct stat *st)
{
    return (struct digest_entry){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_s = st->st_mtim.tv_sec,
        .mtime_ns = st->st_mtim.tv_nsec,
        .ctime_s = st->st_ctim.tv_sec,
        .ctime_ns = st->st_ctim.tv_nsec,
    };
}

static bool same_key(const struct digest_entry *a, const struct digest_entry *b)
{
    return memcmp(a, b, offsetof(struct digest_entry, digest)) == 0;
}

void digest_cache_open(struct digest_cache *c, int dirfd)
{
    struct sr_error ignored = { 0 };
    cleanup_buf struct sr_buf b = SR_BUF(0);
    size_t max = sizeof magic + DIGEST_ENTRIES_MAX * sizeof(struct digest_entry) + SR_SHA256_SIZE;
    *c = (struct digest_cache){ .dirfd = dirfd };
    if (dirfd < 0 || sr_file_read_at(dirfd, file_name, max, &b, &ignored) < 0)
        return;
    if (b.len < sizeof magic + SR_SHA256_SIZE || memcmp(b.data, magic, sizeof magic) != 0)
        return;
    size_t body = b.len - SR_SHA256_SIZE, entries = body - sizeof magic;
    unsigned char sum[SR_SHA256_SIZE];
    sr_sha256_bytes(b.data, body, sum);
    if (entries % sizeof *c->v != 0 || memcmp(sum, b.data + body, sizeof sum) != 0)
        return;
    c->n = c->cap = entries / sizeof *c->v;
    c->v = sr_reallocarray(NULL, c->n, sizeof *c->v);
    memcpy(c->v, b.data + sizeof magic, entries);
}

/* One entry for one inode; the oldest goes when there is no more room. */
static void remember(struct digest_cache *c, const struct digest_entry *e)
{
    c->dirty = true;
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].dev == e->dev && c->v[i].ino == e->ino) {
            c->v[i] = *e;
            return;
        }
    }
    if (c->n == DIGEST_ENTRIES_MAX)
        memmove(c->v, c->v + 1, --c->n * sizeof *c->v);
    SR_GROW(c->v, c->n, c->cap);
    c->v[c->n++] = *e;
}

/* Old enough that a later change must have another ctime. */
static bool settled(const struct digest_entry *e)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - e->ctime_s > FRESH_SECONDS;
}

static int hash(struct digest_cache *c, const char *path, struct digest_entry *ret,
                struct sr_error *err)
{
    struct stat before, after;
    cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &before) < 0)
        return sr_error_sys(err, "rootfs.unreadable", "cannot read %s to hash it", path);
    if (!S_ISREG(before.st_mode))
        return sr_error_set(err, "rootfs.unreadable", "cannot hash %s: it is not a regular file",
                            path);
    struct digest_entry e = key_of(&before);
    bool fresh = !settled(&e); /* asked before reading: the age at the start is what counts */
    struct sr_error inner = { 0 };
    if (sr_sha256_fd(fd, path, e.digest, NULL, &inner) < 0)
        return sr_error_set(err, "rootfs.unreadable", "%s", inner.text);
    c->hashed++;
    if (fstat(fd, &after) < 0)
        return sr_error_sys(err, "rootfs.unreadable", "cannot read %s to hash it", path);
    struct digest_entry again = key_of(&after);
    if (!same_key(&e, &again))
        return sr_error_set(err, "rootfs.unreadable", "%s was changed while it was hashed", path);
    if (!fresh)
        remember(c, &e);
    *ret = e;
    return 0;
}

int digest_cache_file(struct digest_cache *c, const char *path, unsigned char out[SR_SHA256_SIZE],
                      struct sr_error *err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return sr_error_sys(err, "rootfs.unreadable", "cannot read %s to hash it", path);
    struct digest_entry e = key_of(&st);
    for (size_t i = 0; i < c->n; i++) {
        if (same_key(&c->v[i], &e)) {
            memcpy(out, c->v[i].digest, SR_SHA256_SIZE);
            return 0;
        }
    }
    if (hash(c, path, &e, err) < 0)
        return -1;
    memcpy(out, e.digest, SR_SHA256_SIZE);
    return 0;
}

void digest_cache_save(struct digest_cache *c)
{
    if (c->dirfd < 0 || !c->dirty)
        return;
    unsigned char sum[SR_SHA256_SIZE];
    cleanup_buf struct sr_buf b =
        SR_BUF(sizeof magic + DIGEST_ENTRIES_MAX * sizeof *c->v + SR_SHA256_SIZE);
    sr_buf_add(&b, magic, sizeof magic);
    sr_buf_add(&b, c->v, c->n * sizeof *c->v);
    sr_sha256_bytes(b.data, b.len, sum);
    sr_buf_add(&b, sum, sizeof sum);
    struct sr_error ignored = { 0 };
    if (!b.overflow && sr_file_write_at(c->dirfd, file_name, b.data, b.len, 0600, &ignored) == 0)
        c->dirty = false;
}

void digest_cache_close(struct digest_cache *c)
{
    free(c->v);
    *c = (struct digest_cache){ .dirfd = -1 };
}
