/* SPDX-License-Identifier: MIT */
/* sandrun(1), in roff, from the tables. */
#include "cli/help.h"
#include "cli/statuses.h"

#include <string.h>

/* "-" would become a hyphen that cannot be copied, "\" and a leading "." or "'" are commands of
 * roff. */
static void roff_n(struct sr_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\''))
            sr_buf_puts(out, "\\&");
        if (text[i] == '-')
            sr_buf_puts(out, "\\-");
        else if (text[i] == '\\')
            sr_buf_puts(out, "\\e");
        else if (text[i] != '`') /* Markdown's mark in the tables' sentences */
            sr_buf_putc(out, text[i]);
    }
}

static void roff(struct sr_buf *out, const char *text)
{
    roff_n(out, text, strlen(text));
}

static void paragraphs(struct sr_buf *out, const char *text)
{
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        roff_n(out, text, (size_t)(end - text));
        sr_buf_puts(out, "\n.PP\n");
    }
    roff(out, text);
    sr_buf_putc(out, '\n');
}

static void man_option(struct sr_buf *out, const struct cli_option *o)
{
    cleanup_buf struct sr_buf spelling = SR_BUF(256);
    cli_option_spelling(o, &spelling);
    sr_buf_puts(out, ".TP\n.B ");
    roff(out, spelling.data);
    sr_buf_putc(out, '\n');
    roff(out, o->help);
    if (o->choices)
        sr_buf_printf(out, " (%s)", o->choices);
    sr_buf_putc(out, '\n');
}

static void man_examples(struct sr_buf *out, const char *examples)
{
    if (!examples)
        return;
    sr_buf_puts(out, ".PP\nExamples:\n.PP\n.nf\n");
    for (const char *line = examples; *line;) {
        size_t len = strcspn(line, "\n");
        sr_buf_puts(out, "    ");
        roff_n(out, line, len);
        sr_buf_putc(out, '\n');
        line += len + (line[len] == '\n');
    }
    sr_buf_puts(out, ".fi\n");
}

static void man_exits(struct sr_buf *out, const struct cli_exit_line *e)
{
    char status[32];
    sr_buf_puts(out, ".PP\nExit status:\n");
    for (; e->status >= 0; e++) {
        sr_buf_printf(out, ".TP\n.B %s\n", cli_exit_spelling(e->status, status));
        roff(out, e->text);
        sr_buf_putc(out, '\n');
    }
}

static void man_command(struct sr_buf *out, const struct cli_command *c)
{
    cleanup_buf struct sr_buf usage = SR_BUF(512);
    const struct cli_option *o;
    cli_usage(c, &usage);
    sr_buf_puts(out, ".SS ");
    roff(out, usage.data);
    sr_buf_putc(out, '\n');
    paragraphs(out, c->description ? c->description : c->summary);
    for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
        for (; o->name; o++)
            man_option(out, o);
    man_examples(out, c->examples);
    man_exits(out, c->exits);
}

static const char man_files[] =
    ".SH FILES\n"
    ".TP\n.I sandrun.json\nThe policy of a repository, at the root of the tree. Comments are "
    "allowed.\n"
    ".TP\n.I /etc/sandrun/policy.d/*.json\nThe policy of the organisation.\n"
    ".TP\n.I $XDG_STATE_HOME/sandrun/runs/ID/\nThe record of a run and the logs of its output.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nWhen set and not empty: no colours.\n"
    ".TP\n.B XDG_STATE_HOME\nWhere records and inventories stand; ~/.local/state when not set.\n";

void cli_man(struct sr_buf *out)
{
    sr_buf_printf(out, ".TH SANDRUN 1 \"\" \"sandrun %s\" \"User Commands\"\n", SR_VERSION);
    sr_buf_puts(
        out,
        ".SH NAME\nsandrun \\- run a repository's checks contained\n"
        ".SH SYNOPSIS\n.B sandrun\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
        ".SH DESCRIPTION\n"
        "Runs the checks that a repository declares in its sandrun.json contained, says the truth\n"
        "about what happened, and refuses when it cannot contain.\n"
        ".SH COMMANDS\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        man_command(out, c);
    sr_buf_puts(out, ".SH EXIT STATUS\n");
    for (const struct cli_status_row *r = cli_status_rows; r->exit; r++) {
        sr_buf_printf(out, ".TP\n.B %s\n%s: ", r->exit, r->status);
        roff(out, r->when);
        sr_buf_putc(out, '\n');
    }
    sr_buf_puts(out, man_files);
}
