/* SPDX-License-Identifier: MIT */
/* sandrun check: the preflight alone. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/request.h"
#include "sandrun/verdict.h"

#include <unistd.h>

static int findings_print(const struct sr_plan *plan, const struct sr_findings *f, int status)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    if (f->n == 0)
        cli_line(&p, CLI_GOOD, "%s: nothing found that cannot work here", plan->binding);
    for (size_t i = 0; i < f->n; i++) {
        const struct sr_finding *v = &f->v[i];
        cli_line(&p, CLI_BAD, "%s: %s", v->path, v->text);
        cli_line(&p, CLI_PLAIN, "  code: %s", v->code);
        cli_line(&p, CLI_PLAIN, "  expected: %s", v->expected ? v->expected : "-");
        cli_line(&p, CLI_PLAIN, "  found: %s", v->found ? v->found : "-");
        if (v->remedy)
            cli_lines(&p, CLI_PLAIN, "  do: ", v->remedy);
    }
    return cli_page_done(&p, status);
}

static int findings_json(const struct sr_plan *plan, const struct sr_findings *f, int status)
{
    cleanup_json cJSON *out = sr_json_object();
    sr_json_add_string(out, "binding", plan->binding);
    sr_json_add_string(out, "plan_digest", plan->digest);
    sr_json_add(out, "findings", sr_findings_json(f));
    return cli_json(out, status);
}

int cli_check(const struct cli_args *args)
{
    cleanup_session struct cli_session s;
    struct sr_error err = { 0 };
    struct sr_findings findings = { 0 };
    int status;
    if (cli_session_open(args, 0, &s, &err) < 0)
        return cli_failed(args, &err);
    if (sr_resolve_preflight(&s.resolved.plan, &s.state, &findings, &err) < 0)
        return cli_failed(args, &err);
    status = findings.n ? SR_EXIT_ENV : 0;
    status = cli_flag(args, "json") ? findings_json(&s.resolved.plan, &findings, status)
                                    : findings_print(&s.resolved.plan, &findings, status);
    sr_findings_clear(&findings);
    return status;
}
