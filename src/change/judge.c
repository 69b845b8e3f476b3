/* SPDX-License-Identifier: MIT */
/* What happened to an environment: deleted, rebuilt, replaced, created, changed, or nothing worth
 * the name. */
#include "change/manifest.h"
#include "change/repairs.h"
#include "change/subtree.h"

#include "base/mem.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { IDENTITY_FILE_MAX = 64 * 1024 };

/* ---- how much there was ---- */

struct count {
    struct sr_view view;
    const struct sr_environment *row;
    size_t root_len;
    uint64_t n, limit;
};

static bool was_there(void *context, const char *path)
{
    return sr_view_before(context, path) != 0;
}

static void count_file(struct count *c, const char *path)
{
    const char *below = path + (c->root_len ? c->root_len + 1 : 0);
    if ((c->root_len || sr_environment_root_owns(c->row, below)) &&
        !sr_environment_harmless(c->row, below) &&
        !sr_bytecode_beside_source(path, was_there, &c->view))
        c->n++;
}

static void manifest_count(const struct sr_manifest *m, const struct sr_manifest_entry *dir,
                           struct sr_todo_item *at, struct sr_todo *todo, struct count *c)
{
    struct sr_error err = { 0 };
    for (uint32_t i = dir->dir.first; i < dir->dir.first + dir->dir.count; i++) {
        cleanup_free char *path = sr_walk_join(at->path, sr_manifest_name(m, i));
        if (!S_ISDIR(m->v[i].mode))
            count_file(c, path);
        else if (sr_todo_push(todo, steal_ptr(&path), NULL, 0, &err) < 0)
            return; /* deeper than a snapshot goes: cannot be in one */
    }
}

static void tree_count(int root_fd, const struct sr_todo_item *at, struct sr_todo *todo,
                       struct count *c)
{
    struct sr_error err = { 0 };
    cleanup_names struct sr_walk_names names = { 0 };
    cleanup_fd int fd = sr_walk_open(root_fd, at->path, false);
    if (fd < 0 || sr_walk_list(fd, at->path, &names, &err) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        struct stat st;
        const char *name = sr_walk_name(&names, i);
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        cleanup_free char *path = sr_walk_join(at->path, name);
        if (!S_ISDIR(st.st_mode))
            count_file(c, path);
        else if (sr_todo_push(todo, steal_ptr(&path), NULL, 0, &err) < 0)
            return;
    }
}

/* Files that were in it and are not harmless; stops at limit. Only asked about an environment that
 * lost or gained some. */
static uint64_t files_before(const struct sr_environment_seen *e,
                             const struct sr_classify_options *o, uint64_t limit)
{
    cleanup_todo struct sr_todo todo = { 0 };
    struct sr_error err = { 0 };
    struct count c = { { NULL, o, false }, e->before, strlen(e->path), 0, limit };
    if (e->in_home || sr_todo_push(&todo, sr_strdup(e->path), NULL, 0, &err) < 0)
        return 0;
    while (c.n < c.limit) {
        cleanup_todo_item struct sr_todo_item at = { 0 };
        if (!sr_todo_pop(&todo, &at))
            break;
        const struct sr_manifest_entry *dir =
            o->before ? sr_manifest_find(o->before, at.path) : NULL;
        if (dir && S_ISDIR(dir->mode))
            manifest_count(o->before, dir, &at, &todo, &c);
        else if (!o->before && o->tree_fd >= 0)
            tree_count(o->tree_fd, &at, &todo, &c);
    }
    return c.n;
}

/* ---- which one it is ---- */

/* The value of "key = value" or "key: value" in text; NULL: no such line. Caller frees. */
static char *line_value(const char *text, const char *key)
{
    size_t len = strlen(key);
    for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        const char *q = p + strspn(p, " \t\"");
        if (strncasecmp(q, key, len) != 0)
            continue;
        q += len;
        q += strspn(q, " \t\"");
        if (*q != '=' && *q != ':')
            continue;
        q += 1 + strspn(q + 1, " \t");
        size_t n = strcspn(q, "\r\n");
        while (n && strchr(" \t,", q[n - 1]))
            n--;
        return sr_strndup(q, n);
    }
    return NULL;
}

static bool keys_differ(const struct sr_environment *row, const char *before, const char *after)
{
    for (size_t i = 0; i < sizeof row->keys / sizeof *row->keys && row->keys[i]; i++) {
        cleanup_free char *b = line_value(before, row->keys[i]),
                          *a = line_value(after, row->keys[i]);
        if (b && a && strcmp(b, a) != 0)
            return true;
    }
    return false;
}

enum answer { NO, YES, UNKNOWN };

/* Does the file that says which environment this is say another one now? */
static enum answer identity_changed(const struct sr_environment_seen *e,
                                    const struct sr_changeset *set,
                                    const struct sr_classify_options *o)
{
    const struct sr_environment *row = e->before;
    cleanup_buf struct sr_buf before = SR_BUF(IDENTITY_FILE_MAX), after = SR_BUF(IDENTITY_FILE_MAX);
    struct sr_view v = { set, o, e->in_home };
    if (!row->identity)
        return NO;
    cleanup_free char *path = sr_walk_join(e->path, row->identity);
    const struct sr_change *c = sr_set_find(set, path, e->in_home);
    if (!c || (c->kind != SR_CHANGE_MODIFIED && c->kind != SR_CHANGE_TYPE))
        return NO;
    if (row->keys[0] == NULL)
        return YES;
    if (!sr_view_read(&v, path, false, IDENTITY_FILE_MAX, &before) ||
        !sr_view_read(&v, path, true, IDENTITY_FILE_MAX, &after))
        return UNKNOWN;
    return keys_differ(row, before.data ? before.data : "", after.data ? after.data : "") ? YES
                                                                                          : NO;
}

/* ---- the verdict on one ---- */

static bool strong(const struct sr_environment *row)
{
    return row && !row->weak;
}

static void judge_as(struct sr_environment_seen *e, enum sr_change_class cls)
{
    e->judged = true;
    e->cls = cls;
}

/* A build comes and goes in these; what counts is the loss of the whole, or that another machine's
 * stands there. */
static void judge_builds(struct sr_environment_seen *e)
{
    if (!e->before)
        return;
    if (e->retyped || e->moved || e->reidentified)
        judge_as(e, SR_CLASS_ENV_REPLACED);
    else if (e->gone)
        judge_as(e, SR_CLASS_ENV_DELETED);
}

static void judge_content(struct sr_environment_seen *e, const struct sr_classify_options *o)
{
    bool loss = e->solid_lost || e->anew || e->remade, gain = e->solid_added || e->remade;
    uint64_t total = loss ? files_before(e, o, UINT64_MAX) : 0;
    if (e->solid_lost && e->solid_lost >= total && !gain)
        judge_as(e, SR_CLASS_ENV_DELETED);
    else if (e->anew && (gain || total))
        judge_as(e, SR_CLASS_ENV_REBUILT);
    else if (e->solid_lost &&
             !strong(e->after)) /* what made it one is gone, whatever else is left */
        judge_as(e, SR_CLASS_ENV_DELETED);
    else if (loss && gain && (e->solid_lost + e->remade) * 2 >= total)
        judge_as(e, SR_CLASS_ENV_REBUILT);
    else if (!loss && gain && files_before(e, o, 1) == 0)
        judge_as(e, SR_CLASS_ENV_CREATED);
    else if (loss || gain || e->solid_modified || e->touched)
        judge_as(e, SR_CLASS_ENV_CHANGED);
}

/* Of a directory that is an environment by its packages alone: did none of these change? */
static bool unsigned_change(const struct sr_environment_seen *e)
{
    bool before = !strong(e->before) || e->before->by_sign;
    bool after = !strong(e->after) || e->after->by_sign;
    return before && after && !e->sign;
}

static void judge(struct sr_environment_seen *e, const struct sr_changeset *set,
                  const struct sr_classify_options *o)
{
    const struct sr_environment *row = strong(e->before) ? e->before : e->after;
    if (unsigned_change(e))
        return;
    if (!strong(e->before)) {
        /* Nothing stood here, or the ruins of one. A directory that holds but a tool's cache is no
         * environment. */
        if (strong(e->after) && !row->writes_are_builds && e->solid_added)
            judge_as(e, e->before && files_before(e, o, 1) ? SR_CLASS_ENV_REBUILT
                                                           : SR_CLASS_ENV_CREATED);
        return;
    }
    enum answer other = e->gone || e->retyped ? NO : identity_changed(e, set, o);
    e->reidentified = other == YES;
    if (row->writes_are_builds)
        judge_builds(e);
    else if (e->retyped || e->moved || (e->reidentified && strong(e->after)))
        judge_as(e, SR_CLASS_ENV_REPLACED);
    else if (e->gone)
        judge_as(e, SR_CLASS_ENV_DELETED);
    else
        judge_content(e, o);
    /* A manifest has digests only: the file differs, and when no rebuilding explains that, it is
     * another one. */
    if (other == UNKNOWN && e->judged && e->cls == SR_CLASS_ENV_CHANGED)
        e->cls = SR_CLASS_ENV_REPLACED;
}

void sr_environments_judge(struct sr_environments_seen *seen, const struct sr_changeset *set,
                           const struct sr_classify_options *o)
{
    for (size_t i = 0; i < seen->n; i++)
        judge(&seen->v[i], set, o);
}
