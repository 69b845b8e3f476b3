/* SPDX-License-Identifier: MIT */
/* The one place that decides whether a plan is contained, and the only maker of the ticket an engine accepts. */
#include "sandrun/gate.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

enum { REASON_MAX = 4096, LINE_MAX_BYTES = 8192 };

struct facts {
    const struct sr_plan *plan;
    const struct sr_error *engine_missing;
};

/* What a condition means for the decision, when the run is not staged. For a staged run every failed one refuses. */
enum weight {
    ALWAYS,      /* refuses */
    SANDBOXED,   /* refuses, and has no meaning for a binding that is uncontained by its own words */
    OPT_OUT,     /* named by the policy: the run goes on, and the list says what is open */
    STAGED_ONLY, /* no condition at all */
};

/* Writes the sentence and the line to write, and returns true, when the condition failed. */
typedef bool condition(const struct facts *f, struct sr_buf *text, struct sr_buf *line);

static const char *reason_or(const char *reason)
{
    return reason ? reason : "no reason given";
}

static bool no_command(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->command.n > f->plan->n_args)
        return false;
    sr_buf_printf(text, "The binding %s names no command, so there is nothing to run.", f->plan->binding);
    sr_buf_puts(line, "\"command\": [\"PROGRAM\", \"ARGUMENT\"]");
    return true;
}

static bool uncontained(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (!f->plan->uncontained)
        return false;
    sr_buf_printf(text, "The policy runs %s as a plain process of the host, over reviewed code only: \"%s\".", f->plan->binding,
                  f->plan->uncontained);
    sr_buf_printf(line, "\"rootfs\": { \"host\": \"%s\" }, in place of \"uncontained\"",
                  f->plan->pin_observed ? f->plan->pin_observed : "what `sandrun image pin --host` prints");
    return true;
}

static bool rootfs_unpinned(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->rootfs == SR_ROOTFS_IMAGE || f->plan->pin || f->plan->uncontained)
        return false;
    if (f->plan->rootfs == SR_ROOTFS_HOST)
        sr_buf_printf(text, "The binding %s runs in this host's root filesystem, and its pin is not filled in yet.",
                      f->plan->binding);
    else
        sr_buf_printf(text, "The binding %s names no root filesystem, so nothing says what its command would run in.",
                      f->plan->binding);
    sr_buf_printf(line, "\"rootfs\": { \"host\": \"%s\" }",
                  f->plan->pin_observed ? f->plan->pin_observed : "what `sandrun image pin --host` prints");
    return true;
}

static bool image_unsupported(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->rootfs != SR_ROOTFS_IMAGE)
        return false;
    sr_buf_printf(text, "The binding %s asks for the image %s, and no engine here runs images.", f->plan->binding,
                  f->plan->pin ? f->plan->pin : "?");
    sr_buf_printf(line, "\"rootfs\": { \"host\": \"what `sandrun image pin --host` prints\" }");
    return true;
}

/* "python3 (/usr/bin/python3.11)", from the parts of the fingerprint; "" when the command names none. */
static void covered_tools(const struct sr_plan *p, struct sr_buf *out)
{
    for (size_t i = 0; i < p->pin_lines.n; i++) {
        const char *line = p->pin_lines.v[i];
        if (strncmp(line, "tool ", 5) != 0)
            continue;
        size_t name = strcspn(line + 5, " "), path = line[5 + name] ? strcspn(line + 5 + name + 1, " ") : 0;
        sr_buf_printf(out, "%s%.*s (%.*s)", out->len ? ", " : "", (int)name, line + 5, (int)path, line + 5 + name + (path > 0));
    }
}

static bool pin_mismatch(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_plan *p = f->plan;
    cleanup_buf struct sr_buf tools = SR_BUF(REASON_MAX / 2);
    if (p->rootfs != SR_ROOTFS_HOST || !p->pin || !p->pin_observed || strcmp(p->pin, p->pin_observed) == 0)
        return false;
    covered_tools(p, &tools);
    sr_buf_printf(text, "The binding %s is pinned to the fingerprint %s, and here it is %s. It covers the architecture, os-release, "
                  "the package database and the tools that this binding's command names%s%s; a binding with other tools has "
                  "another one.", p->binding, p->pin, p->pin_observed, tools.len ? ": " : "", tools.len ? tools.data : "");
    sr_buf_printf(line, "in bindings.%s: \"rootfs\": { \"host\": \"%s\" }, once what changed is meant", p->binding,
                  p->pin_observed);
    return true;
}

static bool pin_unverified(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_plan *p = f->plan;
    if (p->rootfs != SR_ROOTFS_HOST || !p->pin || p->pin_observed)
        return false;
    sr_buf_printf(text, "The pin of the binding %s could not be compared with this host: %s.", p->binding,
                  p->pin_lines.n ? p->pin_lines.v[0] : "its fingerprint was not computed");
    sr_buf_puts(line, "sandrun image pin --host");
    return true;
}

static bool writes_direct(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->writes != SR_WRITES_DIRECT)
        return false;
    sr_buf_printf(text, "The command of %s would write to the real tree.", f->plan->binding);
    sr_buf_puts(line, "\"tree\": { \"writes\": \"hold\" }");
    return true;
}

static bool mount_writable(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_plan *p = f->plan;
    bool failed = false; /* not text->len: what does not fit is dropped whole */
    for (size_t i = 0; i < p->n_mounts; i++) {
        const struct sr_mount *m = &p->mounts[i];
        if (m->readonly)
            continue;
        failed = true;
        sr_buf_printf(text, "%s%s is mounted writable (\"%s\")", text->len ? "; " : "", m->source, reason_or(m->reason));
        sr_buf_printf(line, "%s{ \"source\": \"%s\", \"target\": \"%s\", \"readonly\": true }", line->len ? ", " : "\"mounts\": [",
                      m->source, m->target);
    }
    if (!failed)
        return false;
    sr_buf_printf(text, ": what the command of %s writes there stays on this host.", p->binding);
    sr_buf_putc(line, ']');
    return true;
}

static bool network_host(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->network != SR_NETWORK_HOST)
        return false;
    sr_buf_printf(text, "The command of %s would have the host's network: \"%s\".", f->plan->binding,
                  reason_or(f->plan->network_reason));
    sr_buf_puts(line, "\"network\": \"none\"");
    return true;
}

static bool network_allow(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->network != SR_NETWORK_ALLOW)
        return false;
    sr_buf_printf(text, "The binding %s allows %zu network addresses, and no engine here can open some and keep the others "
                  "closed.", f->plan->binding, f->plan->network_allow.n);
    sr_buf_puts(line, "\"network\": \"none\"");
    return true;
}

static bool seccomp_open(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_plan *p = f->plan;
    if (p->seccomp_allow.n == 0)
        return false;
    sr_buf_printf(text, "The system call filter of %s is opened for", p->binding);
    for (size_t i = 0; i < p->seccomp_allow.n; i++)
        sr_buf_printf(text, "%s %s", i ? "," : "", p->seccomp_allow.v[i]);
    sr_buf_printf(text, ": \"%s\".", reason_or(p->seccomp_reason));
    sr_buf_puts(line, "take \"seccomp\" out of the binding");
    return true;
}

static bool secret_passed(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_plan *p = f->plan;
    if (p->n_pass_secret == 0)
        return false;
    for (size_t i = 0; i < p->n_pass_secret; i++)
        sr_buf_printf(text, "%s%s is passed (\"%s\")", i ? "; " : "", p->pass_secret[i].name,
                      reason_or(p->pass_secret[i].reason));
    sr_buf_printf(text, ": the command of %s could read what looks like a secret.", p->binding);
    sr_buf_puts(line, "take \"pass_secret\" out of \"env\"");
    return true;
}

static bool limit_absent(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_limits *l = &f->plan->limits;
    const struct {
        const char *name, *example;
        uint64_t value;
    } required[] = {
        { "wall", "\"10m\"", l->wall_ns },     { "memory", "\"2GiB\"", l->memory_bytes },
        { "pids", "512", l->pids },            { "cpus", "2", l->cpus_milli },
        { "output", "\"16MiB\"", l->output_bytes }, { "disk", "\"4GiB\"", l->disk_bytes },
        { "files", "200000", l->files },
    };
    bool failed = false;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (required[i].value)
            continue;
        sr_buf_printf(text, "%s %s", text->len ? "," : "These limits are absent:", required[i].name);
        failed = true;
        sr_buf_printf(line, "%s\"%s\": %s", line->len ? ", " : "\"limits\": { ", required[i].name, required[i].example);
    }
    if (!failed)
        return false;
    sr_buf_printf(text, ". The command of %s could use the whole machine.", f->plan->binding);
    sr_buf_puts(line, " }");
    return true;
}

static bool policy_untrusted(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    if (f->plan->policy_trusted)
        return false;
    sr_buf_puts(text, "The policy was read from the tree that is being checked, so whoever wrote the tree wrote the policy.");
    sr_buf_puts(line, "--policy-ref HEAD, or --policy FILE with a file outside the tree");
    return true;
}

static bool engine_unavailable(const struct facts *f, struct sr_buf *text, struct sr_buf *line)
{
    const struct sr_error *e = f->engine_missing;
    if (!e || !sr_error_is_set(e))
        return false;
    sr_buf_printf(text, "The sandbox cannot be set up on this host (%s): %s.", e->code, e->text[0] ? e->text : "no detail");
    sr_buf_puts(line, e->hint[0] ? e->hint : "sandrun doctor");
    return true;
}

static const struct {
    const char *code;
    enum weight weight;
    condition *failed;
} conditions[] = {
    { "binding.no_command", ALWAYS, no_command },
    { "policy.untrusted", STAGED_ONLY, policy_untrusted },
    { "binding.uncontained", OPT_OUT, uncontained },
    { "rootfs.unpinned", ALWAYS, rootfs_unpinned },
    { "rootfs.image_unsupported", SANDBOXED, image_unsupported },
    { "rootfs.pin_mismatch", SANDBOXED, pin_mismatch },
    { "rootfs.pin_unverified", SANDBOXED, pin_unverified },
    { "binding.uncontained.writes", OPT_OUT, writes_direct },
    { "binding.uncontained.mount", OPT_OUT, mount_writable },
    { "binding.uncontained.network", OPT_OUT, network_host },
    { "binding.uncontained.network", SANDBOXED, network_allow },
    { "binding.uncontained.seccomp", OPT_OUT, seccomp_open },
    { "binding.uncontained.secret", OPT_OUT, secret_passed },
    { "binding.uncontained.limit", SANDBOXED, limit_absent },
    { "engine.unavailable", SANDBOXED, engine_unavailable },
};

/* The digest of the plan as the gate saw it, recomputed, and of what the host was found to be. */
struct sr_ticket {
    unsigned char seen[SR_SHA256_SIZE];
};

static void ticket_bytes(const struct sr_plan *plan, unsigned char out[SR_SHA256_SIZE])
{
    cleanup_json cJSON *json = sr_plan_json(plan, SR_PLAN_DIGEST);
    cleanup_free char *text = sr_json_compact(json);
    const char *pin = plan->pin_observed ? plan->pin_observed : "";
    struct sr_sha256 c;
    sr_sha256_init(&c);
    sr_sha256_update(&c, text, strlen(text) + 1);
    sr_sha256_update(&c, pin, strlen(pin) + 1);
    sr_sha256_update(&c, plan->policy_trusted ? "t" : "u", 1);
    sr_sha256_final(&c, out);
}

bool sr_ticket_valid(const struct sr_ticket *t, const struct sr_plan *plan)
{
    unsigned char now[SR_SHA256_SIZE];
    if (!t)
        return false;
    /* Not plan->digest, which is a field like any other: a plan changed after the gate has to show. */
    ticket_bytes(plan, now);
    return memcmp(t->seen, now, sizeof now) == 0;
}

static void refuse(struct sr_gate *g, const char *code, struct sr_buf *text, struct sr_buf *line)
{
    /* Names beyond the bound are dropped, the refusal is not. */
    if (text->overflow) {
        sr_buf_reset(text);
        sr_buf_puts(text, "This condition is not met; its names are too long to print.");
    }
    if (line->overflow) {
        sr_buf_reset(line);
        sr_buf_puts(line, "sandrun plan");
    }
    g->refusals[g->n_refusals++] = (struct sr_refusal){ .code = code, .text = sr_buf_steal(text), .line = sr_buf_steal(line) };
}

static bool skipped(const struct sr_plan *p, enum weight w)
{
    return !p->staged && (w == STAGED_ONLY || (w == SANDBOXED && p->uncontained));
}

void sr_gate_decide(const struct sr_plan *plan, const struct sr_error *engine_missing, struct sr_gate *ret)
{
    const size_t n = sizeof conditions / sizeof *conditions;
    const struct facts f = { plan, engine_missing };
    struct sr_gate g = { .refusals = sr_calloc(n, sizeof *g.refusals) };
    bool refused = false;
    for (size_t i = 0; i < n; i++) {
        cleanup_buf struct sr_buf text = SR_BUF(REASON_MAX), line = SR_BUF(LINE_MAX_BYTES);
        if (skipped(plan, conditions[i].weight) || !conditions[i].failed(&f, &text, &line))
            continue;
        refuse(&g, conditions[i].code, &text, &line);
        refused = refused || plan->staged || conditions[i].weight != OPT_OUT;
    }
    if (refused)
        g.decision = SR_REFUSED;
    else if (plan->uncontained)
        g.decision = SR_UNCONTAINED;
    else
        g.decision = g.n_refusals ? SR_OPTED_OUT : SR_CONTAINED;
    if (g.decision == SR_CONTAINED || g.decision == SR_OPTED_OUT) {
        g.ticket = sr_malloc(sizeof *g.ticket);
        ticket_bytes(plan, g.ticket->seen);
    }
    *ret = g;
}

void sr_gate_clear(struct sr_gate *g)
{
    for (size_t i = 0; i < g->n_refusals; i++) {
        free(g->refusals[i].text);
        free(g->refusals[i].line);
    }
    free(g->refusals);
    free(g->ticket);
    *g = (struct sr_gate){ 0 };
}
