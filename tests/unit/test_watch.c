/* SPDX-License-Identifier: MIT */
/* Which limits were reached, from counters and ends; and which nobody can tell. */
#include "engine/native/native.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sr_limits limits = { .memory_bytes = 64 << 20 };

static struct sr_outcome fresh(void)
{
    return (struct sr_outcome){ .lower_fd = -1, .upper_fd = -1, .home_fd = -1 };
}

static void expect(const struct sr_outcome *o, enum sr_limit l, uint64_t times, int64_t first, int64_t last, const char *told_by)
{
    const struct sr_reached *r = &o->reached[l];
    cr_expect_eq(r->times, times, "%s: %lu times", sr_limit_name(l), r->times);
    cr_expect_eq(r->first_ns, first, "%s: %ld", sr_limit_name(l), r->first_ns);
    cr_expect_eq(r->last_ns, last, "%s: %ld", sr_limit_name(l), r->last_ns);
    cr_expect_str_eq(r->told_by, told_by);
}

Test(watch, counts_are_of_all_so_far_and_times_of_the_looks)
{
    struct sr_outcome o = fresh();
    native_reached(&o, SR_LIMIT_PIDS, 0, 5, "kernel");
    cr_expect_eq(o.reached[SR_LIMIT_PIDS].times, 0);
    native_reached(&o, SR_LIMIT_PIDS, 2, 10, "kernel");
    native_reached(&o, SR_LIMIT_PIDS, 7, 30, "kernel");
    expect(&o, SR_LIMIT_PIDS, 7, 10, 30, "kernel");
    /* a later one whose time is not known does not take away what is */
    native_reached(&o, SR_LIMIT_PIDS, 8, -1, "kernel");
    expect(&o, SR_LIMIT_PIDS, 8, 10, 30, "kernel");
    native_reached(&o, SR_LIMIT_MEMORY, 1, -1, "kernel");
    expect(&o, SR_LIMIT_MEMORY, 1, -1, -1, "kernel");
}

Test(watch, the_last_counters_tell_what_no_look_saw)
{
    struct sr_outcome o = fresh();
    const struct sr_cgroup_usage u = { .oom_kills = 6, .ooms = 7, .pids_refused = 2, .at_bound = 90, .at_bound_told = true };
    native_reached(&o, SR_LIMIT_MEMORY, 6, 40, "kernel");
    native_watch_end(&u, &limits, &o);
    expect(&o, SR_LIMIT_MEMORY, 6, 40, 40, "kernel");
    expect(&o, SR_LIMIT_PIDS, 2, -1, -1, "kernel");
    cr_expect_null(o.reached[SR_LIMIT_MEMORY].by);
}

/* v2: the limit was reached and there was nobody to kill. */
Test(watch, an_allocation_that_nobody_was_killed_for_counts_too)
{
    struct sr_outcome o = fresh();
    const struct sr_cgroup_usage u = { .ooms = 3, .at_bound = 90, .at_bound_told = true };
    native_watch_end(&u, &limits, &o);
    expect(&o, SR_LIMIT_MEMORY, 3, -1, -1, "kernel");
}

Test(watch, memory_at_its_bound_alone_is_no_limit_reached)
{
    struct sr_outcome o = fresh();
    const struct sr_cgroup_usage u = { .at_bound = 900, .at_bound_told = true };
    native_watch_end(&u, &limits, &o);
    for (int l = 0; l < SR_LIMIT_COUNT; l++)
        cr_expect_eq(o.reached[l].times, 0);
}

/* Killed, while the group was never near its own bound. */
Test(watch, a_kill_for_want_of_the_machines_memory_is_the_machines)
{
    static const struct {
        struct sr_cgroup_usage u;
        const char *by;
    } rows[] = {
        { { .oom_kills = 1, .memory_peak = 8 << 20 }, "machine" },
        { { .oom_kills = 1, .memory_peak = 64 << 20 }, NULL },
        { { .oom_kills = 1, .memory_peak = (64 << 20) - 4096 }, NULL },
        { { .oom_kills = 1, .memory_peak = 8 << 20, .at_bound = 1 }, NULL },
        { { .oom_kills = 1, .memory_peak = 8 << 20, .ooms = 1 }, NULL },
        { { .oom_kills = 1 }, NULL }, /* a peak that is not told is not a small one */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sr_outcome o = fresh();
        native_watch_end(&rows[i].u, &limits, &o);
        cr_expect_eq(o.reached[SR_LIMIT_MEMORY].times, 1);
        cr_expect(rows[i].by ? o.reached[SR_LIMIT_MEMORY].by != NULL : o.reached[SR_LIMIT_MEMORY].by == NULL, "row %zu", i);
    }
}

Test(watch, a_file_too_large_is_the_limit_of_disk)
{
    static const struct {
        enum sr_end end;
        int code;
        uint64_t times;
    } rows[] = { { SR_END_SIGNALED, SIGXFSZ, 1 }, { SR_END_EXITED, 128 + SIGXFSZ, 1 }, { SR_END_EXITED, 1, 0 }, { SR_END_WALL, SIGXFSZ, 0 } };
    const struct sr_cgroup_usage none = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sr_outcome o = fresh();
        o.end = rows[i].end;
        o.code = rows[i].code;
        native_watch_end(&none, &limits, &o);
        cr_expect_eq(o.reached[SR_LIMIT_DISK].times, rows[i].times, "row %zu", i);
    }
}

static struct sr_outcome unknowable_of(enum sr_holder memory, enum sr_holder pids, bool told, bool plain)
{
    struct sr_outcome o = fresh();
    bool groups = memory != SR_BY_RLIMIT;
    const struct native n = { .plain = plain,
                              .cg = { .by_memory = memory, .by_pids = pids, .memory = groups ? 0 : -1, .pids = groups ? 0 : -1 } };
    const struct sr_cgroup_usage u = { .oom_told = told, .pids_told = told };
    native_watch_unknowable(&n, &u, &o);
    return o;
}

static void expect_unknowable(const struct sr_outcome *o, const char *names)
{
    char seen[256] = "";
    for (int l = 0; l < SR_LIMIT_COUNT; l++)
        if (o->unknowable[l].why) {
            size_t n = strlen(seen);
            snprintf(seen + n, sizeof seen - n, "%s=%s ", sr_limit_name((enum sr_limit)l), o->unknowable[l].by);
        }
    cr_expect_str_eq(seen, names);
}

Test(watch, what_nobody_can_tell_is_named_with_who_holds_it)
{
    struct sr_outcome o = unknowable_of(SR_BY_CGROUP1, SR_BY_CGROUP2, true, false);
    expect_unknowable(&o, "file_size=rlimit open_files=rlimit ");
    o = unknowable_of(SR_BY_RLIMIT, SR_BY_RLIMIT, false, false);
    expect_unknowable(&o, "memory=rlimit pids=rlimit file_size=rlimit open_files=rlimit ");
    cr_expect_not_null(strstr(o.unknowable[SR_LIMIT_MEMORY].why, "RLIMIT_DATA"));
    cr_expect_not_null(strstr(o.unknowable[SR_LIMIT_PIDS].why, "RLIMIT_NPROC"));
    o = unknowable_of(SR_BY_CGROUP2, SR_BY_CGROUP1, false, false);
    expect_unknowable(&o, "memory=cgroup v2 pids=cgroup v1 file_size=rlimit open_files=rlimit ");
    o = unknowable_of(SR_BY_CGROUP1, SR_BY_CGROUP1, true, true);
    expect_unknowable(&o, "disk=rlimit files=none open_files=rlimit ");
}

static void fill_and_look(struct native_watch *w, struct sr_outcome *o, int64_t at_ns)
{
    const struct sr_cgroup none = { .memory = -1, .pids = -1 };
    native_watch_look(w, &none, o, at_ns);
}

/* A filesystem that stays full was reached once, and again when it was emptied in between. */
static int looks(void)
{
    struct native_watch w = { 0 };
    struct sr_outcome o = fresh();
    struct sr_error err = { 0 };
    if (native_tmpfs("the test", 1 << 20, 16, 0700, 0, &o.upper_fd, &err) < 0)
        return 1;
    fill_and_look(&w, &o, 1);
    int fd = openat(o.upper_fd, "big", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    static char block[65536];
    while (write(fd, block, sizeof block) > 0)
        ;
    fill_and_look(&w, &o, 2);
    fill_and_look(&w, &o, 3);
    if (o.reached[SR_LIMIT_DISK].times != 1 || o.reached[SR_LIMIT_DISK].first_ns != 2 || o.reached[SR_LIMIT_DISK].last_ns != 3)
        return 2;
    if (ftruncate(fd, 0) < 0)
        return 3;
    fill_and_look(&w, &o, 4);
    while (pwrite(fd, block, sizeof block, lseek(fd, 0, SEEK_END)) > 0)
        ;
    fill_and_look(&w, &o, 5);
    if (o.reached[SR_LIMIT_DISK].times != 2 || o.reached[SR_LIMIT_DISK].last_ns != 5 || o.disk_peak != 1 << 20)
        return 4;
    for (int i = 0; i < 32; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        int made = openat(o.upper_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (made >= 0)
            close(made);
    }
    fill_and_look(&w, &o, 6);
    return o.reached[SR_LIMIT_FILES].times == 1 && o.reached[SR_LIMIT_FILES].first_ns == 6 ? 0 : 5;
}

Test(watch, a_full_scratch_is_counted_by_the_times_it_became_full)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(looks());
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
}
