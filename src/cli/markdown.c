/* SPDX-License-Identifier: MIT */
/* The README's tables. */
#include "cli/help.h"
#include "cli/statuses.h"
#include "sandrun/policy.h"

void cli_markdown_commands(struct sr_buf *out)
{
    sr_buf_puts(out, "| command | what it does |\n|---|---|\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        sr_buf_puts(out, "| `");
        cli_usage(c, out);
        sr_buf_printf(out, "` | %s |\n", c->summary);
    }
}

void cli_markdown_exit_codes(struct sr_buf *out)
{
    sr_buf_puts(out, "| exit | status | decided | when |\n|---|---|---|---|\n");
    for (const struct cli_status_row *r = cli_status_rows; r->exit; r++)
        sr_buf_printf(out, "| %s | %s | %s | %s |\n", r->exit, r->status, r->decided, r->when);
}

void cli_markdown_reasons(struct sr_buf *out)
{
    sr_buf_puts(out, "| reason | means | do |\n|---|---|---|\n");
    for (const struct cli_reason_row *r = cli_reason_rows; r->reason; r++)
        sr_buf_printf(out, "| `%s` | %s | %s |\n", r->reason, r->text, r->remedy ? r->remedy : "");
}

void cli_markdown_fields(struct sr_buf *out)
{
    cleanup_free char *fields = sr_policy_fields_markdown();
    sr_buf_puts(out, fields);
}
