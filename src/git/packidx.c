/* SPDX-License-Identifier: MIT */
/* Indexes of packs (version 2): a sorted table of object names beside each pack. */
#include "base/fs.h"
#include "git/bytes.h"
#include "git/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Read with pread, never mapped: a file that is cut while we look would be SIGBUS instead of an
 * error. The multi-pack-index is not read, because git keeps the single indexes beside it.
 *
 *   magic version fanout[256] | names n | crc32 n | offsets n (31 bits, or the number of a 64-bit
 * one) | 64-bit offsets | 2 hashes
 */
enum { HEAD = 8, FANOUT = 1024, TABLES = HEAD + FANOUT };

static int pack_file(struct git_store *s, const struct git_pack *p, const char *suffix,
                     off_t *ret_size, struct sr_error *err)
{
    char path[NAME_MAX + 16];
    snprintf(path, sizeof path, "pack/%s%s", p->base, suffix);
    return git_open_file(s->fd, path, ret_size, err);
}

static bool is_idx(const char *name)
{
    size_t n = strlen(name);
    return n > 9 && n < NAME_MAX && memcmp(name, "pack-", 5) == 0 &&
           strcmp(name + n - 4, ".idx") == 0;
}

static int packs_collect(struct git_store *s, DIR *d, struct sr_error *err)
{
    for (struct dirent *e; (e = readdir(d));) {
        if (!is_idx(e->d_name))
            continue;
        if (s->n_packs == GIT_PACKS_MAX)
            return sr_error_set(err, "git.too_large", "an object store holds more than %d packs",
                                GIT_PACKS_MAX);
        SR_GROW(s->packs, s->n_packs, s->cap_packs);
        s->packs[s->n_packs++] = (struct git_pack){
            .base = sr_strndup(e->d_name, strlen(e->d_name) - 4),
            .idx_fd = -1,
            .pack_fd = -1,
        };
    }
    return 0;
}

int git_packs_list(struct git_store *s, struct sr_error *err)
{
    if (s->packs_listed)
        return 0;
    cleanup_fd int fd =
        sr_openat2(s->fd, "pack", O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0 && errno == ENOENT) {
        s->packs_listed = true;
        return 0;
    }
    if (fd < 0)
        return sr_error_sys(err, "git.corrupt", "opening objects/pack of the repository");
    cleanup_dir DIR *d = fdopendir(fd);
    if (!d)
        return sr_error_sys(err, "git.corrupt", "listing objects/pack of the repository");
    fd = -1; /* the stream owns it */
    if (packs_collect(s, d, err) < 0)
        return -1;
    s->packs_listed = true;
    return 0;
}

static void fds_close(struct git_pack *p)
{
    sr_closep(&p->idx_fd);
    sr_closep(&p->pack_fd);
    p->idx_fd = p->pack_fd = -1;
}

void git_packs_close(struct git_store *s)
{
    for (size_t i = 0; i < s->n_packs; i++) {
        fds_close(&s->packs[i]);
        free(s->packs[i].fanout);
        free(s->packs[i].base);
    }
    free(s->packs);
    s->packs = NULL;
    s->n_packs = s->cap_packs = 0;
}

void git_pack_rest(struct git_store *s, struct git_pack *p)
{
    if (p - s->packs >= GIT_PACKS_KEPT_OPEN)
        fds_close(p);
}

static int fanout_read(struct sr_git *g, struct git_pack *p, struct sr_error *err)
{
    unsigned char raw[TABLES];
    if (git_pread(p->idx_fd, raw, sizeof raw, 0, p->base, err) < 0)
        return -1;
    if (memcmp(raw, "\377tOc\0\0\0\2", HEAD) != 0)
        return sr_error_set(err, "git.unsupported", "the index of %s is not of version 2", p->base);
    cleanup_free uint32_t *fanout = sr_calloc(256, sizeof *fanout);
    for (int i = 0; i < 256; i++) {
        fanout[i] = git_be32(raw + HEAD + 4 * i);
        if (i && fanout[i] < fanout[i - 1])
            return sr_error_set(err, "git.corrupt", "the index of %s is not sorted", p->base);
    }
    uint64_t n = fanout[255];
    uint64_t least = TABLES + n * (g->hash_len + 8) + 2 * g->hash_len;
    if ((uint64_t)p->idx_size < least || (uint64_t)p->idx_size > least + n * 8)
        return sr_error_set(err, "git.corrupt", "the index of %s has the wrong size", p->base);
    p->n = fanout[255];
    p->fanout = steal_ptr(&fanout);
    return 0;
}

/* 1, 0 when the file is gone (a repack removed it), -1. */
static int idx_open(struct sr_git *g, struct git_store *s, struct git_pack *p, struct sr_error *err)
{
    if (p->idx_fd >= 0)
        return 1;
    off_t size;
    cleanup_fd int fd = pack_file(s, p, ".idx", &size, err);
    if (fd < 0)
        return fd == -1 ? 0 : -1;
    if (p->fanout && size != p->idx_size)
        return sr_error_set(err, "git.corrupt", "the index of %s changed while it was read",
                            p->base);
    p->idx_fd = steal_fd(&fd);
    p->idx_size = size;
    if (!p->fanout && fanout_read(g, p, err) < 0) {
        fds_close(p); /* an open index is one whose table was read */
        return -1;
    }
    return 1;
}

static int name_at(struct sr_git *g, struct git_pack *p, uint32_t i, unsigned char out[GIT_OID_MAX],
                   struct sr_error *err)
{
    return git_pread(p->idx_fd, out, g->hash_len, TABLES + (off_t)i * (off_t)g->hash_len, p->base,
                     err);
}

/* The first entry that is not less than key. */
static int lower_bound(struct sr_git *g, struct git_pack *p, const unsigned char *key,
                       uint32_t *ret, struct sr_error *err)
{
    uint32_t lo = key[0] ? p->fanout[key[0] - 1] : 0, hi = p->fanout[key[0]];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        unsigned char name[GIT_OID_MAX];
        if (name_at(g, p, mid, name, err) < 0)
            return -1;
        if (memcmp(name, key, g->hash_len) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret = lo;
    return 0;
}

static int offset_at(struct sr_git *g, struct git_pack *p, uint32_t i, uint64_t *ret,
                     struct sr_error *err)
{
    unsigned char raw[8];
    off_t offsets = TABLES + (off_t)p->n * (off_t)(g->hash_len + 4);
    if (git_pread(p->idx_fd, raw, 4, offsets + (off_t)i * 4, p->base, err) < 0)
        return -1;
    uint32_t v = git_be32(raw);
    if (!(v & 0x80000000u)) {
        *ret = v;
        return 0;
    }
    off_t at = offsets + (off_t)p->n * 4 + (off_t)(v & 0x7fffffffu) * 8;
    if (at > p->idx_size - 2 * (off_t)g->hash_len - 8)
        return sr_error_set(err, "git.corrupt", "the index of %s points behind its end", p->base);
    if (git_pread(p->idx_fd, raw, 8, at, p->base, err) < 0)
        return -1;
    *ret = git_be64(raw);
    return 0;
}

int git_pack_find(struct sr_git *g, struct git_store *s, struct git_pack *p,
                  const struct git_oid *oid, uint64_t *ret_offset, struct sr_error *err)
{
    int rc = idx_open(g, s, p, err);
    if (rc <= 0)
        return rc;
    uint32_t i;
    if (lower_bound(g, p, oid->b, &i, err) < 0)
        return -1;
    if (i >= p->fanout[oid->b[0]])
        return 0;
    unsigned char name[GIT_OID_MAX];
    if (name_at(g, p, i, name, err) < 0)
        return -1;
    if (memcmp(name, oid->b, g->hash_len) != 0)
        return 0;
    return offset_at(g, p, i, ret_offset, err) < 0 ? -1 : 1;
}

int git_pack_prefix(struct sr_git *g, struct git_store *s, struct git_pack *p,
                    struct git_prefix *prefix, struct sr_error *err)
{
    int rc = idx_open(g, s, p, err);
    if (rc <= 0)
        return rc;
    uint32_t i;
    if (lower_bound(g, p, prefix->b, &i, err) < 0)
        return -1;
    for (; i < p->n && !prefix->more; i++) {
        unsigned char name[GIT_OID_MAX] = { 0 };
        if (name_at(g, p, i, name, err) < 0)
            return -1;
        if (!git_prefix_matches(prefix, name))
            break;
        git_prefix_add(prefix, name, g->hash_len);
    }
    return 0;
}

/* A pack and its index belong together when the index repeats the checksum that ends the pack. */
static int pair_check(struct sr_git *g, const struct git_pack *p, int fd, off_t size,
                      struct sr_error *err)
{
    unsigned char head[12], ends[2][GIT_OID_MAX];
    off_t hl = (off_t)g->hash_len;
    if (size < 12 + hl)
        return sr_error_set(err, "git.corrupt", "%s.pack ends too early", p->base);
    if (git_pread(fd, head, sizeof head, 0, p->base, err) < 0 ||
        git_pread(fd, ends[0], g->hash_len, size - hl, p->base, err) < 0 ||
        git_pread(p->idx_fd, ends[1], g->hash_len, p->idx_size - 2 * hl, p->base, err) < 0)
        return -1;
    uint32_t version = git_be32(head + 4);
    if (memcmp(head, "PACK", 4) != 0)
        return sr_error_set(err, "git.corrupt", "%s.pack is not a pack", p->base);
    if (version != 2 && version != 3)
        return sr_error_set(err, "git.unsupported", "%s.pack has version %u", p->base, version);
    if (git_be32(head + 8) != p->n || memcmp(ends[0], ends[1], g->hash_len) != 0)
        return sr_error_set(err, "git.corrupt", "%s.pack does not belong to its index", p->base);
    return 0;
}

int git_pack_open(struct sr_git *g, struct git_store *s, struct git_pack *p, struct sr_error *err)
{
    if (p->pack_fd >= 0)
        return 1;
    off_t size;
    cleanup_fd int fd = pack_file(s, p, ".pack", &size, err);
    if (fd < 0)
        return fd == -1 ? 0 : -1;
    if (pair_check(g, p, fd, size, err) < 0)
        return -1;
    p->pack_fd = steal_fd(&fd);
    p->pack_size = size;
    return 1;
}
