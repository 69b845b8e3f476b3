/* SPDX-License-Identifier: MIT */
/* Objects in packs: an entry, or a chain of deltas down to one. */
#include "git/inflate.h"
#include "git/private.h"

#include <stdlib.h>
#include <string.h>

enum {
    OFS_DELTA = 6,
    REF_DELTA = 7,
    ENTRY_HEADER_MAX = 64 /* type, size, and a base: 10 + 32 at most */
};

/* One entry's header. */
struct entry {
    unsigned type;
    uint64_t size; /* of what is inflated here: the object, or the delta */
    uint64_t data; /* where the zlib stream starts */
    uint64_t base; /* offset of what the delta is against */
};

struct source {
    struct sr_git *g;
    struct git_store *store;
    struct git_pack *pack;
};

static bool size_parse(const unsigned char *p, size_t n, size_t *at, struct entry *e)
{
    unsigned char c = p[(*at)++];
    e->type = c >> 4 & 7;
    e->size = c & 15;
    for (unsigned shift = 4; c & 0x80; shift += 7) {
        if (*at == n || shift > 53)
            return false;
        c = p[(*at)++];
        e->size |= (uint64_t)(c & 0x7f) << shift;
    }
    return true;
}

/* How far before the entry its base starts. */
static bool distance_parse(const unsigned char *p, size_t n, size_t *at, uint64_t *ret)
{
    if (*at == n)
        return false;
    unsigned char c = p[(*at)++];
    uint64_t v = c & 0x7f;
    while (c & 0x80) {
        if (*at == n || v > UINT64_MAX >> 8)
            return false;
        c = p[(*at)++];
        v = (v + 1) << 7 | (c & 0x7f);
    }
    *ret = v;
    return true;
}

static int base_find(const struct source *s, const unsigned char *raw, size_t n, size_t *at,
                     uint64_t offset, struct entry *e, struct sr_error *err)
{
    const char *name = s->pack->base;
    if (e->type == OFS_DELTA) {
        uint64_t distance;
        if (!distance_parse(raw, n, at, &distance) || distance == 0 || distance > offset)
            return sr_error_set(err, "git.corrupt", "%s.pack holds a delta without a base", name);
        e->base = offset - distance;
        return 0;
    }
    if (e->type != REF_DELTA)
        return 0;
    struct git_oid oid = { { 0 } };
    if (n - *at < s->g->hash_len)
        return sr_error_set(err, "git.corrupt", "%s.pack ends too early", name);
    memcpy(oid.b, raw + *at, s->g->hash_len);
    *at += s->g->hash_len;
    /* Only in this pack: git completes thin packs before it keeps them. */
    int rc = git_pack_find(s->g, s->store, s->pack, &oid, &e->base, err);
    if (rc == 0)
        return sr_error_set(err, "git.corrupt", "%s.pack holds a delta without a base", name);
    return rc < 0 ? -1 : 0;
}

static int entry_read(const struct source *s, uint64_t offset, struct entry *ret,
                      struct sr_error *err)
{
    unsigned char raw[ENTRY_HEADER_MAX];
    uint64_t end = (uint64_t)s->pack->pack_size - s->g->hash_len;
    if (offset < 12 || offset >= end)
        return sr_error_set(err, "git.corrupt", "%s.pack is pointed at outside of its entries",
                            s->pack->base);
    size_t n = end - offset < sizeof raw ? (size_t)(end - offset) : sizeof raw;
    if (git_pread(s->pack->pack_fd, raw, n, (off_t)offset, s->pack->base, err) < 0)
        return -1;
    struct entry e = { 0 };
    size_t at = 0;
    if (!size_parse(raw, n, &at, &e) || e.type == 0 || e.type == 5)
        return sr_error_set(err, "git.corrupt", "%s.pack holds an entry of no known type",
                            s->pack->base);
    if (e.size > GIT_OBJECT_MAX)
        return sr_error_set(err, "git.too_large", "%s.pack holds an entry larger than %zu bytes",
                            s->pack->base, GIT_OBJECT_MAX);
    if (base_find(s, raw, n, &at, offset, &e, err) < 0)
        return -1;
    e.data = offset + at;
    *ret = e;
    return 0;
}

static int entry_inflate(const struct source *s, const struct entry *e, char **ret,
                         struct sr_error *err)
{
    cleanup_inflate struct git_inflate in = { 0 };
    off_t end = s->pack->pack_size - (off_t)s->g->hash_len;
    cleanup_free char *data = sr_malloc((size_t)e->size + 1);
    if (git_inflate_open(&in, s->g, s->pack->pack_fd, (off_t)e->data, end, s->pack->base, err) <
            0 ||
        git_inflate_exact(&in, data, (size_t)e->size, err) < 0 || git_inflate_end(&in, err) < 0)
        return -1;
    data[e->size] = '\0';
    *ret = steal_ptr(&data);
    return 0;
}

/* Headers from the entry down to the one that is no delta; the last one is the base of all. */
static int chain_read(const struct source *s, uint64_t offset, struct entry **chain, size_t *n,
                      struct sr_error *err)
{
    size_t cap = 0;
    for (;;) {
        if (*n > GIT_CHAIN_MAX)
            return sr_error_set(err, "git.corrupt", "%s.pack holds a chain of more than %d deltas",
                                s->pack->base, GIT_CHAIN_MAX);
        SR_GROW(*chain, *n, cap);
        struct entry *e = &(*chain)[*n];
        if (entry_read(s, offset, e, err) < 0)
            return -1;
        ++*n;
        if (e->type != OFS_DELTA && e->type != REF_DELTA)
            return 0;
        offset = e->base;
    }
}

static int delta_step(const struct source *s, const struct entry *e, size_t max,
                      struct git_object *o, struct sr_error *err)
{
    cleanup_free char *delta = NULL;
    char *data;
    size_t size;
    uint64_t base_size, result_size;
    if (entry_inflate(s, e, &delta, err) < 0)
        return -1;
    const unsigned char *d = (const unsigned char *)delta;
    if (git_delta_sizes(d, (size_t)e->size, &base_size, &result_size, err) < 0 ||
        git_spend(s->g, result_size, err) < 0 ||
        git_delta_apply((const unsigned char *)o->data, o->size, d, (size_t)e->size, max, &data,
                        &size, err) < 0)
        return -1;
    free(o->data);
    o->data = data;
    o->size = size;
    return 0;
}

static int object_build(const struct source *s, uint64_t offset, size_t max, struct git_object *ret,
                        struct sr_error *err)
{
    cleanup_free struct entry *chain = NULL;
    cleanup_object struct git_object o = { 0 };
    size_t n = 0;
    if (chain_read(s, offset, &chain, &n, err) < 0)
        return -1;
    const struct entry *last = &chain[n - 1];
    if (n == 1 && last->size > max)
        return sr_error_set(err, "git.too_large", "an object in %s.pack is larger than %zu bytes",
                            s->pack->base, max);
    if (entry_inflate(s, last, &o.data, err) < 0)
        return -1;
    o.type = (enum git_type)last->type;
    o.size = (size_t)last->size;
    for (size_t i = n - 1; i-- > 0;)
        if (delta_step(s, &chain[i], i ? GIT_OBJECT_MAX : max, &o, err) < 0)
            return -1;
    *ret = o;
    o.data = NULL;
    return 0;
}

int git_packed_read(struct sr_git *g, struct git_store *s, const struct git_oid *oid, size_t max,
                    struct git_object *ret, struct sr_error *err)
{
    if (git_packs_list(s, err) < 0)
        return -1;
    for (size_t i = 0; i < s->n_packs; i++) {
        struct git_pack *p = &s->packs[i];
        uint64_t offset;
        int rc = git_pack_find(g, s, p, oid, &offset, err);
        if (rc == 1)
            rc = git_pack_open(g, s, p, err);
        if (rc == 1 && object_build(&(struct source){ g, s, p }, offset, max, ret, err) < 0)
            rc = -1;
        git_pack_rest(s, p);
        if (rc != 0)
            return rc;
    }
    return 0;
}
