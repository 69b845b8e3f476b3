/* SPDX-License-Identifier: MIT */
/* The verdict block: what a person reads after a run. */
#ifndef SR_CLI_VERDICT_TEXT_H
#define SR_CLI_VERDICT_TEXT_H

#include "cli/print.h"
#include "sandrun/run.h"

void cli_verdict_lines(struct cli_page *p, const char *binding, const struct sr_run_result *r);
/* The environments of a change set, each with counts and examples. id: the run that lists the rest,
 * or NULL. */
void cli_repair_lines(struct cli_page *p, const cJSON *changes, const char *id);
/* One finding of the preflight: where, what was expected, what was found, what to do. Anything but
 * path and code may be NULL. */
void cli_finding_lines(struct cli_page *p, const char *path, const char *code, const char *text,
                       const char *expected, const char *found, const char *remedy);

#endif
