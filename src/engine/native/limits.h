/* SPDX-License-Identifier: MIT */
/* Limits: cgroup v2, v1 or both, else rlimits; every one with the name of what holds it. */
#ifndef SR_NATIVE_LIMITS_H
#define SR_NATIVE_LIMITS_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/state.h"
#include "sandrun/types.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Calling sequence, in the supervisor:
 *     sr_cgroup_create(run, &limits, &cg, &err)
 *         makes "sandrun-<id>" below what is delegated, each noted in the inventory first
 *     clone3 with CLONE_INTO_CGROUP and sr_cgroup_clone_fd(&cg) when that is not -1, else fork
 *     in the child, before it forks, starts a thread or changes identity or namespaces:
 *         sr_cgroup_enter(&cg, what it was cloned into or -1)
 *     sr_cgroup_read(&cg, &usage)
 *         after the end: counters of this run's own groups
 *     sr_cgroup_destroy(&cg, run)
 *         ends what is left in them, waits until they are empty, at most 2 s each
 *
 * Controllers needed: memory, pids, cpu. Each is looked for on v2 first, then on its v1 hierarchy
 * (hybrid hosts have both).
 * v2: one directory for all, the nearest that has most: below the caller's own cgroup when that is
 * delegated and has no processes of its own in the way; beside it, when its parent hands controllers
 * down already; as root, below the root of the hierarchy. "No internal processes" and missing
 * delegation are told apart in the text. v1: below the caller's own cgroup.
 * A limit no cgroup can hold falls to an rlimit where one exists (memory: RLIMIT_DATA per process;
 * pids: RLIMIT_NPROC) and is reported as weaker. Rlimits the child sets always: core 0, nofile
 * 1024/524288, fsize.
 */
enum sr_holder {
    SR_BY_NONE,
    SR_BY_CGROUP2,
    SR_BY_CGROUP1,
    SR_BY_RLIMIT,
    SR_BY_TMPFS,
    SR_BY_SUPERVISOR,
    SR_BY_MACHINE, /* there are no more processors than that */
    SR_BY_COUNT
};
const char *sr_holder_name(enum sr_holder h);

enum { SR_CGROUP_DIRS_MAX = 4 };

struct sr_cgroup {
    char *dirs[SR_CGROUP_DIRS_MAX]; /* absolute paths of the groups made, without duplicates */
    int fds[SR_CGROUP_DIRS_MAX];    /* O_PATH|O_DIRECTORY */
    size_t n;
    bool v2[SR_CGROUP_DIRS_MAX];
    int memory, pids, cpu; /* index into the above, -1: not there */
    enum sr_holder by_memory, by_pids, by_cpus;
    char weaker[512]; /* why a limit is not held by a cgroup; "" when all are */
};

/*
 * What counts as reached, the same on v1 and v2:
 *     memory   a process of the group was killed by the OOM killer (v1: oom_kill of memory.oom_control;
 *              v2: oom_kill, or oom, of memory.events)
 *     pids     a fork was refused (max of pids.events). v1, and v2 before Linux 6.11, count the
 *              refusals of the group's own members, later v2 those by the group's own limit: the same
 *              here, where no group is below, unless one above is smaller
 * Usage at the bound (v1: failcnt of memory and of memory with swap; v2: max of memory.events) is not:
 * the page cache lives there all the time, and reclaim makes room. It is a count beside. A kill in a
 * group that never came near its bound was for want of memory elsewhere, the machine's or a group's
 * above, and is told as that.
 *
 * limits.on_reached is `error`: v2 ends the group as a whole with its first victim (memory.oom.group),
 * v1 kills one process and the run is judged at its end; the verdict is the same. `report`: both kill
 * one process and the rest goes on.
 *
 * RLIMIT_DATA, RLIMIT_NPROC and RLIMIT_NOFILE answer the process that meets them (ENOMEM, EAGAIN,
 * EMFILE) and tell nobody else: whether they were reached is not known, and the record says so.
 */
struct sr_cgroup_usage {
    uint64_t oom_kills;    /* of members of this group, by whichever OOM killer */
    uint64_t ooms;         /* v2: how often this group had no memory left to give */
    uint64_t pids_refused;
    uint64_t at_bound;     /* how often memory stood at its limit; sr_cgroup_read alone */
    bool oom_told, pids_told, at_bound_told; /* there is such a counter */
    uint64_t memory_peak, pids_peak; /* 0 when the kernel does not tell; sr_cgroup_read alone */
};

/* mountinfo: the text of /proc/self/mountinfo, which the caller has read for itself; empty: no cgroups are mounted. */
SR_CHECK int sr_cgroup_create(struct sr_run_dir *run, const struct sr_limits *limits, const char *mountinfo,
                              struct sr_cgroup *ret, struct sr_error *err);
/*
 * A foreign process into the groups, by cgroup.procs. Slow: the kernel waits for an RCU grace
 * period in the first write after a quiet moment, 6 to 12 ms measured on 6.18. For what cannot
 * enter by itself, and for tests.
 */
SR_CHECK int sr_cgroup_attach(const struct sr_cgroup *cg, pid_t pid, struct sr_error *err);
/*
 * The calling thread into the groups: "0" into v1's tasks, which moves one thread that is the
 * caller and so takes no global lock (0.15 ms for four hierarchies); v2 has no such file, hence
 * cloned_fd, the group that clone3 has put the child into. Other v2 groups go by cgroup.procs.
 * Async-signal-safe; 0 or -1 with errno.
 */
SR_CHECK int sr_cgroup_enter(const struct sr_cgroup *cg, int cloned_fd);
/* For clone_args.cgroup: the first v2 group, or -1 when there is none. */
int sr_cgroup_clone_fd(const struct sr_cgroup *cg);
/* The counters that tell a reached limit and no others: for looks while the run goes on. */
void sr_cgroup_read_events(const struct sr_cgroup *cg, struct sr_cgroup_usage *ret);
void sr_cgroup_read(const struct sr_cgroup *cg, struct sr_cgroup_usage *ret);
/* cgroup.kill, else SIGKILL to each member until none is left, at most 2 s. */
void sr_cgroup_kill(const struct sr_cgroup *cg);
/* Repeating is a no-op. What cannot be removed is "left" in the inventory, with why. */
void sr_cgroup_destroy(struct sr_cgroup *cg, struct sr_run_dir *run);

/*
 * In the child, before sr_cgroup_enter: the ordinary scheduling class. A caller's real-time one would let a check hold a processor
 * against everybody, and the v1 cpu controller takes no real-time task into a new group. 0 or -1 with errno.
 */
int sr_limits_reset_scheduling(void);
/* In the child: rlimits. 0 or -1 with errno. */
int sr_limits_set_rlimits(const struct sr_cgroup *cg, const struct sr_limits *limits);
/*
 * Object {wall: {value, by}, ...} for the record, values as a policy spells them; memory, pids and
 * cpus have "weaker" too: true when no cgroup holds them. scratch: what is written goes to a tmpfs of
 * the run; without one RLIMIT_FSIZE bounds each file, and nothing their number.
 */
cJSON *sr_limits_json(const struct sr_cgroup *cg, const struct sr_limits *limits, bool scratch);

#endif
