/* SPDX-License-Identifier: MIT */
/* Lists: the command, paths beneath the tree, mounts. */
#include "base/fs.h"
#include "base/mem.h"
#include "policy/fields.h"

#include <stdlib.h>
#include <string.h>

/* Also bounds what is quadratic below: looking each item up among the others. */
static int want_array(struct sr_policy_reader *r, const cJSON *item)
{
    enum { ITEMS_MAX = 1024 };
    if (!cJSON_IsArray(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "a list is expected");
    if (cJSON_GetArraySize(item) > ITEMS_MAX)
        return sr_policy_refuse(r, item, "policy.invalid.range", "more than %d items", ITEMS_MAX);
    return 0;
}

static int command_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                         const cJSON *item, struct sr_binding *b)
{
    (void)f;
    if (!cJSON_IsArray(item)) {
        sr_policy_refuse(r, item, "policy.invalid.type",
                         "a list of words is expected; no shell splits a string");
        return sr_error_hint(
            r->err, "[\"make\", \"test\"], or [\"sh\", \"-c\", \"...\"] when a shell is meant");
    }
    sr_strv_clear(&b->command);
    for (const cJSON *m = item->child; m; m = m->next) {
        const char *s = sr_policy_read_string(r, m);
        if (!s)
            return -1;
        sr_strv_add(&b->command, s);
    }
    if (b->command.n == 0 || b->command.v[0][0] == '\0')
        return sr_policy_refuse(r, item, "policy.invalid.missing", "the command names no program");
    return 0;
}

static void command_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                          const struct sr_binding *src)
{
    (void)f;
    sr_strv_copy(&dst->command, &src->command);
}

static bool strv_equal(const struct sr_strv *a, const struct sr_strv *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->v[i], b->v[i]) != 0)
            return false;
    return true;
}

static bool command_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                             const struct sr_binding *above)
{
    (void)f;
    return strv_equal(&below->command, &above->command);
}

const struct sr_policy_type sr_type_command = { command_parse, command_merge, command_tightens };

static struct sr_strv *paths(const struct sr_policy_field *f, struct sr_binding *b)
{
    return (struct sr_strv *)(void *)((char *)b + f->offset);
}

static const struct sr_strv *paths_of(const struct sr_policy_field *f, const struct sr_binding *b)
{
    return (const struct sr_strv *)(const void *)((const char *)b + f->offset);
}

static int path_check(struct sr_policy_reader *r, const cJSON *item)
{
    const char *s = sr_policy_read_string(r, item), *code = "policy.invalid.path";
    if (!s)
        return -1;
    if (strpbrk(s, "*?["))
        return sr_policy_refuse(r, item, code, "\"%s\": patterns are not supported, name the path",
                                s);
    cleanup_free char *clean = s[0] && s[0] != '/' ? sr_path_clean(s) : NULL;
    if (!clean || clean[0] == '\0' || strcmp(clean, ".") == 0)
        return sr_policy_refuse(r, item, code, "\"%s\" is not a path beneath the tree", s);
    if (strcmp(clean, s) != 0) {
        sr_policy_refuse(r, item, code, "\"%s\" is not in its plain spelling", s);
        return sr_error_hint(r->err, "write \"%s\"", clean);
    }
    return 0;
}

static int paths_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                       const cJSON *item, struct sr_binding *b)
{
    if (want_array(r, item) < 0)
        return -1;
    for (const cJSON *m = item->child; m; m = m->next) {
        if (path_check(r, m) < 0)
            return -1;
        if (!sr_strv_has(paths(f, b), m->valuestring))
            sr_strv_add(paths(f, b), m->valuestring);
    }
    return 0;
}

static void paths_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                        const struct sr_binding *src)
{
    const struct sr_strv *from = paths_of(f, src);
    struct sr_strv *to = paths(f, dst);
    if (f->merge == SR_MERGE_REPLACE)
        sr_strv_clear(to);
    for (size_t i = 0; i < from->n; i++)
        if (!sr_strv_has(to, from->v[i]))
            sr_strv_add(to, from->v[i]);
}

/* tree.keep lets paths through, so fewer is tighter; tree.protect only grows. */
static bool paths_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                           const struct sr_binding *above)
{
    if (f->merge == SR_MERGE_REPLACE)
        return sr_strv_within(paths_of(f, above), paths_of(f, below));
    return sr_strv_within(paths_of(f, below), paths_of(f, above));
}

const struct sr_policy_type sr_type_paths = { paths_parse, paths_merge, paths_tightens };

static int mount_source(struct sr_policy_reader *r, const cJSON *item, char **ret)
{
    const char *s = item ? sr_policy_read_string(r, item) : NULL;
    if (!s)
        return -1;
    cleanup_free char *joined = NULL;
    if (s[0] == '~') {
        if (s[1] != '/' || !r->home || r->home[0] != '/')
            return sr_policy_refuse(
                r, item, "policy.invalid.path",
                "\"%s\": only \"~/...\" stands for a home, and one must be known", s);
        joined = sr_asprintf("%s/%s", r->home, s + 2);
    }
    *ret = sr_policy_read_place(r, item, joined ? joined : s);
    return *ret ? 0 : -1;
}

static int mount_target(struct sr_policy_reader *r, const cJSON *item, struct sr_mount *m)
{
    if (!item) {
        m->target = sr_strdup(m->source);
        return 0;
    }
    const char *s = sr_policy_read_string(r, item);
    m->target = s ? sr_policy_read_place(r, item, s) : NULL;
    return m->target ? 0 : -1;
}

static int mount_parse(struct sr_policy_reader *r, const cJSON *item, struct sr_mount *m)
{
    static const char *const keys[] = { "source", "target", "readonly", "reason", NULL };
    if (!cJSON_IsObject(item))
        return sr_policy_refuse(r, item, "policy.invalid.type",
                                "an object with \"source\" is expected");
    if (sr_policy_read_keys(r, item, keys) < 0)
        return -1;
    const cJSON *source = sr_json_get(item, "source"), *readonly = sr_json_get(item, "readonly");
    const cJSON *reason = sr_json_get(item, "reason");
    if (!source)
        return sr_policy_refuse(r, item, "policy.invalid.missing", "a mount needs \"source\"");
    if (mount_source(r, source, &m->source) < 0 ||
        mount_target(r, sr_json_get(item, "target"), m) < 0)
        return -1;
    if (readonly && !cJSON_IsBool(readonly))
        return sr_policy_refuse(r, readonly, "policy.invalid.type",
                                "\"readonly\" is true or false");
    m->readonly = !readonly || cJSON_IsTrue(readonly);
    if (!m->readonly && !reason)
        return sr_policy_refuse(r, readonly, "policy.invalid.reason",
                                "a writable mount needs a \"reason\"");
    return reason ? sr_policy_read_reason(r, reason, "a writable mount", &m->reason) : 0;
}

static struct sr_mount *mount_find(const struct sr_binding *b, const char *target)
{
    for (size_t i = 0; i < b->n_mounts; i++)
        if (strcmp(b->mounts[i].target, target) == 0)
            return &b->mounts[i];
    return NULL;
}

static struct sr_mount *mount_push(struct sr_binding *b)
{
    b->mounts = sr_reallocarray(b->mounts, b->n_mounts + 1, sizeof *b->mounts);
    struct sr_mount *m = &b->mounts[b->n_mounts++];
    *m = (struct sr_mount){ 0 };
    return m;
}

static int mounts_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                        const cJSON *item, struct sr_binding *b)
{
    enum { MOUNTS_MAX = 256 };
    (void)f;
    if (want_array(r, item) < 0)
        return -1;
    for (const cJSON *m = item->child; m; m = m->next) {
        struct sr_mount one = { 0 };
        int res = mount_parse(r, m, &one);
        if (res == 0 && mount_find(b, one.target))
            res = sr_policy_refuse(r, m, "policy.invalid.duplicate_key",
                                   "two mounts have the target \"%s\"", one.target);
        if (res == 0 && b->n_mounts == MOUNTS_MAX)
            res = sr_policy_refuse(r, m, "policy.invalid.range", "more than %d mounts", MOUNTS_MAX);
        if (res < 0) {
            sr_mount_clear(&one);
            return -1;
        }
        *mount_push(b) = one;
    }
    return 0;
}

static void mounts_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                         const struct sr_binding *src)
{
    (void)f;
    for (size_t i = 0; i < src->n_mounts; i++) {
        const struct sr_mount *from = &src->mounts[i];
        struct sr_mount *to = mount_find(dst, from->target);
        if (to)
            sr_mount_clear(to);
        else
            to = mount_push(dst);
        *to = (struct sr_mount){ sr_strdup(from->source), sr_strdup(from->target), from->readonly,
                                 sr_strdup(from->reason) };
    }
}

static bool mounts_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                            const struct sr_binding *above)
{
    (void)f;
    for (size_t i = 0; i < above->n_mounts; i++) {
        const struct sr_mount *a = &above->mounts[i], *b = mount_find(below, a->target);
        if (!b || strcmp(a->source, b->source) != 0 || (b->readonly && !a->readonly))
            return false;
    }
    return true;
}

const struct sr_policy_type sr_type_mounts = { mounts_parse, mounts_merge, mounts_tightens };
