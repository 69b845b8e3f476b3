/* SPDX-License-Identifier: MIT */
/* A plan as JSON: the canonical view that the digest is taken over, and the view for the record and for people. */
#include "plan/internal.h"

#include <string.h>

/*
 * The canonical view is what makes two plans the same plan, on any machine and whoever calls: the order of the keys is the
 * order of the code below, every key is always there, and nothing in it was observed on the host. Values of variables and
 * the caller's ARGS may be secrets: they are in it as digests.
 */

static cJSON *strings(const struct sr_strv *s)
{
    cJSON *array = sr_json_array();
    for (size_t i = 0; i < s->n; i++)
        sr_json_append_string(array, s->v[i]);
    return array;
}

static void add_digest(cJSON *object, const char *key, const void *bytes, size_t len)
{
    unsigned char digest[SR_SHA256_SIZE];
    char text[SR_DIGEST_TEXT];
    sr_sha256_bytes(bytes, len, digest);
    sr_sha256_text(digest, text);
    sr_json_add_string(object, key, text);
}

static void add_command(cJSON *o, const struct sr_plan *p)
{
    size_t own = p->command.n - p->n_args;
    cJSON *command = sr_json_array(), *args = sr_json_object();
    for (size_t i = 0; i < own; i++)
        sr_json_append_string(command, p->command.v[i]);
    struct sr_sha256 c;
    unsigned char digest[SR_SHA256_SIZE];
    char text[SR_DIGEST_TEXT];
    sr_sha256_init(&c);
    /* Each with its NUL, so that no two lists are the same bytes. */
    for (size_t i = own; i < p->command.n; i++)
        sr_sha256_update(&c, p->command.v[i], strlen(p->command.v[i]) + 1);
    sr_sha256_final(&c, digest);
    sr_sha256_text(digest, text);
    sr_json_add_u64(args, "count", p->n_args);
    sr_json_add_string(args, "digest", text);
    sr_json_add(o, "command", command);
    sr_json_add(o, "args", args);
}

static void add_rootfs(cJSON *o, const struct sr_plan *p)
{
    cJSON *rootfs = sr_json_object();
    sr_json_add_string(rootfs, "kind", sr_rootfs_name(p->rootfs));
    sr_json_add_string(rootfs, "pin", p->pin);
    sr_json_add(o, "rootfs", rootfs);
}

static void add_tree(cJSON *o, const struct sr_plan *p)
{
    cJSON *tree = sr_json_object();
    sr_json_add_path(tree, "path", p->tree);
    sr_json_add_path(tree, "target", p->tree_target);
    sr_json_add_string(tree, "writes", sr_writes_name(p->writes));
    sr_json_add(tree, "keep", strings(&p->keep));
    sr_json_add(tree, "protect", strings(&p->protect));
    sr_json_add(o, "tree", tree);
}

static void add_mounts(cJSON *o, const struct sr_plan *p)
{
    cJSON *mounts = sr_json_array();
    for (size_t i = 0; i < p->n_mounts; i++) {
        cJSON *m = sr_json_object();
        sr_json_add_path(m, "source", p->mounts[i].source);
        sr_json_add_path(m, "target", p->mounts[i].target);
        sr_json_add_bool(m, "readonly", p->mounts[i].readonly);
        sr_json_add_string(m, "reason", p->mounts[i].reason);
        sr_json_append(mounts, m);
    }
    sr_json_add(o, "mounts", mounts);
}

static void add_network(cJSON *o, const struct sr_plan *p)
{
    cJSON *network = sr_json_object();
    sr_json_add_string(network, "mode", sr_network_name(p->network));
    sr_json_add(network, "allow", strings(&p->network_allow));
    sr_json_add_string(network, "reason", p->network_reason);
    sr_json_add(o, "network", network);
}

/* builtin is the table, not what became of it: whether a passed name stands over a builtin one is the caller's doing. */
static void add_env(cJSON *o, const struct sr_plan *p)
{
    cJSON *env = sr_json_object(), *builtin = sr_json_object(), *set = sr_json_object(), *secrets = sr_json_array();
    for (size_t i = 0; i < sr_env_builtins_n; i++) {
        const char *value = sr_env_builtins[i].value ? sr_env_builtins[i].value : p->tree_target;
        add_digest(builtin, sr_env_builtins[i].name, value ? value : "", value ? strlen(value) : 0);
    }
    for (size_t i = 0; i < p->n_env; i++)
        if (p->env[i].source == SR_ENV_SET)
            add_digest(set, p->env[i].name, p->env[i].value, strlen(p->env[i].value));
    for (size_t i = 0; i < p->n_pass_secret; i++) {
        cJSON *s = sr_json_object();
        sr_json_add_string(s, "name", p->pass_secret[i].name);
        sr_json_add_string(s, "reason", p->pass_secret[i].reason);
        sr_json_append(secrets, s);
    }
    sr_json_add(env, "builtin", builtin);
    sr_json_add(env, "set", set);
    sr_json_add(env, "pass", strings(&p->env_pass));
    sr_json_add(env, "pass_secret", secrets);
    sr_json_add(o, "env", env);
}

static void add_limits(cJSON *o, const struct sr_limits *l)
{
    cJSON *limits = sr_json_object();
    sr_json_add_u64(limits, "wall_ns", l->wall_ns);
    sr_json_add_u64(limits, "idle_ns", l->idle_ns);
    sr_json_add_u64(limits, "memory_bytes", l->memory_bytes);
    sr_json_add_u64(limits, "pids", l->pids);
    sr_json_add_u64(limits, "cpus_milli", l->cpus_milli);
    sr_json_add_u64(limits, "output_bytes", l->output_bytes);
    sr_json_add_u64(limits, "disk_bytes", l->disk_bytes);
    sr_json_add_u64(limits, "files", l->files);
    sr_json_add_string(limits, "on_reached", sr_on_reached_name(l->on_reached));
    sr_json_add(o, "limits", limits);
}

static void add_seccomp(cJSON *o, const struct sr_plan *p)
{
    cJSON *seccomp = sr_json_object();
    sr_json_add(seccomp, "allow", strings(&p->seccomp_allow));
    sr_json_add_string(seccomp, "reason", p->seccomp_reason);
    sr_json_add(o, "seccomp", seccomp);
}

static cJSON *canonical(const struct sr_plan *p)
{
    cJSON *o = sr_json_object();
    sr_json_add_string(o, "format", "sandrun.plan/1");
    sr_json_add_string(o, "binding", p->binding);
    add_command(o, p);
    sr_json_add_bool(o, "executes", p->executes);
    sr_json_add_bool(o, "staged", p->staged);
    sr_json_add_string(o, "uncontained", p->uncontained);
    add_rootfs(o, p);
    add_tree(o, p);
    add_mounts(o, p);
    add_network(o, p);
    add_env(o, p);
    add_limits(o, &p->limits);
    add_seccomp(o, p);
    sr_json_add_string(o, "on_repair", sr_on_repair_name(p->on_repair));
    sr_json_add_string(o, "on_mismatch", sr_on_mismatch_name(p->on_mismatch));
    return o;
}

static cJSON *observed(const struct sr_plan *p)
{
    static const char *const sources[] = { [SR_ENV_BUILTIN] = "builtin", [SR_ENV_SET] = "set", [SR_ENV_PASS] = "pass" };
    cJSON *o = sr_json_object(), *env = sr_json_array();
    sr_json_add_u64(o, "tree_uid", p->tree_uid);
    sr_json_add_u64(o, "tree_gid", p->tree_gid);
    sr_json_add_string(o, "tree_mode", sr_tree_mode_name(p->tree_mode));
    sr_json_add_string(o, "pin_observed", p->pin_observed);
    sr_json_add(o, "pin_lines", strings(&p->pin_lines));
    sr_json_add_path(o, "git_common_dir", p->git_common_dir);
    for (size_t i = 0; i < p->n_env; i++) {
        cJSON *e = sr_json_object();
        sr_json_add_string(e, "name", p->env[i].name);
        sr_json_add_string(e, "source", sources[p->env[i].source]);
        sr_json_append(env, e);
    }
    sr_json_add(o, "env", env);
    return o;
}

static cJSON *policy(const struct sr_plan *p)
{
    cJSON *o = sr_json_object(), *files = sr_json_array(), *provenance = sr_json_array();
    for (size_t i = 0; i < p->n_policy_files; i++) {
        cJSON *f = sr_json_object();
        sr_json_add_string(f, "layer", p->policy_files[i].layer);
        sr_json_add_path(f, "path", p->policy_files[i].path);
        sr_json_add_string(f, "digest", p->policy_files[i].digest);
        sr_json_append(files, f);
    }
    for (size_t i = 0; i < p->n_provenance; i++) {
        cJSON *f = sr_json_object();
        sr_json_add_path(f, "field", p->provenance[i].field);
        sr_json_add_string(f, "layer", p->provenance[i].layer);
        sr_json_add_path(f, "file", p->provenance[i].file);
        sr_json_append(provenance, f);
    }
    sr_json_add_string(o, "commit", p->policy_commit);
    sr_json_add_bool(o, "edited", p->policy_edited);
    sr_json_add_bool(o, "trusted", p->policy_trusted);
    sr_json_add(o, "files", files);
    sr_json_add(o, "provenance", provenance);
    return o;
}

cJSON *sr_plan_json(const struct sr_plan *p, enum sr_plan_view view)
{
    if (view == SR_PLAN_DIGEST)
        return canonical(p);
    cJSON *o = sr_json_object();
    sr_json_add(o, "canonical", canonical(p));
    sr_json_add(o, "observed", observed(p));
    sr_json_add(o, "policy", policy(p));
    return o;
}
