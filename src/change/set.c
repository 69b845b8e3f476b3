/* SPDX-License-Identifier: MIT */
/* Change sets: filling, ordering, freeing. */
#include "change/set.h"

#include "base/mem.h"
#include "change/environments.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const kind_names[SR_CHANGE_KIND_COUNT] = {
    [SR_CHANGE_ADDED] = "added", [SR_CHANGE_DELETED] = "deleted", [SR_CHANGE_MODIFIED] = "modified",
    [SR_CHANGE_MODE] = "mode",   [SR_CHANGE_TYPE] = "type",
};

static const char *const class_names[SR_CLASS_COUNT] = {
    [SR_CLASS_ENV_DELETED] = "env.deleted",
    [SR_CLASS_ENV_REBUILT] = "env.rebuilt",
    [SR_CLASS_ENV_REPLACED] = "env.replaced",
    [SR_CLASS_ENV_CREATED] = "env.created",
    [SR_CLASS_ENV_CHANGED] = "env.changed",
    [SR_CLASS_GIT_HOOKS] = "git.hooks",
    [SR_CLASS_GIT_CONFIG] = "git.config",
    [SR_CLASS_GIT_REFS] = "git.refs",
    [SR_CLASS_GIT_INDEX] = "git.index",
    [SR_CLASS_GIT_OBJECTS] = "git.objects",
    [SR_CLASS_GIT_INTERNAL] = "git.internal",
    [SR_CLASS_DEFERRED] = "deferred",
    [SR_CLASS_ESCAPE] = "escape",
    [SR_CLASS_SOURCE_TRACKED] = "source.tracked",
    [SR_CLASS_SOURCE_UNTRACKED] = "source.untracked",
    [SR_CLASS_CACHE] = "cache",
};

const char *sr_change_kind_name(enum sr_change_kind k)
{
    return kind_names[k];
}

const char *sr_change_class_name(enum sr_change_class c)
{
    return class_names[c];
}

static enum sr_change_kind kind_of(const struct sr_entry_state *before,
                                   const struct sr_entry_state *after)
{
    if (!before)
        return SR_CHANGE_ADDED;
    if (!after)
        return SR_CHANGE_DELETED;
    if ((before->mode & S_IFMT) != (after->mode & S_IFMT))
        return SR_CHANGE_TYPE;
    bool same = before->size == after->size && before->has_digest == after->has_digest &&
                memcmp(before->digest, after->digest, SR_SHA256_SIZE) == 0;
    return same && before->mode != after->mode ? SR_CHANGE_MODE : SR_CHANGE_MODIFIED;
}

/* Room for one more of n, with so many bytes of text. What may lie in an environment has a reserve,
 * so that a flood of other changes does not hide what became of it. */
static bool room(struct sr_changeset *set, size_t n, size_t max, const char *path, size_t bytes)
{
    bool fits = n < max && bytes <= SR_SET_BYTES_MAX && set->bytes <= SR_SET_BYTES_MAX - bytes;
    if (!fits && n < max + SR_CHANGES_RESERVE && bytes <= SR_SET_BYTES_RESERVE &&
        set->bytes <= SR_SET_BYTES_MAX + SR_SET_BYTES_RESERVE - bytes)
        fits = sr_environment_named(path);
    if (fits)
        set->bytes += bytes;
    else
        set->overflow = true;
    return fits;
}

void sr_set_add(struct sr_changeset *set, char *path, bool in_home,
                const struct sr_entry_state *before, const struct sr_entry_state *after,
                char *target)
{
    enum sr_change_kind kind = kind_of(before, after);
    set->total++;
    size_t bytes = strlen(path) + 1 + (target ? strlen(target) + 1 : 0);
    if (!room(set, set->n, SR_CHANGES_MAX, path, bytes)) {
        free(path);
        free(target);
        return;
    }
    SR_GROW(set->v, set->n, set->cap);
    struct sr_change *c = &set->v[set->n++];
    *c = (struct sr_change){ .path = path, .in_home = in_home, .kind = kind, .target = target };
    if (before)
        c->before = *before;
    if (after)
        c->after = *after;
    c->cls = SR_CLASS_SOURCE_UNTRACKED;
}

void sr_set_take(struct sr_changeset *set, const struct sr_change *change)
{
    size_t bytes = strlen(change->path) + 1 + (change->target ? strlen(change->target) + 1 : 0);
    set->total++;
    if (!room(set, set->n, SR_CHANGES_MAX, change->path, bytes)) {
        free(change->path);
        free(change->target);
        return;
    }
    SR_GROW(set->v, set->n, set->cap);
    set->v[set->n++] = *change;
    set->by_class[change->cls]++;
}

size_t sr_set_mark(struct sr_changeset *set, const char *path, bool in_home, enum sr_mark_kind kind)
{
    if (!room(set, set->n_marks, SR_MARKS_MAX, path, strlen(path) + 1))
        return SR_NO_MARK;
    SR_GROW(set->marks, set->n_marks, set->cap_marks);
    set->marks[set->n_marks] =
        (struct sr_change_mark){ .path = sr_strdup(path), .in_home = in_home, .kind = kind };
    return set->n_marks++;
}

void sr_set_same(struct sr_changeset *set, size_t mark)
{
    if (mark < set->n_marks)
        set->marks[mark].same++;
}

int sr_path_compare(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned x = *a == '/' ? 1u : *a ? (unsigned char)*a + 2u : 0;
    unsigned y = *b == '/' ? 1u : *b ? (unsigned char)*b + 2u : 0;
    return x < y ? -1 : x > y;
}

static int compare_paths(const void *a, const void *b)
{
    const struct sr_change *x = a, *y = b;
    if (x->in_home != y->in_home)
        return x->in_home ? 1 : -1;
    int c = sr_path_compare(x->path, y->path);
    /* A deletion stands before the addition it is joined with. */
    return c ? c : (x->kind != SR_CHANGE_DELETED) - (y->kind != SR_CHANGE_DELETED);
}

static int compare_bytes(const void *a, const void *b)
{
    const struct sr_change *x = a, *y = b;
    if (x->in_home != y->in_home)
        return x->in_home ? 1 : -1;
    return strcmp(x->path, y->path);
}

static void change_clear(struct sr_change *c)
{
    free(c->path);
    free(c->target);
}

/* False when the two say that nothing changed, which is so for a directory that left and came back.
 */
static bool join(struct sr_change *gone, struct sr_change *came)
{
    if (S_ISDIR(gone->before.mode) && gone->before.mode == came->after.mode)
        return false;
    gone->after = came->after;
    gone->kind = kind_of(&gone->before, &gone->after);
    free(gone->target);
    gone->target = steal_ptr(&came->target);
    return true;
}

void sr_set_sort_paths(struct sr_changeset *set)
{
    size_t out = 0;
    if (set->n)
        qsort(set->v, set->n, sizeof *set->v, compare_paths);
    for (size_t i = 0; i < set->n; i++) {
        struct sr_change *c = &set->v[i], *last = out ? &set->v[out - 1] : NULL;
        bool pair = last && last->in_home == c->in_home && strcmp(last->path, c->path) == 0 &&
                    last->kind == SR_CHANGE_DELETED && c->kind == SR_CHANGE_ADDED;
        if (!pair) {
            set->v[out++] = *c;
            continue;
        }
        set->total--;
        if (!join(last, c)) {
            change_clear(last);
            out--;
            set->total--;
        }
        change_clear(c);
    }
    set->n = out;
}

void sr_set_sort_bytes(struct sr_changeset *set)
{
    if (set->n)
        qsort(set->v, set->n, sizeof *set->v, compare_bytes);
}

const struct sr_change *sr_set_find(const struct sr_changeset *set, const char *path, bool in_home)
{
    size_t lo = 0, hi = set->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct sr_change *c = &set->v[mid];
        int d = in_home != c->in_home ? (in_home ? 1 : -1) : sr_path_compare(path, c->path);
        if (d == 0)
            return c;
        if (d < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

void sr_changeset_clear(struct sr_changeset *set)
{
    for (size_t i = 0; i < set->n; i++)
        change_clear(&set->v[i]);
    for (size_t i = 0; i < set->n_repairs; i++) {
        free(set->repairs[i].path);
        sr_strv_clear(&set->repairs[i].examples);
    }
    for (size_t i = 0; i < set->n_marks; i++)
        free(set->marks[i].path);
    free(set->v);
    free(set->repairs);
    free(set->marks);
    *set = (struct sr_changeset){ 0 };
}
