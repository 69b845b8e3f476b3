/* SPDX-License-Identifier: MIT */
/* The option parser and what its tables look like; help, man page and completions are printed from
 * the same tables. */
#ifndef SR_CLI_OPTIONS_H
#define SR_CLI_OPTIONS_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* What a value is: how it is checked at once, and what a shell completes it with. */
enum cli_type {
    CLI_FLAG, /* takes no value */
    CLI_TEXT,
    CLI_FILE,
    CLI_DIR,
    CLI_DURATION,
    CLI_SIZE,
    CLI_NUMBER,
    CLI_CPUS,
    CLI_CHOICE, /* one word of choices */
    CLI_BINDING,
    CLI_RECORD,
    CLI_COMMAND,
    CLI_TYPE_COUNT
};

struct cli_option {
    const char *name; /* long, without the dashes; NULL ends a table */
    char letter;      /* 0: none */
    const char *argument;
    enum cli_type type;
    bool repeat;
    const char *choices; /* "pin policy tree plan" */
    const char *help;
};

struct cli_positional {
    const char *name; /* NULL ends a table */
    bool required;
    enum cli_type type;
    const char *choices;
    const char *help;
};

enum { CLI_POSITIONALS_MAX = 3, CLI_OPTION_TABLES_MAX = 5 };

struct cli_command;

struct cli_given {
    const struct cli_option *option;
    const char *value; /* borrowed from argv; NULL for a flag */
};

/* What stood on the command line. Borrows argv. */
struct cli_args {
    const struct cli_command *command;
    struct cli_given *given;
    size_t n_given, cap_given;
    const char *positional[CLI_POSITIONALS_MAX];
    struct sr_strv rest; /* after "--" */
    bool has_rest;
    bool help; /* --help was there: nothing else was checked */
};
#define cleanup_args __attribute__((cleanup(cli_args_clear)))

/*
 * argv[0] is the first word after the command's name. Codes: usage.unknown_option
 * usage.duplicate_option usage.missing_value usage.unexpected_value usage.invalid_value
 * usage.unexpected_argument usage.missing_argument usage.conflicting_options.
 */
SR_CHECK int cli_args_parse(const struct cli_command *cmd, int argc, char *const *argv,
                            struct cli_args *ret, struct sr_error *err);
void cli_args_clear(struct cli_args *a);

/* The value of --NAME, NULL when it was not given. NAME must be in the command's tables: anything
 * else is a bug. */
const char *cli_arg(const struct cli_args *a, const char *name);
bool cli_flag(const struct cli_args *a, const char *name);
/* True when --NAME=VALUE is among the (repeated) options. */
bool cli_arg_has(const struct cli_args *a, const char *name, const char *value);

/* The option tables (option_tables.c). */
extern const struct cli_option cli_options_common[]; /* --help: every command has it */
extern const struct cli_option cli_options_tree[];   /* --tree */
extern const struct cli_option cli_options_policy[]; /* --policy --policy-ref --staged */
extern const struct cli_option cli_options_limits[]; /* limits that tighten */
extern const struct cli_option cli_options_json[];   /* --json */
extern const struct cli_option cli_options_run[];
extern const struct cli_option cli_options_audit[];
extern const struct cli_option cli_options_image[];
extern const struct cli_option cli_options_repro[];
extern const struct cli_option cli_options_clean[];
extern const struct cli_option cli_options_init[];
extern const struct cli_option cli_options_help[];

/* Looks a word up in a list of words with blanks between. */
bool cli_words_have(const char *words, const char *word);
/* The nth word of such a list into out; false beyond the end. */
bool cli_words_nth(const char *words, size_t n, char out[32]);

#endif
