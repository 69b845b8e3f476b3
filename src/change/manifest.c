/* SPDX-License-Identifier: MIT */
/* Manifests: filling, looking up, the one digest of a whole tree. */
#include "change/manifest.h"

#include "base/mem.h"
#include "change/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sr_manifest_add(struct sr_manifest *m, const char *name, const struct stat *st, uint32_t *ret,
                    struct sr_error *err)
{
    size_t len = strlen(name) + 1;
    if (m->n >= UINT32_MAX - 1 || m->names_len + len > UINT32_MAX)
        return sr_error_set(err, "snapshot.too_large",
                            "the tree has more entries than a manifest can hold");
    while (m->names_len + len > m->names_cap) {
        m->names_cap = m->names_cap ? m->names_cap + m->names_cap / 2 : 4096;
        m->names = sr_reallocarray(m->names, m->names_cap, 1);
    }
    if (m->n == m->cap) {
        /* By half and not twofold: at a million entries the slack would be as large as the
         * manifest. */
        m->cap = m->cap ? m->cap + m->cap / 2 : 64;
        m->v = sr_reallocarray(m->v, m->cap, sizeof *m->v);
    }
    struct sr_entry_state s = sr_walk_state(st);
    m->v[m->n] = (struct sr_manifest_entry){ .name = (uint32_t)m->names_len,
                                             .mode = s.mode,
                                             .size = s.size };
    memcpy(m->names + m->names_len, name, len);
    m->names_len += len;
    *ret = (uint32_t)m->n++;
    return 0;
}

void sr_manifest_free(struct sr_manifest *m)
{
    if (!m)
        return;
    free(m->v);
    free(m->names);
    free(m);
}

size_t sr_manifest_count(const struct sr_manifest *m)
{
    return m->n - 1;
}

static const struct sr_manifest_entry *child_find(const struct sr_manifest *m,
                                                  const struct sr_manifest_entry *dir,
                                                  const char *name, size_t len)
{
    uint32_t lo = dir->dir.first, hi = lo + dir->dir.count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const char *have = sr_manifest_name(m, mid);
        int c = strncmp(name, have, len);
        if (c == 0 && have[len] == '\0')
            return &m->v[mid];
        if (c < 0 || c == 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

const struct sr_manifest_entry *sr_manifest_find(const struct sr_manifest *m, const char *path)
{
    const struct sr_manifest_entry *e = &m->v[0];
    while (*path && e) {
        size_t len = strcspn(path, "/");
        e = S_ISDIR(e->mode) ? child_find(m, e, path, len) : NULL;
        path += len + (path[len] == '/');
    }
    return e;
}

struct sr_entry_state sr_manifest_state(const struct sr_manifest_entry *e)
{
    struct sr_entry_state s = { .mode = e->mode & 0177777, .size = e->size };
    if (e->mode & SR_ENTRY_DIGEST) {
        memcpy(s.digest, e->digest, sizeof s.digest);
        s.has_digest = true;
    }
    return s;
}

/* ---- the digest of the whole ---- */

struct frame {
    uint32_t at, end;
    size_t path_len;
};

struct root_digest {
    const struct sr_manifest *m;
    struct sr_sha256 hash;
    char *path;
    size_t len, cap;
    struct frame *stack;
    size_t n, cap_stack;
};

static void path_append(struct root_digest *r, const char *name)
{
    size_t len = strlen(name);
    if (r->len + len + 2 > r->cap) {
        r->cap = (r->len + len + 2) * 2;
        r->path = sr_reallocarray(r->path, r->cap, 1);
    }
    if (r->len)
        r->path[r->len++] = '/';
    memcpy(r->path + r->len, name, len);
    r->len += len;
}

/* The NUL ends the path and cannot be in it, so no name can pass for another line. */
static void line_hash(struct root_digest *r, const struct sr_manifest_entry *e)
{
    char line[128], hex[SR_SHA256_HEX] = "-";
    if (e->mode & SR_ENTRY_DIGEST)
        sr_sha256_hex(e->digest, hex);
    sr_sha256_update(&r->hash, r->path, r->len);
    int n = snprintf(line, sizeof line, "%c%o %llu %s\n", 0, e->mode & 0177777u,
                     (unsigned long long)e->size, hex);
    sr_sha256_update(&r->hash, line, (size_t)n);
}

static void frame_push(struct root_digest *r, const struct sr_manifest_entry *dir)
{
    SR_GROW(r->stack, r->n, r->cap_stack);
    r->stack[r->n++] = (struct frame){ dir->dir.first, dir->dir.first + dir->dir.count, r->len };
}

void sr_manifest_root(const struct sr_manifest *m, char ret[SR_DIGEST_TEXT])
{
    struct root_digest r = { .m = m };
    unsigned char digest[SR_SHA256_SIZE];
    sr_sha256_init(&r.hash);
    frame_push(&r, &m->v[0]);
    while (r.n) {
        struct frame *f = &r.stack[r.n - 1];
        if (f->at == f->end) {
            r.n--;
            continue;
        }
        const struct sr_manifest_entry *e = &m->v[f->at++];
        r.len = f->path_len;
        path_append(&r, m->names + e->name);
        line_hash(&r, e);
        if (S_ISDIR(e->mode))
            frame_push(&r, e);
    }
    sr_sha256_final(&r.hash, digest);
    sr_sha256_text(digest, ret);
    free(r.path);
    free(r.stack);
}
