/* SPDX-License-Identifier: MIT */
/* Help, manual page, completions and README blocks: whole, narrow enough, and about every row of
 * the tables. */
#include "cli/help.h"
#include "cli/statuses.h"
#include "sandrun/verdict.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Bytes count: the tables are ASCII, and this says so. */
static void narrow(const char *what, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        cr_assert(len <= CLI_HELP_WIDTH, "%s: %zu columns: %.*s", what, len, (int)len, text);
        cr_assert(len == 0 || text[len - 1] != ' ', "%s: blank at the end of: %.*s", what, (int)len,
                  text);
        text += len + (text[len] == '\n');
    }
}

static void ascii(const char *what, const struct sr_buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        cr_assert((b->data[i] >= ' ' && b->data[i] < 127) || b->data[i] == '\n', "%s: byte %d",
                  what, b->data[i]);
}

Test(cli_help, every_command_has_help_of_at_most_80_columns)
{
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
        cli_help_command(c, &b);
        cr_assert_not_null(c->run);
        narrow(c->name, b.data);
        ascii(c->name, &b);
        cr_assert_not_null(strstr(b.data, c->summary), "%s has no summary", c->name);
        cr_assert_not_null(strstr(b.data, "Exit status:"), "%s has no exit status", c->name);
    }
}

Test(cli_help, every_option_and_argument_is_documented)
{
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
        const struct cli_option *o;
        char spelling[64];
        cli_help_command(c, &b);
        for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
            for (; o->name; o++) {
                snprintf(spelling, sizeof spelling, "--%s", o->name);
                cr_assert_not_null(strstr(b.data, spelling), "%s: %s", c->name, spelling);
                cr_assert(o->help && o->help[0]);
                cr_assert_eq(o->argument != NULL, o->type != CLI_FLAG, "%s: %s", c->name, spelling);
            }
        for (const struct cli_positional *p = c->positionals; p && p->name; p++)
            cr_assert(strstr(b.data, p->name) && p->help, "%s: %s", c->name, p->name);
    }
}

Test(cli_help, no_command_has_an_option_or_a_letter_twice)
{
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        const struct cli_option *o, *seen[64];
        size_t n = 0;
        for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
            for (; o->name; o++) {
                for (size_t k = 0; k < n; k++) {
                    cr_assert_str_neq(o->name, seen[k]->name, "%s", c->name);
                    cr_assert(!o->letter || o->letter != seen[k]->letter, "%s: -%c", c->name,
                              o->letter);
                }
                seen[n++] = o;
            }
    }
}

Test(cli_help, the_overview_names_every_command)
{
    cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
    cli_help_overview(&b);
    narrow("overview", b.data);
    for (const struct cli_command *c = cli_commands; c->name; c++)
        cr_assert_not_null(strstr(b.data, c->summary), "%s", c->name);
}

static void mentions_all(const char *what, const struct sr_buf *b, const char *dashes)
{
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        const struct cli_option *o;
        cr_assert_not_null(strstr(b->data, c->name), "%s lacks %s", what, c->name);
        for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
            for (; o->name; o++) {
                cleanup_buf struct sr_buf spelling = SR_BUF(128);
                sr_buf_puts(&spelling, dashes);
                /* roff spells each dash with a backslash */
                for (const char *p = o->name; *p; p++)
                    sr_buf_printf(&spelling, "%s%c", *p == '-' && dashes[0] == '\\' ? "\\" : "",
                                  *p);
                cr_assert_not_null(strstr(b->data, spelling.data), "%s lacks %s of %s", what,
                                   spelling.data, c->name);
            }
    }
}

Test(cli_help, the_man_page_mentions_every_command_option_and_status)
{
    cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
    cli_man(&b);
    ascii("man", &b);
    mentions_all("man", &b, "\\-\\-");
    for (const struct cli_status_row *r = cli_status_rows; r->exit; r++)
        cr_assert_not_null(strstr(b.data, r->exit), "%s", r->exit);
    cr_assert_null(strchr(b.data, '`'));
}

Test(cli_help, completions_mention_every_command_and_option)
{
    cleanup_buf struct sr_buf bash = SR_BUF(1 << 20), zsh = SR_BUF(1 << 20), fish = SR_BUF(1 << 20);
    cli_completion_bash(&bash);
    cli_completion_zsh(&zsh);
    cli_completion_fish(&fish);
    mentions_all("bash", &bash, "--");
    mentions_all("zsh", &zsh, "--");
    mentions_all("fish", &fish, "-l ");
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

Test(cli_help, markdown_blocks_have_a_row_for_each_row)
{
    cleanup_buf struct sr_buf commands = SR_BUF(1 << 20), exits = SR_BUF(1 << 20);
    size_t n_commands = 0, n_exits = 0;
    for (const struct cli_command *c = cli_commands; c->name; c++)
        n_commands++;
    for (const struct cli_status_row *r = cli_status_rows; r->exit; r++)
        n_exits++;
    cli_markdown_commands(&commands);
    cli_markdown_exit_codes(&exits);
    cr_assert_eq(lines(commands.data), n_commands + 2);
    cr_assert_eq(lines(exits.data), n_exits + 2);
}

/* The numbers in words are the numbers of the verdict's header. */
Test(cli_help, the_status_table_has_every_exit_status_of_the_verdict)
{
    static const int statuses[] = { 0,
                                    SR_EXIT_BLOCKED,
                                    SR_EXIT_ENV,
                                    SR_EXIT_LIMIT,
                                    SR_EXIT_WALL,
                                    SR_EXIT_SANDBOX,
                                    SR_EXIT_NOT_EXECUTED,
                                    SR_EXIT_NOT_FOUND };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char text[16];
        bool found = false;
        snprintf(text, sizeof text, "%d", statuses[i]);
        for (const struct cli_status_row *r = cli_status_rows; r->exit; r++)
            found = found || strcmp(r->exit, text) == 0;
        cr_assert(found, "%s", text);
    }
    for (const struct cli_status_row *r = cli_status_rows; r->exit; r++) {
        bool known = false;
        for (int s = 0; s < SR_STATUS_COUNT; s++)
            known = known || strcmp(sr_status_name((enum sr_status)s), r->status) == 0;
        cr_assert(known, "%s", r->status);
    }
}

Test(cli_help, reasons_are_found_by_whole_parts)
{
    cr_assert_str_eq(cli_reason("limit.wall")->reason, "limit.wall");
    cr_assert_str_eq(cli_reason("policy.invalid.type")->reason, "policy");
    cr_assert_null(cli_reason("policies")->reason);
    cr_assert_not_null(cli_reason("something.new")->text);
}
