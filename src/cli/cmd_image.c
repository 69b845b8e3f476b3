/* SPDX-License-Identifier: MIT */
/* sandrun image pin --host: the fingerprint of this host, and the line to write. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/request.h"
#include "sandrun/image.h"

#include <string.h>
#include <unistd.h>

struct pins {
    struct cli_session s;
    struct cli_page page;
    cJSON *list, *errors;
    int status; /* of the first binding that has no pin to print */
};

static void pin_add(struct pins *p, const struct sr_plan *plan)
{
    bool same = plan->pin && strcmp(plan->pin, plan->pin_observed) == 0;
    cJSON *o = sr_json_object(), *lines = sr_json_array();
    cli_line(&p->page, CLI_HEAD, "%s", plan->binding);
    for (size_t i = 0; i < plan->pin_lines.n; i++) {
        cli_line(&p->page, CLI_DIM, "  %s", plan->pin_lines.v[i]);
        sr_json_append_string(lines, plan->pin_lines.v[i]);
    }
    cli_line(&p->page, CLI_PLAIN, "  \"rootfs\": { \"host\": \"%s\" }", plan->pin_observed);
    cli_line(&p->page, CLI_PLAIN, same ? "  the policy has this pin" : "  the policy has: %s",
             plan->pin ? plan->pin : "no pin");
    sr_json_add_string(o, "binding", plan->binding);
    sr_json_add_string(o, "host", plan->pin_observed);
    sr_json_add_string(o, "policy", plan->pin);
    sr_json_add_bool(o, "same", same);
    sr_json_add(o, "parts", lines);
    sr_json_append(p->list, o);
}

static const char *plan_path(const struct sr_plan *plan)
{
    for (size_t i = 0; i < plan->n_env; i++)
        if (strcmp(plan->env[i].name, "PATH") == 0)
            return plan->env[i].value;
    return SR_INSIDE_PATH;
}

/* A plan of an uncontained binding has no fingerprint: nothing would be held against it. It is what
 * one has to write to contain the binding, so here it is computed all the same. */
static int pin_observe(struct pins *p, struct sr_plan *plan, struct sr_error *err)
{
    struct sr_fingerprint f = { 0 };
    struct sr_strv own = { plan->command.v, plan->command.n - plan->n_args };
    if (plan->pin_observed)
        return 0;
    if (sr_host_fingerprint(&own, plan_path(plan), plan->tree, p->s.state.cache_fd, &f, err) < 0)
        return sr_error_wrap(err, "the fingerprint of this host for %s", plan->binding);
    plan->pin_observed = sr_strdup(f.digest);
    sr_strv_copy(&plan->pin_lines, &f.lines);
    sr_fingerprint_clear(&f);
    return 0;
}

static int pin_one(struct pins *p, const char *binding, bool asked_for, struct sr_error *err)
{
    struct sr_plan plan = { 0 };
    int r = sr_resolve_binding(&p->s.request.req, &p->s.state, &p->s.resolved, binding, &plan, err);
    if (r == 0 && plan.rootfs == SR_ROOTFS_IMAGE)
        r = asked_for ? sr_error_set(err, "rootfs.no_host_pin",
                                     "%s names an image: there is no host pin for it", binding)
                      : 0;
    else if (r == 0 && (r = pin_observe(p, &plan, err)) == 0)
        pin_add(p, &plan);
    sr_plan_clear(&plan);
    return r;
}

/* One binding that cannot be planned says nothing about the pins of the others. */
static void pin_failed(struct pins *p, const char *binding, struct sr_error *err)
{
    cJSON *error = cli_error_json(err);
    sr_json_add_string(error, "binding", binding);
    sr_json_append(p->errors, error);
    sr_error_wrap(err, "no pin for %s", binding);
    int status = cli_error(err);
    p->status = p->status ? p->status : status;
}

static int pin_all(struct pins *p, const char *binding, struct sr_error *err)
{
    const struct sr_policy *policy = &p->s.resolved.loaded.policy;
    if (binding)
        return pin_one(p, binding, true, err);
    for (size_t i = 0; i < policy->n_bindings; i++) {
        struct sr_error one = { 0 };
        if (pin_one(p, policy->bindings[i].name, false, &one) < 0)
            pin_failed(p, policy->bindings[i].name, &one);
    }
    return 0;
}

static int pins_print(struct pins *p, bool json)
{
    cleanup_json cJSON *out = NULL;
    if (!json)
        return cli_page_done(&p->page, p->status);
    out = sr_json_object();
    sr_json_add(out, "pins", p->list);
    sr_json_add(out, "errors", p->errors);
    p->list = p->errors = NULL;
    return cli_json(out, p->status);
}

int cli_image(const struct cli_args *args)
{
    struct pins p = { .page = cli_page_on(STDOUT_FILENO), .list = sr_json_array(), .errors = sr_json_array() };
    struct sr_error err = { 0 };
    int status;
    if (!cli_flag(args, "host")) {
        sr_error_set(&err, "usage.missing_option",
                     "sandrun image pin needs --host: this version pins no other image");
        status = cli_failed(args, &err);
    } else if (cli_session_open(args, -1, &p.s, &err) < 0 ||
               pin_all(&p, args->positional[1], &err) < 0) {
        status = cli_failed(args, &err);
    } else {
        status = pins_print(&p, cli_flag(args, "json"));
    }
    sr_json_deletep(&p.list);
    sr_json_deletep(&p.errors);
    cli_page_clear(&p.page);
    cli_session_clear(&p.s);
    return status;
}
