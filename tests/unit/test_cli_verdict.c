/* SPDX-License-Identifier: MIT */
/* The verdict block: each of the four answers, and what a person can do. */
#include "cli/verdict_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sr_run_result result(enum sr_status status, const char *reason, int code,
                                   const char *record)
{
    struct sr_run_result r = { .verdict = { .status = status, .exit = code, .own_exit = code } };
    snprintf(r.verdict.reason, sizeof r.verdict.reason, "%s", reason);
    snprintf(r.id, sizeof r.id, "0f3a");
    r.record_path = sr_strdup("/state/runs/0f3a/record.json");
    r.record = cJSON_Parse(record);
    cr_assert_not_null(r.record, "%s", record);
    return r;
}

static char *block(struct sr_run_result *r)
{
    struct cli_page p = { .buf = SR_BUF(65536), .fd = -1 };
    cli_verdict_lines(&p, "Test", r);
    free(r->record_path);
    cJSON_Delete(r->record);
    return sr_buf_steal(&p.buf);
}

Test(cli_verdict, a_contained_pass_is_one_line)
{
    struct sr_run_result r =
        result(SR_STATUS_PASSED, "command.success", 0,
               "{\"enforced\":{\"contained\":true},\"timing\":{\"total_ns\":1234567890}}");
    cleanup_free char *text = block(&r);
    cr_assert_str_eq(text, "sandrun: Test passed in 1.2s (contained, record 0f3a)\n");
}

Test(cli_verdict, what_was_not_contained_never_reads_as_contained)
{
    struct sr_run_result r =
        result(SR_STATUS_PASSED, "command.success", 0,
               "{\"enforced\":{\"contained\":false,\"refusals\":[{\"code\":\"binding.uncontained\","
               "\"text\":\"The policy says so.\"}]}}");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "NOT contained"), "%s", text);
    cr_assert_not_null(strstr(text, "binding.uncontained: The policy says so."), "%s", text);
}

Test(cli_verdict, failures_say_how_the_command_ended)
{
    struct sr_run_result r = result(SR_STATUS_FAILED, "command.exit", 3, "{}");
    struct sr_run_result s = result(SR_STATUS_FAILED, "command.signal", 139, "{}");
    struct sr_run_result taken = result(SR_STATUS_FAILED, "command.exit", 1, "{}");
    taken.verdict.own_exit = 121;
    cleanup_free char *exit_text = block(&r), *signal_text = block(&s), *taken_text = block(&taken);
    cr_assert_not_null(strstr(exit_text, "Test failed: exit 3 "), "%s", exit_text);
    cr_assert_not_null(strstr(taken_text, "Test failed: exit 121, given as 1 "), "%s", taken_text);
    cr_assert_not_null(strstr(signal_text, "Test failed: killed by signal 11"), "%s", signal_text);
}

#define MEMORY_6 \
    "{\"limit\":\"memory\",\"bound\":\"64MiB\",\"by\":\"cgroup v1\",\"times\":6,\"first_ns\":null}"
#define PIDS_1 "{\"limit\":\"pids\",\"bound\":32,\"by\":\"cgroup v2\",\"times\":1}"
#define OTHERS "{\"limit\":\"memory\",\"bound\":null,\"by\":\"machine\",\"times\":2}"
#define SILENT                                                                                     \
    "\"limits\":{\"memory\":{}},\"unknowable\":[{\"limit\":\"memory\",\"by\":\"rlimit\",\"why\":\"WHY\"}," \
    "{\"limit\":\"open_files\",\"by\":\"rlimit\",\"why\":\"EMFILE\"}]"

Test(cli_verdict, a14_a_pass_says_each_limit_that_was_reached)
{
    struct sr_run_result r = result(SR_STATUS_PASSED, "command.success", 0,
                                    "{\"enforced\":{\"contained\":true,\"reached\":[" MEMORY_6
                                    "," PIDS_1 "]}}");
    cleanup_free char *text = block(&r);
    cr_assert_str_eq(text, "sandrun: Test passed (contained, record 0f3a)\n"
                           "  limits.memory (64MiB, held by cgroup v1) was reached 6 times\n"
                           "  limits.pids (32, held by cgroup v2) was reached\n");
}

Test(cli_verdict, a14_want_of_memory_elsewhere_is_not_called_the_limit)
{
    struct sr_run_result r = result(SR_STATUS_ERRORED, "limit.memory", 122,
                                    "{\"enforced\":{\"reached\":[" OTHERS "]}}");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "  the machine's memory ran out 2 times, not limits.memory\n"),
                       "%s", text);
}

Test(cli_verdict, a14_an_errored_limit_says_how_the_command_itself_ended)
{
    struct sr_run_result r = result(
        SR_STATUS_ERRORED, "limit.memory", 122,
        "{\"enforced\":{\"reached\":[" MEMORY_6
        "]},\"reason_detail\":{\"end\":{\"kind\":\"exited\",\"code\":0}}}");
    cleanup_free char *text = block(&r);
    cr_assert_str_eq(text, "sandrun: Test errored: the memory limit was reached (limit.memory, "
                           "exit 122, record 0f3a)\n"
                           "  limits.memory (64MiB, held by cgroup v1) was reached 6 times\n"
                           "  the command itself exited 0\n"
                           "  do: raise limits.memory in the policy, or use less\n");
}

/* After a failure, and of a pass that claims that none was reached; never of open_files, which no policy sets. */
Test(cli_verdict, a14_a_limit_that_nobody_can_tell_is_said_where_it_matters)
{
    static const struct {
        enum sr_status status;
        const char *on_reached;
        bool said;
    } rows[] = { { SR_STATUS_FAILED, "report", true },
                 { SR_STATUS_PASSED, "report", false },
                 { SR_STATUS_PASSED, "error", true } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_free char *record = sr_asprintf(
            "{\"enforced\":{" SILENT
            "},\"plan\":{\"canonical\":{\"limits\":{\"on_reached\":\"%s\"}}}}",
            rows[i].on_reached);
        struct sr_run_result r = result(rows[i].status, "command.exit", 1, record);
        cleanup_free char *text = block(&r);
        bool said = strstr(text, "  whether limits.memory was reached is not known here: WHY\n");
        cr_expect_eq(said, rows[i].said, "row %zu: %s", i, text);
        cr_expect_null(strstr(text, "EMFILE"), "%s", text);
    }
}

Test(cli_verdict, a18_a_repair_names_the_environment_and_what_was_lost)
{
    struct sr_run_result r =
        result(SR_STATUS_ERRORED, "env.repaired", 121,
               "{\"changes\":{\"repairs\":[{\"class\":\"env.rebuilt\",\"path\":\".venv\",\"where\":"
               "\"tree\","
               "\"ecosystem\":\"venv\",\"lost\":812,\"added\":14,\"modified\":0,"
               "\"examples\":[\".venv/bin/pytest\"]},{\"class\":\"env.created\",\"path\":\"x\","
               "\"where\":\"home\",\"lost\":0,\"added\":1,\"examples\":[\"x/new\"]}]}}");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "env.repaired, exit 121"), "%s", text);
    cr_assert_not_null(strstr(text, ".venv, venv: env.rebuilt: 812 files lost, 14 new"), "%s",
                       text);
    cr_assert_not_null(strstr(text, "    - .venv/bin/pytest\n"
                                    "    and 811 more: sandrun diff 0f3a\n"),
                       "%s", text);
    cr_assert_not_null(strstr(text, "  ~/x: env.created"), "%s", text);
    cr_assert_not_null(strstr(text, "    + x/new\n"), "%s", text);
    cr_assert_not_null(strstr(text, "  do: "), "%s", text);
}

Test(cli_verdict, a18_a_repair_says_its_kind_once_and_counts_one_file_as_one)
{
    struct sr_run_result r =
        result(SR_STATUS_ERRORED, "env.repaired", 121,
               "{\"changes\":{\"repairs\":[{\"class\":\"env.changed\",\"path\":\"app/node_modules\","
               "\"where\":\"tree\",\"ecosystem\":\"node_modules\",\"lost\":1,\"added\":0,"
               "\"modified\":0,\"examples\":[\"app/node_modules/a\"]}]}}");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "  app/node_modules: env.changed: 1 file lost, 0 new"), "%s", text);
    cr_assert_null(strstr(text, "more:"), "%s", text);
}

Test(cli_verdict, a_run_that_changed_too_much_did_run)
{
    struct sr_run_result r = result(SR_STATUS_ERRORED, "changes.overflow", 125, "{}");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "the command changed more than can be judged"), "%s", text);
}

/* "sandrun failed" is for what sandrun did wrong, not for a revision that a person misspelt. */
Test(cli_verdict, an_error_is_called_by_whose_it_is)
{
    static const char *const other[] = { "git.ref_missing", "record.schema", "repro.record", "engine.broken",
                                         "log.no_space", "file.write", "value.size", "json.syntax",
                                         "changes.overflow" };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct sr_run_result r = result(SR_STATUS_ERRORED, other[i], 125, "{}");
        cleanup_free char *text = block(&r);
        cr_expect_null(strstr(text, "sandrun failed"), "%s", text);
    }
}

Test(cli_verdict, a01_a_refusal_names_each_condition_and_the_line_to_write_once)
{
    struct sr_run_result r =
        result(SR_STATUS_BLOCKED, "rootfs.unpinned", 120,
               "{\"enforced\":{\"refusals\":[{\"code\":\"rootfs.unpinned\",\"text\":\"No root "
               "filesystem.\","
               "\"line\":\"\\\"rootfs\\\": {}\"},{\"code\":\"binding.uncontained.network\","
               "\"text\":\"It has the network.\",\"line\":\"\\\"network\\\": \\\"none\\\"\"}]}}");
    sr_error_set(&r.error, "rootfs.unpinned", "No root filesystem.");
    cleanup_free char *text = block(&r);
    cr_assert_str_eq(text, "sandrun: Test blocked: a control refused, nothing ran "
                           "(rootfs.unpinned, exit 120, record 0f3a)\n"
                           "  rootfs.unpinned: No root filesystem.\n"
                           "    write: \"rootfs\": {}\n"
                           "  binding.uncontained.network: It has the network.\n"
                           "    write: \"network\": \"none\"\n");
}

Test(cli_verdict, a27_a_mismatch_prints_both_sides_and_the_remedy)
{
    struct sr_run_result r = result(
        SR_STATUS_ERRORED, "env.mismatch", 121,
        "{\"preflight\":{\"findings\":[{\"code\":\"env.mismatch.interpreter_patch\",\"path\":"
        "\".venv/bin/python\",\"expected\":\"3.11.16\",\"found\":\"3.11.2\",\"text\":\"Another.\","
        "\"remedy\":\"Rebuild it.\"}]}}");
    sr_error_set(&r.error, "env.mismatch.interpreter_patch", "Another.");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "  .venv/bin/python: env.mismatch.interpreter_patch\n"
                                    "    expected: 3.11.16\n"
                                    "    found: 3.11.2\n"
                                    "    do: Rebuild it.\n"),
                       "%s", text);
    cr_assert_null(strstr(text, "  error: "), "%s", text);
}

Test(cli_verdict, a01_a_thing_to_do_is_not_called_a_line_to_write)
{
    struct sr_run_result r =
        result(SR_STATUS_BLOCKED, "engine.unavailable", 120,
               "{\"enforced\":{\"refusals\":[{\"code\":\"engine.unavailable\",\"text\":\"No.\","
               "\"line\":\"sandrun doctor\"}]}}");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "    do: sandrun doctor\n"), "%s", text);
    cr_assert_null(strstr(text, "write:"), "%s", text);
}

Test(cli_verdict, a02_a_sandbox_failure_has_code_and_remedy)
{
    struct sr_run_result r =
        result(SR_STATUS_ERRORED, "engine.unavailable.user_namespace", 125, "{}");
    sr_error_set(&r.error, "engine.unavailable.user_namespace", "unshare: no");
    sr_error_hint(&r.error, "sysctl this");
    cleanup_free char *text = block(&r);
    cr_assert_not_null(strstr(text, "  error: unshare: no\n"), "%s", text);
    cr_assert_not_null(strstr(text, "  code: engine.unavailable.user_namespace\n"), "%s", text);
    cr_assert_not_null(strstr(text, "  do: sysctl this\n"), "%s", text);
}

Test(cli_verdict, a_run_without_a_record_still_has_an_answer)
{
    struct cli_page p = { .buf = SR_BUF(65536), .fd = -1 };
    struct sr_run_result r = { .verdict = { .status = SR_STATUS_ERRORED, .exit = 125 } };
    snprintf(r.verdict.reason, sizeof r.verdict.reason, "state.unusable");
    sr_error_set(&r.error, "state.unusable", "cannot make it");
    cli_verdict_lines(&p, "Test", &r);
    cleanup_free char *text = sr_buf_steal(&p.buf);
    cr_assert_not_null(strstr(text, "Test errored"), "%s", text);
    cr_assert_not_null(strstr(text, "cannot make it"), "%s", text);
}
