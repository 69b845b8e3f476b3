/* SPDX-License-Identifier: MIT */
/* The verdict: four statuses, stable reasons, exit statuses; computed from facts the command cannot reach. */
#ifndef SANDRUN_VERDICT_H
#define SANDRUN_VERDICT_H

#include "base/error.h"
#include "sandrun/change.h"
#include "sandrun/engine.h"
#include "sandrun/preflight.h"

enum sr_status { SR_STATUS_PASSED, SR_STATUS_FAILED, SR_STATUS_ERRORED, SR_STATUS_BLOCKED, SR_STATUS_COUNT };
const char *sr_status_name(enum sr_status s);

/* Exit statuses, the official interface (README has the table). */
enum {
    SR_EXIT_BLOCKED = 120,
    SR_EXIT_ENV = 121,
    SR_EXIT_LIMIT = 122,
    SR_EXIT_WALL = 124,
    SR_EXIT_SANDBOX = 125,
    SR_EXIT_NOT_EXECUTED = 126,
    SR_EXIT_NOT_FOUND = 127,
    SR_EXIT_SIGNAL = 128,
    SR_EXIT_USAGE = 125, /* bad command line: sandrun failed, nothing is known about the code */
    SR_EXIT_FAILED = 1,  /* a command's own 120, 121, 122 or 125, which say something else here */
};

struct sr_verdict {
    enum sr_status status;
    char reason[SR_ERROR_CODE_MAX]; /* "command.exit", "env.repaired", "limit.wall", ... */
    bool decided;
    int exit;     /* what sandrun exits with */
    int own_exit; /* of command.exit: what the command exited with; else as exit */
};

/* Each from its own facts; sr_verdict_of_run applies the order: interrupted, not executed, limits, repair, exit. A limit that was
 * reached and did not end the run counts among the limits when the command failed, or when limits.on_reached is error. */
void sr_verdict_blocked(const char *code, struct sr_verdict *ret);
void sr_verdict_error(const struct sr_error *err, struct sr_verdict *ret); /* 125, or 120 for the refusing codes */
void sr_verdict_mismatch(struct sr_verdict *ret);
void sr_verdict_of_run(const struct sr_plan *plan, const struct sr_outcome *o, const struct sr_changeset *changes, struct sr_verdict *ret);

#endif
