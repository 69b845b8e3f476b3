/* SPDX-License-Identifier: MIT */
/* sandrun image pin --host: the fingerprint of this host, and the line to write. */
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/request.h"
#include "sandrun/verdict.h"

#include <string.h>
#include <unistd.h>

struct pins {
    struct cli_session s;
    struct cli_page page;
    cJSON *list;
    int status;
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

/* Bindings whose root filesystem is an image, or that name no command, have no host pin to print.
 */
static bool pin_applies(const struct sr_plan *plan)
{
    return plan->rootfs != SR_ROOTFS_IMAGE && plan->command.n > plan->n_args;
}

static int pin_one(struct pins *p, const char *binding, bool asked_for)
{
    struct sr_error err = { 0 };
    struct sr_plan plan = { 0 };
    int r = 0;
    if (sr_resolve_binding(&p->s.request.req, &p->s.state, &p->s.resolved, binding, &plan, &err) <
        0)
        r = -1;
    else if (!pin_applies(&plan))
        r = asked_for
                ? sr_error_set(&err, "rootfs.no_host_pin",
                               "%s names no command, or an image: there is no host pin for it",
                               binding)
                : 0;
    else if (!plan.pin_observed)
        r = sr_error_set(&err, "rootfs.pin_unverified",
                         "the fingerprint of this host for %s could not be computed", binding);
    else
        pin_add(p, &plan);
    sr_plan_clear(&plan);
    if (r < 0)
        p->status = cli_error(&err);
    return r;
}

static void pin_all(struct pins *p, const char *binding)
{
    const struct sr_policy *policy = &p->s.resolved.loaded.policy;
    if (binding) {
        (void)pin_one(p, binding, true);
        return;
    }
    for (size_t i = 0; i < policy->n_bindings; i++)
        if (pin_one(p, policy->bindings[i].name, false) < 0)
            return;
}

static int pins_print(struct pins *p, bool json)
{
    cleanup_json cJSON *out = NULL;
    if (p->status != 0)
        return p->status;
    if (!json)
        return cli_page_done(&p->page, 0);
    out = sr_json_object();
    sr_json_add(out, "pins", p->list);
    p->list = NULL;
    return cli_json(out, 0);
}

int cli_image(const struct cli_args *args)
{
    struct pins p = { .page = cli_page_on(STDOUT_FILENO), .list = sr_json_array() };
    struct sr_error err = { 0 };
    int status;
    if (!cli_flag(args, "host")) {
        sr_error_set(&err, "usage.missing_option",
                     "sandrun image pin needs --host: this version pins no other image");
        status = cli_error(&err);
    } else if (cli_session_open(args, -1, &p.s, &err) < 0) {
        status = cli_error(&err);
    } else {
        pin_all(&p, args->positional[1]);
        status = pins_print(&p, cli_flag(args, "json"));
    }
    sr_json_deletep(&p.list);
    cli_page_clear(&p.page);
    cli_session_clear(&p.s);
    return status;
}
