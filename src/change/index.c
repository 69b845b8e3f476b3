/* SPDX-License-Identifier: MIT */
/* The stat-keyed digest index. */
#include "change/index.h"

#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char magic[8] = "SRINDEX1";

enum { HEADER = 16 };
/* Four million files; more than that and the index would cost more than it saves. */
static const size_t records_max = 4u << 20;

void sr_index_key(const struct stat *st, unsigned char key[SR_INDEX_KEY])
{
    unsigned char digest[SR_SHA256_SIZE];
    uint64_t f[7] = { st->st_dev,
                      st->st_ino,
                      (uint64_t)st->st_size,
                      (uint64_t)st->st_mtim.tv_sec,
                      (uint64_t)st->st_mtim.tv_nsec,
                      (uint64_t)st->st_ctim.tv_sec,
                      (uint64_t)st->st_ctim.tv_nsec };
    sr_sha256_bytes(f, sizeof f, digest);
    memcpy(key, digest, SR_INDEX_KEY);
}

bool sr_index_parse(const void *data, size_t len, struct sr_index *ret)
{
    const unsigned char *p = data;
    unsigned char digest[SR_SHA256_SIZE];
    uint64_t count;
    if (len < HEADER + SR_SHA256_SIZE || memcmp(p, magic, sizeof magic) != 0)
        return false;
    memcpy(&count, p + sizeof magic, sizeof count);
    size_t body = len - HEADER - SR_SHA256_SIZE;
    if (body % sizeof(struct sr_index_record) != 0 ||
        count != body / sizeof(struct sr_index_record))
        return false;
    sr_sha256_bytes(p, len - SR_SHA256_SIZE, digest);
    if (memcmp(digest, p + len - SR_SHA256_SIZE, sizeof digest) != 0)
        return false;
    const struct sr_index_record *v = (const struct sr_index_record *)(const void *)(p + HEADER);
    for (size_t i = 1; i < count; i++)
        if (memcmp(v[i - 1].key, v[i].key, SR_INDEX_KEY) >= 0)
            return false;
    ret->v = v;
    ret->n = count;
    return true;
}

void sr_index_open(int dirfd, const char *name, struct sr_index *ret)
{
    *ret = (struct sr_index){ 0 };
    cleanup_fd int fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_size <= 0 ||
        (uint64_t)st.st_size >
            records_max * sizeof(struct sr_index_record) + HEADER + SR_SHA256_SIZE)
        return;
    /* Mapped, not read: warm, the pages are the kernel's. It is replaced by rename, so it cannot
     * shrink under us. */
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return;
    ret->map = map;
    ret->map_len = (size_t)st.st_size;
    if (!sr_index_parse(map, ret->map_len, ret))
        sr_index_close(ret);
}

void sr_index_close(struct sr_index *index)
{
    if (index->map)
        munmap(index->map, index->map_len);
    *index = (struct sr_index){ 0 };
}

static int record_compare(const void *a, const void *b)
{
    return memcmp(a, b, SR_INDEX_KEY);
}

/* Keys are hashes, so a key's value says where it stands; halving instead would miss the cache
 * twenty times. */
const unsigned char *sr_index_find(const struct sr_index *index,
                                   const unsigned char key[SR_INDEX_KEY])
{
    uint64_t head = 0;
    if (index->n == 0)
        return NULL;
    for (unsigned i = 0; i < 8; i++)
        head = head << 8 | key[i];
    size_t at = (size_t)((unsigned __int128)head * index->n >> 64);
    int c = memcmp(key, index->v[at].key, SR_INDEX_KEY);
    while (c > 0 && at + 1 < index->n && (c = memcmp(key, index->v[at + 1].key, SR_INDEX_KEY)) >= 0)
        at++;
    while (c < 0 && at > 0 && (c = memcmp(key, index->v[at - 1].key, SR_INDEX_KEY)) <= 0)
        at--;
    return c == 0 ? index->v[at].digest : NULL;
}

int sr_index_write(int dirfd, const char *name, struct sr_index_record *v, size_t n,
                   struct sr_error *err)
{
    uint64_t count = 0;
    if (n > records_max)
        n = records_max;
    if (n)
        qsort(v, n, sizeof *v, record_compare);
    for (size_t i = 0; i < n; i++) /* hard links have one key */
        if (count == 0 || memcmp(v[count - 1].key, v[i].key, SR_INDEX_KEY) != 0)
            v[count++] = v[i];
    size_t body = (size_t)count * sizeof *v, len = HEADER + body + SR_SHA256_SIZE;
    cleanup_free unsigned char *out = sr_malloc(len);
    memcpy(out, magic, sizeof magic);
    memcpy(out + sizeof magic, &count, sizeof count);
    if (body)
        memcpy(out + HEADER, v, body);
    sr_sha256_bytes(out, HEADER + body, out + HEADER + body);
    return sr_file_write_at(dirfd, name, out, len, 0600, err);
}
