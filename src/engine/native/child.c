/* SPDX-License-Identifier: MIT */
/* PID 1 of a check: builds the root step by step, becomes nobody of the host, then reaps until the command ends. */
#include "engine/native/native.h"

#include "base/mem.h"
#include "engine/native/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int step_limits(struct native *n, struct sr_error *err)
{
    if (sr_limits_set_rlimits(&n->cg, &n->plan->limits) < 0)
        return sr_error_sys(err, "engine.unavailable.rlimits", "cannot set the resource limits");
    return 0;
}

/* SIGKILL when the supervisor dies; and at once when it has died already, which its end of the socket shows. */
static int tie_to_supervisor(const struct native *n, struct sr_error *err)
{
    struct pollfd sock = { .fd = n->sock, .events = POLLIN };
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.identity", "cannot tie the check to its supervisor");
    if (poll(&sock, 1, 0) < 0 || (sock.revents & (POLLHUP | POLLERR)))
        return sr_error_set(err, "engine.broken", "the supervisor went away during set-up");
    return 0;
}

static int step_identity(struct native *n, struct sr_error *err)
{
    if (native_identity_enter(&n->id, err) < 0)
        return -1;
    /* not dumpable: nothing inside can open our descriptors or memory through /proc/1 (CVE-2016-9962, CVE-2019-5736) */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.identity", "cannot make the init of the check undumpable");
    return tie_to_supervisor(n, err); /* again: the change of identity undid it (prctl(2)) */
}

static int step_filter(struct native *n, struct sr_error *err)
{
    if (sr_seccomp_install(&n->filter) < 0) {
        sr_error_sys(err, "engine.unavailable.seccomp", "the kernel refuses the system call filter");
        return sr_error_hint(err, "the kernel needs CONFIG_SECCOMP_FILTER");
    }
    return 0;
}

/* The whole of the set-up, in its order. A step that fails names itself; nothing was executed then. */
static const struct {
    const char *name;
    int (*run)(struct native *n, struct sr_error *err);
} steps[] = {
    { "namespace", step_namespace },
    { "root", step_root },
    { "scratch", step_scratch },
    { "host paths", step_host_paths },
    { "etc", step_etc },
    { "dev", step_dev },
    { "proc", step_proc },
    { "private directories", step_private },
    { "tree", step_tree },
    { "mounts", step_mounts },
    { "protect", step_protect },
    { "pivot", step_pivot },
    { "limits", step_limits },
    { "identity", step_identity },
    { "filter", step_filter },
};

size_t native_steps(void)
{
    return sizeof steps / sizeof *steps;
}

static void set_up(struct native *n)
{
    struct native_msg m = { .type = MSG_FAILED };
    if (!n->id.privileged && native_userns_map_self(n->id.uid, n->id.gid, &m.err) < 0) {
        native_send(n->sock, &m, NULL, 0);
        _exit(1);
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].run(n, &m.err) < 0) {
            sr_error_wrap(&m.err, "setting up the sandbox (%s)", steps[i].name);
            native_send(n->sock, &m, NULL, 0);
            _exit(1);
        } else if (n->tell_steps) {
            struct native_msg done = { .type = MSG_STEP, .status = (int)i };
            native_send(n->sock, &done, NULL, 0);
        }
}

/* Every signal but the two nobody can block: init acts on SIGCHLD alone, by descriptor. */
static int child_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    return signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void report_end(struct native *n, int status)
{
    struct native_msg m = { .type = MSG_ENDED, .status = status };
    native_send(n->sock, &m, NULL, 0);
}

/* Reaps whatever ended. True once the command itself did: the caller exits, and the kernel ends everything else inside. */
static bool reap(struct native *n, pid_t command)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == command) {
            report_end(n, status);
            return true;
        }
    return false;
}

static void serve(struct native *n, pid_t command, int signals)
{
    struct pollfd fds[2] = { { .fd = signals, .events = POLLIN }, { .fd = n->sock, .events = POLLIN } };
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents) {
            struct signalfd_siginfo info;
            while (read(signals, &info, sizeof info) > 0)
                ;
            if (reap(n, command))
                return;
        }
        if (fds[1].revents) {
            struct native_msg m;
            /* end of file: the supervisor is gone, and with us goes everything inside */
            if (native_recv(n->sock, &m, NULL, 0, NULL) != 1)
                return;
            if (m.type == MSG_TERM)
                kill(-1, SIGTERM);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/*
 * Init holds what it needs and nothing else of the supervisor: not its terminal, not its streams (whose reader would wait for
 * us), not the lock on the live file (which would make a dead supervisor look alive).
 */
static int keep_only(const struct native *n)
{
    int keep[] = { 2, n->sock, n->out_w, n->err_w, n->tree_fd, n->git_fd, n->run_fd, n->id.userns_fd, n->id.nobody_fd };
    size_t count = sizeof keep / sizeof *keep;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        return -1;
    qsort(keep, count, sizeof *keep, by_value);
    unsigned from = 3;
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < (int)from)
            continue;
        if (keep[i] > (int)from && close_range(from, (unsigned)keep[i] - 1, 0) < 0)
            return -1;
        from = (unsigned)keep[i] + 1;
    }
    return close_range(from, ~0u, 0);
}

/* What only the set-up needed: no descriptor that leads out of the new root outlives it. */
static void drop_setup_descriptors(struct native *n)
{
    int *all[] = { &n->tree_fd, &n->git_fd, &n->git_mnt, &n->run_fd, &n->id.userns_fd, &n->id.nobody_fd, &n->root_fd, &n->scratch_fd };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sr_closep(all[i]);
        *all[i] = -1;
    }
}

void native_child(struct native *n)
{
    struct native_msg m = { .type = MSG_FAILED };
    setsid();
    umask(0); /* the modes of the new root are the ones that are asked for */
    /* the limits hold from here on, and no path leads out of the groups: the namespace's root is the groups themselves */
    if (sr_limits_reset_scheduling() < 0 || sr_cgroup_enter(&n->cg, sr_cgroup_clone_fd(&n->cg)) < 0)
        sr_error_sys(&m.err, "engine.unavailable.cgroup", "cannot enter the cgroups of the run");
    else if (native_cgroup_namespace() < 0)
        sr_error_sys(&m.err, "engine.unavailable.cgroup_namespace", "cannot create a cgroup namespace");
    else if (keep_only(n) < 0)
        sr_error_sys(&m.err, "engine.broken", "cannot arrange the descriptors of the check's init");
    else if (tie_to_supervisor(n, &m.err) < 0)
        _exit(1);
    if (sr_error_is_set(&m.err)) {
        native_send(n->sock, &m, NULL, 0);
        _exit(1);
    }
    int signals = child_signals();
    set_up(n);
    drop_setup_descriptors(n);
    pid_t command = fork();
    if (command == 0) {
        close(signals);
        native_execute(n);
    }
    if (command < 0) {
        sr_error_sys(&m.err, "engine.broken", "cannot start the command's process");
        native_send(n->sock, &m, NULL, 0);
        _exit(1);
    }
    /* ours would keep the readers waiting for the end of file */
    close(n->out_w);
    close(n->err_w);
    serve(n, command, signals);
    _exit(0);
}
