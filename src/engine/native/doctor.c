/* SPDX-License-Identifier: MIT */
/* The doctor: a whole contained run on this host, told step by step, and what else the host lends. */
#include "sandrun/doctor.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/native/native.h"
#include "sandrun/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One per step of the set-up, in its order (child.c); the primitive is what engine.unavailable.<primitive> says of it. */
static const struct {
    const char *primitive, *title;
} steps[] = {
    { "namespaces", "namespaces made: mounts private, loopback up, host name set" },
    { "root", "a new root on a tmpfs" },
    { "scratch", "a bounded scratch on a tmpfs" },
    { "rootfs", "the host's root filesystem bound read-only" },
    { "etc", "users, hosts and names of the check's own" },
    { "dev", "devices, a devpts and a message queue filesystem" },
    { "proc_mount", "a /proc of its own, the host's parts masked" },
    { "private", "private /tmp, /var/tmp, /dev/shm and HOME" },
    { "overlay", "the tree under copy-on-write" },
    { "mounts", "extra mounts" },
    { "protect", "protected paths" },
    { "pivot_root", "the new root entered, the old one gone" },
    { "rlimits", "resource limits" },
    { "identity", "an identity that is nobody on the host, no capability, no_new_privs" },
    { "seccomp", "the system call filter" },
};

struct exam {
    struct sr_state *state;
    struct sr_doctor *d;
    size_t cap;
    struct sr_plan plan;
    struct sr_outcome outcome;
    struct sr_error failure;
    bool ran; /* the engine returned without an error */
};

static struct sr_probe_result *row(struct exam *x, const char *primitive, const char *title, enum sr_probe_answer answer, bool required)
{
    SR_GROW(x->d->v, x->d->n, x->cap);
    struct sr_probe_result *r = &x->d->v[x->d->n++];
    *r = (struct sr_probe_result){ .primitive = primitive, .title = title, .answer = answer, .required = required };
    return r;
}

/* ---- the run ---- */

static int make_plan(struct exam *x, const char *tree, struct sr_error *err)
{
    struct stat st;
    if (stat(tree, &st) < 0)
        return sr_error_sys(err, "doctor.tree", "cannot look at %s", tree);
    x->plan = (struct sr_plan){
        .binding = sr_strdup("doctor"),
        .executes = true,
        .rootfs = SR_ROOTFS_HOST,
        .tree = sr_strdup(tree),
        .tree_target = sr_strdup("/doctor"), /* its own path is the state's, which says nothing about other places */
        .tree_uid = st.st_uid,
        .tree_gid = st.st_gid,
        .limits = { .wall_ns = 10000000000u, .memory_bytes = 64 << 20, .pids = 16, .cpus_milli = 1000, .output_bytes = 65536,
                    .disk_bytes = 16 << 20, .files = 1000 },
    };
    sr_strv_add(&x->plan.command, "true");
    x->plan.env = sr_calloc(1, sizeof *x->plan.env);
    x->plan.env[0] = (struct sr_plan_env){ .name = sr_strdup("PATH"), .value = sr_strdup(SR_INSIDE_PATH) };
    x->plan.n_env = 1;
    struct sr_fingerprint f = { 0 };
    if (sr_host_fingerprint(&x->plan.command, SR_INSIDE_PATH, tree, x->state->cache_fd, &f, err) < 0)
        return -1;
    x->plan.pin = sr_strdup(f.digest);
    x->plan.pin_observed = sr_strdup(f.digest);
    sr_fingerprint_clear(&f);
    sr_plan_seal(&x->plan);
    return 0;
}

static int run_plan(struct exam *x, struct sr_error *err)
{
    struct sr_run_dir run = { .dir_fd = -1, .live_fd = -1 };
    struct sr_gate gate = { 0 };
    char id[SR_RUN_ID_MAX];
    if (sr_run_dir_create(x->state, &run, err) < 0)
        return -1;
    cleanup_mounts struct sr_mounts mounts = { 0 };
    struct sr_engine_io io = { .state = x->state, .run = &run, .mounts = &mounts, .out_fd = -1, .err_fd = -1 };
    sr_gate_decide(&x->plan, NULL, &gate);
    x->ran = native_run_plan(&x->plan, gate.ticket, &io, true, &x->outcome, &x->failure) == 0;
    sr_gate_clear(&gate);
    memcpy(id, run.id, sizeof id);
    sr_run_dir_close(x->state, &run);
    return sr_remove_at(x->state->runs_fd, id, err);
}

static int examine_in(struct exam *x, const char *tree, struct sr_error *err)
{
    if (make_plan(x, tree, err) < 0)
        return -1;
    return run_plan(x, err);
}

static int examine(struct exam *x, struct sr_error *err)
{
    cleanup_free char *cache = sr_path_join(x->state->root, "cache");
    cleanup_free char *joined = sr_path_join(cache, "doctor-XXXXXX");
    if (!mkdtemp(joined))
        return sr_error_sys(err, "doctor.tree", "cannot make a tree to try on in %s", cache);
    cleanup_free char *tree = realpath(joined, NULL);
    int done = tree ? examine_in(x, tree, err) : sr_error_sys(err, "doctor.tree", "cannot resolve %s", joined);
    struct sr_error left = { 0 };
    if (sr_remove_at(AT_FDCWD, joined, &left) < 0 && done == 0) {
        *err = left;
        done = -1;
    }
    return done;
}

/* ---- the answers ---- */

static const char *step_answer(const struct exam *x, size_t i, enum sr_probe_answer *ret)
{
    if (i < x->outcome.steps_done) {
        *ret = SR_PROBE_WORKS;
        return "done";
    }
    if (i == x->outcome.steps_done && sr_error_is_set(&x->failure)) {
        *ret = SR_PROBE_MISSING;
        return x->failure.text;
    }
    *ret = SR_PROBE_UNREADABLE;
    return "not reached: a step before it failed";
}

static void tell_steps(struct exam *x)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        enum sr_probe_answer answer;
        const char *text = step_answer(x, i, &answer);
        struct sr_probe_result *r = row(x, steps[i].primitive, steps[i].title, answer, true);
        snprintf(r->text, sizeof r->text, "%.500s", text);
        if (answer == SR_PROBE_MISSING)
            snprintf(r->remedy, sizeof r->remedy, "%.500s", x->failure.hint[0] ? x->failure.hint : "see SECURITY.md, \"Hosts\", for this message");
    }
}

/* What each control of verify.c says, in words. */
static const char *control_title(const char *control)
{
    static const struct {
        const char *control, *title;
    } titles[] = {
        { "root_readonly", "tried from inside: the root filesystem cannot be written" },
        { "mounts_readonly", "tried from inside: mounts that are to be read-only are" },
        { "tree_held", "tried from inside: the tree is the held one" },
        { "network_lo_only", "tried from inside: there is no network interface but lo" },
        { "capabilities_none", "tried from inside: no capability is left" },
        { "no_new_privs", "tried from inside: no program can gain privilege" },
        { "filter_active", "tried from inside: the system call filter refuses" },
        { "user_namespace_closed", "tried from inside: no user namespace can be made" },
        { "not_host_root", "tried from inside: no id is root on the host" },
        { "pid_namespace", "tried from inside: the processes are in a namespace of their own" },
        { "proc_masked", "tried from inside: the host's parts of /proc are masked" },
        { "descriptors_closed", "tried from inside: no descriptor but 0, 1 and 2 passes exec" },
        { "home_private", "tried from inside: HOME is private" },
        { "cwd_inside", "tried from inside: the current directory is the inner one" },
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].control, control) == 0)
            return titles[i].title;
    return control; /* a new one: its name is its own at least */
}

static void tell_controls(struct exam *x)
{
    size_t n = native_controls();
    for (size_t i = 0; i < n; i++) {
        const struct sr_observation *o = i < x->outcome.n_observed ? &x->outcome.observed[i] : NULL;
        enum sr_probe_answer answer = !o ? SR_PROBE_UNREADABLE : o->held ? SR_PROBE_WORKS : SR_PROBE_MISSING;
        struct sr_probe_result *r = row(x, native_control_name((unsigned)i), control_title(native_control_name((unsigned)i)), answer, true);
        snprintf(r->text, sizeof r->text, "%s", o ? o->detail : "not reached: the sandbox was not set up");
        if (answer == SR_PROBE_MISSING)
            snprintf(r->remedy, sizeof r->remedy, "report it: the step that makes this control succeeded and the control does not hold");
    }
}

/* Which of the limits something weaker than a cgroup holds. */
static void tell_limits(struct exam *x)
{
    static const struct {
        const char *limit, *title;
    } held[] = { { "memory", "a limit of memory for all processes together" },
                 { "pids", "a limit of processes for all of them together" },
                 { "cpus", "a limit of processor time for all processes together" } };
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        const char *by = sr_json_string(sr_json_get(x->outcome.limits, held[i].limit), "by");
        bool cgroup = by && strncmp(by, "cgroup", 6) == 0;
        enum sr_probe_answer answer = !by ? SR_PROBE_UNREADABLE : cgroup ? SR_PROBE_WORKS : SR_PROBE_WEAKER;
        struct sr_probe_result *r = row(x, held[i].limit, held[i].title, answer, false);
        snprintf(r->text, sizeof r->text, "held by %s", by ? by : "nothing that could be read");
        if (answer == SR_PROBE_WEAKER)
            snprintf(r->remedy, sizeof r->remedy, "run below a delegated cgroup: systemd-run --user --scope -p Delegate=yes sandrun ...");
    }
}

static void tell_tree(struct exam *x)
{
    bool redirects = geteuid() == 0;
    bool copy = x->outcome.tree_mode == SR_TREE_COPY;
    bool known = x->outcome.upper_fd >= 0;
    enum sr_probe_answer answer = !known ? SR_PROBE_UNREADABLE : copy || !redirects ? SR_PROBE_WEAKER : SR_PROBE_WORKS;
    struct sr_probe_result *r = row(x, "tree_mode", "how a tree is held", answer, false);
    snprintf(r->text, sizeof r->text, "%s", !known ? "not reached" : copy ? "copied: this filesystem carries no overlay or idmapped mount"
                                                       : redirects ? "overlay, directories of the tree can be renamed"
                                                                   : "overlay; renaming a directory of the tree is EXDEV for an ordinary caller");
    if (answer == SR_PROBE_WEAKER)
        snprintf(r->remedy, sizeof r->remedy, "%s", copy ? "keep the tree on ext4, xfs or btrfs" : "run as root where a check must rename directories of the tree");
}

static void tell_landlock(struct exam *x)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
    int error = errno;
    bool absent = abi < 0 && (error == ENOSYS || error == EOPNOTSUPP);
    struct sr_probe_result *r = row(x, "landlock", "a second layer that this version does not use yet",
                                    abi > 0 ? SR_PROBE_WORKS : absent ? SR_PROBE_MISSING : SR_PROBE_UNREADABLE, false);
    if (abi > 0)
        snprintf(r->text, sizeof r->text, "ABI %ld", abi);
    else
        snprintf(r->text, sizeof r->text, "%s", strerror(error));
    if (absent)
        snprintf(r->remedy, sizeof r->remedy, "boot with lsm=...,landlock and a kernel that has CONFIG_SECURITY_LANDLOCK");
}

const char *sr_probe_answer_name(enum sr_probe_answer a)
{
    static const char *const names[] = { "works", "weaker", "missing", "unreadable" };
    _Static_assert(sizeof names / sizeof *names == SR_PROBE_ANSWER_COUNT, "a name per answer");
    return names[a];
}

int sr_doctor_run(struct sr_state *state, struct sr_doctor *ret, struct sr_error *err)
{
    _Static_assert(SR_PROBE_WORKS == 0, "rows start as working");
    if (native_steps() != sizeof steps / sizeof *steps)
        return sr_error_set(err, "doctor.steps", "the doctor knows %zu steps of the set-up, and the engine has %zu",
                            sizeof steps / sizeof *steps, native_steps());
    struct sr_doctor d = { 0 };
    struct exam x = { .state = state, .d = &d, .outcome = SR_OUTCOME };
    int done = examine(&x, err);
    if (done == 0) {
        tell_steps(&x);
        tell_controls(&x);
        tell_limits(&x);
        tell_tree(&x);
        tell_landlock(&x);
        d.contained = x.ran && x.outcome.end == SR_END_EXITED && x.outcome.code == 0 && x.outcome.n_observed == native_controls();
        *ret = d;
    } else {
        sr_doctor_clear(&d);
    }
    sr_plan_clear(&x.plan);
    sr_outcome_clear(&x.outcome);
    return done;
}

void sr_doctor_clear(struct sr_doctor *d)
{
    free(d->v);
    *d = (struct sr_doctor){ 0 };
}
