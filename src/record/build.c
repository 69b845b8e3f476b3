/* SPDX-License-Identifier: MIT */
/* A record from the facts of a run. */
#include "sandrun/record.h"

#include "record/internal.h"

#include <string.h>

/*
 * What never goes in: values of the environment, the text of the caller's ARGS, what the command printed (that is in the
 * logs, by digest here). Everything that the outside world named goes through sr_json_add_string, which makes it harmless.
 */

enum { OVERRIDES_MAX = 1024 * 1024 };

static cJSON *null(void)
{
    return cJSON_CreateNull();
}

/* ---- plan and policy ---- */

void sr_record_plan_digest(const cJSON *canonical, char ret[SR_DIGEST_TEXT])
{
    cleanup_free char *text = sr_json_compact(canonical);
    unsigned char digest[SR_SHA256_SIZE];
    sr_sha256_bytes(text, strlen(text), digest);
    sr_sha256_text(digest, ret);
}

/* A value the command line gave a variable is a value of the environment like any other. True when there was one. */
static bool scrub(cJSON *root)
{
    bool found = false;
    cJSON *binding, *value;
    cJSON_ArrayForEach(binding, cJSON_GetObjectItemCaseSensitive(root, "bindings"))
    {
        cJSON *env = cJSON_GetObjectItemCaseSensitive(binding, "env");
        cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(env, "set"))
        {
            found = true;
            if (cJSON_IsString(value))
                cJSON_SetValuestring(value, "");
        }
    }
    return found;
}

static void add_overrides(cJSON *o, const char *text)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    /* What cannot be parsed cannot be searched for values, and had no part in the plan. */
    if (!text || sr_json_parse("command line", text, strlen(text), OVERRIDES_MAX, SR_JSON_COMMENTS, &doc, &err) < 0) {
        sr_json_add_string(o, "overrides", NULL);
        return;
    }
    /* As it was given unless something had to go: the policy's list of files has its digest. */
    bool scrubbed = scrub(doc.root);
    cleanup_free char *rest = scrubbed ? sr_json_compact(doc.root) : sr_strdup(text);
    sr_json_add_string(o, "overrides", rest);
}

static void add_plan(cJSON *root, const struct sr_record_facts *f)
{
    const char *digest = NULL;
    char computed[SR_DIGEST_TEXT];
    cJSON *plan = null(), *policy = NULL;
    if (f->plan) {
        cJSON_Delete(plan);
        plan = sr_plan_json(f->plan, SR_PLAN_RECORD);
        policy = cJSON_DetachItemFromObjectCaseSensitive(plan, "policy");
        sr_record_plan_digest(sr_json_get(plan, "canonical"), computed);
        digest = computed;
    }
    if (!policy)
        policy = sr_json_object();
    cJSON *request = sr_json_object();
    sr_json_add_path(request, "file", f->policy_file);
    sr_json_add_string(request, "ref", f->policy_ref);
    add_overrides(request, f->overrides);
    sr_json_add(policy, "request", request);
    sr_json_add(root, "plan", plan);
    sr_json_add_string(root, "plan_digest", digest);
    sr_json_add(root, "policy", policy);
}

static void add_pin(cJSON *root, const struct sr_plan *p)
{
    cJSON *pin = sr_json_object(), *lines = sr_json_array();
    sr_json_add_string(pin, "kind", p ? sr_rootfs_name(p->rootfs) : NULL);
    sr_json_add_string(pin, "declared", p ? p->pin : NULL);
    sr_json_add_string(pin, "observed", p ? p->pin_observed : NULL);
    sr_json_add_bool(pin, "verified", p && p->pin && p->pin_observed && strcmp(p->pin, p->pin_observed) == 0);
    for (size_t i = 0; p && i < p->pin_lines.n; i++)
        sr_json_append_string(lines, p->pin_lines.v[i]);
    sr_json_add(pin, "lines", lines);
    sr_json_add(root, "pin", pin);
}

/* ---- tree, preflight, enforcement ---- */

static cJSON *identity(const struct sr_tree_identity *t)
{
    if (!t)
        return null();
    cJSON *o = sr_json_object();
    sr_json_add_string(o, "commit", t->commit);
    sr_json_add_string(o, "index", t->index);
    sr_json_add_u64(o, "dev", t->dev);
    sr_json_add_u64(o, "ino", t->ino);
    sr_json_add_u64(o, "taken_ns", t->taken_ns > 0 ? (uint64_t)t->taken_ns : 0);
    return o;
}

static void add_tree(cJSON *root, const struct sr_record_facts *f)
{
    cJSON *tree = sr_json_object();
    sr_json_add_path(tree, "path", f->plan ? f->plan->tree : NULL);
    sr_json_add_path(tree, "target", f->plan ? f->plan->tree_target : NULL);
    sr_json_add(tree, "before", identity(f->tree_before));
    sr_json_add(tree, "after", identity(f->tree_after));
    sr_json_add(root, "tree", tree);
}

static void add_preflight(cJSON *root, const struct sr_findings *findings)
{
    cJSON *preflight = sr_json_object();
    sr_json_add_bool(preflight, "looked", findings != NULL);
    sr_json_add(preflight, "findings", findings ? sr_findings_json(findings) : sr_json_array());
    sr_json_add(root, "preflight", preflight);
}

static cJSON *refusals(const struct sr_gate *g)
{
    cJSON *list = sr_json_array();
    for (size_t i = 0; g && i < g->n_refusals; i++) {
        cJSON *r = sr_json_object();
        sr_json_add_string(r, "code", g->refusals[i].code);
        sr_json_add_string(r, "text", g->refusals[i].text);
        sr_json_add_string(r, "line", g->refusals[i].line);
        sr_json_append(list, r);
    }
    return list;
}

static cJSON *controls(const struct sr_outcome *o)
{
    cJSON *list = sr_json_array();
    for (size_t i = 0; o && i < o->n_observed; i++) {
        cJSON *c = sr_json_object();
        sr_json_add_string(c, "control", o->observed[i].control);
        sr_json_add_bool(c, "held", o->observed[i].held);
        sr_json_add_string(c, "detail", o->observed[i].detail);
        sr_json_append(list, c);
    }
    return list;
}

/* Decided so, and seen so from inside: a decision alone is a promise. */
static bool is_contained(const struct sr_gate *g, const struct sr_outcome *o)
{
    if (!g || g->decision != SR_CONTAINED || !o || o->n_observed == 0)
        return false;
    for (size_t i = 0; i < o->n_observed; i++)
        if (!o->observed[i].held)
            return false;
    return true;
}

/* What the policy calls it and who holds it, as in "limits": each is said once. */
static const cJSON *limit_of(const struct sr_outcome *o, enum sr_limit l)
{
    return o->limits ? sr_json_get(o->limits, sr_limit_name(l)) : NULL;
}

static void add_time(cJSON *object, const char *key, int64_t ns)
{
    if (ns >= 0)
        sr_json_add_u64(object, key, (uint64_t)ns);
    else
        sr_json_add(object, key, null());
}

static cJSON *reached_one(const struct sr_outcome *o, enum sr_limit l)
{
    const struct sr_reached *r = &o->reached[l];
    const cJSON *limit = limit_of(o, l), *bound = r->by ? NULL : sr_json_get(limit, "value");
    cJSON *one = sr_json_object();
    sr_json_add_string(one, "limit", sr_limit_name(l));
    sr_json_add(one, "bound", bound ? cJSON_Duplicate(bound, 1) : null());
    sr_json_add_string(one, "by", r->by ? r->by : sr_json_string(limit, "by"));
    sr_json_add_u64(one, "times", r->times);
    sr_json_add_string(one, "told_by", r->told_by);
    add_time(one, "first_ns", r->first_ns);
    add_time(one, "last_ns", r->last_ns);
    return one;
}

static cJSON *reached(const struct sr_outcome *o)
{
    cJSON *list = sr_json_array();
    for (int l = 0; o && l < SR_LIMIT_COUNT; l++)
        if (o->reached[l].times)
            sr_json_append(list, reached_one(o, (enum sr_limit)l));
    return list;
}

static cJSON *unknowable(const struct sr_outcome *o)
{
    cJSON *list = sr_json_array();
    for (int l = 0; o && l < SR_LIMIT_COUNT; l++) {
        if (!o->unknowable[l].why)
            continue;
        cJSON *one = sr_json_object();
        sr_json_add_string(one, "limit", sr_limit_name((enum sr_limit)l));
        sr_json_add_string(one, "by", o->unknowable[l].by);
        sr_json_add_string(one, "why", o->unknowable[l].why);
        sr_json_append(list, one);
    }
    return list;
}

static void add_enforced(cJSON *root, const struct sr_record_facts *f)
{
    static const char *const decisions[] = { [SR_CONTAINED] = "contained", [SR_UNCONTAINED] = "uncontained",
                                             [SR_OPTED_OUT] = "opted_out", [SR_REFUSED] = "refused" };
    const struct sr_outcome *o = f->outcome;
    cJSON *e = sr_json_object();
    sr_json_add_bool(e, "contained", is_contained(f->gate, o));
    sr_json_add_string(e, "decision", f->gate ? decisions[f->gate->decision] : NULL);
    sr_json_add_string(e, "uncontained", f->plan ? f->plan->uncontained : NULL);
    sr_json_add(e, "refusals", refusals(f->gate));
    sr_json_add(e, "controls", controls(o));
    sr_json_add(e, "limits", o && o->limits ? cJSON_Duplicate(o->limits, 1) : null());
    sr_json_add_string(e, "tree_mode", o ? sr_tree_mode_name(o->tree_mode) : NULL);
    sr_json_add_string(e, "git_mode", o && o->git_upper_fd > 0 ? sr_tree_mode_name(o->git_mode) : NULL);
    sr_json_add(e, "reached", reached(o));
    sr_json_add(e, "unknowable", unknowable(o));
    sr_json_add(root, "enforced", e);
}

/* ---- what it took and gave ---- */

static void add_timing(cJSON *root, const struct sr_record_facts *f)
{
    static const char *const names[] = { "resolve_ns", "preflight_ns", "setup_ns", "run_ns", "changes_ns", "total_ns" };
    _Static_assert(sizeof names / sizeof *names == SR_PHASE_COUNT, "a name per phase");
    cJSON *t = sr_json_object();
    sr_json_add_u64(t, "started_ns", f->started_ns > 0 ? (uint64_t)f->started_ns : 0);
    for (int i = 0; i < SR_PHASE_COUNT; i++)
        sr_json_add_u64(t, names[i], f->phase_ns[i]);
    sr_json_add(root, "timing", t);
}

static void add_usage(cJSON *root, const struct sr_outcome *o)
{
    cJSON *u = sr_json_object();
    sr_json_add_u64(u, "cpu_user_us", o ? o->cpu_user_us : 0);
    sr_json_add_u64(u, "cpu_system_us", o ? o->cpu_system_us : 0);
    sr_json_add_u64(u, "memory_peak", o ? o->memory_peak : 0);
    if (o && o->at_bound_told)
        sr_json_add_u64(u, "memory_at_bound", o->memory_at_bound);
    else
        sr_json_add(u, "memory_at_bound", null());
    sr_json_add_u64(u, "disk_peak", o ? o->disk_peak : 0);
    sr_json_add_u64(u, "pids_peak", o ? o->pids_peak : 0);
    sr_json_add(root, "usage", u);
}

static cJSON *stream(const struct sr_stream_result *s)
{
    cJSON *o = sr_json_object();
    sr_json_add_u64(o, "bytes", s->bytes);
    sr_json_add_u64(o, "logged", s->logged);
    sr_json_add_bool(o, "truncated", s->logged < s->bytes);
    sr_json_add_string(o, "digest", s->digest[0] ? s->digest : NULL);
    return o;
}

static void add_output(cJSON *root, const struct sr_outcome *o)
{
    static const struct sr_stream_result none;
    cJSON *output = sr_json_object();
    sr_json_add(output, "stdout", stream(o ? &o->out : &none));
    sr_json_add(output, "stderr", stream(o ? &o->err : &none));
    sr_json_add(root, "output", output);
}

static void add_detail(cJSON *root, const struct sr_record_facts *f)
{
    if (!f->error && !f->outcome)
        return;
    cJSON *detail = sr_json_object();
    if (f->error) {
        cJSON *message = sr_json_object();
        sr_json_add_string(message, "text", f->error->text);
        sr_json_add_string(message, "hint", f->error->hint);
        sr_json_add(detail, "message", message);
    }
    if (f->outcome) {
        cJSON *end = sr_json_object();
        sr_json_add_string(end, "kind", sr_end_name(f->outcome->end));
        sr_json_add_u64(end, "code", f->outcome->code > 0 ? (uint64_t)f->outcome->code : 0);
        sr_json_add_bool(end, "started", f->outcome->started);
        sr_json_add_string(end, "detail", f->outcome->detail);
        sr_json_add(detail, "end", end);
    }
    sr_json_add(root, "reason_detail", detail);
}

static cJSON *changes(const struct sr_record_facts *f)
{
    cJSON *c = sr_changeset_json(f->changes);
    sr_json_add(c, "kept", sr_kept_list_json(f->kept)); /* what came back to the tree, and what was refused and why */
    return c;
}

cJSON *sr_record_build(const struct sr_record_facts *f)
{
    cJSON *root = sr_json_object(), *attribution = sr_json_object();
    sr_json_add_string(root, "schema", SR_RECORD_SCHEMA);
    sr_json_add_string(root, "id", f->id);
    sr_json_add_string(root, "binding", f->plan ? f->plan->binding : NULL);
    sr_json_add_bool(root, "staged", f->plan && f->plan->staged);
    sr_json_add_string(root, "status", sr_status_name(f->verdict->status));
    sr_json_add_string(root, "reason", f->verdict->reason);
    add_detail(root, f);
    sr_json_add_bool(root, "decided", f->verdict->decided);
    sr_json_add_u64(root, "exit", (uint64_t)f->verdict->exit);
    add_plan(root, f);
    add_pin(root, f->plan);
    add_tree(root, f);
    add_preflight(root, f->findings);
    add_enforced(root, f);
    add_timing(root, f);
    add_usage(root, f->outcome);
    sr_json_add(root, "changes", f->changes ? changes(f) : null());
    sr_json_add_string(attribution, "mode", "off");
    sr_json_add(root, "attribution", attribution);
    add_output(root, f->outcome);
    sr_json_add(root, "cleanup", f->inventory ? cJSON_Duplicate(f->inventory, 1) : sr_json_array());
    return root;
}
