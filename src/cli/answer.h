/* SPDX-License-Identifier: MIT */
/* What a machine gets where a command has no other document: one JSON object on stdout. */
#ifndef SR_CLI_ANSWER_H
#define SR_CLI_ANSWER_H

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "sandrun/run.h"

/* {code, text, hint} */
cJSON *cli_error_json(const struct sr_error *err);
/* {status, reason, decided, exit, error}: of a run that came to no plan, and so has no record. */
cJSON *cli_answer(const struct sr_run_result *r);
/* cli_error, and with --json {"error": {code, text, hint}} on stdout. Returns the exit status. */
int cli_failed(const struct cli_args *args, const struct sr_error *err);
/* As above for words that could not be parsed: whether they ask for JSON is read from argv. run
 * answers in its own shape, and to --record FILE too. Returns SR_EXIT_USAGE. */
int cli_usage_failed(const struct cli_command *cmd, int argc, char *const *argv,
                     const struct sr_error *err);

#endif
