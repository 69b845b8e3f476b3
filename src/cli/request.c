/* SPDX-License-Identifier: MIT */
/* Requests from arguments. */
#include "cli/request.h"
#include "base/fs.h"
#include "base/text.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A value that the parser has checked, so what is left here cannot fail: at most four digits and
 * one decimal. */
static double cpus_number(const char *s)
{
    double whole = 0, scale = 1;
    for (; *s && *s != '.'; s++)
        whole = whole * 10 + (*s - '0');
    for (s += *s == '.'; *s; s++) {
        whole = whole * 10 + (*s - '0');
        scale *= 10;
    }
    return whole / scale;
}

static cJSON *limit_value(const struct cli_option *o, const char *value)
{
    struct sr_error checked = { 0 };
    uint64_t number;
    if (o->type == CLI_CPUS)
        return cJSON_CreateNumber(cpus_number(value));
    if (o->type == CLI_NUMBER && sr_text_u64(value, 0, UINT32_MAX, &number, &checked) == 0)
        return cJSON_CreateNumber((double)number);
    return cJSON_CreateString(value);
}

/* "on-reached" of the command line is "on_reached" of the policy. */
static char *field_name(const struct cli_option *o)
{
    char *name = sr_strdup(o->name);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return name;
}

char *cli_overrides(const struct cli_args *a, const char *binding)
{
    cJSON *limits = sr_json_object(), *one = sr_json_object(), *bindings = sr_json_object();
    cleanup_json cJSON *root = sr_json_object();
    for (const struct cli_option *o = cli_options_limits; o->name; o++) {
        const char *value = cli_arg(a, o->name);
        cleanup_free char *name = field_name(o);
        if (value)
            sr_json_add(limits, name, limit_value(o, value));
    }
    bool any = limits->child != NULL;
    sr_json_add(one, "limits", limits);
    sr_json_add(bindings, binding, one);
    sr_json_add(root, "bindings", bindings);
    return any ? sr_json_compact(root) : NULL;
}

static bool has_table(const struct cli_args *a, const struct cli_option *table)
{
    const struct cli_option *t;
    for (size_t i = 0; (t = cli_command_table(a->command, i)) != NULL; i++)
        if (t == table)
            return true;
    return false;
}

/* Lexical: links are the loader's to judge. NULL stays NULL; without a current directory the path
 * stays as it is. */
static char *from_here(const char *path)
{
    cleanup_free char *cwd = path ? getcwd(NULL, 0) : NULL;
    return cwd ? sr_path_join(cwd, path) : sr_strdup(path);
}

void cli_request_from(const struct cli_args *a, int binding, struct cli_request *ret)
{
    *ret = (struct cli_request){ .req = { .environ_in = environ, .out_fd = -1, .err_fd = -1 } };
    struct sr_run_request *r = &ret->req;
    if (has_table(a, cli_options_tree))
        r->tree = cli_arg(a, "tree");
    if (has_table(a, cli_options_policy)) {
        r->policy_file = ret->policy_file = from_here(cli_arg(a, "policy"));
        r->policy_ref = cli_arg(a, "policy-ref");
        r->staged = cli_flag(a, "staged");
    }
    if (binding >= 0)
        r->binding = a->positional[binding];
    if (has_table(a, cli_options_limits) && r->binding)
        r->overrides = ret->overrides = cli_overrides(a, r->binding);
    if (a->has_rest) {
        sr_strv_copy(&ret->args, &a->rest);
        r->args = &ret->args;
    }
}

void cli_request_clear(struct cli_request *r)
{
    sr_strv_clear(&r->args);
    free(r->overrides);
    free(r->policy_file);
    *r = (struct cli_request){ 0 };
}

int cli_session_open(const struct cli_args *a, int binding, struct cli_session *ret,
                     struct sr_error *err)
{
    *ret = (struct cli_session){ 0 };
    cli_request_from(a, binding, &ret->request);
    if (sr_resolve_state(&ret->request.req, &ret->state, err) < 0)
        return -1;
    ret->has_state = true;
    if (sr_resolve(&ret->request.req, &ret->state, &ret->resolved, err) < 0)
        return -1;
    ret->has_resolved = true;
    return 0;
}

void cli_session_clear(struct cli_session *s)
{
    if (s->has_resolved)
        sr_resolved_clear(&s->resolved);
    if (s->has_state)
        sr_state_close(&s->state);
    cli_request_clear(&s->request);
    *s = (struct cli_session){ 0 };
}
