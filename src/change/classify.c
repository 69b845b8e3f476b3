/* SPDX-License-Identifier: MIT */
/* Gives every change its class, and tells the repairs. */
#include "change/git_class.h"
#include "change/patterns.h"
#include "change/repairs.h"
#include "change/view.h"
#include "change/walk.h"
#include "sandrun/git.h"

#include "base/fs.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct classifier {
    struct sr_changeset *set;
    const struct sr_classify_options *o;
    struct sr_environments_seen seen;
    struct sr_git *git; /* opened when the first path has to be asked about */
    bool git_tried;
};

/* ---- tracked or not ---- */

/* A repository that cannot be read must not turn a run into "nothing is known": the paths count as
 * untracked, and the change set says that and why. */
static void tracking_failed(struct classifier *c, const struct sr_error *err)
{
    if (strcmp(err->code, "git.none") != 0)
        snprintf(c->set->tracking, sizeof c->set->tracking, "%s", err->code);
    sr_git_close(c->git);
    c->git = NULL;
}

static bool tracked(struct classifier *c, const char *path)
{
    struct sr_error err = { 0 };
    bool yes = false;
    if (!c->git_tried && c->o->tree) {
        c->git_tried = true;
        if (sr_git_open(c->o->tree, &c->git, &err) < 0)
            tracking_failed(c, &err);
    }
    if (!c->git)
        return false;
    if (sr_git_tracked(c->git, path, &yes, &err) < 0) {
        tracking_failed(c, &err);
        return false;
    }
    return yes;
}

/* ---- links that leave ---- */

/* Walks target from the link's directory by words alone; a ".." after a link may lead anywhere, so
 * that counts as leaving. */
static bool relative_leaves(const struct sr_view *v, const char *path, const char *target)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *at = sr_strndup(path, slash ? (size_t)(slash - path) : 0);
    for (const char *p = target; *p;) {
        size_t len = strcspn(p, "/");
        if (len == 2 && p[0] == '.' && p[1] == '.') {
            if (*at == '\0' || S_ISLNK(sr_view_after(v, at)))
                return true;
            char *up = strrchr(at, '/');
            at[up ? up - at : 0] = '\0';
        } else if (len && !(len == 1 && p[0] == '.')) {
            cleanup_free char *word = sr_strndup(p, len);
            char *next = sr_walk_join(at, word);
            free(at);
            at = next;
        }
        p += len;
        p += *p == '/';
    }
    return false;
}

static bool absolute_leaves(const struct classifier *c, const char *target)
{
    cleanup_free char *clean = sr_path_clean(target);
    return !clean || !c->o->tree || !sr_path_below(clean, c->o->tree);
}

static bool leaves(const struct classifier *c, const struct sr_change *change, const char *target)
{
    struct sr_view v = { c->set, c->o, false };
    return target[0] == '/' ? absolute_leaves(c, target)
                            : relative_leaves(&v, change->path, target);
}

/* Manifests keep a link's digest only; its text is still where it was made. */
static bool escapes(const struct classifier *c, struct sr_change *change)
{
    if (!S_ISLNK(change->after.mode) || change->in_home)
        return false;
    if (!change->target && c->o->after_fd >= 0) {
        const char *slash = strrchr(change->path, '/');
        cleanup_free char *dir =
            sr_strndup(change->path, slash ? (size_t)(slash - change->path) : 0);
        cleanup_fd int fd = sr_walk_open(c->o->after_fd, dir, false);
        change->target = fd < 0 ? NULL : sr_walk_link(fd, slash ? slash + 1 : change->path);
    }
    return !change->target || leaves(c, change, change->target);
}

/* ---- one change ---- */

static bool was_there(void *context, const char *path)
{
    return sr_view_before(context, path) != 0;
}

static bool is_there(void *context, const char *path)
{
    return sr_view_after(context, path) != 0;
}

static bool bytecode(const struct classifier *c, const struct sr_change *change)
{
    struct sr_view v = { c->set, c->o, change->in_home };
    return sr_bytecode_beside_source(change->path, was_there, &v) ||
           sr_bytecode_beside_source(change->path, is_there, &v);
}

static enum sr_change_class plain_class(struct classifier *c, struct sr_change *change)
{
    if (change->in_home)
        return sr_path_cache(change->path, true) || bytecode(c, change) ? SR_CLASS_CACHE
                                                                        : SR_CLASS_SOURCE_UNTRACKED;
    struct sr_view v = { c->set, c->o, false };
    enum sr_change_class git;
    if (sr_git_class(change, &git))
        return git == SR_CLASS_GIT_INDEX && sr_git_refreshed(&v, change) ? SR_CLASS_CACHE : git;
    if (sr_path_deferred(change->path))
        return SR_CLASS_DEFERRED;
    if (escapes(c, change))
        return SR_CLASS_ESCAPE;
    /* Before git is asked: nearly every run of a test suite writes these, and reading the index is
     * the dearest step. */
    if (sr_path_cache(change->path, false) || bytecode(c, change))
        return SR_CLASS_CACHE;
    return tracked(c, change->path) ? SR_CLASS_SOURCE_TRACKED : SR_CLASS_SOURCE_UNTRACKED;
}

/* The environment's class, if it has one to give. */
static bool owner_class(const struct classifier *c, const struct sr_owner *owner,
                        enum sr_change_class *ret)
{
    if (owner->environment == SR_NO_ENVIRONMENT)
        return false;
    const struct sr_environment_seen *e = &c->seen.v[owner->environment];
    const struct sr_environment *row = e->before && !e->before->weak ? e->before : e->after;
    bool whole = e->judged && e->cls != SR_CLASS_ENV_CHANGED;
    bool cache = row && !row->weak && (row->writes_are_builds || owner->harmless);
    if (!whole && cache)
        *ret = SR_CLASS_CACHE;
    else if (e->judged)
        *ret = e->cls;
    else
        return false;
    return true;
}

static void classes_set(struct classifier *c)
{
    memset(c->set->by_class, 0, sizeof c->set->by_class);
    for (size_t i = 0; i < c->set->n; i++) {
        struct sr_change *change = &c->set->v[i];
        if (!owner_class(c, &c->seen.change_owner[i], &change->cls))
            change->cls = plain_class(c, change);
        c->set->by_class[change->cls]++;
    }
}

/* ---- the repairs ---- */

static void repair_tell(struct sr_repair *r, struct sr_environment_seen *e)
{
    const struct sr_environment *row = e->before && !e->before->weak ? e->before : e->after;
    bool changed = e->cls == SR_CLASS_ENV_CHANGED;
    *r = (struct sr_repair){
        .cls = e->cls,
        .path = sr_strdup(*e->path ? e->path : "."),
        .in_home = e->in_home,
        .ecosystem = row->kind,
        .lost = changed ? e->solid_lost : e->lost,
        .added = changed ? e->solid_added : e->added,
        .modified = changed ? e->solid_modified : e->modified,
    };
    sr_strv_copy(&r->examples, e->lost_paths.n ? &e->lost_paths : &e->added_paths);
}

static int repair_compare(const void *a, const void *b)
{
    const struct sr_repair *x = a, *y = b;
    if (x->in_home != y->in_home)
        return x->in_home ? 1 : -1;
    return strcmp(x->path, y->path);
}

static void repairs_tell(struct classifier *c)
{
    size_t cap = 0;
    for (size_t i = 0; i < c->seen.n; i++) {
        if (!c->seen.v[i].judged)
            continue;
        if (c->set->n_repairs == SR_REPAIRS_MAX) {
            c->set->overflow = true;
            break;
        }
        SR_GROW(c->set->repairs, c->set->n_repairs, cap);
        repair_tell(&c->set->repairs[c->set->n_repairs++], &c->seen.v[i]);
    }
    if (c->set->n_repairs)
        qsort(c->set->repairs, c->set->n_repairs, sizeof *c->set->repairs, repair_compare);
}

/* Empty while paths are looked up by what leads to them; nobody is shown an empty path. */
static void root_name(struct sr_changeset *set)
{
    if (set->n && set->v[0].path[0] == '\0') {
        free(set->v[0].path);
        set->v[0].path = sr_strdup(".");
    }
}

int sr_changes_classify(struct sr_changeset *set, const struct sr_classify_options *o,
                        struct sr_error *err)
{
    struct classifier c = { .set = set, .o = o };
    if (set->n_repairs)
        return sr_error_set(err, "internal.twice", "a change set was classified twice");
    if (set->n == 0 && set->n_marks == 0)
        return 0;
    sr_set_sort_paths(set);
    sr_environments_find(set, o, &c.seen);
    sr_environments_judge(&c.seen, set, o);
    classes_set(&c);
    repairs_tell(&c);
    sr_environments_seen_clear(&c.seen);
    sr_git_close(c.git);
    root_name(set);
    sr_set_sort_bytes(set);
    return 0;
}
