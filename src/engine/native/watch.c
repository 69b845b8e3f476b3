/* SPDX-License-Identifier: MIT */
/* Which limits were reached: what is seen of them while the command runs and at its end, and what nobody can tell here. */
#include "engine/native/native.h"

#include <signal.h>
#include <string.h>
#include <sys/statfs.h>

void native_reached(struct sr_outcome *o, enum sr_limit limit, uint64_t times, int64_t at_ns, const char *told_by)
{
    struct sr_reached *r = &o->reached[limit];
    if (times == 0 || times < r->times)
        return;
    if (r->times == 0)
        r->first_ns = r->last_ns = at_ns;
    else if (at_ns >= 0)
        r->last_ns = at_ns;
    r->times = times;
    r->told_by = told_by;
}

/* A full filesystem stays full for a while: from one look to the next it is the same time. */
static void look_at_fill(struct native_watch *w, struct sr_outcome *o, enum sr_limit limit, bool full, int64_t at_ns)
{
    if (full)
        native_reached(o, limit, o->reached[limit].times + !w->full[limit], at_ns, "sampling");
    w->full[limit] = full;
}

static void look_at_scratch(struct native_watch *w, struct sr_outcome *o, int64_t at_ns)
{
    struct statfs fs;
    if (o->upper_fd < 0 || fstatfs(o->upper_fd, &fs) < 0)
        return;
    uint64_t used = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
    if (used > o->disk_peak)
        o->disk_peak = used;
    look_at_fill(w, o, SR_LIMIT_DISK, fs.f_bfree == 0, at_ns);
    look_at_fill(w, o, SR_LIMIT_FILES, fs.f_ffree == 0, at_ns);
}

/* The kernel's counters only grow; a count that is the old one is nothing new. */
static void look_at_counter(struct sr_outcome *o, enum sr_limit limit, uint64_t times, int64_t at_ns)
{
    if (times > o->reached[limit].times)
        native_reached(o, limit, times, at_ns, "kernel");
}

static void look_at_events(const struct sr_cgroup_usage *u, struct sr_outcome *o, int64_t at_ns)
{
    look_at_counter(o, SR_LIMIT_MEMORY, u->oom_kills ? u->oom_kills : u->ooms, at_ns);
    look_at_counter(o, SR_LIMIT_PIDS, u->pids_refused, at_ns);
}

void native_watch_look(struct native_watch *w, const struct sr_cgroup *cg, struct sr_outcome *o, int64_t at_ns)
{
    struct sr_cgroup_usage u;
    look_at_scratch(w, o, at_ns);
    sr_cgroup_read_events(cg, &u);
    look_at_events(&u, o, at_ns);
}

/* RLIMIT_FSIZE has the value of limits.disk; a shell says of a command that died of it what it says of any signal. */
static bool file_too_large(const struct sr_outcome *o)
{
    return (o->end == SR_END_SIGNALED && o->code == SIGXFSZ) || (o->end == SR_END_EXITED && o->code == 128 + SIGXFSZ);
}

/* Killed, and the group never near its own bound: nothing that asks for memory asks for so much at once that it would miss it. */
static bool killed_for_others(const struct sr_cgroup_usage *u, uint64_t bound)
{
    const uint64_t near = 1 << 20;
    return u->oom_kills && !u->ooms && !u->at_bound && u->memory_peak && u->memory_peak + near < bound;
}

void native_watch_end(const struct sr_cgroup_usage *u, const struct sr_limits *limits, struct sr_outcome *o)
{
    look_at_events(u, o, -1);
    if (killed_for_others(u, limits->memory_bytes))
        o->reached[SR_LIMIT_MEMORY].by = sr_holder_name(SR_BY_MACHINE);
    if (file_too_large(o) && o->reached[SR_LIMIT_DISK].times == 0)
        native_reached(o, SR_LIMIT_DISK, 1, -1, "signal");
}

#define ANSWERS(code) "and the kernel answers the process that meets it (" code ") and tells nobody else"

void native_watch_unknowable(const struct native *n, const struct sr_cgroup_usage *u, struct sr_outcome *o)
{
    const struct sr_cgroup *cg = &n->cg;
    const struct {
        enum sr_limit limit;
        bool unknowable;
        enum sr_holder by;
        const char *why;
    } rows[] = {
        { SR_LIMIT_MEMORY, cg->by_memory == SR_BY_RLIMIT, cg->by_memory, "RLIMIT_DATA bounds each process alone, " ANSWERS("ENOMEM") },
        { SR_LIMIT_MEMORY, cg->memory >= 0 && !u->oom_told, cg->by_memory, "this kernel does not count whom the OOM killer took from a group" },
        { SR_LIMIT_PIDS, cg->by_pids == SR_BY_RLIMIT, cg->by_pids, "RLIMIT_NPROC counts all processes of the user, " ANSWERS("EAGAIN") },
        { SR_LIMIT_PIDS, cg->pids >= 0 && !u->pids_told, cg->by_pids, "this kernel has no pids.events, where refused forks are counted" },
        { SR_LIMIT_DISK, n->plain, SR_BY_RLIMIT, "RLIMIT_FSIZE bounds each file alone, " ANSWERS("SIGXFSZ, EFBIG") },
        { SR_LIMIT_FILES, n->plain, SR_BY_NONE, "outside the sandbox nothing counts the files that are made" },
        { SR_LIMIT_FILE_SIZE, !n->plain, SR_BY_RLIMIT, "RLIMIT_FSIZE bounds each file to limits.disk, " ANSWERS("SIGXFSZ, or EFBIG where that is ignored") },
        { SR_LIMIT_OPEN_FILES, true, SR_BY_RLIMIT, "RLIMIT_NOFILE bounds each process alone, " ANSWERS("EMFILE") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].unknowable)
            o->unknowable[rows[i].limit] = (struct sr_unknowable){ sr_holder_name(rows[i].by), rows[i].why };
}
