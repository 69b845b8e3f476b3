/* SPDX-License-Identifier: MIT */
/* sandrun check: the preflight alone. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/gate_text.h"
#include "cli/print.h"
#include "cli/request.h"
#include "cli/verdict_text.h"
#include "sandrun/verdict.h"

#include <unistd.h>

static void findings_lines(struct cli_page *p, const struct sr_findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        cli_finding_lines(p, f->v[i].path, f->v[i].code, f->v[i].text, f->v[i].expected,
                          f->v[i].found, f->v[i].remedy);
}

/* "Nothing found" alone would read as "it will run". */
static int check_print(const struct sr_plan *plan, const struct sr_findings *f,
                       const struct sr_gate *gate, int status)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    bool refused = gate->decision == SR_REFUSED;
    if (f->n == 0)
        cli_line(&p, refused ? CLI_PLAIN : CLI_GOOD,
                 "%s: nothing found in the tree's environments that cannot work here",
                 plan->binding);
    else
        cli_line(&p, CLI_BAD, "%s: cannot work here", plan->binding);
    findings_lines(&p, f);
    if (refused) {
        cli_line(&p, CLI_WARN, "%s: a run would be blocked all the same", plan->binding);
        for (size_t i = 0; i < gate->n_refusals; i++)
            cli_refusal_lines(&p, gate->refusals[i].code, gate->refusals[i].text,
                              gate->refusals[i].line);
    }
    return cli_page_done(&p, status);
}

static int check_json(const struct sr_plan *plan, const struct sr_findings *f,
                      const struct sr_gate *gate, int status)
{
    cleanup_json cJSON *out = sr_json_object();
    sr_json_add_string(out, "binding", plan->binding);
    sr_json_add_string(out, "plan_digest", plan->digest);
    sr_json_add(out, "findings", sr_findings_json(f));
    cli_gate_json(out, gate);
    return cli_json(out, status);
}

int cli_check(const struct cli_args *args)
{
    cleanup_session struct cli_session s;
    struct sr_error err = { 0 };
    struct sr_findings findings = { 0 };
    struct sr_gate gate = { 0 };
    cleanup_mounts struct sr_mounts mounts = { 0 };
    int status;
    if (cli_session_open(args, 0, &s, &err) < 0 ||
        sr_resolve_preflight(&s.resolved.plan, &s.state, &mounts, &findings, &err) < 0)
        return cli_failed(args, &err);
    sr_resolve_gate(&s.resolved.plan, &mounts, &gate);
    status = findings.n ? SR_EXIT_ENV : 0;
    status = cli_flag(args, "json") ? check_json(&s.resolved.plan, &findings, &gate, status)
                                    : check_print(&s.resolved.plan, &findings, &gate, status);
    sr_gate_clear(&gate);
    sr_findings_clear(&findings);
    return status;
}
