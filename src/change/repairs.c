/* SPDX-License-Identifier: MIT */
/* Finds the environments that changes lie in, and counts what happened in each. */
#include "change/installed.h"
#include "change/repairs.h"

#include "base/mem.h"
#include "change/git_class.h"
#include "sandrun/git.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXAMPLES_MAX = 8 };

/* Changes and marks in one order, so that a directory's mark comes before what is below it.
 */
enum item_kind { ITEM_MARK, ITEM_CHANGE };
struct item {
    const char *path;
    bool in_home;
    enum item_kind kind;
    size_t at;
};

/* What is known of each leading part of the last path: neighbours in the order share most of them.
 */
struct level {
    size_t len;
    int32_t environment;
    bool closed; /* an environment: what is below belongs to it, whatever it looks like */
};

struct finder {
    const struct sr_changeset *set;
    struct sr_environments_seen *seen;
    struct sr_view view;
    struct sr_installed installed;
    const char *last;
    struct level *levels;
    size_t n, cap;
    const char *anew; /* directory made anew, of the environment at hand */
};

static int item_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->in_home != y->in_home)
        return x->in_home ? 1 : -1;
    int c = sr_path_compare(x->path, y->path);
    return c ? c : (int)x->kind - (int)y->kind;
}

static bool was_there(void *context, const char *path)
{
    return sr_view_before(context, path) != 0;
}

static bool is_there(void *context, const char *path)
{
    return sr_view_after(context, path) != 0;
}

static const struct sr_environment *row_of(const struct sr_environment_seen *e)
{
    return e->before && !e->before->weak ? e->before : e->after ? e->after : e->before;
}

/* What is left of path below the environment; NULL when it is not part of it after all. */
static const char *below_of(const struct sr_environment_seen *e, const char *path)
{
    size_t len = strlen(e->path);
    if (len == 0)
        return sr_environment_root_owns(row_of(e), path) ? path : NULL;
    return path[len] ? path + len + 1 : "";
}

static bool below_harmless(const struct sr_environment_seen *e, const char *path)
{
    const char *below = below_of(e, path);
    return below && *below && sr_environment_harmless(row_of(e), below);
}

/* What the directory dir was and is. */
static void rows_find(struct finder *f, const char *dir, const struct sr_environment **before,
                      const struct sr_environment **after)
{
    bool root = *dir == '\0';
    mode_t was = sr_view_before(&f->view, dir);
    if (S_ISDIR(was) || root) {
        *before = sr_environment_match(dir, f->view.in_home, was_there, &f->view);
        if (!*before)
            *before = sr_installed_before(&f->view, dir);
    } else if (S_ISLNK(was)) {
        *before = sr_environment_link(dir);
    }
    if (S_ISDIR(sr_view_after(&f->view, dir)) || root) {
        *after = sr_environment_match(dir, f->view.in_home, is_there, &f->view);
        if (!*after)
            *after = sr_installed_after(&f->installed, &f->view, dir);
    }
}

/* A branch may be called "node_modules", and its reference is no environment. */
static bool is_reference(const char *dir)
{
    const char *below = sr_git_below(dir);
    enum sr_change_class cls = below ? sr_git_class_below(below) : SR_CLASS_GIT_INTERNAL;
    return cls == SR_CLASS_GIT_REFS || cls == SR_CLASS_GIT_OBJECTS;
}

/* The environment at path, a directory at least on one side; else that of the directory above. */
static struct level level_find(struct finder *f, const char *path, size_t len,
                               const struct level *above)
{
    struct level l = { len, above ? above->environment : SR_NO_ENVIRONMENT,
                       above && above->closed };
    cleanup_free char *dir = sr_strndup(path, len);
    if (is_reference(dir))
        return l;
    /* what is harmless in an environment is no part of it: another may have been made there */
    if (l.closed && !below_harmless(&f->seen->v[l.environment], dir))
        return l;
    const struct sr_environment *before = NULL, *after = NULL;
    rows_find(f, dir, &before, &after);
    if (!before && !after)
        return l;
    SR_GROW(f->seen->v, f->seen->n, f->seen->cap);
    l.environment = (int32_t)f->seen->n;
    f->seen->v[f->seen->n++] = (struct sr_environment_seen){
        .path = steal_ptr(&dir),
        .in_home = f->view.in_home,
        .before = before,
        .after = after,
    };
    const struct sr_environment *row = before && !before->weak ? before : after ? after : before;
    /* Beside builds, and beside a tree that is an environment itself, another environment may lie
     * within. */
    l.closed = !row->writes_are_builds && !row->weak && !row->by_sign && len > 0;
    f->anew = NULL;
    return l;
}

/* How many bytes of leading whole components the two share. */
static size_t shared_len(const char *a, const char *b)
{
    size_t whole = 0, i = 0;
    for (; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/')
            whole = i;
    bool a_end = a[i] == '\0' || a[i] == '/', b_end = b[i] == '\0' || b[i] == '/';
    return a_end && b_end ? i : whole;
}

static int32_t locate(struct finder *f, const struct item *item, bool directory)
{
    size_t keep = 0, shared = f->last && f->view.in_home == item->in_home
                                  ? shared_len(f->last, item->path)
                                  : 0;
    if (f->n && f->view.in_home == item->in_home)
        while (keep < f->n && (f->levels[keep].len == 0 || f->levels[keep].len <= shared))
            keep++;
    f->view.in_home = item->in_home;
    f->last = item->path;
    f->n = keep;
    size_t total = strlen(item->path), len = f->n ? f->levels[f->n - 1].len : 0;
    if (f->n == 0) {
        SR_GROW(f->levels, f->n, f->cap);
        struct level root = level_find(f, item->path, 0, NULL);
        f->levels[f->n++] = root;
    }
    while (len < total) {
        size_t start = len ? len + 1 : 0;
        len = start + strcspn(item->path + start, "/");
        if (len == total && !directory)
            break;
        SR_GROW(f->levels, f->n, f->cap);
        struct level l = level_find(f, item->path, len, &f->levels[f->n - 1]);
        f->levels[f->n++] = l;
    }
    return f->levels[f->n - 1].environment;
}

static void example_add(struct sr_strv *v, const char *path)
{
    if (v->n < EXAMPLES_MAX)
        sr_strv_add(v, path);
}

static void root_count(struct sr_environment_seen *e, const struct sr_change *c)
{
    bool was = S_ISDIR(c->before.mode), is = S_ISDIR(c->after.mode);
    bool linked = S_ISLNK(c->before.mode) && e->before;
    e->gone |= (was || linked) && c->after.mode == 0;
    /* a link that leads elsewhere is another environment */
    e->retyped |= c->after.mode != 0 && ((was && !is) || linked);
    e->touched |= c->kind == SR_CHANGE_MODE;
    if (linked && c->after.mode == 0) {
        e->lost++;
        example_add(&e->lost_paths, c->path);
    } else if (linked) {
        e->modified++;
    }
}

static bool under(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static void file_count(struct finder *f, struct sr_environment_seen *e, const struct sr_change *c,
                       bool harmless)
{
    mode_t mode = c->before.mode ? c->before.mode : c->after.mode;
    if (S_ISDIR(mode) && (c->after.mode == 0 || S_ISDIR(c->after.mode))) {
        e->touched |= !harmless;
        return;
    }
    if (c->kind == SR_CHANGE_DELETED) {
        e->lost++;
        e->solid_lost += !harmless;
        example_add(&e->lost_paths, c->path);
    } else if (c->kind == SR_CHANGE_ADDED) {
        e->added++;
        e->solid_added += !harmless;
        example_add(&e->added_paths, c->path);
    } else {
        e->modified++;
        e->solid_modified += !harmless;
        e->remade += !harmless && f->anew && under(c->path, f->anew);
    }
}

static struct sr_owner change_count(struct finder *f, const struct item *item)
{
    const struct sr_change *c = &f->set->v[item->at];
    bool directory = S_ISDIR(c->before.mode) || S_ISDIR(c->after.mode) ||
                     (S_ISLNK(c->before.mode) && sr_environment_link(c->path));
    struct sr_owner owner = { locate(f, item, directory), false };
    if (owner.environment < 0)
        return owner;
    struct sr_environment_seen *e = &f->seen->v[owner.environment];
    const char *below = below_of(e, c->path);
    if (!below)
        return (struct sr_owner){ SR_NO_ENVIRONMENT, false };
    if (*below == '\0') {
        root_count(e, c);
        return owner;
    }
    e->sign |= sr_environment_signed(below);
    owner.harmless = sr_environment_harmless(row_of(e), below) ||
                     sr_bytecode_beside_source(c->path, was_there, &f->view) ||
                     sr_bytecode_beside_source(c->path, is_there, &f->view);
    file_count(f, e, c, owner.harmless);
    return owner;
}

static void mark_count(struct finder *f, const struct item *item)
{
    const struct sr_change_mark *m = &f->set->marks[item->at];
    int32_t at = locate(f, item, true);
    struct sr_environment_seen *e = at < 0 ? NULL : &f->seen->v[at];
    const char *below = e ? below_of(e, m->path) : NULL;
    if (!below)
        return;
    if (*below == '\0') {
        e->gone |= m->kind == SR_MARK_GONE && sr_view_after(&f->view, m->path) == 0;
        e->anew |= m->kind == SR_MARK_ANEW;
        e->moved |= m->kind == SR_MARK_MOVED;
    }
    if (m->kind != SR_MARK_ANEW || sr_environment_harmless(row_of(e), *below ? below : "x"))
        return;
    e->sign |= *below == '\0' || sr_environment_signed(below);
    e->remade += m->same;
    e->touched = true;
    if (!f->anew || !under(m->path, f->anew))
        f->anew = m->path;
}

static struct item *items_make(const struct sr_changeset *set, size_t *ret_n)
{
    struct item *v = sr_calloc(set->n + set->n_marks, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++)
        v[n++] = (struct item){ set->v[i].path, set->v[i].in_home, ITEM_CHANGE, i };
    for (size_t i = 0; i < set->n_marks; i++)
        v[n++] = (struct item){ set->marks[i].path, set->marks[i].in_home, ITEM_MARK, i };
    if (n)
        qsort(v, n, sizeof *v, item_compare);
    *ret_n = n;
    return v;
}

void sr_environments_find(const struct sr_changeset *set, const struct sr_classify_options *o,
                          struct sr_environments_seen *ret)
{
    size_t n;
    cleanup_free struct item *items = items_make(set, &n);
    struct finder f = { .set = set, .seen = ret, .view = { set, o, false } };
    sr_installed_find(set, &f.installed);
    ret->change_owner = sr_calloc(set->n, sizeof *ret->change_owner);
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind == ITEM_CHANGE)
            ret->change_owner[items[i].at] = change_count(&f, &items[i]);
        else
            mark_count(&f, &items[i]);
    }
    free(f.levels);
    sr_installed_clear(&f.installed);
}

void sr_environments_seen_clear(struct sr_environments_seen *seen)
{
    for (size_t i = 0; i < seen->n; i++) {
        free(seen->v[i].path);
        sr_strv_clear(&seen->v[i].lost_paths);
        sr_strv_clear(&seen->v[i].added_paths);
    }
    free(seen->v);
    free(seen->change_owner);
    *seen = (struct sr_environments_seen){ 0 };
}
