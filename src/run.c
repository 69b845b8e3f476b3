/* SPDX-License-Identifier: MIT */
/* The pipeline: policy -> plan -> gate -> preflight -> engine -> change set -> verdict -> record. */
#include "sandrun/run.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/change.h"
#include "sandrun/git.h"
#include "sandrun/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * sr_run is the line of the design's picture, top to bottom. Each phase fills its part of struct pipeline and either goes on or
 * sets the verdict, which ends the line; the record is built from whatever is there by then, so that a refusal, a failed
 * set-up and a finished run are told by the same code.
 *
 *     resolve     policy layers merged, plan built and sealed; what the policy says is all that counts from here on
 *     gate        probe of the engine, then contained or not; a refusal ends the line: nothing has run
 *     preflight   do the tree's environments fit this root filesystem; interpreters are asked contained, under a ticket of their own
 *     engine      native (contained), or the host process of an "uncontained" binding, which a staged run never reaches
 *     changes     what the command did to the tree and to its HOME, read from outside
 *     verdict     from facts the command cannot reach
 *     record      written last, fsynced; the inventory's live file goes after it
 *
 * Processes: this one alone until the engine spawns its own (engine/native/native.c). SIGINT, SIGTERM and SIGHUP are blocked for
 * the whole line and read by the engine's loop from a descriptor: no signal can end sandrun between making a resource
 * and undoing it.
 */

enum { INDEX_NAME_MAX = 80 };

struct pipeline {
    const struct sr_run_request *req;
    struct sr_run_result *result;
    struct sr_state state;
    struct sr_run_dir run;
    struct sr_resolved resolved;
    struct sr_mounts mounts; /* one look for the gate, preflight and the engine */
    struct sr_gate gate;
    struct sr_findings findings;
    struct sr_outcome outcome;
    struct sr_changeset changes;
    struct sr_kept_list kept;
    struct sr_manifest *before; /* direct and uncontained runs: the whole tree */
    struct sr_tree_identity tree_before, tree_after;
    bool have_state, have_run, have_plan, have_gate, have_findings, have_outcome, have_changes, have_before, have_after;
    int64_t started_ns, phase_began;
    uint64_t phase_ns[8];
};

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void phase_done(struct pipeline *p, enum sr_phase phase)
{
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    p->phase_ns[phase] += (uint64_t)(now - p->phase_began);
    p->phase_began = now;
}

/* Ends the line with what went wrong. Returns -1. */
static int give_up(struct pipeline *p, const struct sr_error *err)
{
    p->result->error = *err;
    sr_verdict_error(err, &p->result->verdict);
    return -1;
}

/* ---- resolve ---- */

static int open_state(struct pipeline *p)
{
    struct sr_error err = { 0 };
    struct sr_sweep sweep = { 0 };
    if (sr_resolve_state(p->req, &p->state, &err) < 0)
        return give_up(p, &err);
    p->have_state = true;
    /* what dead runs left goes first; what cannot go is theirs, and `clean` tells of it */
    if (sr_state_sweep(&p->state, &sweep, &err) < 0)
        return give_up(p, &err);
    sr_sweep_clear(&sweep);
    if (sr_run_dir_create(&p->state, &p->run, &err) < 0)
        return give_up(p, &err);
    p->have_run = true;
    memcpy(p->result->id, p->run.id, sizeof p->result->id);
    return 0;
}

static void take_identity(const char *tree, struct sr_tree_identity *ret)
{
    struct stat st;
    struct sr_error err = { 0 };
    cleanup_git struct sr_git *git = NULL;
    *ret = (struct sr_tree_identity){ .taken_ns = clock_ns(CLOCK_REALTIME) };
    if (stat(tree, &st) == 0) {
        ret->dev = st.st_dev;
        ret->ino = st.st_ino;
    }
    /* a tree without git, or with one that cannot be read, has no commit: the record says so by an empty one */
    if (sr_git_open(tree, &git, &err) < 0 || sr_git_resolve(git, "HEAD", ret->commit, &err) < 0)
        sr_error_clear(&err);
    if (git && sr_git_index_checksum(git, ret->index, &err) < 0)
        sr_error_clear(&err);
}

static int resolve(struct pipeline *p)
{
    struct sr_error err = { 0 };
    if (sr_resolve(p->req, &p->state, &p->resolved, &err) < 0)
        return give_up(p, &err);
    p->have_plan = true;
    take_identity(p->resolved.tree, &p->tree_before);
    p->have_before = true;
    phase_done(p, SR_PHASE_RESOLVE);
    return 0;
}

/* ---- gate and preflight ---- */

static int decide(struct pipeline *p)
{
    sr_resolve_gate(&p->resolved.plan, &p->mounts, &p->gate);
    p->have_gate = true;
    if (p->gate.decision != SR_REFUSED)
        return 0;
    const struct sr_refusal *first = &p->gate.refusals[0];
    struct sr_error *err = &p->result->error;
    sr_error_set(err, first->code, "%s", first->text);
    sr_error_hint(err, "%s", first->line);
    sr_verdict_blocked(first->code, &p->result->verdict);
    return -1;
}

static int preflight(struct pipeline *p)
{
    struct sr_error err = { 0 };
    const struct sr_plan *plan = &p->resolved.plan;
    /* an uncontained binding runs in the host's own root filesystem, the one its environments were made in */
    if (p->gate.decision == SR_UNCONTAINED)
        return 0;
    if (sr_resolve_preflight(plan, &p->state, &p->mounts, &p->findings, &err) < 0)
        return give_up(p, &err);
    p->have_findings = true;
    phase_done(p, SR_PHASE_PREFLIGHT);
    if (!p->findings.n || plan->on_mismatch == SR_ON_MISMATCH_REPORT)
        return 0;
    sr_error_set(&p->result->error, p->findings.v[0].code, "%s", p->findings.v[0].text);
    sr_error_hint(&p->result->error, "%s", p->findings.v[0].remedy);
    sr_verdict_mismatch(&p->result->verdict);
    return -1;
}

/* ---- engine and changes ---- */

static bool writes_to_tree(const struct pipeline *p)
{
    return p->gate.decision == SR_UNCONTAINED || p->resolved.plan.writes == SR_WRITES_DIRECT;
}

/* The index of digests of one tree, by its path: a second snapshot of the same tree hashes only what moved. */
static void index_name(const char *tree, char name[INDEX_NAME_MAX])
{
    unsigned char digest[SR_SHA256_SIZE];
    char hex[SR_SHA256_HEX];
    sr_sha256_bytes(tree, strlen(tree), digest);
    sr_sha256_hex(digest, hex);
    snprintf(name, INDEX_NAME_MAX, "tree-%.32s", hex);
}

static int snapshot(struct pipeline *p, struct sr_manifest **ret)
{
    struct sr_error err = { 0 };
    char name[INDEX_NAME_MAX];
    index_name(p->resolved.tree, name);
    const struct sr_snapshot_options options = { .content = true, .index_dirfd = p->state.cache_fd, .index_name = name };
    cleanup_fd int fd = open(p->resolved.tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        sr_error_sys(&err, "plan.tree", "cannot open the tree %s", p->resolved.tree);
        return give_up(p, &err);
    }
    return sr_snapshot(fd, &options, ret, &err) < 0 ? give_up(p, &err) : 0;
}

static int execute(struct pipeline *p)
{
    struct sr_error err = { 0 };
    const struct sr_plan *plan = &p->resolved.plan;
    struct sr_engine_io io = { .state = &p->state, .run = &p->run, .mounts = &p->mounts, .out_fd = p->req->out_fd, .err_fd = p->req->err_fd };
    if (writes_to_tree(p) && snapshot(p, &p->before) < 0)
        return -1;
    p->phase_began = clock_ns(CLOCK_MONOTONIC);
    p->have_outcome = true;
    int done = p->gate.decision == SR_UNCONTAINED ? sr_engine_host_run(plan, &io, &p->outcome, &err)
                                                  : sr_engine_native.run(plan, p->gate.ticket, &io, &p->outcome, &err);
    p->phase_ns[SR_PHASE_SETUP] = p->outcome.setup_ns;
    p->phase_ns[SR_PHASE_RUN] = p->outcome.run_ns;
    p->phase_began = clock_ns(CLOCK_MONOTONIC);
    return done < 0 ? give_up(p, &err) : 0;
}

static int changes_of_tree(struct pipeline *p, struct sr_error *err)
{
    const struct sr_outcome *o = &p->outcome;
    if (writes_to_tree(p)) {
        struct sr_manifest *after = NULL;
        if (snapshot(p, &after) < 0)
            return -1;
        int done = sr_manifest_diff(p->before, after, false, &p->changes, err);
        sr_manifest_free(after);
        return done;
    }
    bool held = o->tree_mode == SR_TREE_OVERLAY || o->tree_mode == SR_TREE_COPY;
    if (held && sr_root_tell(o->root_mode, o->upper_fd, &p->changes, err) < 0)
        return -1;
    switch (o->tree_mode) {
    case SR_TREE_OVERLAY:
        return sr_overlay_read(o->lower_fd, o->upper_fd, o->userxattr, p->tree_before.taken_ns, &p->changes, err);
    case SR_TREE_COPY:
        if (sr_tree_compare(o->lower_fd, o->upper_fd, &p->changes, err) < 0)
            return -1;
        return sr_tree_anew(o->fresh, o->upper_fd, &p->changes, err);
    default:
        return 0; /* read-only: the kernel kept it as it was */
    }
}

/* What the plan places in HOME has mount points there that the command did not make. */
static void mount_points_of_home(const struct sr_plan *plan, struct sr_strv *ret)
{
    const char *const own[] = { plan->tree_target, plan->git_common_dir };
    for (size_t i = 0; i < sizeof own / sizeof *own + plan->n_mounts; i++) {
        const char *path = i < 2 ? own[i] : plan->mounts[i - 2].target;
        if (path && sr_path_below(path, SR_INSIDE_HOME) && strcmp(path, SR_INSIDE_HOME) != 0)
            sr_strv_add(ret, path + sizeof SR_INSIDE_HOME);
    }
}

/* The git directory outside the tree, when it was held. */
static int changes_of_git(struct pipeline *p, struct sr_error *err)
{
    const struct sr_outcome *o = &p->outcome;
    struct sr_changeset git = { 0 };
    if (o->git_upper_fd < 0)
        return 0;
    int done = sr_root_tell(o->git_root_mode, o->git_upper_fd, &git, err);
    if (done == 0)
        done = o->git_mode == SR_TREE_COPY ? sr_tree_compare(o->git_lower_fd, o->git_upper_fd, &git, err)
                                           : sr_overlay_read(o->git_lower_fd, o->git_upper_fd, o->userxattr, p->tree_before.taken_ns, &git, err);
    if (done == 0)
        done = sr_changes_add_git(&p->changes, &git, p->resolved.plan.git_common_dir, o->git_lower_fd, o->git_upper_fd, err);
    sr_changeset_clear(&git);
    return done;
}

static int read_changes(struct pipeline *p)
{
    struct sr_error err = { 0 };
    const struct sr_outcome *o = &p->outcome;
    if (!o->started) /* nothing ran that could have changed anything */
        return 0;
    if (changes_of_tree(p, &err) < 0)
        return sr_error_is_set(&err) ? give_up(p, &err) : -1;
    cleanup_strv struct sr_strv mount_points = { 0 };
    mount_points_of_home(&p->resolved.plan, &mount_points);
    if (o->home_fd >= 0 && sr_tree_added(o->home_fd, true, &mount_points, &p->changes, &err) < 0)
        return give_up(p, &err);
    const struct sr_classify_options options = {
        .tree_fd = writes_to_tree(p) ? -1 : o->lower_fd,
        .after_fd = o->upper_fd,
        .before = p->before,
        .tree = p->resolved.tree,
    };
    if (sr_changes_classify(&p->changes, &options, &err) < 0 || changes_of_git(p, &err) < 0)
        return give_up(p, &err);
    p->have_changes = true;
    phase_done(p, SR_PHASE_CHANGES);
    return 0;
}

/* ---- record ---- */

static void write_record(struct pipeline *p)
{
    struct sr_run_result *r = p->result;
    struct sr_error err = { 0 };
    cleanup_free char *text = sr_json_pretty(r->record);
    if (sr_file_write_at(p->run.dir_fd, "record.json", text, strlen(text), 0600, &err) == 0) {
        cleanup_free char *runs = sr_path_join(p->state.root, "runs");
        cleanup_free char *dir = sr_path_join(runs, r->id);
        r->record_path = sr_path_join(dir, "record.json");
        return;
    }
    /* a run without a record never happened, as far as anyone can show: not a pass, whatever the command said */
    sr_error_wrap(&err, "writing the record of the run");
    sr_error_clear(&r->error);
    give_up(p, &err);
}

static void record(struct pipeline *p)
{
    if (!p->have_plan || !p->have_run)
        return;
    take_identity(p->resolved.tree, &p->tree_after);
    p->phase_ns[SR_PHASE_TOTAL] = (uint64_t)(clock_ns(CLOCK_REALTIME) - p->started_ns);
    const struct sr_record_facts facts = {
        .id = p->result->id,
        .plan = &p->resolved.plan,
        .gate = p->have_gate ? &p->gate : NULL,
        .findings = p->have_findings ? &p->findings : NULL,
        .outcome = p->have_outcome ? &p->outcome : NULL,
        .changes = p->have_changes ? &p->changes : NULL,
        .kept = &p->kept,
        .verdict = &p->result->verdict,
        .error = sr_error_is_set(&p->result->error) ? &p->result->error : NULL,
        .tree_before = &p->tree_before,
        .tree_after = &p->tree_after,
        .inventory = p->run.inventory,
        .overrides = p->req->overrides,
        .policy_file = p->req->policy_file,
        .policy_ref = p->req->policy_ref,
        .started_ns = p->started_ns,
        .phase_ns = { p->phase_ns[0], p->phase_ns[1], p->phase_ns[2], p->phase_ns[3], p->phase_ns[4], p->phase_ns[5] },
    };
    p->result->record = sr_record_build(&facts);
    write_record(p);
}

static void pipeline_clear(struct pipeline *p)
{
    /* a run that could not be recorded leaves no directory behind either */
    bool empty = p->have_run && !p->result->record_path;
    if (p->have_run)
        sr_run_dir_close(&p->state, &p->run);
    struct sr_error err = { 0 };
    if (empty && sr_remove_at(p->state.runs_fd, p->result->id, &err) < 0)
        sr_error_clear(&err); /* `clean` meets it again */
    sr_mounts_clear(&p->mounts);
    sr_gate_clear(&p->gate);
    sr_findings_clear(&p->findings);
    sr_changeset_clear(&p->changes);
    sr_kept_list_clear(&p->kept);
    sr_manifest_free(p->before);
    sr_outcome_clear(&p->outcome);
    sr_resolved_clear(&p->resolved);
    if (p->have_state)
        sr_state_close(&p->state);
}

/* Of a run that is judged by its command alone: what a repair or a limit left half-done does not come back. */
static int keep(struct pipeline *p)
{
    struct sr_error err = { 0 };
    const struct sr_plan *plan = &p->resolved.plan;
    const struct sr_verdict *v = &p->result->verdict;
    bool judged = v->status == SR_STATUS_PASSED || v->status == SR_STATUS_FAILED;
    if (plan->writes != SR_WRITES_KEEP || writes_to_tree(p) || !judged || !p->have_changes)
        return 0;
    if (sr_changes_keep(&p->changes, &plan->keep, p->outcome.lower_fd, p->outcome.upper_fd, &p->kept, &err) < 0)
        return give_up(p, &err);
    return 0;
}

static void go(struct pipeline *p)
{
    if (open_state(p) < 0 || resolve(p) < 0 || decide(p) < 0 || preflight(p) < 0 || execute(p) < 0)
        return;
    if (read_changes(p) < 0)
        return;
    sr_verdict_of_run(&p->resolved.plan, &p->outcome, &p->changes, &p->result->verdict);
    if (keep(p) < 0)
        return;
    if (p->changes.overflow && strcmp(p->result->verdict.reason, "changes.overflow") == 0) {
        sr_error_set(&p->result->error, "changes.overflow",
                     "%" PRIu64 " changes were counted, more than can be kept and judged: whether an environment was repaired is not known",
                     p->changes.total);
        sr_error_hint(&p->result->error, "a lower limits.files stops such a command earlier");
    } else if (p->outcome.detail[0])
        sr_error_set(&p->result->error, p->result->verdict.reason, "%s", p->outcome.detail);
}

void sr_run(const struct sr_run_request *req, struct sr_run_result *ret)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    /* ignored, not blocked: one that stayed pending would end us when the mask is restored */
    void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
    void (*child_before)(int) = signal(SIGCHLD, SIG_DFL); /* ignored by the caller, it would reap our children for us */
    void (*size_before)(int) = signal(SIGXFSZ, SIG_IGN); /* a caller's ulimit -f: writing then fails, and is told */
    sigprocmask(SIG_BLOCK, &blocked, &before);
    mode_t mask_before = umask(077); /* the caller's may shut even the owner out of what the run makes */
    *ret = (struct sr_run_result){ 0 };
    struct pipeline p = {
        .req = req,
        .result = ret,
        .run = { .dir_fd = -1, .live_fd = -1 },
        .outcome = SR_OUTCOME,
        .started_ns = clock_ns(CLOCK_REALTIME),
        .phase_began = clock_ns(CLOCK_MONOTONIC),
    };
    go(&p);
    record(&p);
    pipeline_clear(&p);
    signal(SIGPIPE, pipe_before);
    umask(mask_before);
    signal(SIGXFSZ, size_before);
    signal(SIGCHLD, child_before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void sr_run_result_clear(struct sr_run_result *r)
{
    cJSON_Delete(r->record);
    free(r->record_path);
    *r = (struct sr_run_result){ 0 };
}
