/* SPDX-License-Identifier: MIT */
/* A state root of its own for each test, runs in it, and supervisors to kill. */
#ifndef SR_TESTS_STATE_FIXTURE_H
#define SR_TESTS_STATE_FIXTURE_H

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

static inline void setup(void)
{
    struct sr_error err = { 0 };
    snprintf(base, sizeof base, "/tmp/sandrun-test-state.XXXXXX");
    cr_assert_not_null(mkdtemp(base));
    setenv("XDG_STATE_HOME", base, 1);
    cr_assert_eq(sr_state_open(&state, &err), 0, "%s", err.text);
}

static inline void teardown(void)
{
    struct sr_error err = { 0 };
    sr_state_close(&state);
    cr_expect_eq(sr_remove_at(AT_FDCWD, base, &err), 0, "%s", err.text);
}

static inline struct sr_run_dir create(void)
{
    struct sr_run_dir r;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_run_dir_create(&state, &r, &err), 0, "%s", err.text);
    return r;
}

static inline void note(struct sr_run_dir *r, enum sr_resource kind, const char *value)
{
    struct sr_error err = { 0 };
    cr_assert_eq(sr_run_dir_note(r, kind, value, &err), 0, "%s", err.text);
}

static inline struct sr_sweep sweep(void)
{
    struct sr_sweep s;
    struct sr_error err = { 0 };
    cr_assert_eq(sr_state_sweep(&state, &s, &err), 0, "%s", err.text);
    return s;
}

static inline void expect_sweep(unsigned live, unsigned swept, unsigned left)
{
    struct sr_sweep s = sweep();
    cr_expect_eq(s.live, live, "live %u, not %u", s.live, live);
    cr_expect_eq(s.swept, swept, "swept %u, not %u", s.swept, swept);
    cleanup_free char *items = sr_json_pretty(s.items);
    cr_expect_eq(s.left, left, "left %u, not %u: %s", s.left, left, items);
    sr_sweep_clear(&s);
}

static inline bool exists(int dirfd, const char *name)
{
    return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A child that goes with its parent, so that a test that fails leaves no process behind. */
static inline pid_t fork_bound(void)
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

static inline struct victim victim_start(void (*hold)(struct sr_run_dir *))
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

static inline void victim_kill(struct victim *v)
{
    cr_assert_eq(kill(v->pid, SIGKILL), 0);
    cr_assert_eq(waitpid(v->pid, NULL, 0), v->pid);
}

#endif
