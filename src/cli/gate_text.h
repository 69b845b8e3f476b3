/* SPDX-License-Identifier: MIT */
/* The gate's answer, limits and durations for people; shared by plan, audit, run and repro. */
#ifndef SR_CLI_GATE_TEXT_H
#define SR_CLI_GATE_TEXT_H

#include "cli/print.h"
#include "sandrun/gate.h"

/* "contained", "not contained", "opted out", "refused" */
const char *cli_decision_name(enum sr_decision d);
void cli_gate_lines(struct cli_page *p, const struct sr_gate *gate);
void cli_refusal_lines(struct cli_page *p, const char *code, const char *text, const char *line);
/* Adds "decision" and "refusals" to an object. */
void cli_gate_json(cJSON *out, const struct sr_gate *gate);

/* kind: 't' nanoseconds, 's' bytes, 'n' a number, 'c' thousandths of a cpu; 0 is "absent". */
void cli_limit_text(char kind, uint64_t value, char out[32]);
/* "1.2s", "850ms", "2m03s": for reading, not exact. */
void cli_duration_text(uint64_t ns, char out[32]);

#endif
