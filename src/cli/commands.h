/* SPDX-License-Identifier: MIT */
/* The command table: one row per command, from which dispatch, help, man page, completions and
 * README blocks come. */
#ifndef SR_CLI_COMMANDS_H
#define SR_CLI_COMMANDS_H

#include "cli/options.h"

struct cli_exit_line {
    int status; /* -1 ends a table; CLI_EXIT_OWN: the command's own */
    const char *text;
};
enum { CLI_EXIT_OWN = 256 };

struct cli_command {
    const char *name; /* NULL ends the table */
    const char *summary;
    const struct cli_option *tables[CLI_OPTION_TABLES_MAX]; /* cli_options_common comes by itself */
    const struct cli_positional *positionals;               /* NULL: none */
    const char *rest;        /* what may follow "--"; NULL: nothing */
    const char *description; /* paragraphs, a blank line between */
    const char *examples;    /* lines "command  # what it does" */
    const struct cli_exit_line *exits;
    int (*run)(const struct cli_args *args); /* returns the exit status */
};

extern const struct cli_command cli_commands[];

const struct cli_command *cli_command_find(const char *name);
/* One sentence "did you mean ...?" about a list of names into out, "" when none is near. */
void cli_near(const char *word, const char *const *names, size_t n, char out[160]);

/* The option table of index i, the common one last; NULL beyond. */
const struct cli_option *cli_command_table(const struct cli_command *cmd, size_t i);

int cli_run(const struct cli_args *args);
int cli_plan(const struct cli_args *args);
int cli_audit(const struct cli_args *args);
int cli_check(const struct cli_args *args);
int cli_image(const struct cli_args *args);
int cli_repro(const struct cli_args *args);
int cli_diff(const struct cli_args *args);
int cli_doctor(const struct cli_args *args);
int cli_clean(const struct cli_args *args);
int cli_init(const struct cli_args *args);
int cli_schema(const struct cli_args *args);
int cli_version(const struct cli_args *args);
int cli_help(const struct cli_args *args);

#endif
