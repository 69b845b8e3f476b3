/* SPDX-License-Identifier: MIT */
/* Help for people, from the command and option tables, at most 80 columns wide. */
#include "cli/help.h"
#include "cli/print.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_COLUMN = 24, EXIT_COLUMN = 12, COMMAND_COLUMN = 12 };

static void blanks(struct sr_buf *out, size_t n)
{
    while (n-- > 0)
        sr_buf_putc(out, ' ');
}

void cli_wrap(struct sr_buf *out, size_t indent, size_t column, const char *text)
{
    bool first = true;
    while (*text) {
        size_t len = strcspn(text, " \n"), gap = first ? 0 : 1;
        if (!first && column + gap + len > CLI_HELP_WIDTH) {
            sr_buf_putc(out, '\n');
            blanks(out, indent);
            column = indent;
            gap = 0;
        }
        blanks(out, gap);
        sr_buf_add(out, text, len);
        column += gap + len;
        first = false;
        text += len;
        if (text[0] == '\n' && text[1] == '\n') {
            sr_buf_puts(out, "\n\n");
            blanks(out, indent);
            column = indent;
            first = true;
        }
        text += strspn(text, " \n");
    }
    sr_buf_putc(out, '\n');
}

/* Two columns; a left side too long for its column gets a line of its own. */
static void row(struct sr_buf *out, const char *left, size_t column, const char *right)
{
    size_t len = strlen(left) + 2;
    sr_buf_printf(out, "  %s", left);
    if (len + 2 > column) {
        sr_buf_putc(out, '\n');
        len = 0;
    }
    blanks(out, column - len);
    cli_wrap(out, column, column, right);
}

void cli_option_spelling(const struct cli_option *o, struct sr_buf *out)
{
    if (o->letter)
        sr_buf_printf(out, "-%c, ", o->letter);
    sr_buf_printf(out, "--%s", o->name);
    if (o->argument)
        sr_buf_printf(out, " %s", o->argument);
}

void cli_usage(const struct cli_command *cmd, struct sr_buf *out)
{
    sr_buf_printf(out, "sandrun %s", cmd->name);
    if (cmd->tables[0])
        sr_buf_puts(out, " [OPTIONS]");
    for (const struct cli_positional *p = cmd->positionals; p && p->name; p++)
        sr_buf_printf(out, p->required ? " %s" : " [%s]", p->name);
    if (cmd->rest)
        sr_buf_puts(out, " [-- ARGS...]");
}

const char *cli_exit_spelling(int status, char out[32])
{
    if (status == CLI_EXIT_OWN)
        snprintf(out, 32, "other");
    else
        snprintf(out, 32, "%d", status);
    return out;
}

static void option_row(const struct cli_option *o, struct sr_buf *out)
{
    cleanup_buf struct sr_buf left = SR_BUF(256), right = SR_BUF(4096);
    cli_option_spelling(o, &left);
    sr_buf_puts(&right, o->help);
    if (o->choices)
        sr_buf_printf(&right, " (%s)", o->choices);
    row(out, left.data, OPTION_COLUMN, right.data);
}

static void section_options(const struct cli_command *cmd, struct sr_buf *out)
{
    const struct cli_option *o;
    sr_buf_puts(out, "\nOptions:\n");
    for (size_t i = 0; (o = cli_command_table(cmd, i)) != NULL; i++)
        for (; o->name; o++)
            option_row(o, out);
}

static void section_arguments(const struct cli_command *cmd, struct sr_buf *out)
{
    if (!cmd->positionals && !cmd->rest)
        return;
    sr_buf_puts(out, "\nArguments:\n");
    for (const struct cli_positional *p = cmd->positionals; p && p->name; p++)
        row(out, p->name, OPTION_COLUMN, p->help);
    if (cmd->rest)
        row(out, "ARGS", OPTION_COLUMN, cmd->rest);
}

/* "command  # what it does" takes two lines, so that a command can be copied whole. */
static void example(struct sr_buf *out, const char *line, size_t len)
{
    const char *hash = memmem(line, len, "  # ", 4);
    if (hash)
        sr_buf_printf(out, "  # %.*s\n", (int)(line + len - hash - 4), hash + 4);
    sr_buf_printf(out, "  %.*s\n", (int)(hash ? (size_t)(hash - line) : len), line);
}

static void section_examples(const struct cli_command *cmd, struct sr_buf *out)
{
    if (!cmd->examples)
        return;
    sr_buf_puts(out, "\nExamples:\n");
    for (const char *line = cmd->examples; *line;) {
        size_t len = strcspn(line, "\n");
        example(out, line, len);
        line += len + (line[len] == '\n');
    }
}

static void section_exits(const struct cli_command *cmd, struct sr_buf *out)
{
    char status[32];
    sr_buf_puts(out, "\nExit status:\n");
    for (const struct cli_exit_line *e = cmd->exits; e->status >= 0; e++)
        row(out, cli_exit_spelling(e->status, status), EXIT_COLUMN, e->text);
}

void cli_help_command(const struct cli_command *cmd, struct sr_buf *out)
{
    sr_buf_puts(out, "Usage: ");
    cli_usage(cmd, out);
    sr_buf_printf(out, "\n\nsandrun %s: %s.\n", cmd->name, cmd->summary);
    if (cmd->description) {
        sr_buf_putc(out, '\n');
        cli_wrap(out, 0, 0, cmd->description);
    }
    section_arguments(cmd, out);
    section_options(cmd, out);
    section_examples(cmd, out);
    section_exits(cmd, out);
}

void cli_help_overview(struct sr_buf *out)
{
    sr_buf_puts(out, "Usage: sandrun COMMAND [OPTIONS] [ARGUMENTS]\n\n"
                     "Runs a repository's checks contained, and says the truth about what "
                     "happened.\n\nCommands:\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        row(out, c->name, COMMAND_COLUMN, c->summary);
    sr_buf_puts(out,
                "\nsandrun help COMMAND explains one of them. A repository declares its checks in\n"
                "sandrun.json; sandrun init writes the first one.\n");
}

int cli_help_print(const struct cli_command *cmd)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    cli_help_command(cmd, &p.buf);
    return cli_page_done(&p, 0);
}
