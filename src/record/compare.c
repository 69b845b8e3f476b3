/* SPDX-License-Identifier: MIT */
/* Two records, field by field. */
#include "sandrun/record.h"

#include "base/buf.h"
#include "sandrun/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 200, VALUE_MAX = 200 };

/*
 * What differs between two runs of the same thing, by its nature: clocks, ids, counters, and what carries them: output (test
 * runners print how long they took), the content of caches, git's objects (a commit carries the time, and its name follows). '*'
 * stands for one component.
 *   plan.observed.env, tree_uid, tree_gid: of the caller and the machine; what follows from them shows in the verdict.
 *   policy.request, paths of policy files: a repetition names the commit where the first run said HEAD; the digests count.
 *   tree.*.index: git rewrites its index when it looks; the commit counts.
 *   changes.list: compared below, as a set; position says nothing where a path carries a time.
 *   counts and times of a reached limit: the kernel's scheduling; which limits were reached counts.
 *   sentences of reason_detail, details of controls: the code beside them counts, and so does the command's own exit code, which
 *   the exit need not be.
 */
static const char *const ignored[] = {
    "id", "timing", "usage", "output", "cleanup", "attribution", "reason_detail.message", "reason_detail.end.detail",
    "plan.observed.env", "plan.observed.tree_uid", "plan.observed.tree_gid",
    "policy.request", "policy.edited", "policy.files.*.path", "policy.provenance.*.file",
    "tree.*.index", "tree.*.dev", "tree.*.ino", "tree.*.taken_ns",
    "enforced.reached.*.times", "enforced.reached.*.first_ns", "enforced.reached.*.last_ns",
    "enforced.controls.*.detail", "enforced.refusals.*.text", "enforced.refusals.*.line",
    "changes.list", "changes.listed", "changes.total", "changes.truncated", "changes.by_class.cache",
    "changes.by_class.git.objects", "changes.repairs.*.examples",
};

struct diff {
    struct sr_strv *lines;
    size_t dropped;
};

static bool matches(const char *pattern, const char *path)
{
    while (*pattern && *path) {
        if (*pattern == '*') {
            pattern++;
            path += strcspn(path, ".");
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && *path == '\0';
}

static bool is_ignored(const char *path)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (matches(ignored[i], path))
            return true;
    return false;
}

static char *value_text(const cJSON *v)
{
    if (!v)
        return sr_strdup("absent");
    cleanup_free char *text = cJSON_IsString(v) ? sr_strdup(v->valuestring) : sr_json_compact(v);
    return strlen(text) <= VALUE_MAX ? sr_strdup(text) : sr_asprintf("%.*s...", VALUE_MAX, text);
}

static void add_line(struct diff *d, const char *path, const char *before, const char *after)
{
    if (d->lines->n >= LINES_MAX)
        d->dropped++;
    else
        sr_strv_take(d->lines, sr_asprintf("%s: %s -> %s", path, before, after));
}

static void diff_values(struct diff *d, const char *path, const cJSON *a, const cJSON *b);

static char *below(const char *path, const char *key)
{
    return path[0] ? sr_asprintf("%s.%s", path, key) : sr_strdup(key);
}

static void diff_objects(struct diff *d, const char *path, const cJSON *a, const cJSON *b)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, a)
    {
        cleanup_free char *at = below(path, item->string);
        diff_values(d, at, item, sr_json_get(b, item->string));
    }
    cJSON_ArrayForEach(item, b)
        if (!sr_json_get(a, item->string)) {
            cleanup_free char *at = below(path, item->string);
            diff_values(d, at, NULL, item);
        }
}

static void diff_arrays(struct diff *d, const char *path, const cJSON *a, const cJSON *b)
{
    const cJSON *x = a->child, *y = b->child;
    for (size_t i = 0; x || y; i++) {
        cleanup_free char *at = sr_asprintf("%s.%zu", path, i);
        diff_values(d, at, x, y);
        x = x ? x->next : NULL;
        y = y ? y->next : NULL;
    }
}

static void diff_values(struct diff *d, const char *path, const cJSON *a, const cJSON *b)
{
    if (is_ignored(path))
        return;
    if (cJSON_IsObject(a) && cJSON_IsObject(b)) {
        diff_objects(d, path, a, b);
    } else if (cJSON_IsArray(a) && cJSON_IsArray(b)) {
        diff_arrays(d, path, a, b);
    } else if (!a || !b || !cJSON_Compare(a, b, 1)) {
        cleanup_free char *before = value_text(a), *after = value_text(b);
        add_line(d, path, before, after);
    }
}

/* ---- the change set: by what happened to which path; content is compared by the verdict and the repairs ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *text_of(const cJSON *entry, const char *key)
{
    const char *s = sr_json_string(entry, key);
    return s ? s : "?";
}

/* What is in them carries the time: caches, and objects of git, which are named after a content that may be a commit's. */
static bool names_vary(const char *cls)
{
    return strcmp(cls, sr_change_class_name(SR_CLASS_CACHE)) == 0 || strcmp(cls, sr_change_class_name(SR_CLASS_GIT_OBJECTS)) == 0;
}

/* "PATH (in the home)\tkind, class", sorted. */
static struct sr_strv entries(const cJSON *record)
{
    struct sr_strv v = { 0 };
    const cJSON *e;
    cJSON_ArrayForEach(e, sr_json_get(sr_json_get(record, "changes"), "list"))
        if (!names_vary(text_of(e, "class")))
            sr_strv_take(&v, sr_asprintf("%s%s\t%s, %s", text_of(e, "path"),
                                         strcmp(text_of(e, "where"), "home") == 0 ? " (in the home)" : "", text_of(e, "kind"),
                                         text_of(e, "class")));
    if (v.n)
        qsort(v.v, v.n, sizeof *v.v, by_text);
    return v;
}

static void one_sided(struct diff *d, const char *entry, bool was_before)
{
    size_t len = strcspn(entry, "\t");
    cleanup_free char *path = sr_asprintf("changes %.*s", (int)len, entry);
    const char *what = entry + len + 1;
    add_line(d, path, was_before ? what : "unchanged", was_before ? "unchanged" : what);
}

static void diff_entries(struct diff *d, const cJSON *before, const cJSON *after)
{
    cleanup_strv struct sr_strv a = entries(before), b = entries(after);
    for (size_t i = 0, j = 0; i < a.n || j < b.n;) {
        int order = i == a.n ? 1 : j == b.n ? -1 : strcmp(a.v[i], b.v[j]);
        if (order < 0)
            one_sided(d, a.v[i], true);
        else if (order > 0)
            one_sided(d, b.v[j], false);
        i += order <= 0;
        j += order >= 0;
    }
}

int sr_record_compare(const cJSON *before, const cJSON *after, struct sr_strv *ret_lines, struct sr_error *err)
{
    struct sr_strv lines = { 0 };
    struct diff d = { .lines = &lines };
    if (!cJSON_IsObject(before) || !cJSON_IsObject(after))
        return sr_error_set(err, "record.invalid.type", "comparing two records: one of them is not a JSON object");
    diff_values(&d, "", before, after);
    diff_entries(&d, before, after);
    if (d.dropped)
        sr_strv_take(&lines, sr_asprintf("and %zu more differences", d.dropped));
    *ret_lines = lines;
    return 0;
}
