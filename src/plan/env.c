/* SPDX-License-Identifier: MIT */
/* The whole environment of a check, assembled from nothing: the caller's is never a starting point. */
#include "plan/internal.h"
#include "sandrun/policy.h"

#include <stdlib.h>
#include <string.h>

/*
 * GIT_*: git refuses a repository of another owner (the command runs as the tree's owner or as a mapped id); the answer by
 * environment leaves the private HOME empty. GIT_OPTIONAL_LOCKS keeps `git status` from rewriting the index.
 * No TERM: a check has no terminal, and tools that see one colour their output. No PYTHONDONTWRITEBYTECODE: bytecode is
 * harmless in a copy-on-write tree, and forcing it would change what is tested.
 */
const struct sr_env_builtin sr_env_builtins[] = {
    { "HOME", SR_INSIDE_HOME, true },
    { "USER", SR_INSIDE_USER, true },
    { "LOGNAME", SR_INSIDE_USER, true },
    { "TMPDIR", "/tmp", true },
    { "PATH", SR_INSIDE_PATH, false },
    { "LANG", "C.UTF-8", false },
    { "GIT_OPTIONAL_LOCKS", "0", false },
    { "GIT_CONFIG_NOSYSTEM", "1", false },
    { "GIT_CONFIG_COUNT", "1", false },
    { "GIT_CONFIG_KEY_0", "safe.directory", false },
    { "GIT_CONFIG_VALUE_0", NULL, false },
};
const size_t sr_env_builtins_n = sizeof sr_env_builtins / sizeof *sr_env_builtins;

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < sr_env_builtins_n; i++)
        if (sr_env_builtins[i].fixed && strcmp(sr_env_builtins[i].name, name) == 0)
            return true;
    return false;
}

static struct sr_plan_env *find(const struct sr_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_env; i++)
        if (strcmp(p->env[i].name, name) == 0)
            return &p->env[i];
    return NULL;
}

const char *sr_plan_env_get(const struct sr_plan *p, const char *name)
{
    const struct sr_plan_env *e = find(p, name);
    return e ? e->value : NULL;
}

/* Later calls win: builtin, then pass, then set. The array has room for all of them. */
static void put(struct sr_plan *p, const char *name, const char *value, enum sr_env_source source)
{
    if (source != SR_ENV_BUILTIN && is_fixed(name))
        return;
    struct sr_plan_env *e = find(p, name);
    if (!e) {
        e = &p->env[p->n_env++];
        *e = (struct sr_plan_env){ .name = sr_strdup(name) };
    }
    free(e->value);
    e->value = sr_strdup(value);
    e->source = source;
}

static const char *lookup(char *const *environ_in, const char *name)
{
    size_t len = strlen(name);
    for (char *const *e = environ_in; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    return NULL;
}

static void pass(struct sr_plan *p, char *const *environ_in, const char *name)
{
    const char *value = lookup(environ_in, name);
    if (value)
        put(p, name, value, SR_ENV_PASS);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sr_plan_env *)a)->name, ((const struct sr_plan_env *)b)->name);
}

static int secret_by_name(const void *a, const void *b)
{
    return strcmp(((const struct sr_plan_secret *)a)->name, ((const struct sr_plan_secret *)b)->name);
}

static int string_by_value(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void copy_names(const struct sr_binding *b, struct sr_plan *p)
{
    sr_strv_copy(&p->env_pass, &b->env_pass);
    if (p->env_pass.n)
        qsort(p->env_pass.v, p->env_pass.n, sizeof *p->env_pass.v, string_by_value);
    p->pass_secret = sr_calloc(b->n_pass_secret + 1, sizeof *p->pass_secret);
    for (size_t i = 0; i < b->n_pass_secret; i++)
        p->pass_secret[p->n_pass_secret++] = (struct sr_plan_secret){ .name = sr_strdup(b->pass_secret[i].name),
                                                                      .reason = sr_strdup(b->pass_secret[i].reason) };
    qsort(p->pass_secret, p->n_pass_secret, sizeof *p->pass_secret, secret_by_name);
}

void sr_plan_env_build(const struct sr_binding *b, char *const *environ_in, struct sr_plan *p)
{
    copy_names(b, p);
    p->env = sr_calloc(sr_env_builtins_n + b->env_pass.n + b->n_pass_secret + b->n_env_set, sizeof *p->env);
    for (size_t i = 0; i < sr_env_builtins_n; i++) {
        const struct sr_env_builtin *e = &sr_env_builtins[i];
        put(p, e->name, e->value ? e->value : p->tree_target, SR_ENV_BUILTIN);
    }
    for (size_t i = 0; i < p->env_pass.n; i++)
        pass(p, environ_in, p->env_pass.v[i]);
    for (size_t i = 0; i < p->n_pass_secret; i++)
        pass(p, environ_in, p->pass_secret[i].name);
    for (size_t i = 0; i < b->n_env_set; i++)
        put(p, b->env_set[i].name, b->env_set[i].value, SR_ENV_SET);
    qsort(p->env, p->n_env, sizeof *p->env, by_name);
}
