/* SPDX-License-Identifier: MIT */
/* sandrun help: text for people, and everything else that is printed from the tables. */
#include "cli/help.h"
#include "cli/print.h"
#include "sandrun/verdict.h"

#include <string.h>
#include <unistd.h>

typedef void printer(struct sr_buf *out);

static const struct {
    const char *option, *value;
    printer *print;
} printers[] = {
    { "man", NULL, cli_man },
    { "completion", "bash", cli_completion_bash },
    { "completion", "zsh", cli_completion_zsh },
    { "completion", "fish", cli_completion_fish },
    { "markdown", "commands", cli_markdown_commands },
    { "markdown", "exit-codes", cli_markdown_exit_codes },
    { "markdown", "reasons", cli_markdown_reasons },
    { "markdown", "fields", cli_markdown_fields },
};

static printer *printer_chosen(const struct cli_args *args)
{
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++) {
        const char *value = cli_arg(args, printers[i].option);
        if (printers[i].value ? value && strcmp(value, printers[i].value) == 0
                              : cli_flag(args, printers[i].option))
            return printers[i].print;
    }
    return NULL;
}

static int topic_print(const char *topic)
{
    struct sr_error err = { 0 };
    const struct cli_command *cmd = cli_command_find(topic);
    if (cmd)
        return cli_help_print(cmd);
    sr_error_set(&err, "usage.unknown_command", "there is no command \"%s\"", topic);
    sr_error_hint(&err, "sandrun help lists the commands");
    return cli_error(&err);
}

int cli_help(const struct cli_args *args)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    printer *print = printer_chosen(args);
    struct sr_error err = { 0 };
    if (args->n_given + (args->positional[0] != NULL) > 1) {
        sr_error_set(&err, "usage.unexpected_argument", "sandrun help prints one thing at a time");
        return cli_error(&err);
    }
    if (args->positional[0])
        return topic_print(args->positional[0]);
    if (print)
        print(&p.buf);
    else
        cli_help_overview(&p.buf);
    return cli_page_done(&p, 0);
}
