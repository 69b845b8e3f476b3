/* SPDX-License-Identifier: MIT */
/* The state root, run directories, the inventory and the sweep. */
#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/state.h"
#include "state/inventory.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char base[64];
static struct sr_state state;

static void setup(void)
{
    struct sr_error err = { 0 };
    snprintf(base, sizeof base, "/tmp/sandrun-test-state.XXXXXX");
    cr_assert_not_null(mkdtemp(base));
    setenv("XDG_STATE_HOME", base, 1);
    cr_assert_eq(sr_state_open(&state, &err), 0, "%s", err.text);
}

static void teardown(void)
{
    struct sr_error err = { 0 };
    sr_state_close(&state);
    cr_expect_eq(sr_remove_at(AT_FDCWD, base, &err), 0, "%s", err.text);
}

TestSuite(state, .init = setup, .fini = teardown, .timeout = 60);

static struct sr_run_dir create(void)
{
    struct sr_run_dir r;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_run_dir_create(&state, &r, &err), 0, "%s", err.text);
    return r;
}

static void note(struct sr_run_dir *r, enum sr_resource kind, const char *value)
{
    struct sr_error err = { 0 };
    cr_assert_eq(sr_run_dir_note(r, kind, value, &err), 0, "%s", err.text);
}

static struct sr_sweep sweep(void)
{
    struct sr_sweep s;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_state_sweep(&state, &s, &err), 0, "%s", err.text);
    return s;
}

static void expect_sweep(unsigned live, unsigned swept, unsigned left)
{
    struct sr_sweep s = sweep();
    cr_expect_eq(s.live, live, "live %u, not %u", s.live, live);
    cr_expect_eq(s.swept, swept, "swept %u, not %u", s.swept, swept);
    cleanup_free char *items = sr_json_pretty(s.items);
    cr_expect_eq(s.left, left, "left %u, not %u: %s", s.left, left, items);
    sr_sweep_clear(&s);
}

static bool exists(int dirfd, const char *name)
{
    return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A child that goes with its parent, so that a test that fails leaves no process behind. */
static pid_t fork_bound(void)
{
    pid_t pid = fork();
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

/* A supervisor that made a run, tells its id and waits to be killed. */
struct victim {
    pid_t pid;
    char id[SR_RUN_ID_MAX];
};

static struct victim victim_start(void (*hold)(struct sr_run_dir *))
{
    struct victim v = { 0 };
    int pipefd[2];
    cr_assert_eq(pipe2(pipefd, O_CLOEXEC), 0);
    v.pid = fork_bound();
    cr_assert_geq(v.pid, 0);
    if (v.pid == 0) {
        struct sr_run_dir r;
        struct sr_error err = { 0 };
        if (sr_run_dir_create(&state, &r, &err) < 0)
            _exit(1);
        if (hold)
            hold(&r);
        if (write(pipefd[1], r.id, sizeof r.id) != sizeof r.id)
            _exit(1);
        for (;;)
            pause();
    }
    close(pipefd[1]);
    cr_assert_eq(read(pipefd[0], v.id, sizeof v.id), sizeof v.id);
    close(pipefd[0]);
    return v;
}

static void victim_kill(struct victim *v)
{
    cr_assert_eq(kill(v->pid, SIGKILL), 0);
    cr_assert_eq(waitpid(v->pid, NULL, 0), v->pid);
}

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

/* Children keep the write end until they have let go of the lock: by sr_run_dir_forget and close, or by exec. */
static void wait_for_children(int ready[2])
{
    char none;
    close(ready[1]);
    if (read(ready[0], &none, 1) != 0)
        _exit(1);
    close(ready[0]);
}

/* A directory below the state root, a process that ignores everything but the last signal. */
static void hold_directory_and_process(struct sr_run_dir *r)
{
    char path[96], pid[16];
    struct sr_error err = { 0 };
    snprintf(path, sizeof path, "cache/%s.scratch", r->id);
    if (sr_run_dir_note(r, SR_RESOURCE_DIRECTORY, path, &err) < 0 || mkdirat(state.root_fd, path, 0700) < 0)
        _exit(1);
    snprintf(path, sizeof path, "cache/%s.scratch/d", r->id);
    if (mkdirat(state.root_fd, path, 0) < 0)
        _exit(1);
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        _exit(1);
    pid_t child = fork();
    if (child == 0) {
        sr_run_dir_forget(r);
        signal(SIGTERM, SIG_IGN);
        alarm(30);
        close(ready[1]);
        for (;;)
            pause();
    }
    wait_for_children(ready);
    snprintf(pid, sizeof pid, "%d", (int)child);
    if (sr_run_dir_note(r, SR_RESOURCE_PROCESS, pid, &err) < 0)
        _exit(1);
}

Test(state, a37_killed_supervisor_is_swept_and_live_run_is_untouched)
{
    struct sr_run_dir mine = create();
    cleanup_free char *kept = sr_asprintf("cache/%s.scratch", mine.id);
    note(&mine, SR_RESOURCE_DIRECTORY, kept);
    cr_assert_eq(mkdirat(state.root_fd, kept, 0700), 0);

    struct victim v = victim_start(hold_directory_and_process);
    cleanup_free char *scratch = sr_asprintf("cache/%s.scratch", v.id);
    expect_sweep(2, 0, 0);
    cr_expect(exists(state.root_fd, scratch), "a live run's directory is untouched");

    victim_kill(&v);
    struct sr_sweep s = sweep();
    cr_expect_eq(s.live, 1);
    cr_expect_eq(s.swept, 1);
    cr_expect_eq(s.left, 0);
    /* In reverse: the process was noted last and goes first. */
    const cJSON *first = cJSON_GetArrayItem(s.items, 0), *second = cJSON_GetArrayItem(s.items, 1);
    cr_assert(first && second);
    cr_expect_str_eq(sr_json_string(first, "kind"), "process");
    cr_expect_str_eq(sr_json_string(first, "state"), "removed");
    cr_expect_str_eq(sr_json_string(second, "value"), scratch);
    pid_t orphan = atoi(sr_json_string(first, "value"));
    for (int i = 0; i < 400 && sr_process_start(orphan); i++) {
        /* A zombie until its new parent reaps it is as gone as it can be for us. */
        char path[40];
        snprintf(path, sizeof path, "/proc/%d/exe", (int)orphan);
        char exe[8];
        if (readlink(path, exe, sizeof exe) < 0)
            break;
        cr_assert_lt(i, 399, "the process outlived the sweep");
        usleep(5000);
    }
    sr_sweep_clear(&s);
    cr_expect_not(exists(state.root_fd, scratch));
    cr_expect_not(exists(state.live_fd, v.id));
    cr_expect_not(exists(state.runs_fd, v.id), "an empty run directory goes too");
    cr_expect(exists(state.root_fd, kept));
    expect_sweep(1, 0, 0);

    cr_assert_eq(unlinkat(state.root_fd, kept, AT_REMOVEDIR), 0);
    sr_run_dir_gone(&mine, SR_RESOURCE_DIRECTORY, kept, NULL);
    sr_run_dir_close(&state, &mine);
    expect_sweep(0, 0, 0);
}

/* Where this host lets root make a cgroup: version 1's pids hierarchy, or the one hierarchy of version 2. */
static const char *cgroup_root(void)
{
    return access("/sys/fs/cgroup/pids/cgroup.procs", W_OK) == 0 ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
}

static void hold_cgroup(struct sr_run_dir *r)
{
    struct sr_error err = { 0 };
    cleanup_free char *path = sr_asprintf("%s/sandrun-%s", cgroup_root(), r->id);
    cleanup_free char *child = sr_asprintf("%s/inner", path);
    cleanup_free char *procs = sr_asprintf("%s/cgroup.procs", child);
    if (sr_run_dir_note(r, SR_RESOURCE_CGROUP, path, &err) < 0 || mkdir(path, 0755) < 0 || mkdir(child, 0755) < 0)
        _exit(1);
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        _exit(1);
    /* Members that outlive the supervisor, as the processes of a check do; the cgroup is what ends them. */
    if (fork() == 0) {
        sr_run_dir_forget(r);
        int fd = open(procs, O_WRONLY);
        if (fd < 0 || write(fd, "0", 1) != 1 || fork() < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        alarm(30);
        for (;;)
            pause();
    }
    char both[2];
    if (read(ready[0], both, 1) != 1 || read(ready[0], both, 1) != 1)
        _exit(1);
}

Test(state, a37_cgroup_of_a_killed_supervisor_goes_with_its_members)
{
    struct victim v = victim_start(hold_cgroup);
    cleanup_free char *path = sr_asprintf("%s/sandrun-%s", cgroup_root(), v.id);
    cleanup_free char *procs = sr_asprintf("%s/inner/cgroup.procs", path);
    cleanup_buf struct sr_buf members = SR_BUF(4096);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_file_read_at(AT_FDCWD, procs, 4096, &members, &err), 0, "%s", err.text);
    cr_assert_gt(members.len, 0, "the cgroup has members before the sweep");
    expect_sweep(1, 0, 0);
    cr_expect_eq(access(path, F_OK), 0);
    victim_kill(&v);
    expect_sweep(0, 1, 0);
    cr_expect_eq(access(path, F_OK), -1);
}

Test(state, a37_directory_named_like_a_cgroup_is_left_and_listed)
{
    struct victim v = victim_start(NULL);
    victim_kill(&v);
    cleanup_free char *path = sr_asprintf("%s/sandrun-%s", base, v.id);
    cleanup_free char *line = sr_asprintf("cgroup %s\n", path);
    cr_assert_eq(mkdir(path, 0700), 0);
    cleanup_fd int fd = openat(state.live_fd, v.id, O_WRONLY | O_APPEND | O_CLOEXEC);
    cr_assert_eq(sr_write_all(fd, line, strlen(line)), 0);
    struct sr_sweep s = sweep();
    cr_expect_eq(s.left, 1);
    cr_expect_str_eq(sr_json_string(cJSON_GetArrayItem(s.items, 0), "state"), "left");
    cr_expect_not_null(sr_json_string(cJSON_GetArrayItem(s.items, 0), "why"));
    sr_sweep_clear(&s);
    cr_expect_eq(access(path, F_OK), 0);
    cr_expect(exists(state.live_fd, v.id));
}

Test(state, a37_process_of_another_boot_or_start_time_is_not_killed)
{
    char boot[SR_BOOT_ID_MAX];
    cr_assert_eq(sr_boot_id(boot), 0);
    pid_t bystander = fork_bound();
    if (bystander == 0)
        for (;;)
            pause();
    uint64_t start = sr_process_start(bystander);
    cr_assert_neq(start, 0);
    cleanup_buf struct sr_buf other_boot = SR_BUF(256), other_start = SR_BUF(256);
    sr_live_format_head(&other_boot, "00000000-0000-0000-0000-000000000000", 77, 5);
    sr_buf_printf(&other_boot, "process %d %llu\n", (int)bystander, (unsigned long long)start);
    sr_live_format_head(&other_start, boot, 77, 5);
    sr_buf_printf(&other_start, "process %d %llu\n", (int)bystander, (unsigned long long)start + 1);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_file_write_at(state.live_fd, "20200101000000000000aaaaaaaaaaaa", other_boot.data, other_boot.len, 0600, &err), 0);
    cr_assert_eq(sr_file_write_at(state.live_fd, "20200101000000000000bbbbbbbbbbbb", other_start.data, other_start.len, 0600, &err), 0);
    expect_sweep(0, 2, 0);
    cr_expect_eq(waitpid(bystander, NULL, WNOHANG), 0, "the bystander lives");
    kill(bystander, SIGKILL);
    waitpid(bystander, NULL, 0);
}

Test(state, a37_unreadable_live_file_is_left_and_listed)
{
    static const char *const bad[] = { "", "sandrun-live/1\n", "sandrun-live/2 b 5 5\n", "sandrun-live/1 b 5 5\nfile /etc\n",
                                       "sandrun-live/1 b 5 5\nprocess 7\n", "sandrun-live/1 b 5 5\ndirectory /etc\n" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sr_error err = { 0 };
        char id[SR_RUN_ID_MAX];
        snprintf(id, sizeof id, "2020010100000000000%zuaaaaaaaaaaaa", i);
        cr_assert_eq(sr_file_write_at(state.live_fd, id, bad[i], strlen(bad[i]), 0600, &err), 0);
        expect_sweep(0, 0, (unsigned)i + 1);
        cr_expect(exists(state.live_fd, id));
    }
}

Test(state, a_torn_last_line_was_never_made)
{
    struct sr_live l;
    struct sr_error err = { 0 };
    const char text[] = "sandrun-live/1 b 5 6\ncgroup /a\ncgroup /sys/fs/cg";
    cr_assert_eq(sr_live_parse(text, strlen(text), &l, &err), 0, "%s", err.text);
    cr_expect_eq(l.n, 1);
    cr_expect_str_eq(l.v[0].value, "/a");
    sr_live_clear(&l);
}

Test(state, stale_temporary_names_go_and_young_ones_stay)
{
    const char *stale = ".new.20200101000000000000aaaaaaaaaaaa", *young = ".new.20200101000000000000bbbbbbbbbbbb";
    const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    close(openat(state.live_fd, stale, O_CREAT | O_WRONLY, 0600));
    close(openat(state.live_fd, young, O_CREAT | O_WRONLY, 0600));
    cr_assert_eq(utimensat(state.live_fd, stale, long_ago, 0), 0);
    expect_sweep(0, 0, 0);
    cr_expect_not(exists(state.live_fd, stale));
    cr_expect(exists(state.live_fd, young));
}

Test(state, the_lock_does_not_outlive_a_child_that_forgot_or_executed)
{
    int pipefd[2];
    cr_assert_eq(pipe2(pipefd, O_CLOEXEC), 0);
    pid_t supervisor = fork();
    if (supervisor == 0) {
        struct sr_run_dir r;
        struct sr_error err = { 0 };
        if (sr_run_dir_create(&state, &r, &err) < 0)
            _exit(1);
        pid_t pids[2];
        int ready[2];
        if (pipe2(ready, O_CLOEXEC) < 0)
            _exit(1);
        if ((pids[0] = fork()) == 0) {
            sr_run_dir_forget(&r);
            alarm(30);
            close(ready[1]);
            for (;;)
                pause();
        }
        if ((pids[1] = fork()) == 0) {
            execl("/bin/sleep", "sleep", "30", (char *)NULL);
            _exit(1);
        }
        wait_for_children(ready);
        _exit(write(pipefd[1], pids, sizeof pids) != sizeof pids);
    }
    pid_t pids[2];
    cr_assert_eq(read(pipefd[0], pids, sizeof pids), sizeof pids);
    waitpid(supervisor, NULL, 0);
    expect_sweep(0, 1, 0);
    kill(pids[0], SIGKILL);
    kill(pids[1], SIGKILL);
    close(pipefd[0]);
    close(pipefd[1]);
}

Test(state, a38_hundred_runs_at_once_ten_of_them_killed)
{
    enum { RUNS = 100, KILLED = 10 };
    pid_t pids[RUNS];
    for (int i = 0; i < RUNS; i++) {
        pids[i] = fork();
        if (pids[i] != 0)
            continue;
        struct sr_run_dir r;
        struct sr_sweep s;
        struct sr_error err = { 0 };
        if (sr_run_dir_create(&state, &r, &err) < 0 || sr_state_sweep(&state, &s, &err) < 0)
            _exit(1);
        if (s.left || !exists(state.live_fd, r.id)) /* no sweep takes a run that lives */
            _exit(2);
        if (i < KILLED)
            raise(SIGKILL);
        sr_run_dir_close(&state, &r);
        _exit(exists(state.live_fd, r.id) ? 3 : 0);
    }
    for (int i = 0; i < RUNS; i++) {
        int status;
        cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
        if (i < KILLED)
            cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "run %d", i);
        else
            cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "run %d: status %x", i, (unsigned)status);
    }
    struct sr_sweep s = sweep();
    cr_expect_eq(s.live, 0);
    cr_expect_eq(s.left, 0);
    sr_sweep_clear(&s);
    expect_sweep(0, 0, 0);
}
