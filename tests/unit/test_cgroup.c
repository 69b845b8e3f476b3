/* SPDX-License-Identifier: MIT */
/* The run's cgroups on the real kernel, whatever mix of versions it has: made, entered, exceeded,
 * read, gone. Needs root. */
#include "base/fs.h"
#include "engine/native/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *mountinfo_text(void)
{
    static char text[65536];
    cleanup_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static char base[64];
static struct sr_state state;
static struct sr_run_dir run;
static struct sr_cgroup cg;
static const struct sr_limits limits = { .memory_bytes = 64 << 20,
                                         .pids = 20,
                                         .cpus_milli = 500,
                                         .disk_bytes = 1 << 20,
                                         .wall_ns = 1000000000 };

static void setup(void)
{
    struct sr_error err = { 0 };
    snprintf(base, sizeof base, "/tmp/sandrun-test-cgroup.XXXXXX");
    cr_assert_not_null(mkdtemp(base));
    setenv("XDG_STATE_HOME", base, 1);
    cr_assert_eq(sr_state_open(&state, &err), 0, "%s", err.text);
    cr_assert_eq(sr_run_dir_create(&state, &run, &err), 0, "%s", err.text);
    cr_assert_eq(sr_cgroup_create(&run, &limits, mountinfo_text(), &cg, &err), 0, "%s", err.text);
}

/* Whatever the test did: no directory of the run is left, and the inventory says so. */
static void teardown(void)
{
    struct sr_error err = { 0 };
    char *paths[SR_CGROUP_DIRS_MAX];
    size_t n = cg.n;
    for (size_t i = 0; i < n; i++)
        paths[i] = sr_strdup(cg.dirs[i]);
    sr_cgroup_destroy(&cg, &run);
    sr_cgroup_destroy(&cg, &run);
    for (size_t i = 0; i < n; i++) {
        cr_expect(access(paths[i], F_OK) == -1 && errno == ENOENT, "%s is left", paths[i]);
        free(paths[i]);
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, run.inventory)
        cr_expect_str_eq(sr_json_string(item, "state"), "removed");
    sr_run_dir_close(&state, &run);
    sr_state_close(&state);
    cr_expect_eq(sr_remove_at(AT_FDCWD, base, &err), 0, "%s", err.text);
}

TestSuite(cgroup, .init = setup, .fini = teardown, .timeout = 60);

/* Forks a child that enters as the engine's does; it goes on with body and exits with what that
 * returns. */
static pid_t child_start(int (*body)(void))
{
    int into = sr_cgroup_clone_fd(&cg);
    struct clone_args args = { .flags = into < 0 ? 0 : CLONE_INTO_CGROUP,
                               .exit_signal = SIGCHLD,
                               .cgroup = (uint64_t)(into < 0 ? 0 : into) };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    cr_assert_geq(pid, 0, "clone3: %s", strerror(errno));
    if (pid == 0) {
        if (sr_cgroup_enter(&cg, into) < 0)
            _exit(200);
        _exit(body());
    }
    return pid;
}

static int child_end(pid_t pid)
{
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 300 + WTERMSIG(status);
}

static bool listed(const char *dir, const char *file, pid_t pid)
{
    cleanup_free char *path = sr_path_join(dir, file);
    cleanup_buf struct sr_buf b = SR_BUF(65536);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_file_read_at(AT_FDCWD, path, 65536, &b, &err), 0, "%s", err.text);
    cleanup_free char *all = sr_asprintf("\n%s", b.data ? b.data : "");
    cleanup_free char *want = sr_asprintf("\n%d\n", (int)pid);
    return strstr(all, want) != NULL;
}

/* The alarm is for the day the code under test ends nothing: then the test fails, and leaves
 * nobody. */
static int body_wait(void)
{
    alarm(20);
    pause();
    return 0;
}

Test(cgroup, every_limit_is_held_by_a_cgroup_for_root)
{
    cr_expect(cg.by_memory == SR_BY_CGROUP1 || cg.by_memory == SR_BY_CGROUP2, "%s", cg.weaker);
    cr_expect(cg.by_pids == SR_BY_CGROUP1 || cg.by_pids == SR_BY_CGROUP2, "%s", cg.weaker);
    cr_expect(cg.by_cpus == SR_BY_CGROUP1 || cg.by_cpus == SR_BY_CGROUP2, "%s", cg.weaker);
    cr_expect_str_empty(cg.weaker);
    cr_assert_gt(cg.n, 0);
    cr_expect_eq(cJSON_GetArraySize(run.inventory), (int)cg.n);
    for (size_t i = 0; i < cg.n; i++) {
        cr_expect(strstr(cg.dirs[i], run.id));
        cr_expect_eq(access(cg.dirs[i], F_OK), 0);
        for (size_t k = 0; k < i; k++)
            cr_expect_str_neq(cg.dirs[i], cg.dirs[k]);
    }
}

Test(cgroup, entering_and_attaching_put_a_process_into_each_group)
{
    pid_t enters = child_start(body_wait), moved = fork();
    if (moved == 0)
        _exit(body_wait());
    struct sr_error err = { 0 };
    cr_assert_eq(sr_cgroup_attach(&cg, moved, &err), 0, "%s", err.text);
    for (int tries = 0; !listed(cg.dirs[cg.n - 1], "cgroup.procs", enters) && tries < 500; tries++)
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    for (size_t i = 0; i < cg.n; i++) {
        cr_expect(listed(cg.dirs[i], "cgroup.procs", enters), "%s", cg.dirs[i]);
        cr_expect(listed(cg.dirs[i], "cgroup.procs", moved), "%s", cg.dirs[i]);
    }
    sr_cgroup_kill(&cg);
    cr_expect_eq(child_end(enters), 300 + SIGKILL);
    cr_expect_eq(child_end(moved), 300 + SIGKILL);
}

Test(cgroup, attaching_a_process_that_is_gone_names_it)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    child_end(pid);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_cgroup_attach(&cg, pid, &err), -1);
    cr_expect_str_eq(err.code, "engine.cgroup");
    cr_expect_eq(err.sys, ESRCH);
    cr_expect(strstr(err.text, cg.dirs[0]), "%s", err.text);
}

/* No line in the inventory, no group: the second run's file can only be read. */
Test(cgroup, nothing_is_made_that_cannot_be_noted)
{
    struct sr_run_dir other;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_run_dir_create(&state, &other, &err), 0, "%s", err.text);
    int noted = other.live_fd;
    other.live_fd = openat(state.live_fd, other.id, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(other.live_fd, 0);
    struct sr_cgroup none = { .n = 99 };
    cr_expect_eq(sr_cgroup_create(&other, &limits, mountinfo_text(), &none, &err), -1);
    cr_expect(sr_error_is_set(&err));
    cr_expect_eq(none.n, 99, "an output is not written on failure");
    for (size_t i = 0; i < cg.n; i++) {
        cleanup_free char *parent =
            sr_strndup(cg.dirs[i], (size_t)(strrchr(cg.dirs[i], '/') - cg.dirs[i]));
        cleanup_free char *path = sr_asprintf("%s/sandrun-%s", parent, other.id);
        cr_expect_eq(access(path, F_OK), -1, "%s was made", path);
    }
    close(other.live_fd);
    other.live_fd = noted;
    sr_run_dir_close(&state, &other);
}

/* How many forks until EAGAIN, the child itself being one of 20; bounded, so that a broken limit is
 * a failure and no bomb. */
static int body_forks(void)
{
    for (int i = 1; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(body_wait());
        if (pid < 0)
            return errno == EAGAIN ? i : 201;
    }
    return 202;
}

Test(cgroup, a14_processes_are_bounded_and_refusals_counted)
{
    struct sr_cgroup_usage before, after;
    sr_cgroup_read(&cg, &before);
    cr_expect_eq(before.pids_refused, 0);
    pid_t pid = child_start(body_forks);
    cr_expect_eq(child_end(pid), 20);
    sr_cgroup_read(&cg, &after);
    cr_expect_geq(after.pids_refused, 1);
    cr_expect(after.pids_told && after.oom_told);
    cr_expect_eq(after.oom_kills, 0);
    sr_cgroup_kill(&cg);
}

static int body_eats(void)
{
    size_t size = 256 << 20;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 203;
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
    return 204;
}

Test(cgroup, a14_memory_is_bounded_and_kills_counted)
{
    cr_expect_eq(child_end(child_start(body_eats)), 300 + SIGKILL);
    struct sr_cgroup_usage u;
    sr_cgroup_read(&cg, &u);
    cr_expect_geq(u.oom_kills, 1);
    cr_expect_eq(u.pids_refused, 0);
    cr_expect(u.memory_peak > limits.memory_bytes / 2 && u.memory_peak <= limits.memory_bytes,
              "%lu", u.memory_peak);
}

/* The page cache lives at the bound: reclaim makes room, nobody is killed, and no limit was reached. */
static int body_reads(void)
{
    char path[] = "/var/tmp/sandrun-test-cache.XXXXXX", block[65536] = { 1 };
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0 || unlink(path) < 0)
        return 205;
    for (int i = 0; i < 2048; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            return 206;
    return 0;
}

Test(cgroup, a14_memory_at_its_bound_is_not_a_limit_reached)
{
    cr_expect_eq(child_end(child_start(body_reads)), 0);
    struct sr_cgroup_usage u;
    sr_cgroup_read(&cg, &u);
    cr_expect(!u.at_bound_told || u.at_bound > 0);
    cr_expect(u.memory_peak > limits.memory_bytes - (1 << 20), "%lu", u.memory_peak);
    cr_expect_eq(u.oom_kills, 0);
    cr_expect_eq(u.ooms, 0);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int body_burns(void)
{
    for (double end = seconds() + 0.6; seconds() < end;)
        ;
    return 0;
}

/* 0.6 s of half a processor: at least something, and far from all of it. */
Test(cgroup, a14_cpu_is_bounded)
{
    cr_expect_eq(child_end(child_start(body_burns)), 0);
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    uint64_t used = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                    (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    cr_expect(used > 50000 && used < 480000, "%lu us", used);
}

static int body_bomb(void)
{
    for (int i = 0; i < 10; i++)
        if (fork() == 0)
            setsid();
    return body_wait();
}

/* Members that left the session and whose parent is not us: destroy alone has to end them. */
Test(cgroup, destroy_ends_what_is_left)
{
    pid_t pid = child_start(body_bomb);
    struct sr_cgroup_usage u = { 0 };
    for (int tries = 0; u.pids_refused == 0 && tries < 500; tries++) {
        nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
        sr_cgroup_read(&cg, &u);
    }
    cr_expect_gt(u.pids_refused, 0);
    cleanup_free char *dir = sr_strdup(cg.dirs[0]);
    sr_cgroup_destroy(&cg, &run);
    cr_expect_eq(cg.n, 0);
    cr_expect(access(dir, F_OK) == -1 && errno == ENOENT, "%s is left", dir);
    cr_expect_eq(child_end(pid), 300 + SIGKILL);
}

/* The v2 hierarchy of this kernel, with or without controllers: what clone3 and cgroup.kill do is
 * the kernel's word. */
Test(cgroup, v2_clone_into_and_kill)
{
    const char *mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
    cleanup_free char *dir = NULL;
    for (size_t i = 0; i < 2 && !dir; i++) {
        cleanup_free char *probe = sr_path_join(mounts[i], "cgroup.subtree_control");
        if (access(probe, F_OK) == 0)
            dir = sr_asprintf("%s/sandrun-%s-v2", mounts[i], run.id);
    }
    cr_assert(dir, "no v2 hierarchy is mounted here");
    cr_assert_eq(mkdir(dir, 0755), 0, "%s: %s", dir, strerror(errno));
    struct sr_cgroup saved = cg;
    cg = (struct sr_cgroup){ .dirs = { dir },
                             .fds = { open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) },
                             .n = 1,
                             .v2 = { true } };
    pid_t pid = child_start(body_wait);
    cr_expect(listed(dir, "cgroup.procs", pid));
    sr_cgroup_kill(&cg);
    cr_expect_eq(child_end(pid), 300 + SIGKILL);
    close(cg.fds[0]);
    cg = saved;
    struct sr_error err = { 0 };
    cr_expect_eq(sr_cgroup_remove(dir, &err), 0, "%s", err.text);
    cr_expect_eq(access(dir, F_OK), -1);
}

static int become_nobody(void)
{
    return setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 ? 0 : -1;
}

static bool rlimit_is(int resource, rlim_t soft)
{
    struct rlimit r;
    return getrlimit((unsigned)resource, &r) == 0 && r.rlim_cur == soft;
}

/* 0, or which expectation failed. */
static int without_delegation(void)
{
    struct sr_cgroup none;
    struct sr_error err = { 0 };
    if (become_nobody() < 0 || sr_cgroup_create(&run, &limits, mountinfo_text(), &none, &err) < 0)
        return 1;
    if (none.n != 0 || none.by_memory != SR_BY_RLIMIT || none.by_pids != SR_BY_RLIMIT ||
        none.by_cpus != SR_BY_NONE)
        return 2;
    if (!strstr(none.weaker, "memory: ") || !strstr(none.weaker, "pids: ") ||
        !strstr(none.weaker, "RLIMIT_DATA"))
        return 3;
    if (sr_limits_set_rlimits(&none, &limits) < 0)
        return 4;
    if (!rlimit_is(RLIMIT_DATA, limits.memory_bytes) || !rlimit_is(RLIMIT_NPROC, limits.pids))
        return 5;
    cJSON *j = sr_limits_json(&none, &limits, true);
    const cJSON *memory = sr_json_get(j, "memory");
    bool weaker;
    if (strcmp(sr_json_string(memory, "by"), "rlimit") != 0 ||
        !sr_json_bool(memory, "weaker", &weaker) || !weaker)
        return 6;
    cJSON_Delete(j);
    return 0;
}

Test(cgroup, without_delegation_rlimits_hold_and_it_is_said)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(without_delegation());
    cr_expect_eq(child_end(pid), 0);
}

static int rlimits_under_cgroup(void)
{
    if (sr_limits_set_rlimits(&cg, &limits) < 0)
        return 1;
    if (!rlimit_is(RLIMIT_CORE, 0) || !rlimit_is(RLIMIT_NOFILE, 1024) ||
        !rlimit_is(RLIMIT_FSIZE, 1 << 20))
        return 2;
    return rlimit_is(RLIMIT_DATA, limits.memory_bytes) || rlimit_is(RLIMIT_NPROC, limits.pids) ? 3
                                                                                             : 0;
}

Test(cgroup, rlimits_beside_cgroups)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(rlimits_under_cgroup());
    cr_expect_eq(child_end(pid), 0);
}

Test(cgroup, json_names_value_and_holder)
{
    struct sr_cgroup held = { .by_memory = SR_BY_CGROUP2,
                              .by_pids = SR_BY_CGROUP1,
                              .by_cpus = SR_BY_NONE };
    struct sr_limits l = { .wall_ns = 600000000000,
                           .memory_bytes = 2147483648,
                           .pids = 512,
                           .cpus_milli = 1500,
                           .output_bytes = 16 << 20,
                           .disk_bytes = 1 << 30 };
    cJSON *j = sr_limits_json(&held, &l, true);
    cleanup_free char *text = sr_json_compact(j);
    cr_expect_str_eq(text, "{\"wall\":{\"value\":\"10m\",\"by\":\"supervisor\"},\"idle\":{"
                           "\"value\":null,\"by\":\"none\"},"
                           "\"memory\":{\"value\":\"2GiB\",\"by\":\"cgroup v2\",\"weaker\":false},"
                           "\"pids\":{\"value\":512,\"by\":\"cgroup v1\",\"weaker\":false},"
                           "\"cpus\":{\"value\":1.5,\"by\":\"none\",\"weaker\":true},"
                           "\"output\":{\"value\":\"16MiB\",\"by\":\"supervisor\"},\"disk\":{"
                           "\"value\":\"1GiB\",\"by\":\"tmpfs\"},"
                           "\"files\":{\"value\":null,\"by\":\"none\"}}");
    cJSON_Delete(j);
    cJSON *host = sr_limits_json(&held, &l, false);
    cr_expect_str_eq(sr_json_string(sr_json_get(host, "disk"), "by"), "rlimit", "no tmpfs outside the sandbox");
    cJSON_Delete(host);
}
