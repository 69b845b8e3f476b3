/* SPDX-License-Identifier: MIT */
/* From argv to a row of the command table, and from its answer to the exit status. */
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/print.h"
#include "sandrun/cli.h"
#include "sandrun/verdict.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cli_near(const char *word, const char *const *names, size_t n, char out[160])
{
    const char *best = NULL;
    unsigned least = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = sr_text_distance(word, names[i]);
        if (!best || d < least) {
            best = names[i];
            least = d;
        }
    }
    /* Two slips (swapped letters count as two) when the word at least begins alike, else one:
     * farther is a guess. */
    if (best && least <= (word[0] == best[0] ? 2u : 1u))
        snprintf(out, 160, "%s", best);
    else
        out[0] = '\0';
}

static int command_unknown(const char *word)
{
    struct sr_error err = { 0 };
    const char *names[64];
    size_t n = 0;
    char near[160];
    for (const struct cli_command *c = cli_commands; c->name && n < 64; c++)
        names[n++] = c->name;
    cli_near(word, names, n, near);
    sr_error_set(&err, "usage.unknown_command", "there is no command \"%s\"", word);
    if (near[0])
        sr_error_hint(&err, "did you mean \"%s\"?", near);
    else
        sr_error_hint(&err, "sandrun help lists the commands");
    return cli_error(&err);
}

static int usage_missing(void)
{
    cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
    cli_help_overview(&p.buf);
    (void)cli_page_flush(&p);
    return SR_EXIT_USAGE;
}

/* The spellings people try first. */
static const char *command_alias(const char *word)
{
    static const struct {
        const char *word, *name;
    } aliases[] = {
        { "--help", "help" }, { "-h", "help" }, { "--version", "version" }, { "-V", "version" }
    };
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(word, aliases[i].word) == 0)
            return aliases[i].name;
    return word;
}

int sr_cli_main(int argc, char *const *argv)
{
    cleanup_args struct cli_args args = { 0 };
    struct sr_error err = { 0 };
    const struct cli_command *cmd;
    if (argc < 2)
        return usage_missing();
    cmd = cli_command_find(command_alias(argv[1]));
    if (!cmd)
        return command_unknown(argv[1]);
    if (cli_args_parse(cmd, argc - 2, argv + 2, &args, &err) < 0)
        return cli_usage_failed(cmd, argc - 2, argv + 2, &err);
    return args.help ? cli_help_print(cmd) : cmd->run(&args);
}

int sr_cli_refuse_setuid(void)
{
    struct sr_error err = { 0 };
    sr_error_set(&err, "usage.setuid",
                 "sandrun was started with more privilege than its caller has (setuid, setgid or "
                 "file capabilities)");
    sr_error_hint(
        &err, "take the bits from the file: chmod u-s,g-s, setcap -r; sandrun needs no privilege");
    return cli_error(&err);
}
