/* SPDX-License-Identifier: MIT */
/* The state root, run directories and the inventory. */
#include "state_fixture.h"

TestSuite(state, .init = setup, .fini = teardown, .timeout = 60);

Test(state, root_is_private_and_found_again)
{
    struct stat st;
    cleanup_free char *expected = sr_path_join(base, "sandrun");
    cr_assert_str_eq(state.root, expected);
    static const char *const names[] = { ".", "runs", "live", "cache" };
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(fstatat(state.root_fd, names[i], &st, 0), 0);
        cr_expect_eq(st.st_mode & 07777, 0700, "%s", names[i]);
    }
    struct sr_state again;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_state_open(&again, &err), 0, "%s", err.text);
    sr_state_close(&again);
    sr_state_close(&again); /* twice is nothing */
}

Test(state, home_is_the_fallback_and_relative_values_are_ignored)
{
    struct sr_state other;
    struct sr_error err = { 0 };
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", base, 1);
    cr_assert_eq(sr_state_open(&other, &err), 0, "%s", err.text);
    cleanup_free char *expected = sr_path_join(base, ".local/state/sandrun");
    cr_expect_str_eq(other.root, expected);
    sr_state_close(&other);
}

static void expect_refused(const char *code)
{
    struct sr_state other;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_state_open(&other, &err), -1);
    cr_expect_str_eq(err.code, code, "%s: %s", err.code, err.text);
    cr_expect(err.text[0] && err.hint[0]);
}

Test(state, open_to_others_or_owned_by_another_is_refused)
{
    cr_assert_eq(fchmod(state.live_fd, 0750), 0);
    expect_refused("state.unsafe");
    cr_assert_eq(fchmod(state.live_fd, 0700), 0);
    cr_assert_eq(fchown(state.root_fd, 1001, 1001), 0);
    expect_refused("state.unsafe");
    cr_assert_eq(fchown(state.root_fd, geteuid(), getegid()), 0);
}

Test(state, a_link_in_place_of_the_root_is_refused)
{
    cleanup_free char *link = sr_path_join(base, "elsewhere");
    cleanup_free char *root = sr_path_join(link, "sandrun");
    cr_assert_eq(mkdir(link, 0700), 0);
    cr_assert_eq(symlink(state.root, root), 0);
    setenv("XDG_STATE_HOME", link, 1);
    expect_refused("state.unusable");
}

Test(state, ids_start_with_the_time_in_utc)
{
    struct sr_run_dir r = create();
    time_t now = time(NULL);
    bool near = false;
    for (int back = 0; back < 5; back++) {
        char expected[16];
        struct tm tm;
        time_t then = now - back;
        strftime(expected, sizeof expected, "%Y%m%d%H%M%S", gmtime_r(&then, &tm));
        near = near || strncmp(r.id, expected, 14) == 0;
    }
    cr_expect(near, "%s", r.id);
    sr_run_dir_close(&state, &r);
}

Test(state, an_ended_run_leaves_its_directory_and_no_live_file)
{
    struct sr_run_dir r = create();
    char id[SR_RUN_ID_MAX];
    memcpy(id, r.id, sizeof id);
    cr_expect(sr_run_id_valid(id), "%s", id);
    cr_expect(exists(state.live_fd, id));
    note(&r, SR_RESOURCE_PROCESS, "999999");
    sr_run_dir_gone(&r, SR_RESOURCE_PROCESS, "999999", NULL);
    cr_expect(sr_inventory_settled(r.inventory));
    sr_run_dir_close(&state, &r);
    cr_expect_not(exists(state.live_fd, id));
    cr_expect(exists(state.runs_fd, id));
    sr_run_dir_close(&state, &r); /* a closed one is nothing */
}

Test(state, what_could_not_be_removed_keeps_the_live_file_and_says_why)
{
    struct sr_run_dir r = create();
    char id[SR_RUN_ID_MAX];
    memcpy(id, r.id, sizeof id);
    note(&r, SR_RESOURCE_PROCESS, "999999");
    sr_run_dir_gone(&r, SR_RESOURCE_PROCESS, "999999", "still\nthere");
    const cJSON *item = cJSON_GetArrayItem(r.inventory, 0);
    cr_expect_str_eq(sr_json_string(item, "state"), "left");
    cr_expect_str_eq(sr_json_string(item, "why"), "still\\x0athere");
    sr_run_dir_close(&state, &r);
    cr_expect(exists(state.live_fd, id));
    expect_sweep(0, 1, 0); /* the process is gone: nothing stays */
    cr_expect_not(exists(state.live_fd, id));
}

Test(state, only_what_a_sweep_may_undo_is_noted)
{
    struct sr_run_dir r = create();
    cleanup_free char *other_cgroup = sr_strdup("/sys/fs/cgroup/pids/sandrun-20200101000000000000aaaaaaaaaaaa");
    cleanup_free char *nested = sr_asprintf("/sys/fs/cgroup/sandrun-%s/below", r.id);
    cleanup_free char *up = sr_asprintf("runs/%s/../x", r.id);
    cleanup_free char *newline = sr_asprintf("runs/%s/a\nb", r.id);
    const struct {
        enum sr_resource kind;
        const char *value;
    } bad[] = {
        { SR_RESOURCE_CGROUP, "/sys/fs/cgroup" }, { SR_RESOURCE_CGROUP, other_cgroup },
        { SR_RESOURCE_CGROUP, nested },           { SR_RESOURCE_CGROUP, "" },
        { SR_RESOURCE_DIRECTORY, "/etc" },        { SR_RESOURCE_DIRECTORY, "runs" },
        { SR_RESOURCE_DIRECTORY, up },            { SR_RESOURCE_DIRECTORY, newline },
        { SR_RESOURCE_PROCESS, "1" },             { SR_RESOURCE_PROCESS, "-5" },
        { SR_RESOURCE_PROCESS, "self" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sr_error err = { 0 };
        cr_expect_eq(sr_run_dir_note(&r, bad[i].kind, bad[i].value, &err), -1, "%s", bad[i].value);
        cr_expect_str_eq(err.code, "state.invalid", "%s", bad[i].value);
    }
    cr_expect_eq(cJSON_GetArraySize(r.inventory), 0);
    sr_run_dir_close(&state, &r);
}

Test(state, a_run_is_found_by_id_and_by_unique_prefix)
{
    struct sr_run_dir a = create(), b = create();
    char id[SR_RUN_ID_MAX], prefix[SR_RUN_ID_MAX];
    int fd = -1;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_run_dir_find(&state, a.id, &fd, id, &err), 0, "%s", err.text);
    cr_expect_str_eq(id, a.id);
    close(fd);
    snprintf(prefix, sizeof prefix, "%.31s", b.id);
    cr_assert_eq(sr_run_dir_find(&state, prefix, &fd, id, &err), 0, "%s", err.text);
    cr_expect_str_eq(id, b.id);
    close(fd);
    cr_expect_eq(sr_run_dir_find(&state, "2", &fd, id, &err), -1);
    cr_expect_str_eq(err.code, "record.ambiguous");
    static const char *const none[] = { "", "..", "../live", "1999", "20200101000000000000aaaaaaaaaaaa", "x" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        sr_error_clear(&err);
        cr_expect_eq(sr_run_dir_find(&state, none[i], &fd, id, &err), -1, "%s", none[i]);
        cr_expect_str_eq(err.code, "record.missing", "%s", none[i]);
    }
    sr_run_dir_close(&state, &a);
    sr_run_dir_close(&state, &b);
}
