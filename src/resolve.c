/* SPDX-License-Identifier: MIT */
/* The one resolver: what plan, audit, check, run and repro share. */
#include "sandrun/run.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int real_tree(const char *asked, char **ret, struct sr_error *err)
{
    const char *path = asked ? asked : ".";
    struct stat st;
    cleanup_free char *real = realpath(path, NULL);
    if (!real || stat(real, &st) < 0) {
        sr_error_sys(err, "plan.tree", "cannot open the tree %s", path);
        return sr_error_hint(err, "name the directory of the working tree with --tree");
    }
    if (!S_ISDIR(st.st_mode)) {
        sr_error_set(err, "plan.tree", "the tree %s is not a directory", path);
        return sr_error_hint(err, "name the directory of the working tree with --tree");
    }
    *ret = steal_ptr(&real);
    return 0;
}

int sr_resolve_state(const struct sr_run_request *req, struct sr_state *ret, struct sr_error *err)
{
    cleanup_free char *tree = NULL;
    return real_tree(req->tree, &tree, err) < 0 ? -1 : sr_state_open_outside(tree, ret, err);
}

static char *binding_names(const struct sr_policy *policy)
{
    enum { NAMED = 8 };
    struct sr_buf b = SR_BUF(4096);
    for (size_t i = 0; i < policy->n_bindings && i < NAMED; i++)
        sr_buf_printf(&b, "%s%s", i ? ", " : "the bindings are: ", policy->bindings[i].name);
    if (policy->n_bindings > NAMED)
        sr_buf_printf(&b, " and %zu more", policy->n_bindings - NAMED);
    return policy->n_bindings ? sr_buf_steal(&b) : sr_strdup("it has no binding at all");
}

/* The name may well stand in the tree's own file, which a staged run does not read: that is said first. */
static int no_binding(const struct sr_policy_loaded *loaded, const char *name, struct sr_error *err)
{
    cleanup_free char *near = sr_policy_near(&loaded->policy, name);
    cleanup_free char *help = *near ? sr_asprintf("did you mean %s?", near) : binding_names(&loaded->policy);
    sr_error_set(err, "policy.no_binding", "the policy has no binding named %s", name);
    if (loaded->edited)
        return sr_error_hint(err, "the tree's sandrun.json differs from the one of commit %.12s and was not used: commit it; %s",
                             loaded->commit, help);
    return sr_error_hint(err, "%s", help);
}

int sr_resolve_binding(const struct sr_run_request *req, struct sr_state *state, const struct sr_resolved *r, const char *binding,
                       struct sr_plan *ret, struct sr_error *err)
{
    const struct sr_binding *b = sr_policy_binding(&r->loaded.policy, binding);
    if (!b)
        return no_binding(&r->loaded, binding, err);
    const struct sr_plan_request plan = {
        .loaded = &r->loaded,
        .binding = b,
        .tree = r->tree,
        .args = req->args,
        .staged = req->staged,
        .environ_in = req->environ_in,
        .cache_dirfd = state ? state->cache_fd : -1,
    };
    return sr_plan_build(&plan, ret, err);
}

int sr_resolve(const struct sr_run_request *req, struct sr_state *state, struct sr_resolved *ret, struct sr_error *err)
{
    struct sr_resolved r = { 0 };
    if (real_tree(req->tree, &r.tree, err) < 0)
        return -1;
    const struct sr_policy_request policy = {
        .tree = r.tree,
        .file = req->policy_file,
        /* a staged run trusts the commit, not the tree a model could have edited; an explicit file is the other source */
        .ref = req->policy_ref ? req->policy_ref : req->staged && !req->policy_file ? "HEAD" : NULL,
        .staged = req->staged,
        .overrides = req->overrides,
    };
    int done = sr_policy_load(&policy, &r.loaded, err);
    if (done == 0 && req->binding)
        done = sr_resolve_binding(req, state, &r, req->binding, &r.plan, err);
    if (done < 0) {
        sr_resolved_clear(&r);
        return -1;
    }
    *ret = r;
    return 0;
}

void sr_resolved_clear(struct sr_resolved *r)
{
    free(r->tree);
    sr_policy_loaded_clear(&r->loaded);
    sr_plan_clear(&r->plan);
    *r = (struct sr_resolved){ 0 };
}

void sr_resolve_gate(const struct sr_plan *plan, struct sr_mounts *mounts, struct sr_gate *ret)
{
    struct sr_error missing = { 0 };
    int probed = sr_engine_native.probe(plan, mounts, &missing);
    sr_gate_decide(plan, probed < 0 ? &missing : NULL, ret);
}

/* ---- the version of an interpreter, by running it contained ---- */

/* An interpreter answers in some hundredths of a second; one that does not is not one the check can use either. */
#define PROBE_WALL_NS UINT64_C(5000000000)

struct version_context {
    const struct sr_plan *plan;
    struct sr_state *state;
    struct sr_mounts *mounts;
};

/* What a file is: no two contents of it share all of these. */
static int add_identity(struct sr_buf *key, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -1;
    sr_buf_printf(key, "%s %llu %llu %lld %lld.%09ld %lld.%09ld\n", path, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                  (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    return 0;
}

/*
 * The answer is kept by the identity of the interpreter and of the pyvenv.cfg beside it, whose "home" decides too. Only where a path
 * inside is the same path outside; another target or a mount in the way, and the interpreter is asked again.
 */
static int cache_name(const struct sr_plan *plan, const char *path, char name[96])
{
    unsigned char digest[SR_SHA256_SIZE];
    char hex[SR_SHA256_HEX];
    cleanup_buf struct sr_buf key = SR_BUF(16384);
    if (strcmp(plan->tree, plan->tree_target) != 0 || plan->n_mounts)
        return -1;
    cleanup_free char *config = sr_asprintf("%s/../../pyvenv.cfg", path);
    cleanup_free char *clean = sr_path_clean(config);
    if (add_identity(&key, path) < 0 || !clean)
        return -1;
    if (add_identity(&key, clean) < 0)
        sr_buf_puts(&key, "no pyvenv.cfg\n");
    sr_sha256_bytes(key.data, key.len, digest);
    sr_sha256_hex(digest, hex);
    snprintf(name, 96, "interpreter-%s", hex);
    return key.overflow ? -1 : 0;
}

static bool is_version(const char *text)
{
    return *text >= '0' && *text <= '9' && strlen(text) < 32 && strspn(text, "0123456789.") == strlen(text);
}

/* A file of at most 64 bytes that holds one version and a newline. */
static int read_version(int dirfd, const char *name, char version[32])
{
    cleanup_buf struct sr_buf b = SR_BUF(64);
    struct sr_error unread = { 0 };
    if (sr_file_read_at(dirfd, name, 64, &b, &unread) < 0 || !b.len)
        return -1;
    b.data[strcspn(b.data, "\n")] = '\0';
    if (!is_version(b.data))
        return -1;
    snprintf(version, 32, "%s", b.data);
    return 0;
}

/* A small run of its own: same root filesystem, tree read-only, nothing kept but the answer. */
static int run_interpreter(struct version_context *c, const char *path, char version[32])
{
    struct sr_plan probe = *c->plan;
    char *argv[] = { sr_strdup(path), sr_strdup("-ISc"), sr_strdup("import sys; print('%d.%d.%d' % sys.version_info[:3])"), NULL };
    probe.command = (struct sr_strv){ .v = argv, .n = 3 };
    probe.n_args = 0;
    probe.writes = SR_WRITES_NONE;
    if (!probe.limits.wall_ns || probe.limits.wall_ns > PROBE_WALL_NS)
        probe.limits.wall_ns = PROBE_WALL_NS;
    sr_plan_seal(&probe);
    struct sr_gate gate = { 0 };
    struct sr_run_dir run = { .dir_fd = -1, .live_fd = -1 };
    struct sr_outcome outcome = SR_OUTCOME;
    struct sr_error err = { 0 };
    int answered = -1;
    sr_resolve_gate(&probe, c->mounts, &gate);
    if (gate.ticket && sr_run_dir_create(c->state, &run, &err) == 0) {
        struct sr_engine_io io = { .state = c->state, .run = &run, .mounts = c->mounts, .out_fd = -1, .err_fd = -1 };
        if (sr_engine_native.run(&probe, gate.ticket, &io, &outcome, &err) == 0 && outcome.end == SR_END_EXITED && outcome.code == 0)
            answered = read_version(run.dir_fd, "stdout.log", version);
        char id[SR_RUN_ID_MAX];
        memcpy(id, run.id, sizeof id);
        sr_run_dir_close(c->state, &run);
        struct sr_error left = { 0 };
        if (sr_remove_at(c->state->runs_fd, id, &left) < 0)
            answered = -1; /* a state root that cannot be cleaned will say so when the run itself needs it */
    }
    sr_outcome_clear(&outcome);
    sr_gate_clear(&gate);
    for (size_t i = 0; i < 3; i++)
        free(argv[i]);
    return answered;
}

static int interpreter_version(void *ctx, const char *path, char version[32])
{
    struct version_context *c = ctx;
    char name[96];
    bool cached = cache_name(c->plan, path, name) == 0;
    if (cached && read_version(c->state->cache_fd, name, version) == 0)
        return 0;
    if (run_interpreter(c, path, version) < 0)
        return -1;
    cleanup_free char *text = sr_asprintf("%s\n", version);
    struct sr_error unsaved = { 0 };
    if (cached && sr_file_write_at(c->state->cache_fd, name, text, strlen(text), 0600, &unsaved) < 0)
        sr_error_clear(&unsaved); /* a cache: asked again next time */
    return 0;
}

int sr_resolve_preflight(const struct sr_plan *plan, struct sr_state *state, struct sr_mounts *mounts, struct sr_findings *ret,
                         struct sr_error *err)
{
    struct version_context c = { .plan = plan, .state = state, .mounts = mounts };
    return sr_preflight(plan, interpreter_version, &c, ret, err);
}
