/* SPDX-License-Identifier: MIT */
/* What is no longer as a record has it: each difference named, with both sides. */
#ifndef SR_CLI_DRIFT_H
#define SR_CLI_DRIFT_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/plan.h"

struct cli_drift {
    const char *what; /* word of --allow-drift; NULL: cannot be allowed (args) */
    const char *code; /* "repro.drift.pin" */
    char *text;       /* the sentence */
    char *before, *after;
    struct sr_strv examples; /* paths, fields */
};

struct cli_drifts {
    struct cli_drift *v;
    size_t n, cap;
};

/* record: parsed; plan: resolved now. Codes: repro.record (the record lacks what a repetition
 * needs), file.read. */
SR_CHECK int cli_drifts_find(const cJSON *record, const struct sr_plan *plan,
                             struct cli_drifts *ret, struct sr_error *err);
void cli_drifts_clear(struct cli_drifts *d);

/* tree_drift.c: entries of the tree changed since taken_ns, at most CLI_DRIFT_EXAMPLES of them;
 * .git's inside is not looked at. */
enum { CLI_DRIFT_EXAMPLES = 8 };
SR_CHECK int cli_tree_changed_since(const char *tree, int64_t taken_ns, struct sr_strv *ret,
                                    struct sr_error *err);

#endif
