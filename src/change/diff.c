/* SPDX-License-Identifier: MIT */
/* Two manifests, before and after. */
#include "change/manifest.h"
#include "change/set.h"
#include "change/subtree.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    const struct sr_manifest_entry *before,
        *after; /* directories; NULL: not there, or not a directory */
    char *path;
    size_t mark;
};

struct diff {
    const struct sr_manifest *before, *after;
    bool in_home;
    bool marks_only;
    struct sr_changeset *set;
    struct pair *todo;
    size_t n, cap;
};

static bool entries_equal(const struct sr_manifest_entry *b, const struct sr_manifest_entry *a)
{
    if (b->mode != a->mode || b->size != a->size)
        return false;
    return S_ISDIR(b->mode) || memcmp(b->digest, a->digest, SR_SHA256_SIZE) == 0;
}

static void pair_push(struct diff *d, const struct sr_manifest_entry *b,
                      const struct sr_manifest_entry *a, char *path, size_t mark)
{
    SR_GROW(d->todo, d->n, d->cap);
    d->todo[d->n++] = (struct pair){ b && S_ISDIR(b->mode) ? b : NULL,
                                     a && S_ISDIR(a->mode) ? a : NULL, path, mark };
}

/* Above SR_WALK_PLAIN_MAX the digest is for comparing only. */
static struct sr_entry_state shown(const struct sr_manifest_entry *e)
{
    struct sr_entry_state s = sr_manifest_state(e);
    if (S_ISREG(s.mode) && s.size > SR_WALK_PLAIN_MAX)
        s.has_digest = false;
    return s;
}

static void entry_diff(struct diff *d, const struct sr_manifest_entry *b,
                       const struct sr_manifest_entry *a, const struct pair *dir)
{
    const char *name = b ? d->before->names + b->name : d->after->names + a->name;
    struct sr_entry_state bs = { 0 }, as = { 0 };
    if (b)
        bs = shown(b);
    if (a)
        as = shown(a);
    cleanup_free char *path = sr_walk_join(dir->path, name);
    bool b_dir = b && S_ISDIR(b->mode), a_dir = a && S_ISDIR(a->mode);
    size_t mark = dir->mark;
    if (d->marks_only) {
        if (b && a && !b_dir && b->mode == a->mode && b->size == a->size)
            sr_set_same(d->set, dir->mark);
    } else if (!b || !a || !entries_equal(b, a)) {
        sr_set_add(d->set, sr_strdup(path), d->in_home, b ? &bs : NULL, a ? &as : NULL, NULL);
    } else if (!b_dir) {
        sr_set_same(d->set, dir->mark);
    }
    if (b_dir && !a_dir && !d->marks_only)
        sr_set_mark(d->set, path, d->in_home, SR_MARK_GONE);
    /* Another inode, or the same number with another birth, under the same name. */
    if (b_dir && a_dir)
        mark = b->dir.identity == a->dir.identity
                   ? SR_NO_MARK
                   : sr_set_mark(d->set, path, d->in_home, SR_MARK_ANEW);
    if (b_dir || a_dir)
        pair_push(d, b, a, steal_ptr(&path), mark);
}

static void pair_diff(struct diff *d, const struct pair *p)
{
    uint32_t b = p->before ? p->before->dir.first : 0,
             b_end = p->before ? b + p->before->dir.count : 0;
    uint32_t a = p->after ? p->after->dir.first : 0, a_end = p->after ? a + p->after->dir.count : 0;
    while (b < b_end || a < a_end) {
        int c = b == b_end ? 1
                : a == a_end
                    ? -1
                    : strcmp(sr_manifest_name(d->before, b), sr_manifest_name(d->after, a));
        entry_diff(d, c <= 0 ? &d->before->v[b] : NULL, c >= 0 ? &d->after->v[a] : NULL, p);
        b += c <= 0;
        a += c >= 0;
    }
}

static void root_diff(struct diff *d)
{
    struct sr_entry_state b = sr_manifest_state(&d->before->v[0]),
                          a = sr_manifest_state(&d->after->v[0]);
    if (!d->marks_only && b.mode != a.mode)
        sr_set_add(d->set, sr_strdup(""), d->in_home, &b, &a, NULL);
}

static void diff_run(struct diff *d)
{
    root_diff(d);
    pair_push(d, &d->before->v[0], &d->after->v[0], sr_strdup(""), SR_NO_MARK);
    while (d->n) {
        struct pair p = d->todo[--d->n];
        pair_diff(d, &p);
        free(p.path);
    }
    free(d->todo);
}

int sr_manifest_diff(const struct sr_manifest *before, const struct sr_manifest *after,
                     bool in_home, struct sr_changeset *ret, struct sr_error *err)
{
    struct diff d = { .before = before, .after = after, .in_home = in_home, .set = ret };
    (void)err; /* nothing here can fail: both trees were bounded when they were read */
    diff_run(&d);
    return 0;
}

int sr_tree_anew(const struct sr_manifest *fresh, int after_fd, struct sr_changeset *ret,
                 struct sr_error *err)
{
    struct sr_snapshot_options o = { .content = false, .index_dirfd = -1 };
    struct sr_manifest *after = NULL;
    if (sr_snapshot(after_fd, &o, &after, err) < 0)
        return -1;
    struct diff d = { .before = fresh, .after = after, .marks_only = true, .set = ret };
    diff_run(&d);
    sr_manifest_free(after);
    return 0;
}
