/* SPDX-License-Identifier: MIT */
/* The narrow seam: what carries a plan out. */
#ifndef SANDRUN_ENGINE_H
#define SANDRUN_ENGINE_H

#include "base/error.h"
#include "base/json.h"
#include "base/mounts.h"
#include "sandrun/change.h"
#include "sandrun/gate.h"
#include "sandrun/plan.h"
#include "sandrun/state.h"

/* How the command ended; the source is recorded, never guessed from an exit status. */
enum sr_end {
    SR_END_EXITED,       /* code */
    SR_END_SIGNALED,     /* code is the signal, raised inside */
    SR_END_NOT_FOUND,    /* 127: detail lists the places looked */
    SR_END_NOT_EXECUTED, /* 126: detail says why (permission, format, missing interpreter) */
    SR_END_WALL,
    SR_END_IDLE,
    SR_END_OUTPUT,
    SR_END_INTERRUPTED,  /* SIGINT, SIGTERM, SIGHUP to the supervisor: code is the signal */
    SR_END_COUNT
};
const char *sr_end_name(enum sr_end e);

/*
 * What can be reached. Of several, the first in this order is the verdict's reason: what is short of memory or disk fails to
 * start processes as well. cpus is not among them, as it slows and stops nothing.
 */
enum sr_limit {
    SR_LIMIT_MEMORY,     /* the kernel's OOM killer, counted in the run's own cgroup */
    SR_LIMIT_DISK,       /* the run's own filesystem was full, or a file too large */
    SR_LIMIT_FILES,      /* the same, of inodes */
    SR_LIMIT_PIDS,       /* a fork was refused, counted in the run's own cgroup */
    SR_LIMIT_OUTPUT,     /* these three end the run: SR_END_OUTPUT, SR_END_WALL, SR_END_IDLE */
    SR_LIMIT_WALL,
    SR_LIMIT_IDLE,
    SR_LIMIT_FILE_SIZE,  /* of one file: limits.disk again. Known by SIGXFSZ alone, told as disk then; a program that ignores it gets EFBIG */
    SR_LIMIT_OPEN_FILES, /* no policy's: the same for every check, and never known to be reached */
    SR_LIMIT_COUNT
};
const char *sr_limit_name(enum sr_limit l); /* as below "limits" in a policy */

struct sr_reached {
    uint64_t times;           /* 0: not reached; of a sampled one: how often it was seen to become full */
    int64_t first_ns, last_ns; /* seen so, after the command's start; -1: not known */
    const char *told_by;      /* "kernel", "supervisor", "sampling" (what came and went between two looks is not seen), "signal" */
    const char *by;           /* NULL: who holds the limit. "machine": another bound than the limit's was reached, one outside */
};

/* Whether it was reached cannot be known here. */
struct sr_unknowable {
    const char *by; /* who holds it */
    const char *why; /* NULL: it can be known */
};

struct sr_observation {
    const char *control; /* "root_readonly", "network_lo_only", ... */
    bool held;
    char detail[128];
};

struct sr_stream_result {
    uint64_t bytes;      /* what the command wrote */
    uint64_t logged;     /* what the log holds */
    char digest[72];     /* of the log */
};

struct sr_outcome {
    enum sr_end end;
    int code;
    char detail[2048];
    bool started; /* the command was executed (exec succeeded) */
    unsigned steps_done; /* of the set-up, in the engine's order */
    struct sr_observation *observed; /* verified from inside before exec */
    size_t n_observed;
    cJSON *limits; /* object: per limit {value, by: "cgroup v1"|"cgroup v2"|"rlimit"|"tmpfs"|"supervisor"} */
    struct sr_reached reached[SR_LIMIT_COUNT]; /* however the command went on: what it means is the verdict's */
    struct sr_unknowable unknowable[SR_LIMIT_COUNT];
    struct sr_stream_result out, err;
    uint64_t setup_ns, run_ns; /* to exec; exec to end */
    uint64_t cpu_user_us, cpu_system_us, memory_peak, disk_peak, pids_peak;
    uint64_t memory_at_bound; /* how often memory stood at its limit: reclaim may have made room, nothing failed by it alone */
    bool at_bound_told; /* there is such a counter here */
    int lower_fd, upper_fd, home_fd; /* for the change set: -1 where the mode has none. Copy mode: upper_fd is the copy */
    int git_lower_fd, git_upper_fd;  /* the same of the git directory outside the tree, when that is held */
    struct sr_manifest *fresh; /* copy mode: the copy as it was before the command, without content */
    enum sr_tree_mode tree_mode, git_mode;
    mode_t root_mode, git_root_mode; /* of the views of the tree and the git directory before the command: overlay and copy */
    bool userxattr; /* the overlays keep their marks in user.overlay.*, as an ordinary caller's must */
};
#define SR_OUTCOME ((struct sr_outcome){ .lower_fd = -1, .upper_fd = -1, .home_fd = -1, .git_lower_fd = -1, .git_upper_fd = -1 })

struct sr_engine_io {
    struct sr_state *state;
    struct sr_run_dir *run;
    struct sr_mounts *mounts; /* what the probe saw; read when it has not looked */
    int out_fd, err_fd; /* where the command's output streams to, -1: only to the logs */
};

struct sr_engine {
    const char *name;
    /* What this host lacks for this plan: 0 when nothing. Codes engine.unavailable.<primitive>. Cheap; run() is the proof. */
    int (*probe)(const struct sr_plan *plan, struct sr_mounts *mounts, struct sr_error *err);
    /* Runs. -1: the sandbox could not be set up (nothing was executed) or broke. The ticket must be for this plan. */
    int (*run)(const struct sr_plan *plan, const struct sr_ticket *ticket, struct sr_engine_io *io, struct sr_outcome *ret,
               struct sr_error *err);
};

extern const struct sr_engine sr_engine_native;
/* uncontained: the plain host process, clean environment, own session, limits by rlimit. Takes no ticket. */
SR_CHECK int sr_engine_host_run(const struct sr_plan *plan, struct sr_engine_io *io, struct sr_outcome *ret, struct sr_error *err);

void sr_outcome_clear(struct sr_outcome *o);

#endif
