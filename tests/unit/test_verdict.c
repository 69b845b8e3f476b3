/* SPDX-License-Identifier: MIT */
/* The verdict: every end has an answer of its own. */
#include "sandrun/verdict.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum sr_end end;
    int code;
    const char *status, *reason;
    bool decided;
    int exit, own_exit;
    bool repair_wins;
} table[] = {
    { SR_END_EXITED, 0, "passed", "command.success", true, 0, 0, true },
    { SR_END_EXITED, 1, "failed", "command.exit", true, 1, 1, true },
    { SR_END_EXITED, 120, "failed", "command.exit", true, 1, 120, true },
    { SR_END_EXITED, 121, "failed", "command.exit", true, 1, 121, true },
    { SR_END_EXITED, 122, "failed", "command.exit", true, 1, 122, true },
    { SR_END_EXITED, 125, "failed", "command.exit", true, 1, 125, true },
    { SR_END_EXITED, 124, "failed", "command.exit", true, 124, 124, true },
    { SR_END_EXITED, 126, "failed", "command.exit", true, 126, 126, true },
    { SR_END_EXITED, 127, "failed", "command.exit", true, 127, 127, true },
    { SR_END_EXITED, 137, "failed", "command.exit", true, 137, 137, true },
    { SR_END_SIGNALED, 9, "failed", "command.signal", true, 137, 137, true },
    { SR_END_SIGNALED, 11, "failed", "command.signal", true, 139, 139, true },
    { SR_END_NOT_FOUND, 0, "errored", "command.not_found", false, 127, 127, false },
    { SR_END_NOT_EXECUTED, 0, "errored", "command.not_executed", false, 126, 126, false },
    { SR_END_WALL, 9, "errored", "limit.wall", false, 124, 124, false },
    { SR_END_IDLE, 9, "errored", "limit.idle", false, 124, 124, false },
    { SR_END_OUTPUT, 9, "errored", "limit.output", false, 122, 122, false },
    { SR_END_INTERRUPTED, 2, "errored", "run.interrupted", false, 125, 125, false },
};
enum { ROWS = sizeof table / sizeof *table };

static struct sr_verdict judge(size_t row, const struct sr_changeset *changes, enum sr_on_repair on_repair)
{
    struct sr_plan plan = { .on_repair = on_repair };
    struct sr_outcome o = { .end = table[row].end, .code = table[row].code, .lower_fd = -1, .upper_fd = -1, .home_fd = -1 };
    struct sr_verdict v;
    sr_verdict_of_run(&plan, &o, changes, &v);
    return v;
}

static void expect(const struct sr_verdict *v, const char *status, const char *reason, bool decided, int code, size_t row)
{
    cr_expect_str_eq(sr_status_name(v->status), status, "row %zu: %s", row, sr_status_name(v->status));
    cr_expect_str_eq(v->reason, reason, "row %zu: %s", row, v->reason);
    cr_expect_eq(v->decided, decided, "row %zu", row);
    cr_expect_eq(v->exit, code, "row %zu: exit %d", row, v->exit);
}

Test(verdict, a05_every_end_has_its_own_answer)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct sr_verdict v = judge(i, NULL, SR_ON_REPAIR_FAIL);
        expect(&v, table[i].status, table[i].reason, table[i].decided, table[i].exit, i);
        cr_expect_eq(v.own_exit, table[i].own_exit, "row %zu: own exit %d", i, v.own_exit);
    }
}

/* Of sandrun's own numbers none may come from a command, whatever it exits with; a shell's and timeout's are theirs as well. */
Test(verdict, a05_no_number_of_sandruns_own_comes_from_the_command)
{
    for (int code = 1; code < 256; code++) {
        struct sr_plan plan = { .on_repair = SR_ON_REPAIR_FAIL };
        struct sr_outcome o = { .end = SR_END_EXITED, .code = code, .lower_fd = -1, .upper_fd = -1, .home_fd = -1 };
        struct sr_verdict v;
        sr_verdict_of_run(&plan, &o, NULL, &v);
        bool taken = code == SR_EXIT_BLOCKED || code == SR_EXIT_ENV || code == SR_EXIT_LIMIT || code == SR_EXIT_SANDBOX;
        cr_expect_eq(v.exit, taken ? SR_EXIT_FAILED : code, "%d is given as %d", code, v.exit);
        cr_expect_eq(v.own_exit, code, "of %d the verdict keeps %d", code, v.own_exit);
        cr_expect_eq(v.status, SR_STATUS_FAILED);
    }
}

static const enum sr_limit tolerable[] = { SR_LIMIT_MEMORY, SR_LIMIT_DISK, SR_LIMIT_FILES, SR_LIMIT_PIDS };
enum { TOLERABLE = sizeof tolerable / sizeof *tolerable };

static struct sr_verdict judge_reached(const struct sr_outcome *o, enum sr_on_reached means, const struct sr_changeset *changes)
{
    struct sr_plan plan = { .limits = { .on_reached = means } };
    struct sr_verdict v;
    sr_verdict_of_run(&plan, o, changes, &v);
    return v;
}

static void expect_limit(const struct sr_verdict *v, enum sr_limit limit)
{
    char reason[64];
    snprintf(reason, sizeof reason, "limit.%s", sr_limit_name(limit));
    expect(v, "errored", reason, false, SR_EXIT_LIMIT, (size_t)limit);
}

/* A failure is never the code's, whatever the policy says; a success is what the policy says. */
Test(verdict, a14_a_reached_limit_is_never_the_codes_fault)
{
    static const struct {
        enum sr_end end;
        int code;
    } failures[] = { { SR_END_EXITED, 1 }, { SR_END_EXITED, 137 }, { SR_END_SIGNALED, 9 }, { SR_END_SIGNALED, 11 } };
    for (size_t l = 0; l < TOLERABLE; l++) {
        struct sr_outcome o = { .end = SR_END_EXITED };
        o.reached[tolerable[l]].times = 3;
        for (int means = 0; means < SR_ON_REACHED_COUNT; means++)
            for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
                o.end = failures[i].end;
                o.code = failures[i].code;
                struct sr_verdict v = judge_reached(&o, (enum sr_on_reached)means, NULL);
                expect_limit(&v, tolerable[l]);
            }
        o.end = SR_END_EXITED;
        o.code = 0;
        struct sr_verdict strict = judge_reached(&o, SR_ON_REACHED_ERROR, NULL);
        expect_limit(&strict, tolerable[l]);
        struct sr_verdict lenient = judge_reached(&o, SR_ON_REACHED_REPORT, NULL);
        expect(&lenient, "passed", "command.success", true, 0, l);
    }
}

Test(verdict, a14_of_several_limits_the_first_cause_is_named)
{
    struct sr_outcome o = { .end = SR_END_EXITED };
    for (size_t l = TOLERABLE; l-- > 0;) {
        o.reached[tolerable[l]].times = 1;
        struct sr_verdict v = judge_reached(&o, SR_ON_REACHED_ERROR, NULL);
        expect_limit(&v, tolerable[l]);
    }
}

/* What ended the run stays its end, whatever was reached before. */
Test(verdict, a14_a_limit_on_the_way_does_not_stand_before_the_end_of_a_run_that_was_stopped)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].repair_wins)
            continue;
        struct sr_outcome o = { .end = table[i].end, .code = table[i].code };
        o.reached[SR_LIMIT_PIDS].times = 1;
        struct sr_verdict v = judge_reached(&o, SR_ON_REACHED_ERROR, NULL);
        expect(&v, table[i].status, table[i].reason, table[i].decided, table[i].exit, i);
    }
}

/* Something inside was cut off, perhaps the repair itself: the limit has to change first. Only where the policy takes a reached
 * limit for nothing is the repair the first cause. */
Test(verdict, a18_a_repair_after_a_reached_limit)
{
    struct sr_repair repair = { .cls = SR_CLASS_ENV_DELETED };
    struct sr_changeset changes = { .repairs = &repair, .n_repairs = 1 };
    struct sr_outcome o = { .end = SR_END_EXITED, .code = 1 };
    o.reached[SR_LIMIT_MEMORY].times = 1;
    struct sr_verdict failed = judge_reached(&o, SR_ON_REACHED_REPORT, &changes);
    expect_limit(&failed, SR_LIMIT_MEMORY);
    o.code = 0;
    struct sr_verdict strict = judge_reached(&o, SR_ON_REACHED_ERROR, &changes);
    expect_limit(&strict, SR_LIMIT_MEMORY);
    struct sr_verdict lenient = judge_reached(&o, SR_ON_REACHED_REPORT, &changes);
    expect(&lenient, "errored", "env.repaired", false, SR_EXIT_ENV, 0);
}

Test(verdict, a05_no_two_answers_are_the_same)
{
    char seen[ROWS][128];
    bool covered[SR_END_COUNT] = { false };
    for (size_t i = 0; i < ROWS; i++) {
        struct sr_verdict v = judge(i, NULL, SR_ON_REPAIR_FAIL);
        covered[table[i].end] = true;
        snprintf(seen[i], sizeof seen[i], "%s %s %d %d", sr_status_name(v.status), v.reason, v.exit, v.own_exit);
        for (size_t j = 0; j < i; j++)
            cr_expect_str_neq(seen[i], seen[j]);
    }
    for (int e = 0; e < SR_END_COUNT; e++)
        cr_expect(covered[e], "the end %d has no row in this test", e);
}

Test(verdict, a05_only_a_command_that_ran_to_its_end_decides)
{
    struct sr_error err = { .code = "engine.setup", .text = "x" };
    struct sr_verdict v;
    sr_verdict_error(&err, &v);
    expect(&v, "errored", "engine.setup", false, 125, 0);
    sr_verdict_blocked("rootfs.unpinned", &v);
    expect(&v, "blocked", "rootfs.unpinned", false, 120, 0);
    sr_verdict_mismatch(&v);
    expect(&v, "errored", "env.mismatch", false, 121, 0);
    struct sr_error empty = { 0 };
    sr_verdict_error(&empty, &v);
    expect(&v, "errored", "run.error", false, 125, 0);
}

Test(verdict, a04_refusing_errors_are_blocked_and_broken_policies_are_not)
{
    static const char *const refusing[] = { "policy.untrusted", "policy.loosens", "policy.locked", "record.invalid.digest" };
    static const char *const broken[] = { "policy.invalid.unknown_key", "policy.missing", "policy.unreadable",
                                          "policy.locked_not", "engine.unavailable.user_namespace" };
    struct sr_verdict v;
    for (size_t i = 0; i < 4; i++) {
        struct sr_error err = { 0 };
        sr_error_set(&err, refusing[i], "x");
        sr_verdict_error(&err, &v);
        expect(&v, "blocked", refusing[i], false, SR_EXIT_BLOCKED, i);
    }
    for (size_t i = 0; i < 5; i++) {
        struct sr_error err = { 0 };
        sr_error_set(&err, broken[i], "x");
        sr_verdict_error(&err, &v);
        expect(&v, "errored", broken[i], false, SR_EXIT_SANDBOX, i);
    }
}

Test(verdict, a18_a_repair_is_never_passed_and_never_failed)
{
    struct sr_repair repair = { .cls = SR_CLASS_ENV_DELETED };
    struct sr_changeset changes = { .repairs = &repair, .n_repairs = 1 };
    for (size_t i = 0; i < ROWS; i++) {
        struct sr_verdict v = judge(i, &changes, SR_ON_REPAIR_FAIL);
        if (table[i].repair_wins)
            expect(&v, "errored", "env.repaired", false, SR_EXIT_ENV, i);
        else
            expect(&v, table[i].status, table[i].reason, table[i].decided, table[i].exit, i);
        v = judge(i, &changes, SR_ON_REPAIR_REPORT);
        expect(&v, table[i].status, table[i].reason, table[i].decided, table[i].exit, i);
    }
}

Test(verdict, a18_lost_evidence_is_never_passed_and_never_failed)
{
    struct sr_repair repair = { .cls = SR_CLASS_ENV_DELETED };
    for (size_t i = 0; i < ROWS; i++) {
        struct sr_changeset changes = { .total = 1, .overflow = true };
        for (int policy = SR_ON_REPAIR_FAIL; policy <= SR_ON_REPAIR_REPORT; policy++) {
            struct sr_verdict v = judge(i, &changes, policy);
            if (table[i].repair_wins)
                expect(&v, "errored", "changes.overflow", false, SR_EXIT_SANDBOX, i);
            else
                expect(&v, table[i].status, table[i].reason, table[i].decided, table[i].exit, i);
        }
        /* what was seen of a repair is certain, and says more */
        changes.repairs = &repair;
        changes.n_repairs = 1;
        struct sr_verdict v = judge(i, &changes, SR_ON_REPAIR_FAIL);
        if (table[i].repair_wins)
            expect(&v, "errored", "env.repaired", false, SR_EXIT_ENV, i);
    }
}

Test(verdict, a21_changes_without_a_repair_change_nothing)
{
    struct sr_change change = { .cls = SR_CLASS_CACHE };
    struct sr_changeset changes = { .v = &change, .n = 1, .total = 1 };
    for (size_t i = 0; i < ROWS; i++) {
        struct sr_verdict v = judge(i, &changes, SR_ON_REPAIR_FAIL);
        expect(&v, table[i].status, table[i].reason, table[i].decided, table[i].exit, i);
    }
}
