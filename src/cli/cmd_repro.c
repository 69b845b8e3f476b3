/* SPDX-License-Identifier: MIT */
/* sandrun repro: the request of a record rebuilt, refused where it is no longer the same, run and
 * compared. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/drift.h"
#include "cli/print.h"
#include "cli/record_view.h"
#include "cli/request.h"
#include "cli/verdict_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct repro {
    const struct cli_args *args;
    struct sr_json doc;
    struct cli_request request;
    struct cli_drifts drifts;
    char *tree, *policy_file; /* what request borrows */
};

/* As it was asked for then: "HEAD" is where HEAD is now, so that a policy that moved on is seen,
 * and refused by name. */
static int request_rebuild(struct repro *r, struct sr_error *err)
{
    const cJSON *record = r->doc.root;
    const char *tree = cli_arg(r->args, "tree");
    struct sr_run_request *req = &r->request.req;
    cli_request_from(r->args, -1, &r->request);
    req->binding = cli_string_at(record, "binding");
    req->staged = cli_bool_at(record, "staged");
    r->tree = tree ? NULL : cli_path_at(record, "plan.canonical.tree.path");
    r->policy_file = cli_path_at(record, "policy.request.file");
    req->tree = tree ? tree : r->tree;
    req->policy_file = r->policy_file;
    req->policy_ref = cli_string_at(record, "policy.request.ref");
    req->overrides = cli_string_at(record, "policy.request.overrides");
    if (req->binding && req->tree)
        return 0;
    return sr_error_set(err, "repro.record",
                        "the record %s has no plan: what it was resolved from is not known",
                        r->args->positional[0]);
}

static int drifts_look(struct repro *r, struct sr_error *err)
{
    cleanup_state struct sr_state state = {
        .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1
    };
    struct sr_resolved resolved = { 0 };
    int result;
    if (sr_resolve_state(&r->request.req, &state, err) < 0 || sr_resolve(&r->request.req, &state, &resolved, err) < 0)
        return -1;
    result = cli_drifts_find(r->doc.root, &resolved.plan, &r->drifts, err);
    sr_resolved_clear(&resolved);
    return result;
}

static void drift_lines(struct cli_page *p, const struct cli_drift *d, bool allowed)
{
    cli_line(p, allowed ? CLI_WARN : CLI_BAD, "  %s: %s%s", d->code, d->text,
             allowed ? " (allowed)" : "");
    cli_line(p, CLI_PLAIN, "    recorded: %s", d->before);
    cli_line(p, CLI_PLAIN, "    here: %s", d->after);
    for (size_t i = 0; i < d->examples.n; i++)
        cli_line(p, CLI_DIM, "      %s", d->examples.v[i]);
    if (!allowed && d->what)
        cli_line(p, CLI_PLAIN, "    do: --allow-drift %s goes on all the same", d->what);
    if (!d->what)
        cli_line(p, CLI_PLAIN, "    do: give the run's own arguments behind \"--\"");
}

static bool drift_allowed(const struct repro *r, const struct cli_drift *d)
{
    return d->what && cli_arg_has(r->args, "allow-drift", d->what);
}

/* True when the run may go on. Every drift is named, also an allowed one. */
static bool drifts_judge(const struct repro *r)
{
    cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
    bool refused = false;
    for (size_t i = 0; i < r->drifts.n; i++)
        refused = refused || !drift_allowed(r, &r->drifts.v[i]);
    if (refused)
        cli_line(&p, CLI_WARN,
                 "sandrun: repro blocked: not what the record was made from, nothing ran");
    else if (r->drifts.n)
        cli_line(&p, CLI_WARN, "sandrun: repro goes on over what is not as recorded:");
    for (size_t i = 0; i < r->drifts.n; i++)
        drift_lines(&p, &r->drifts.v[i], drift_allowed(r, &r->drifts.v[i]));
    (void)cli_page_flush(&p);
    return !refused;
}

static cJSON *drifts_json(const struct repro *r)
{
    cJSON *list = sr_json_array();
    for (size_t i = 0; i < r->drifts.n; i++) {
        const struct cli_drift *d = &r->drifts.v[i];
        cJSON *o = sr_json_object(), *examples = sr_json_array();
        for (size_t k = 0; k < d->examples.n; k++)
            sr_json_append_path(examples, d->examples.v[k]);
        sr_json_add_string(o, "code", d->code);
        sr_json_add_string(o, "text", d->text);
        sr_json_add_string(o, "recorded", d->before);
        sr_json_add_string(o, "here", d->after);
        sr_json_add(o, "examples", examples);
        sr_json_add_bool(o, "allowed", drift_allowed(r, d));
        sr_json_append(list, o);
    }
    return list;
}

static int blocked(const struct repro *r)
{
    cleanup_json cJSON *out = NULL;
    if (!cli_flag(r->args, "json"))
        return SR_EXIT_BLOCKED;
    out = sr_json_object();
    sr_json_add_bool(out, "same", false);
    sr_json_add(out, "drift", drifts_json(r));
    sr_json_add(out, "differences", sr_json_array());
    sr_json_add(out, "record", cJSON_CreateNull());
    return cli_json(out, SR_EXIT_BLOCKED);
}

static void compare_print(const struct sr_run_result *result, const struct sr_strv *lines,
                          const char *id)
{
    cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
    cli_verdict_lines(&p, cli_string_at(result->record, "binding"), result);
    if (lines->n == 0)
        cli_line(&p, CLI_GOOD, "sandrun: the same result as %s", id);
    else
        cli_line(&p, CLI_BAD, "sandrun: differs from %s:", id);
    for (size_t i = 0; i < lines->n; i++)
        cli_line(&p, CLI_PLAIN, "  %s", lines->v[i]);
    (void)cli_page_flush(&p);
}

static int compare_json(const struct repro *r, const struct sr_run_result *result,
                        const struct sr_strv *lines, int status)
{
    cleanup_json cJSON *out = sr_json_object();
    cJSON *differences = sr_json_array();
    for (size_t i = 0; i < lines->n; i++)
        sr_json_append_string(differences, lines->v[i]);
    sr_json_add_bool(out, "same", lines->n == 0);
    sr_json_add(out, "drift", drifts_json(r));
    sr_json_add(out, "differences", differences);
    sr_json_add(out, "record", cJSON_Duplicate(result->record, 1));
    return cli_json(out, status);
}

/* A refusal or a failure of the repetition is not "differs": nothing was learned. */
static int compare_status(const struct sr_run_result *result, const struct sr_strv *lines)
{
    if (lines->n == 0)
        return 0;
    if (result->verdict.status == SR_STATUS_BLOCKED || result->verdict.exit == SR_EXIT_SANDBOX)
        return result->verdict.exit;
    return 1;
}

static int repro_run(struct repro *r)
{
    cleanup_strv struct sr_strv lines = { 0 };
    struct sr_run_result result = { 0 };
    struct sr_error err = { 0 };
    bool json = cli_flag(r->args, "json");
    int status;
    r->request.req.out_fd = json ? -1 : STDOUT_FILENO;
    r->request.req.err_fd = json ? -1 : STDERR_FILENO;
    sr_run(&r->request.req, &result);
    if (!result.record) {
        status = cli_failed(r->args, &result.error);
    } else if (sr_record_compare(r->doc.root, result.record, &lines, &err) < 0) {
        status = cli_failed(r->args, &err);
    } else {
        compare_print(&result, &lines, cli_string_at(r->doc.root, "id"));
        status = compare_status(&result, &lines);
        status = json ? compare_json(r, &result, &lines, status) : status;
    }
    sr_run_result_clear(&result);
    return status;
}

/* A record whose plan is not the one of its digest, and a policy that has no such binding any more,
 * are refused like any other digest that no longer matches. */
static int refused_or_failed(const struct cli_args *args, const struct sr_error *err)
{
    static const char *const refusing[] = { "record.invalid.digest", "policy.no_binding",
                                            "policy.missing" };
    bool refused = false;
    for (size_t i = 0; i < sizeof refusing / sizeof *refusing; i++)
        refused = refused || strcmp(err->code, refusing[i]) == 0;
    int status = cli_failed(args, err);
    return refused ? SR_EXIT_BLOCKED : status;
}

int cli_repro(const struct cli_args *args)
{
    struct repro r = { .args = args };
    struct sr_error err = { 0 };
    int status;
    if (cli_record_load(args->positional[0], &r.doc, &err) < 0 || request_rebuild(&r, &err) < 0 ||
        drifts_look(&r, &err) < 0)
        status = refused_or_failed(args, &err);
    else if (!drifts_judge(&r))
        status = blocked(&r);
    else
        status = repro_run(&r);
    cli_drifts_clear(&r.drifts);
    cli_request_clear(&r.request);
    sr_json_clear(&r.doc);
    free(r.tree);
    free(r.policy_file);
    return status;
}
