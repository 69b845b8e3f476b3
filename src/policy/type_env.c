/* SPDX-License-Identifier: MIT */
/* The environment: variables that are set, names that are passed, and the reasons for passing
 * secrets. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/fields.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Those the sandbox answers for, and the loader's: a variable of these would undo what is built
 * around the command. */
static bool is_reserved(const char *name)
{
    static const char *const reserved[] = { "HOME", "USER", "LOGNAME", "TMPDIR" };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(reserved[i], name) == 0)
            return true;
    return sr_text_starts(name, "LD_") || strcmp(name, "GLIBC_TUNABLES") == 0;
}

static bool is_env_name(const char *name)
{
    enum { ENV_NAME_MAX = 256 };
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return false;
    return strlen(name) <= ENV_NAME_MAX;
}

/* key: the name stands as the key of item, else as its value. */
static int name_check(struct sr_policy_reader *r, const cJSON *item, const char *name, bool key)
{
    int (*refuse)(struct sr_policy_reader *, const cJSON *, const char *, const char *, ...) =
        key ? sr_policy_refuse_key : sr_policy_refuse;
    if (!is_env_name(name))
        return refuse(r, item, "policy.invalid.name", "\"%s\" is not the name of a variable", name);
    if (is_reserved(name))
        return refuse(r, item, "policy.invalid.name",
                      "\"%s\" is the sandbox's own and cannot be set or passed", name);
    return 0;
}

static int want_object(struct sr_policy_reader *r, const cJSON *item, const char *what)
{
    if (!cJSON_IsObject(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "an object is expected: %s", what);
    return 0;
}

static int compare_env(const void *a, const void *b)
{
    return strcmp(((const struct sr_env_set *)a)->name, ((const struct sr_env_set *)b)->name);
}

static void env_put(struct sr_binding *b, const char *name, const char *value)
{
    for (size_t i = 0; i < b->n_env_set; i++) {
        if (strcmp(b->env_set[i].name, name) == 0) {
            free(b->env_set[i].value);
            b->env_set[i].value = sr_strdup(value);
            return;
        }
    }
    b->env_set = sr_reallocarray(b->env_set, b->n_env_set + 1, sizeof *b->env_set);
    b->env_set[b->n_env_set++] = (struct sr_env_set){ sr_strdup(name), sr_strdup(value) };
    qsort(b->env_set, b->n_env_set, sizeof *b->env_set, compare_env);
}

enum { ENTRIES_MAX = 1024 };

static int too_many(struct sr_policy_reader *r, const cJSON *item)
{
    if (cJSON_GetArraySize(item) > ENTRIES_MAX)
        return sr_policy_refuse(r, item, "policy.invalid.range", "more than %d entries",
                                ENTRIES_MAX);
    return 0;
}

static int env_set_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                         const cJSON *item, struct sr_binding *b)
{
    (void)f;
    if (want_object(r, item, "{\"NAME\": \"value\"}") < 0 || too_many(r, item) < 0)
        return -1;
    for (const cJSON *m = item->child; m; m = m->next) {
        const char *value = sr_policy_read_string(r, m);
        if (!value || name_check(r, m, m->string, true) < 0)
            return -1;
        env_put(b, m->string, value);
    }
    return 0;
}

static void env_set_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                          const struct sr_binding *src)
{
    (void)f;
    for (size_t i = 0; i < src->n_env_set; i++)
        env_put(dst, src->env_set[i].name, src->env_set[i].value);
}

static bool env_set_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                             const struct sr_binding *above)
{
    (void)f;
    if (above->n_env_set != below->n_env_set)
        return false;
    for (size_t i = 0; i < above->n_env_set; i++)
        if (strcmp(above->env_set[i].name, below->env_set[i].name) != 0 ||
            strcmp(above->env_set[i].value, below->env_set[i].value) != 0)
            return false;
    return true;
}

const struct sr_policy_type sr_type_env_set = { env_set_parse, env_set_merge, env_set_tightens };

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void pass_put(struct sr_strv *names, const char *name)
{
    if (sr_strv_has(names, name))
        return;
    sr_strv_add(names, name);
    qsort(names->v, names->n, sizeof *names->v, compare_names);
}

static int env_pass_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                          const cJSON *item, struct sr_binding *b)
{
    (void)f;
    if (!cJSON_IsArray(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "a list of names is expected");
    if (too_many(r, item) < 0)
        return -1;
    for (const cJSON *m = item->child; m; m = m->next) {
        const char *name = sr_policy_read_string(r, m);
        if (!name || name_check(r, m, name, false) < 0)
            return -1;
        pass_put(&b->env_pass, name);
    }
    return 0;
}

static void env_pass_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                           const struct sr_binding *src)
{
    (void)f;
    for (size_t i = 0; i < src->env_pass.n; i++)
        pass_put(&dst->env_pass, src->env_pass.v[i]);
}

static bool env_pass_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                              const struct sr_binding *above)
{
    (void)f;
    return sr_strv_within(&above->env_pass, &below->env_pass);
}

const struct sr_policy_type sr_type_env_pass = { env_pass_parse, env_pass_merge,
                                                 env_pass_tightens };

static struct sr_pass_secret *secret_find(const struct sr_binding *b, const char *name)
{
    for (size_t i = 0; i < b->n_pass_secret; i++)
        if (strcmp(b->pass_secret[i].name, name) == 0)
            return &b->pass_secret[i];
    return NULL;
}

static void secret_put(struct sr_binding *b, const char *name, const char *reason)
{
    struct sr_pass_secret *s = secret_find(b, name);
    if (!s) {
        b->pass_secret =
            sr_reallocarray(b->pass_secret, b->n_pass_secret + 1, sizeof *b->pass_secret);
        s = &b->pass_secret[b->n_pass_secret++];
        *s = (struct sr_pass_secret){ .name = sr_strdup(name) };
    }
    free(s->reason);
    s->reason = sr_strdup(reason);
}

static int pass_secret_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                             const cJSON *item, struct sr_binding *b)
{
    (void)f;
    if (want_object(r, item, "{\"NAME\": \"reason\"}") < 0 || too_many(r, item) < 0)
        return -1;
    for (const cJSON *m = item->child; m; m = m->next) {
        cleanup_free char *reason = NULL;
        if (name_check(r, m, m->string, true) < 0 ||
            sr_policy_read_reason(r, m, "passing a secret", &reason) < 0)
            return -1;
        secret_put(b, m->string, reason);
    }
    return 0;
}

static void pass_secret_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                              const struct sr_binding *src)
{
    (void)f;
    for (size_t i = 0; i < src->n_pass_secret; i++)
        secret_put(dst, src->pass_secret[i].name, src->pass_secret[i].reason);
}

static bool pass_secret_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                                 const struct sr_binding *above)
{
    (void)f;
    for (size_t i = 0; i < above->n_pass_secret; i++)
        if (!secret_find(below, above->pass_secret[i].name))
            return false;
    return true;
}

const struct sr_policy_type sr_type_pass_secret = { pass_secret_parse, pass_secret_merge,
                                                    pass_secret_tightens };
