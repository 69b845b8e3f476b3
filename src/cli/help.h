/* SPDX-License-Identifier: MIT */
/* What is printed from the tables: help, manual page, completions, README blocks. */
#ifndef SR_CLI_HELP_H
#define SR_CLI_HELP_H

#include "base/buf.h"
#include "cli/commands.h"

enum { CLI_HELP_WIDTH = 80 };

void cli_help_overview(struct sr_buf *out);
void cli_help_command(const struct cli_command *cmd, struct sr_buf *out);
int cli_help_print(const struct cli_command *cmd);

/* "sandrun run [OPTIONS] BINDING [-- ARGS...]" */
void cli_usage(const struct cli_command *cmd, struct sr_buf *out);
/* "-C, --tree DIR" */
void cli_option_spelling(const struct cli_option *o, struct sr_buf *out);
/* Appends text, wrapped at CLI_HELP_WIDTH, each line after the first indented; column: where the
 * first one stands. */
void cli_wrap(struct sr_buf *out, size_t indent, size_t column, const char *text);
/* "128+n"-like spelling of an exit line's status. */
const char *cli_exit_spelling(int status, char out[32]);

void cli_man(struct sr_buf *out);
void cli_completion_bash(struct sr_buf *out);
void cli_completion_zsh(struct sr_buf *out);
void cli_completion_fish(struct sr_buf *out);
void cli_markdown_commands(struct sr_buf *out);
void cli_markdown_exit_codes(struct sr_buf *out);
void cli_markdown_reasons(struct sr_buf *out);
void cli_markdown_fields(struct sr_buf *out);

#endif
