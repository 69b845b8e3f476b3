/* SPDX-License-Identifier: MIT */
/* The supervisor's one poll loop: messages, output, clocks, signals. */
#include "engine/native/native.h"

#include "base/mem.h"
#include "engine/native/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum {
    GRACE_S = 2,    /* between SIGTERM to the check and SIGKILL to its init */
    SETUP_S = 300,  /* a set-up that takes longer hangs; the copy mode of a large tree is what needs most */
    LINGER_S = 5,   /* for a reader that does not take the last bytes of a run that was stopped */
    SAMPLE_MS = 20 /* between looks at the limits: a scratch that was full and is emptied again was full all the same */
};

enum { FD_SOCK, FD_INIT, FD_SIGNAL, FD_OUT, FD_ERR, FD_OUT_FORWARD, FD_ERR_FORWARD, FD_COUNT };

struct loop {
    struct native_supervision *s;
    struct stream out, err;
    int signals;
    int64_t now, begun, started, last_output;
    int64_t kill_at;      /* when SIGKILL follows SIGTERM; 0: nothing is being stopped */
    int64_t sample_at;
    bool stopped;         /* we ended it: outcome->end says why */
    bool killed;
    bool init_gone;
    bool reaped;
    bool ended;           /* MSG_ENDED came; status is valid */
    struct native_watch watch;
    int status;
    struct rusage before;
    struct sr_error failure; /* set-up failed, or the log could not be written */
};

static uint64_t micros(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void kill_all(struct loop *l)
{
    if (l->reaped)
        return;
    if (l->s->n->plain)
        native_plain_kill(l->s);
    if (!l->killed && syscall(SYS_pidfd_send_signal, l->s->pidfd, SIGKILL, NULL, 0) == 0)
        l->killed = true; /* PID 1 of the namespace: the kernel ends every process in it */
}

/* SIGTERM to everything inside: by init, which alone can see it all; the plain process has a session of its own. */
static int ask_to_end(struct loop *l)
{
    struct native_msg term = { .type = MSG_TERM };
    return l->s->n->plain ? kill(-l->s->pid, SIGTERM) : native_send(l->s->sock, &term, NULL, 0);
}

/* Ends the run for a reason of ours; the first reason stays. */
static void stop(struct loop *l, enum sr_end end, int code, bool gently)
{
    if (!l->stopped) {
        l->stopped = true;
        l->s->outcome->end = end;
        l->s->outcome->code = code;
    }
    if (!gently || l->kill_at || ask_to_end(l) < 0)
        kill_all(l);
    else
        l->kill_at = l->now + GRACE_S * SECOND;
}

static int64_t since_start(const struct loop *l)
{
    return l->started ? l->now - l->started : -1;
}

/* At a limit that is the supervisor's own to hold. */
static void stop_at(struct loop *l, enum sr_limit limit)
{
    static const struct {
        enum sr_end end;
        bool gently;
    } ends[SR_LIMIT_COUNT] = {
        [SR_LIMIT_OUTPUT] = { SR_END_OUTPUT, false },
        [SR_LIMIT_WALL] = { SR_END_WALL, true },
        [SR_LIMIT_IDLE] = { SR_END_IDLE, true },
    };
    if (!l->stopped)
        native_reached(l->s->outcome, limit, 1, since_start(l), "supervisor");
    stop(l, ends[limit].end, 0, ends[limit].gently);
}

static void fail(struct loop *l, const struct sr_error *err)
{
    if (!sr_error_is_set(&l->failure))
        l->failure = *err;
    kill_all(l);
}

/* Of everything waited for since the loop began: init waits for all inside, also for what the kernel ends with it. */
static void take_cpu_time(struct loop *l)
{
    struct rusage now;
    getrusage(RUSAGE_CHILDREN, &now);
    l->s->outcome->cpu_user_us = micros(now.ru_utime) - micros(l->before.ru_utime);
    l->s->outcome->cpu_system_us = micros(now.ru_stime) - micros(l->before.ru_stime);
}

/* Once: a second wait would find nobody, and nobody's status reads like success. */
static void reap(struct loop *l)
{
    int status = 0;
    pid_t got;
    if (l->reaped)
        return;
    do
        got = waitpid(l->s->pid, &status, 0);
    while (got < 0 && errno == EINTR);
    l->reaped = true;
    take_cpu_time(l);
    if (l->s->n->plain && got == l->s->pid) {
        l->status = status;
        l->ended = true;
    }
}

/* ---- messages ---- */

static void on_scratch(struct loop *l, const struct native_msg *m, const int *fds)
{
    l->s->outcome->tree_mode = (enum sr_tree_mode)m->status;
    l->s->outcome->root_mode = m->scratch.root_mode;
    l->s->outcome->upper_fd = fds[0];
    l->s->outcome->home_fd = fds[1];
    l->s->outcome->git_upper_fd = fds[2];
    l->s->outcome->git_mode = m->scratch.git_mode;
    l->s->outcome->git_root_mode = m->scratch.git_root_mode;
    if (l->s->outcome->tree_mode != SR_TREE_COPY)
        return;
    struct native_msg go = { .type = MSG_GO };
    struct sr_error err = { 0 };
    const struct sr_snapshot_options options = { .index_dirfd = -1 };
    if (sr_snapshot(fds[0], &options, &l->s->outcome->fresh, &err) < 0)
        fail(l, &err);
    else if (native_send(l->s->sock, &go, NULL, 0) < 0)
        kill_all(l);
}

static void on_observed(struct loop *l, const struct native_msg *m)
{
    struct sr_outcome *o = l->s->outcome;
    o->n_observed = m->observed.n <= NATIVE_CONTROLS_MAX ? m->observed.n : NATIVE_CONTROLS_MAX;
    o->observed = sr_calloc(o->n_observed, sizeof *o->observed);
    for (unsigned i = 0; i < o->n_observed; i++) {
        struct sr_observation *v = &o->observed[i];
        v->control = native_control_name(i);
        v->held = m->observed.v[i].held;
        snprintf(v->detail, sizeof v->detail, "%s", m->observed.v[i].detail);
        if (v->held || sr_error_is_set(&l->failure))
            continue;
        char code[SR_ERROR_CODE_MAX];
        struct sr_error err = { 0 };
        snprintf(code, sizeof code, "engine.unheld.%s", v->control);
        sr_error_set(&err, code, "verified from inside, before the command was started: %s does not hold (%s)", v->control, v->detail);
        fail(l, &err);
    }
}

static void on_not_started(struct loop *l, const struct native_msg *m)
{
    struct sr_outcome *o = l->s->outcome;
    o->started = false;
    if (l->stopped)
        return;
    l->stopped = true;
    o->end = (enum sr_end)m->status;
    o->code = 0;
    snprintf(o->detail, sizeof o->detail, "%s", m->err.text);
}

static void on_message(struct loop *l)
{
    struct native_msg m;
    int fds[] = { -1, -1, -1 };
    size_t n = 0;
    int got = native_recv(l->s->sock, &m, fds, sizeof fds / sizeof *fds, &n);
    if (got <= 0) {
        if (got < 0 && errno == EAGAIN)
            return;
        close(l->s->sock);
        l->s->sock = -1;
        return;
    }
    switch (m.type) {
    case MSG_SCRATCH:
        on_scratch(l, &m, fds);
        return; /* the descriptors are the outcome's now */
    case MSG_STEP:
        l->s->outcome->steps_done = (unsigned)m.status + 1;
        break;
    case MSG_FAILED:
        fail(l, &m.err);
        break;
    case MSG_OBSERVED:
        on_observed(l, &m);
        break;
    case MSG_STARTED:
        if (!l->s->n->plain && l->s->outcome->n_observed != native_controls()) {
            struct sr_error err = { 0 };
            sr_error_set(&err, "engine.unheld.unverified", "the command was about to start without its sandbox having been verified");
            fail(l, &err);
        }
        l->started = l->last_output = m.when_ns;
        l->s->outcome->started = true;
        break;
    case MSG_NOT_STARTED:
        on_not_started(l, &m);
        break;
    case MSG_ENDED:
        l->ended = true;
        l->status = m.status;
        break;
    default:
        break;
    }
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

/* ---- output ---- */

static void on_input(struct loop *l, struct stream *s)
{
    uint64_t used = l->out.logged + l->err.logged, limit = l->s->n->plan->limits.output_bytes;
    struct sr_error err = { 0 };
    if (stream_read(s, used < limit ? limit - used : 0, &err) < 0)
        fail(l, &err);
    l->last_output = l->now;
    if (l->out.bytes + l->err.bytes > limit)
        stop_at(l, SR_LIMIT_OUTPUT);
}

/* ---- clocks ---- */

static void check_clocks(struct loop *l)
{
    const struct sr_limits *limits = &l->s->n->plan->limits;
    l->now = native_now();
    if (l->kill_at && l->now >= l->kill_at)
        kill_all(l);
    if (l->now >= l->sample_at) {
        native_watch_look(&l->watch, &l->s->n->cg, l->s->outcome, since_start(l));
        l->sample_at = l->now + SAMPLE_MS * (SECOND / 1000);
    }
    if (l->stopped || l->init_gone)
        return;
    if (!l->started) {
        struct sr_error err = { 0 };
        if (l->now - l->begun > SETUP_S * SECOND) {
            sr_error_set(&err, "engine.broken", "the sandbox was not set up within %d s", SETUP_S);
            fail(l, &err);
        }
        return;
    }
    if (limits->wall_ns && l->now - l->started >= (int64_t)limits->wall_ns)
        stop_at(l, SR_LIMIT_WALL);
    else if (limits->idle_ns && l->now - l->last_output >= (int64_t)limits->idle_ns)
        stop_at(l, SR_LIMIT_IDLE);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int poll_timeout(const struct loop *l)
{
    const struct sr_limits *limits = &l->s->n->plan->limits;
    int64_t at = l->sample_at;
    if (l->kill_at && !l->killed)
        at = earlier(at, l->kill_at);
    if (l->started && limits->wall_ns && !l->stopped)
        at = earlier(at, l->started + (int64_t)limits->wall_ns);
    int64_t ms = (at - l->now + SECOND / 1000 - 1) / (SECOND / 1000);
    return ms < 0 ? 0 : (int)ms;
}

/* ---- the loop ---- */

static void on_signal(struct loop *l)
{
    struct signalfd_siginfo info;
    while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info)
        stop(l, SR_END_INTERRUPTED, (int)info.ssi_signo, true);
}

static void turn(struct loop *l)
{
    struct pollfd fds[FD_COUNT] = {
        [FD_SOCK] = { .fd = l->s->sock, .events = POLLIN },
        [FD_INIT] = { .fd = l->init_gone ? -1 : l->s->pidfd, .events = POLLIN },
        [FD_SIGNAL] = { .fd = l->signals, .events = POLLIN },
        [FD_OUT] = { .fd = stream_wants_input(&l->out) ? l->out.in : -1, .events = POLLIN },
        [FD_ERR] = { .fd = stream_wants_input(&l->err) ? l->err.in : -1, .events = POLLIN },
        [FD_OUT_FORWARD] = { .fd = stream_wants_output(&l->out) ? l->out.forward : -1, .events = POLLOUT },
        [FD_ERR_FORWARD] = { .fd = stream_wants_output(&l->err) ? l->err.forward : -1, .events = POLLOUT },
    };
    int n = poll(fds, FD_COUNT, poll_timeout(l));
    check_clocks(l);
    if (n <= 0)
        return;
    if (fds[FD_SIGNAL].revents)
        on_signal(l);
    if (fds[FD_OUT].revents)
        on_input(l, &l->out);
    if (fds[FD_ERR].revents)
        on_input(l, &l->err);
    if (fds[FD_OUT_FORWARD].revents)
        stream_forward(&l->out);
    if (fds[FD_ERR_FORWARD].revents)
        stream_forward(&l->err);
    if (fds[FD_SOCK].revents)
        on_message(l);
    if (fds[FD_INIT].revents) {
        l->init_gone = true;
        reap(l);
        if (l->s->n->plain)
            native_plain_ended(l->s);
    }
}

static bool streaming(const struct loop *l)
{
    return l->out.in >= 0 || l->err.in >= 0 || stream_wants_output(&l->out) || stream_wants_output(&l->err);
}

static void run(struct loop *l)
{
    int64_t gone = 0;
    while (!l->init_gone || l->s->sock >= 0 || streaming(l)) {
        turn(l);
        if (!l->init_gone)
            continue;
        gone = gone ? gone : l->now;
        /* every writer is dead: what is left is in the pipes. A reader who does not take it cannot hold up a run we stopped */
        if (l->stopped && l->now - gone > LINGER_S * SECOND)
            return;
    }
}

static void settle(struct loop *l)
{
    struct sr_outcome *o = l->s->outcome;
    native_watch_look(&l->watch, &l->s->n->cg, o, since_start(l));
    stream_result(&l->out, &o->out);
    stream_result(&l->err, &o->err);
    o->setup_ns = (uint64_t)((l->started ? l->started : l->now) - l->begun);
    o->run_ns = l->started ? (uint64_t)(l->now - l->started) : 0;
    if (l->stopped)
        return;
    o->end = WIFSIGNALED(l->status) ? SR_END_SIGNALED : SR_END_EXITED;
    o->code = WIFSIGNALED(l->status) ? WTERMSIG(l->status) : WEXITSTATUS(l->status);
}

static int open_loop(struct loop *l, struct sr_error *err)
{
    struct native_supervision *s = l->s;
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGHUP);
    l->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signals < 0)
        return sr_error_sys(err, "engine.broken", "cannot watch for signals");
    if (stream_open(&l->out, s->out_r, s->io->run->dir_fd, "stdout.log", s->io->out_fd, err) < 0)
        return -1;
    return stream_open(&l->err, s->err_r, s->io->run->dir_fd, "stderr.log", s->io->err_fd, err);
}

int native_supervise(struct native_supervision *s, struct sr_error *err)
{
    cleanup_free struct loop *l = sr_calloc(1, sizeof *l);
    l->s = s;
    l->out.in = l->err.in = l->out.log = l->err.log = l->signals = -1;
    l->now = l->begun = native_now();
    getrusage(RUSAGE_CHILDREN, &l->before);
    if (open_loop(l, &l->failure) < 0)
        kill_all(l);
    else
        run(l);
    kill_all(l);
    reap(l);
    if (l->signals >= 0)
        settle(l);
    stream_close(&l->out);
    stream_close(&l->err);
    s->out_r = s->err_r = -1;
    sr_closep(&l->signals);
    if (sr_error_is_set(&l->failure)) {
        *err = l->failure;
        return -1;
    }
    if (!l->ended && !l->stopped) {
        s->outcome->end = SR_END_SIGNALED;
        s->outcome->code = SIGKILL;
        return sr_error_set(err, NATIVE_INIT_KILLED, "the init of the check was killed from outside the sandbox");
    }
    return 0;
}
