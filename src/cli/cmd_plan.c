/* SPDX-License-Identifier: MIT */
/* sandrun plan: everything a run would use, who set it, and whether it is contained. */
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/gate_text.h"
#include "cli/print.h"
#include "cli/request.h"

#include <string.h>
#include <unistd.h>

static const struct sr_plan_provenance *provenance_of(const struct sr_plan *plan, const char *field)
{
    for (size_t i = 0; i < plan->n_provenance; i++)
        if (strcmp(plan->provenance[i].field, field) == 0)
            return &plan->provenance[i];
    return NULL;
}

/* Layer and file; once when the file's name says the layer ("floor", "preset:python"). */
static char *set_by(const struct sr_plan_provenance *from)
{
    if (!from)
        return sr_strdup("default");
    if (sr_text_starts(from->file, from->layer))
        return sr_strdup(from->file);
    return sr_asprintf("%s, %s", from->layer, from->file);
}

/* Where one entry of a field comes from that layers add to. */
static char *entry_set_by(const struct sr_plan *plan, const char *name, const char *entry)
{
    const char *const fields[] = { name, "env.pass_secret" };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        cleanup_free char *field = sr_asprintf("%s.%s", fields[i], entry);
        const struct sr_plan_provenance *from = provenance_of(plan, field);
        if (from)
            return set_by(from);
    }
    return set_by(provenance_of(plan, name));
}

static void field(struct cli_page *p, const struct sr_plan *plan, const char *name,
                  const char *value)
{
    cleanup_free char *who = set_by(provenance_of(plan, name));
    cli_line(p, CLI_PLAIN, "  %-16s %-34s [%s]", name, value, who);
}

static char *words(const struct sr_strv *v)
{
    struct sr_buf b = SR_BUF(256 * 1024);
    for (size_t i = 0; i < v->n; i++)
        sr_buf_printf(&b, "%s%s", i ? " " : "", v->v[i]);
    return v->n ? sr_buf_steal(&b) : sr_strdup("none");
}

/* What the policy says; the caller's ARGS are counted, as everywhere outside the run itself. */
static char *command_words(const struct sr_plan *plan)
{
    struct sr_strv own = { plan->command.v, plan->command.n - plan->n_args };
    cleanup_free char *text = words(&own);
    return plan->n_args ? sr_asprintf("%s (and %zu ARGS)", text, plan->n_args) : sr_strdup(text);
}

static void plan_limits(struct cli_page *p, const struct sr_plan *plan)
{
    const struct sr_limits *l = &plan->limits;
    const struct {
        const char *name;
        uint64_t value;
        char kind;
    } rows[] = {
        { "limits.wall", l->wall_ns, 't' },        { "limits.idle", l->idle_ns, 't' },
        { "limits.memory", l->memory_bytes, 's' }, { "limits.pids", l->pids, 'n' },
        { "limits.cpus", l->cpus_milli, 'c' },     { "limits.output", l->output_bytes, 's' },
        { "limits.disk", l->disk_bytes, 's' },     { "limits.files", l->files, 'n' },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[32];
        cli_limit_text(rows[i].kind, rows[i].value, text);
        field(p, plan, rows[i].name, text);
    }
    field(p, plan, "limits.on_reached", sr_on_reached_name(l->on_reached));
}

static void plan_rootfs(struct cli_page *p, const struct sr_plan *plan)
{
    cleanup_free char *root = plan->pin
                                  ? sr_asprintf("%s %s", sr_rootfs_name(plan->rootfs), plan->pin)
                                  : sr_strdup(sr_rootfs_name(plan->rootfs));
    field(p, plan, "rootfs", root);
    cli_line(p, CLI_PLAIN, "  %-16s %s", "  observed",
             plan->pin_observed ? plan->pin_observed : "could not be computed");
    for (size_t i = 0; i < plan->pin_lines.n; i++)
        cli_line(p, CLI_DIM, "  %-16s %s", "", plan->pin_lines.v[i]);
    if (plan->uncontained)
        field(p, plan, "uncontained", plan->uncontained);
}

static void plan_tree(struct cli_page *p, const struct sr_plan *plan)
{
    cleanup_free char *keep = words(&plan->keep), *protect = words(&plan->protect);
    cli_line(p, CLI_PLAIN, "  %-16s %s", "tree", plan->tree);
    field(p, plan, "tree.target", plan->tree_target);
    field(p, plan, "tree.writes", sr_writes_name(plan->writes));
    cli_line(p, CLI_PLAIN, "  %-16s %s", "  held by", sr_tree_mode_name(plan->tree_mode));
    field(p, plan, "tree.keep", keep);
    field(p, plan, "tree.protect", protect);
    if (plan->git_common_dir)
        cli_line(p, CLI_PLAIN, "  %-16s %s (%s)", "  git", plan->git_common_dir,
                 sr_plan_git_held(plan) ? "held like the tree" : "read-only");
    if (plan->n_mounts)
        cli_line(p, CLI_PLAIN, "  mounts");
    else
        field(p, plan, "mounts", "none");
    for (size_t i = 0; i < plan->n_mounts; i++) {
        const struct sr_mount *m = &plan->mounts[i];
        cleanup_free char *who = entry_set_by(plan, "mounts", m->target);
        cli_line(p, m->readonly ? CLI_PLAIN : CLI_WARN, "  %-16s %s -> %s (%s) [%s]", "", m->source,
                 m->target,
                 m->readonly ? "read-only"
                 : m->reason ? m->reason
                             : "writable",
                 who);
    }
}

static void plan_rules(struct cli_page *p, const struct sr_plan *plan)
{
    cleanup_free char *allow = words(&plan->network_allow), *groups = words(&plan->seccomp_allow);
    cleanup_free char *network =
        plan->network == SR_NETWORK_ALLOW ? sr_asprintf("allow %s", allow)
        : plan->network_reason
            ? sr_asprintf("%s: %s", sr_network_name(plan->network), plan->network_reason)
            : sr_strdup(sr_network_name(plan->network));
    field(p, plan, "network", network);
    field(p, plan, "seccomp", groups);
    field(p, plan, "on_repair", sr_on_repair_name(plan->on_repair));
    field(p, plan, "on_mismatch", sr_on_mismatch_name(plan->on_mismatch));
}

static void plan_env_builtin(struct cli_page *p, const struct sr_plan *plan, const char *name)
{
    cleanup_strv struct sr_strv names = { 0 };
    for (size_t i = 0; i < plan->n_env; i++)
        if (plan->env[i].source == SR_ENV_BUILTIN)
            sr_strv_add(&names, plan->env[i].name);
    cleanup_free char *text = words(&names);
    cli_line(p, CLI_PLAIN, "  %-16s %s", name, text);
}

/* One line for the names of each layer, in the order of their first names. */
static void plan_env_kind(struct cli_page *p, const struct sr_plan *plan, enum sr_env_source source,
                          const char *name)
{
    cleanup_strv struct sr_strv layers = { 0 };
    for (size_t i = 0; i < plan->n_env; i++) {
        cleanup_free char *who =
            plan->env[i].source == source ? entry_set_by(plan, name, plan->env[i].name) : NULL;
        if (who && !sr_strv_has(&layers, who))
            sr_strv_add(&layers, who);
    }
    for (size_t k = 0; k < layers.n; k++) {
        cleanup_strv struct sr_strv names = { 0 };
        for (size_t i = 0; i < plan->n_env; i++) {
            cleanup_free char *who =
                plan->env[i].source == source ? entry_set_by(plan, name, plan->env[i].name) : NULL;
            if (who && strcmp(who, layers.v[k]) == 0)
                sr_strv_add(&names, plan->env[i].name);
        }
        cleanup_free char *text = words(&names);
        cli_line(p, CLI_PLAIN, "  %-16s %-34s [%s]", k ? "" : name, text, layers.v[k]);
    }
    if (!layers.n)
        field(p, plan, name, "none");
}

static void plan_env(struct cli_page *p, const struct sr_plan *plan)
{
    static const struct {
        enum sr_env_source source;
        const char *name;
    } kinds[] = { { SR_ENV_BUILTIN, "env (sandrun's)" },
                  { SR_ENV_SET, "env.set" },
                  { SR_ENV_PASS, "env.pass" } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].source == SR_ENV_BUILTIN)
            plan_env_builtin(p, plan, kinds[k].name);
        else
            plan_env_kind(p, plan, kinds[k].source, kinds[k].name);
}

static void plan_policy(struct cli_page *p, const struct sr_plan *plan)
{
    cli_line(p, CLI_HEAD, "policy");
    for (size_t i = 0; i < plan->n_policy_files; i++)
        cli_line(p, CLI_PLAIN, "  %-16s %s", plan->policy_files[i].path,
                 plan->policy_files[i].digest);
    if (plan->policy_commit)
        cli_line(p, CLI_PLAIN, "  %-16s %s", "commit", plan->policy_commit);
    if (plan->policy_edited)
        cli_line(p, CLI_WARN,
                 "  the tree's sandrun.json differs from that commit's and is not used");
}

static void plan_page(struct cli_page *p, const struct sr_plan *plan, const struct sr_gate *gate)
{
    cleanup_free char *command = command_words(plan);
    cli_line(p, CLI_HEAD, "%s%s", plan->binding, plan->staged ? " (staged)" : "");
    field(p, plan, "command", command);
    field(p, plan, "executes", plan->executes ? "true" : "false");
    plan_rootfs(p, plan);
    plan_tree(p, plan);
    plan_rules(p, plan);
    plan_env(p, plan);
    plan_limits(p, plan);
    plan_policy(p, plan);
    cli_line(p, CLI_HEAD, "digest");
    cli_line(p, CLI_PLAIN, "  %s", plan->digest);
    cli_gate_lines(p, gate);
}

int cli_plan(const struct cli_args *args)
{
    cleanup_session struct cli_session s;
    struct sr_error err = { 0 };
    struct sr_gate gate = { 0 };
    cleanup_mounts struct sr_mounts mounts = { 0 };
    int status;
    if (cli_session_open(args, 0, &s, &err) < 0)
        return cli_failed(args, &err);
    const struct sr_plan *plan = &s.resolved.plan;
    sr_resolve_gate(plan, &mounts, &gate);
    if (cli_flag(args, "json")) {
        cleanup_json cJSON *out = sr_json_object();
        sr_json_add(out, "plan", sr_plan_json(plan, SR_PLAN_RECORD));
        sr_json_add_string(out, "plan_digest", plan->digest);
        cli_gate_json(out, &gate);
        status = cli_json(out, 0);
    } else {
        cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
        plan_page(&p, plan, &gate);
        status = cli_page_done(&p, 0);
    }
    sr_gate_clear(&gate);
    return status;
}
