/* SPDX-License-Identifier: MIT */
/* sandrun audit: every binding, contained or not; red when one that executes is not. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/gate_text.h"
#include "cli/print.h"
#include "cli/request.h"
#include "sandrun/verdict.h"

#include <unistd.h>

struct audit {
    const struct cli_args *args;
    struct cli_session s;
    struct cli_page page;
    cJSON *list;
    struct sr_mounts mounts; /* one look for all bindings */
    unsigned red, failed;
};

static bool binding_red(const struct sr_plan *plan, const struct sr_gate *gate)
{
    return plan->executes && gate->decision != SR_CONTAINED;
}

static void binding_json(struct audit *a, const struct sr_plan *plan, const struct sr_gate *gate)
{
    cJSON *o = sr_json_object();
    sr_json_add_string(o, "binding", plan->binding);
    sr_json_add_bool(o, "executes", plan->executes);
    sr_json_add_bool(o, "contained", gate->decision == SR_CONTAINED);
    sr_json_add_bool(o, "red", binding_red(plan, gate));
    sr_json_add_string(o, "uncontained", plan->uncontained);
    sr_json_add_string(o, "plan_digest", plan->digest);
    cli_gate_json(o, gate);
    sr_json_append(a->list, o);
}

static void binding_lines(struct audit *a, const struct sr_plan *plan, const struct sr_gate *gate)
{
    cli_line(&a->page, CLI_HEAD, "%s%s", plan->binding,
             plan->executes ? "" : " (executes: false, not judged)");
    cli_gate_lines(&a->page, gate);
    if (plan->uncontained)
        cli_line(&a->page, CLI_PLAIN, "  reason: %s", plan->uncontained);
}

/* A binding that cannot be resolved says nothing good about the others: it is listed, and the
 * answer is an error. */
static void binding_failed(struct audit *a, const char *name, const struct sr_error *err)
{
    cJSON *o = sr_json_object();
    a->failed++;
    cli_line(&a->page, CLI_HEAD, "%s", name);
    cli_error_lines(&a->page, err);
    sr_json_add_string(o, "binding", name);
    sr_json_add_string(o, "error", err->code);
    sr_json_add_string(o, "text", err->text);
    sr_json_append(a->list, o);
}

static void binding_audit(struct audit *a, const char *name)
{
    struct sr_error err = { 0 };
    struct sr_plan plan = { 0 };
    struct sr_gate gate = { 0 };
    if (sr_resolve_binding(&a->s.request.req, &a->s.state, &a->s.resolved, name, &plan, &err) < 0) {
        binding_failed(a, name, &err);
        return;
    }
    sr_resolve_gate(&plan, &a->mounts, &gate);
    a->red += binding_red(&plan, &gate);
    binding_json(a, &plan, &gate);
    binding_lines(a, &plan, &gate);
    sr_gate_clear(&gate);
    sr_plan_clear(&plan);
}

static int audit_print(struct audit *a, int status)
{
    const struct sr_policy_loaded *loaded = &a->s.resolved.loaded;
    cleanup_json cJSON *out = sr_json_object();
    if (!cli_flag(a->args, "json")) {
        if (loaded->edited)
            cli_line(&a->page, CLI_WARN,
                     "the tree's sandrun.json differs from commit %s's and is not used",
                     loaded->commit);
        return cli_page_done(&a->page, status);
    }
    sr_json_add_string(out, "tree", a->s.resolved.tree);
    sr_json_add_bool(out, "staged", a->s.request.req.staged);
    sr_json_add_string(out, "policy_commit", loaded->commit[0] ? loaded->commit : NULL);
    sr_json_add_bool(out, "policy_edited", loaded->edited);
    sr_json_add_bool(out, "contained", a->red + a->failed == 0);
    sr_json_add(out, "bindings", a->list);
    a->list = NULL;
    return cli_json(out, status);
}

static int names_print(struct audit *a)
{
    const struct sr_policy *policy = &a->s.resolved.loaded.policy;
    for (size_t i = 0; i < policy->n_bindings; i++)
        cli_line(&a->page, CLI_PLAIN, "%s", policy->bindings[i].name);
    return cli_page_done(&a->page, 0);
}

/* Green over nothing would be read as "everything is contained". */
static int nothing_to_audit(struct audit *a)
{
    struct sr_error err = { 0 };
    sr_error_set(&err, "policy.no_binding",
                 "the policy of %s has no binding, so there is nothing to audit",
                 a->s.resolved.tree);
    sr_error_hint(&err, "\"bindings\": { \"Test\": { \"command\": [\"make\", \"test\"] } }, or a "
                        "preset that has some, in \"extends\"");
    return cli_failed(a->args, &err);
}

static int audit_all(struct audit *a)
{
    const struct sr_policy *policy = &a->s.resolved.loaded.policy;
    if (cli_flag(a->args, "names"))
        return names_print(a);
    if (policy->n_bindings == 0)
        return nothing_to_audit(a);
    for (size_t i = 0; i < policy->n_bindings; i++)
        binding_audit(a, policy->bindings[i].name);
    return audit_print(a, a->failed ? SR_EXIT_SANDBOX : a->red ? SR_EXIT_BLOCKED : 0);
}

int cli_audit(const struct cli_args *args)
{
    struct audit a = { .args = args, .page = cli_page_on(STDOUT_FILENO), .list = sr_json_array() };
    struct sr_error err = { 0 };
    int status = cli_session_open(args, -1, &a.s, &err) < 0 ? cli_failed(args, &err) : audit_all(&a);
    sr_json_deletep(&a.list);
    cli_page_clear(&a.page);
    sr_mounts_clear(&a.mounts);
    cli_session_clear(&a.s);
    return status;
}
