/* SPDX-License-Identifier: MIT */
/* The verdict, as tables from what was observed to what is said. */
#include "sandrun/verdict.h"

#include <stdio.h>
#include <string.h>

static const char *const status_names[] = { "passed", "failed", "errored", "blocked" };
_Static_assert(sizeof status_names / sizeof *status_names == SR_STATUS_COUNT, "names");

const char *sr_status_name(enum sr_status s)
{
    return status_names[s];
}

/* Where the exit status comes from. */
enum exit_from {
    FIXED,
    FROM_CODE,   /* the command's own; 0 is passed, command.success */
    FROM_SIGNAL, /* 128 + n */
};

struct rule {
    const char *reason;
    enum sr_status status;
    int exit;
    enum exit_from from;
    bool before_repair; /* stands also when the environment was repaired: what was seen of it is not the whole */
};

/*
 * One row per end. decided is not a column: it is true for passed and failed, and false for all else, because an errored
 * or blocked run says nothing about the code.
 *
 * before_repair: a run that was cut off (interrupted, never executed, stopped by a limit) may have been cut off in the
 * middle of a repair; the limit is what has to change first. A command that ended by itself is judged by its repair.
 */
static const struct rule ends[] = {
    [SR_END_EXITED] = { "command.exit", SR_STATUS_FAILED, 0, FROM_CODE, false },
    [SR_END_SIGNALED] = { "command.signal", SR_STATUS_FAILED, SR_EXIT_SIGNAL, FROM_SIGNAL, false },
    [SR_END_NOT_FOUND] = { "command.not_found", SR_STATUS_ERRORED, SR_EXIT_NOT_FOUND, FIXED, true },
    [SR_END_NOT_EXECUTED] = { "command.not_executed", SR_STATUS_ERRORED, SR_EXIT_NOT_EXECUTED, FIXED, true },
    [SR_END_WALL] = { "limit.wall", SR_STATUS_ERRORED, SR_EXIT_WALL, FIXED, true },
    [SR_END_IDLE] = { "limit.idle", SR_STATUS_ERRORED, SR_EXIT_WALL, FIXED, true },
    [SR_END_OUTPUT] = { "limit.output", SR_STATUS_ERRORED, SR_EXIT_LIMIT, FIXED, true },
    [SR_END_INTERRUPTED] = { "run.interrupted", SR_STATUS_ERRORED, SR_EXIT_SANDBOX, FIXED, true },
};
_Static_assert(sizeof ends / sizeof *ends == SR_END_COUNT, "one rule per end");

/* The limits that a command can reach and go on: those that end the run are ends. */
static const struct rule limits[] = {
    [SR_LIMIT_MEMORY] = { "limit.memory", SR_STATUS_ERRORED, SR_EXIT_LIMIT, FIXED, true },
    [SR_LIMIT_DISK] = { "limit.disk", SR_STATUS_ERRORED, SR_EXIT_LIMIT, FIXED, true },
    [SR_LIMIT_FILES] = { "limit.files", SR_STATUS_ERRORED, SR_EXIT_LIMIT, FIXED, true },
    [SR_LIMIT_PIDS] = { "limit.pids", SR_STATUS_ERRORED, SR_EXIT_LIMIT, FIXED, true },
};

/*
 * A failure after a limit was reached may be the limit's doing, whatever the policy says of reached limits, so it is never the
 * code's; a success is judged by limits.on_reached. Both stand before a repair, as for a run that was cut off: something inside
 * was (killed, refused, short of room), and that may be what made a tool repair, or what left its repair half-done. The limit
 * has to change first, and the next run shows whether the repair was its consequence.
 */
static const struct rule *rule_of(const struct sr_plan *plan, const struct sr_outcome *o)
{
    bool by_itself = o->end == SR_END_EXITED || o->end == SR_END_SIGNALED;
    bool success = o->end == SR_END_EXITED && o->code == 0;
    if (!by_itself || (success && plan->limits.on_reached == SR_ON_REACHED_REPORT))
        return &ends[o->end];
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (o->reached[i].times)
            return &limits[i];
    return &ends[o->end];
}

static void say(struct sr_verdict *v, enum sr_status status, const char *reason, int code)
{
    *v = (struct sr_verdict){ .status = status,
                              .decided = status == SR_STATUS_PASSED || status == SR_STATUS_FAILED,
                              .exit = code,
                              .own_exit = code };
    snprintf(v->reason, sizeof v->reason, "%s", reason);
}

void sr_verdict_blocked(const char *code, struct sr_verdict *ret)
{
    say(ret, SR_STATUS_BLOCKED, code, SR_EXIT_BLOCKED);
}

/* Errors that are a control's refusal: somebody tried to have less containment than they may, or gave a record to repeat
 * that is not what its own digest says. */
static const char *const refusing[] = { "policy.untrusted", "policy.unsafe", "policy.loosens", "policy.locked",
                                         "record.invalid.digest" };

void sr_verdict_error(const struct sr_error *err, struct sr_verdict *ret)
{
    for (size_t i = 0; i < sizeof refusing / sizeof *refusing; i++)
        if (strcmp(err->code, refusing[i]) == 0) {
            sr_verdict_blocked(err->code, ret);
            return;
        }
    say(ret, SR_STATUS_ERRORED, sr_error_is_set(err) ? err->code : "run.error", SR_EXIT_SANDBOX);
}

void sr_verdict_mismatch(struct sr_verdict *ret)
{
    say(ret, SR_STATUS_ERRORED, "env.mismatch", SR_EXIT_ENV);
}

/*
 * A caller who sees one of sandrun's own numbers must be able to believe it, so none of them comes from a command. 124, 126 and 127
 * stay: timeout(1) and every shell give them the meaning they have here, and a command that is such a program says the same thing.
 */
static const int own_numbers[] = { SR_EXIT_BLOCKED, SR_EXIT_ENV, SR_EXIT_LIMIT, SR_EXIT_SANDBOX };

static void say_exit(struct sr_verdict *v, enum sr_status status, const char *reason, int code)
{
    say(v, status, reason, code);
    for (size_t i = 0; i < sizeof own_numbers / sizeof *own_numbers; i++)
        if (code == own_numbers[i])
            v->exit = SR_EXIT_FAILED;
}

void sr_verdict_of_run(const struct sr_plan *plan, const struct sr_outcome *o, const struct sr_changeset *changes, struct sr_verdict *ret)
{
    if ((unsigned)o->end >= SR_END_COUNT) {
        say(ret, SR_STATUS_ERRORED, "run.error", SR_EXIT_SANDBOX);
        return;
    }
    const struct rule *r = rule_of(plan, o);
    bool repaired = changes && changes->n_repairs > 0 && plan->on_repair != SR_ON_REPAIR_REPORT;
    if (!r->before_repair && repaired)
        say(ret, SR_STATUS_ERRORED, "env.repaired", SR_EXIT_ENV);
    else if (!r->before_repair && changes && changes->overflow) /* no repair seen is not the same as none */
        say(ret, SR_STATUS_ERRORED, "changes.overflow", SR_EXIT_SANDBOX);
    else if (r->from == FROM_CODE)
        say_exit(ret, o->code == 0 ? SR_STATUS_PASSED : r->status, o->code == 0 ? "command.success" : r->reason, o->code);
    else
        say(ret, r->status, r->reason, r->exit + (r->from == FROM_SIGNAL ? o->code : 0));
}
