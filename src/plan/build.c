/* SPDX-License-Identifier: MIT */
/* From a binding of a loaded policy to a plan. */
#include "base/text.h"
#include "plan/internal.h"
#include "sandrun/image.h"
#include "sandrun/policy.h"

#include <stdlib.h>
#include <string.h>

static void copy_command(const struct sr_plan_request *req, struct sr_plan *p)
{
    sr_strv_copy(&p->command, &req->binding->command);
    for (size_t i = 0; req->args && i < req->args->n; i++)
        sr_strv_add(&p->command, req->args->v[i]);
    p->n_args = req->args ? req->args->n : 0;
}

static void copy_mounts(const struct sr_binding *b, struct sr_plan *p)
{
    p->mounts = sr_calloc(b->n_mounts + 1, sizeof *p->mounts);
    for (size_t i = 0; i < b->n_mounts; i++) {
        const struct sr_mount *m = &b->mounts[i];
        p->mounts[p->n_mounts++] = (struct sr_mount){ .source = sr_strdup(m->source),
                                                      .target = sr_strdup(m->target ? m->target : m->source),
                                                      .readonly = m->readonly,
                                                      .reason = sr_strdup(m->reason) };
    }
}

static const enum sr_tree_mode mode_of_writes[] = {
    [SR_WRITES_HOLD] = SR_TREE_OVERLAY, /* the engine falls back to a copy where there is no overlay, and says so */
    [SR_WRITES_KEEP] = SR_TREE_OVERLAY,
    [SR_WRITES_NONE] = SR_TREE_READONLY,
    [SR_WRITES_DIRECT] = SR_TREE_DIRECT,
};

/* Without a word of the policy: what a model wrote passes only where nothing was short. */
static enum sr_on_reached on_reached(const struct sr_plan_request *req)
{
    const struct sr_binding *b = req->binding;
    if (b->present >> SR_FIELD_LIMIT_ON_REACHED & 1)
        return b->limits.on_reached;
    return req->staged ? SR_ON_REACHED_ERROR : SR_ON_REACHED_REPORT;
}

static void copy_binding(const struct sr_plan_request *req, struct sr_plan *p)
{
    const struct sr_binding *b = req->binding;
    p->binding = sr_strdup(b->name);
    copy_command(req, p);
    p->executes = b->executes;
    p->staged = req->staged;
    p->uncontained = sr_strdup(b->uncontained);
    p->rootfs = b->rootfs;
    p->pin = sr_strdup(b->rootfs_pin);
    p->tree = sr_strdup(req->tree);
    bool same = !b->tree_target || strcmp(b->tree_target, "same") == 0;
    p->tree_target = sr_strdup(same ? req->tree : b->tree_target);
    p->writes = b->writes;
    p->tree_mode = mode_of_writes[b->writes];
    sr_strv_copy(&p->keep, &b->keep);
    sr_strv_copy(&p->protect, &b->protect);
    copy_mounts(b, p);
    p->network = b->network;
    sr_strv_copy(&p->network_allow, &b->network_allow);
    p->network_reason = sr_strdup(b->network_reason);
    sr_plan_env_build(b, req->environ_in, p);
    p->limits = b->limits;
    p->limits.on_reached = on_reached(req);
    sr_strv_copy(&p->seccomp_allow, &b->seccomp_allow);
    p->seccomp_reason = sr_strdup(b->seccomp_reason);
    p->on_repair = b->on_repair;
    p->on_mismatch = b->on_mismatch;
}

static void add_provenance(const struct sr_policy *policy, size_t file, char *field, struct sr_plan *p)
{
    p->provenance[p->n_provenance++] = (struct sr_plan_provenance){ .field = field,
                                                                    .layer = sr_strdup(sr_layer_name(policy->files[file].layer)),
                                                                    .file = sr_strdup(policy->files[file].path) };
}

/* No layer's: the one value that depends on the run. Spelled so that a reader of plans sees why. */
static void add_default(const struct sr_plan_request *req, enum sr_field f, struct sr_plan *p)
{
    if (req->binding->present >> f & 1)
        return;
    p->provenance[p->n_provenance++] = (struct sr_plan_provenance){
        .field = sr_strdup(sr_field_path(f)),
        .layer = sr_strdup("default"),
        .file = sr_strdup(req->staged ? "default of a staged run" : "default of a run that is not staged"),
    };
}

/* Of a field that layers add to, its last layer says little: each entry has its own, as "env.set.PATH" or "mounts./opt/x". */
static void copy_provenance(const struct sr_policy *policy, const struct sr_binding *b, struct sr_plan *p)
{
    p->provenance = sr_calloc(SR_FIELD_COUNT + 1 + b->n_entries, sizeof *p->provenance);
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        if (!(b->present >> f & 1) || b->set_by[f] >= policy->n_files)
            continue;
        const char *path = sr_field_path((enum sr_field)f);
        add_provenance(policy, b->set_by[f], sr_strdup(path), p);
        for (size_t i = 0; i < b->n_entries; i++)
            if ((int)b->entries[i].field == f && b->entries[i].file < policy->n_files)
                add_provenance(policy, b->entries[i].file, sr_asprintf("%s.%s", path, b->entries[i].name), p);
    }
}

static void copy_policy(const struct sr_plan_request *req, struct sr_plan *p)
{
    const struct sr_policy_loaded *l = req->loaded;
    const struct sr_policy *policy = &l->policy;
    p->policy_commit = l->commit[0] ? sr_strdup(l->commit) : NULL;
    p->policy_edited = l->edited;
    p->policy_trusted = l->trusted;
    p->policy_files = sr_calloc(policy->n_files + 1, sizeof *p->policy_files);
    for (size_t i = 0; i < policy->n_files; i++) {
        const struct sr_policy_file *f = &policy->files[i];
        p->policy_files[p->n_policy_files++] = (struct sr_plan_policy_file){ .layer = sr_strdup(sr_layer_name(f->layer)),
                                                                             .path = sr_strdup(f->path),
                                                                             .digest = sr_strdup(f->digest) };
    }
    copy_provenance(policy, req->binding, p);
    add_default(req, SR_FIELD_LIMIT_ON_REACHED, p);
}

/* The fingerprint is asked for without a pin too: the refusal prints the line to write. Not for images, which have their
 * own digest, and not for a binding that has no root filesystem on purpose. */
static void observe_pin(const struct sr_plan_request *req, struct sr_plan *p)
{
    if (p->rootfs == SR_ROOTFS_IMAGE || (p->rootfs == SR_ROOTFS_ABSENT && p->uncontained))
        return;
    struct sr_fingerprint f = { 0 };
    struct sr_error err = { 0 };
    const char *path = sr_plan_env_get(p, "PATH");
    if (sr_host_fingerprint(&req->binding->command, path ? path : "", p->tree, req->cache_dirfd, &f, &err) < 0) {
        sr_strv_add(&p->pin_lines, err.text);
        return;
    }
    p->pin_observed = sr_strdup(f.digest);
    sr_strv_copy(&p->pin_lines, &f.lines);
    sr_fingerprint_clear(&f);
}

static const char *caller_home(char *const *environ_in)
{
    for (char *const *e = environ_in; e && *e; e++)
        if (sr_text_starts(*e, "HOME="))
            return *e + strlen("HOME=");
    return NULL;
}

int sr_plan_build(const struct sr_plan_request *req, struct sr_plan *ret, struct sr_error *err)
{
    struct sr_plan p = { 0 };
    if (sr_plan_tree_check(req->tree, caller_home(req->environ_in), &p, err) < 0)
        return -1;
    copy_binding(req, &p);
    copy_policy(req, &p);
    if (sr_plan_paths_check(&p, err) < 0 || sr_plan_git_common(p.tree, p.staged, &p.git_common_dir, err) < 0) {
        sr_plan_clear(&p);
        return -1;
    }
    sr_plan_git_alternates(&p, caller_home(req->environ_in));
    sr_plan_git_protect(&p);
    observe_pin(req, &p);
    sr_plan_seal(&p);
    *ret = p;
    return 0;
}
