/* SPDX-License-Identifier: MIT */
/* The sweep: what dead runs left goes, what lives stays. */
#include "state_fixture.h"

TestSuite(sweep, .init = setup, .fini = teardown, .timeout = 60);

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

Test(sweep, a37_killed_supervisor_is_swept_and_live_run_is_untouched)
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

Test(sweep, a37_cgroup_of_a_killed_supervisor_goes_with_its_members)
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

Test(sweep, a37_directory_named_like_a_cgroup_is_left_and_listed)
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

Test(sweep, a37_process_of_another_boot_or_start_time_is_not_killed)
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

Test(sweep, a37_unreadable_live_file_is_left_and_listed)
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

Test(sweep, a_torn_last_line_was_never_made)
{
    struct sr_live l;
    struct sr_error err = { 0 };
    const char text[] = "sandrun-live/1 b 5 6\ncgroup /a\ncgroup /sys/fs/cg";
    cr_assert_eq(sr_live_parse(text, strlen(text), &l, &err), 0, "%s", err.text);
    cr_expect_eq(l.n, 1);
    cr_expect_str_eq(l.v[0].value, "/a");
    sr_live_clear(&l);
}

Test(sweep, a37_temporary_names_of_dead_or_long_gone_makers_go_and_live_ones_stay)
{
    const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    cleanup_free char *stale = sr_asprintf(".new.20200101000000000000aaaaaaaaaaaa.%d", getpid());
    cleanup_free char *young = sr_asprintf(".new.20200101000000000000bbbbbbbbbbbb.%d", getpid());
    pid_t dead_maker = fork();
    if (dead_maker == 0)
        _exit(0);
    cr_assert_eq(waitpid(dead_maker, NULL, 0), dead_maker);
    cleanup_free char *dead = sr_asprintf(".new.20200101000000000000cccccccccccc.%d", dead_maker);
    close(openat(state.live_fd, dead, O_CREAT | O_WRONLY, 0600));
    close(openat(state.live_fd, stale, O_CREAT | O_WRONLY, 0600));
    close(openat(state.live_fd, young, O_CREAT | O_WRONLY, 0600));
    cr_assert_eq(utimensat(state.live_fd, stale, long_ago, 0), 0);
    expect_sweep(0, 0, 0);
    cr_expect_not(exists(state.live_fd, stale));
    cr_expect_not(exists(state.live_fd, dead));
    cr_expect(exists(state.live_fd, young));
}

Test(sweep, the_lock_does_not_outlive_a_child_that_forgot_or_executed)
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

Test(sweep, a38_hundred_runs_at_once_ten_of_them_killed)
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
