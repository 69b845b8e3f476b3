/* SPDX-License-Identifier: MIT */
/* The verdict block. */
#include "cli/verdict_text.h"
#include "cli/gate_text.h"
#include "cli/record_view.h"
#include "cli/statuses.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const enum cli_style status_styles[SR_STATUS_COUNT] = {
    [SR_STATUS_PASSED] = CLI_GOOD,
    [SR_STATUS_FAILED] = CLI_BAD,
    [SR_STATUS_ERRORED] = CLI_WARN,
    [SR_STATUS_BLOCKED] = CLI_WARN,
};

static bool about_code(const struct sr_run_result *r)
{
    return r->verdict.status == SR_STATUS_PASSED || r->verdict.status == SR_STATUS_FAILED;
}

/* "(contained, record 0f3a...)" */
static char *headline_tail(const struct sr_run_result *r)
{
    struct sr_buf b = SR_BUF(512);
    sr_buf_putc(&b, '(');
    if (about_code(r))
        sr_buf_puts(&b,
                    cli_bool_at(r->record, "enforced.contained") ? "contained" : "NOT contained");
    else
        sr_buf_printf(&b, "%s, exit %d", r->verdict.reason, r->verdict.exit);
    if (r->record_path)
        sr_buf_printf(&b, ", record %s", r->id);
    sr_buf_putc(&b, ')');
    return sr_buf_steal(&b);
}

static char *headline_ending(const struct sr_run_result *r)
{
    const struct sr_verdict *v = &r->verdict;
    if (v->status == SR_STATUS_PASSED)
        return sr_strdup("");
    if (v->status == SR_STATUS_BLOCKED)
        return sr_strdup(": a control refused, nothing ran");
    if (v->status == SR_STATUS_ERRORED)
        return sr_asprintf(": %s", cli_reason(v->reason)->text);
    if (strcmp(v->reason, "command.signal") == 0)
        return sr_asprintf(": killed by signal %d", v->exit - SR_EXIT_SIGNAL);
    if (v->own_exit != v->exit)
        return sr_asprintf(": exit %d, given as %d", v->own_exit, v->exit);
    return sr_asprintf(": exit %d", v->exit);
}

static void headline(struct cli_page *p, const char *binding, const struct sr_run_result *r)
{
    cleanup_free char *ending = headline_ending(r), *tail = headline_tail(r);
    uint64_t ns = cli_u64_at(r->record, "timing.total_ns");
    char took[32] = "", text[40] = "";
    if (ns) {
        cli_duration_text(ns, took);
        snprintf(text, sizeof text, " in %s", took);
    }
    cli_line(p, status_styles[r->verdict.status], "sandrun: %s %s%s%s %s", binding,
             sr_status_name(r->verdict.status), ending, text, tail);
}

/* "node_modules" says by itself what it is. */
static bool says_kind(const char *path, const char *kind)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, kind) == 0;
}

static void repair_examples(struct cli_page *p, const cJSON *repair, const char *id)
{
    const cJSON *example;
    uint64_t lost = cli_u64_at(repair, "lost"), listed = 0;
    uint64_t all = lost ? lost : cli_u64_at(repair, "added");
    cJSON_ArrayForEach(example, cli_at(repair, "examples"))
    {
        if (!cJSON_IsString(example))
            continue;
        cleanup_free char *path = sr_json_path(example->valuestring);
        cli_line(p, CLI_DIM, "    %c %s", lost ? '-' : '+', path);
        listed++;
    }
    if (id && listed && all > listed)
        cli_line(p, CLI_DIM, "    and %" PRIu64 " more: sandrun diff %s", all - listed, id);
}

static void repair_one(struct cli_page *p, const cJSON *repair, const char *id)
{
    cleanup_free char *path = cli_path_at(repair, "path");
    const char *cls = cli_string_at(repair, "class");
    const char *kind = cli_string_at(repair, "ecosystem");
    uint64_t lost = cli_u64_at(repair, "lost");
    bool named = kind && !(path && says_kind(path, kind));
    cli_line(p, CLI_PLAIN,
             "  %s%s%s%s: %s: %" PRIu64 " %s lost, %" PRIu64 " new, %" PRIu64 " changed",
             cli_in_home(repair) ? "~/" : "", path ? path : "?", named ? ", " : "",
             named ? kind : "", cls ? cls : "env", lost, lost == 1 ? "file" : "files",
             cli_u64_at(repair, "added"), cli_u64_at(repair, "modified"));
    repair_examples(p, repair, id);
}

void cli_repair_lines(struct cli_page *p, const cJSON *changes, const char *id)
{
    const cJSON *repair;
    cJSON_ArrayForEach(repair, cli_at(changes, "repairs"))
    {
        repair_one(p, repair, id);
    }
}

/* Both sides say it all; the sentence is for a finding that has none. */
void cli_finding_lines(struct cli_page *p, const char *path, const char *code, const char *text,
                       const char *expected, const char *found, const char *remedy)
{
    cli_line(p, CLI_PLAIN, "  %s: %s", path, code);
    if (expected || found) {
        cli_line(p, CLI_PLAIN, "    expected: %s", expected ? expected : "-");
        cli_line(p, CLI_PLAIN, "    found: %s", found ? found : "-");
    } else if (text) {
        cli_line(p, CLI_PLAIN, "    %s", text);
    }
    if (remedy)
        cli_lines(p, CLI_PLAIN, "    do: ", remedy);
}

/* True when there was one: the error is the first of them. */
static bool finding_lines(struct cli_page *p, const cJSON *record)
{
    const cJSON *f;
    bool said = false;
    cJSON_ArrayForEach(f, cli_at(record, "preflight.findings"))
    {
        cleanup_free char *path = cli_path_at(f, "path");
        const char *text = cli_string_at(f, "text");
        const char *expected = cli_string_at(f, "expected"), *found = cli_string_at(f, "found");
        const char *remedy = cli_string_at(f, "remedy"), *code = cli_string_at(f, "code");
        cli_finding_lines(p, path ? path : "?", code ? code : "?", text, expected, found, remedy);
        said = true;
    }
    return said;
}

/* True when the code is among the refusals printed: the error would say the same thing again. */
static bool refusal_lines(struct cli_page *p, const cJSON *record, const char *code)
{
    const cJSON *r;
    bool said = false;
    cJSON_ArrayForEach(r, cli_at(record, "enforced.refusals"))
    {
        const char *c = cli_string_at(r, "code"), *text = cli_string_at(r, "text");
        cli_refusal_lines(p, c ? c : "?", text ? text : "", cli_string_at(r, "line"));
        said = said || (c && strcmp(c, code) == 0);
    }
    return said;
}

static void error_lines(struct cli_page *p, const struct sr_error *err)
{
    cli_line(p, CLI_PLAIN, "  error: %s", err->text);
    cli_line(p, CLI_PLAIN, "  code: %s", err->code);
    if (err->hint[0])
        cli_lines(p, CLI_PLAIN, "  do: ", err->hint);
}

/* A limit that the policy has a word for: open_files is the same for every check, and nobody's to raise. */
static bool is_policys(const cJSON *record, const char *limit)
{
    return cli_at(cli_at(record, "enforced.limits"), limit) != NULL;
}

/* "64MiB", "512": a size or a time is a string, a count a number. */
static char *bound_text(const cJSON *bound)
{
    return cJSON_IsString(bound) ? sr_strdup(bound->valuestring) : sr_json_compact(bound);
}

static void reached_one(struct cli_page *p, const cJSON *one)
{
    const char *limit = cli_string_at(one, "limit"), *by = cli_string_at(one, "by");
    const cJSON *bound = cli_at(one, "bound");
    uint64_t times = cli_u64_at(one, "times");
    cleanup_free char *often = times == 1 ? sr_strdup("") : sr_asprintf(" %" PRIu64 " times", times);
    if (!limit || !by)
        return;
    if (!bound || cJSON_IsNull(bound)) {
        cli_line(p, CLI_WARN, "  the %s's %s ran out%s, not limits.%s", by, limit, often, limit);
        return;
    }
    cleanup_free char *text = bound_text(bound);
    cli_line(p, CLI_WARN, "  limits.%s (%s, held by %s) was reached%s", limit, text, by, often);
}

/* True when there was one. */
static bool reached_lines(struct cli_page *p, const cJSON *record)
{
    const cJSON *one, *list = cli_at(record, "enforced.reached");
    cJSON_ArrayForEach(one, list)
    {
        reached_one(p, one);
    }
    return list && list->child;
}

/* Said where it matters: after a failure that may be such a limit's, and of a pass that says that none was reached. */
static void unknowable_lines(struct cli_page *p, const cJSON *record)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cli_at(record, "enforced.unknowable"))
    {
        const char *limit = cli_string_at(one, "limit"), *why = cli_string_at(one, "why");
        if (limit && why && is_policys(record, limit))
            cli_line(p, CLI_WARN, "  whether limits.%s was reached is not known here: %s", limit, why);
    }
}

static bool reached_is_error(const cJSON *record)
{
    const char *means = cli_string_at(record, "plan.canonical.limits.on_reached");
    return means && strcmp(means, "error") == 0;
}

/* A verdict about the code says what else there is to know: what was open, what was found, what was
 * reached. */
static void note_lines(struct cli_page *p, const struct sr_run_result *r)
{
    const cJSON *record = r->record;
    const cJSON *item;
    cJSON_ArrayForEach(item, cli_at(record, "enforced.refusals"))
    {
        const char *code = cli_string_at(item, "code"), *text = cli_string_at(item, "text");
        cli_line(p, CLI_WARN, "  open: %s: %s", code ? code : "?", text ? text : "");
    }
    cJSON_ArrayForEach(item, cli_at(record, "preflight.findings"))
    {
        cleanup_free char *path = cli_path_at(item, "path");
        const char *text = cli_string_at(item, "text");
        cli_line(p, CLI_WARN, "  found before: %s: %s", path ? path : "?", text ? text : "");
    }
    reached_lines(p, record);
    if (r->verdict.status == SR_STATUS_FAILED || reached_is_error(record))
        unknowable_lines(p, record);
    cli_repair_lines(p, cli_at(record, "changes"), r->record_path ? r->id : NULL);
}

/* What was reached, and that the command went on to succeed: without it a reader would look for the failure in its output. */
static void limit_lines(struct cli_page *p, const cJSON *record)
{
    const char *kind = cli_string_at(record, "reason_detail.end.kind");
    if (!reached_lines(p, record) || !kind || strcmp(kind, "exited") != 0)
        return;
    cli_line(p, CLI_PLAIN, "  the command itself exited %" PRIu64, cli_u64_at(record, "reason_detail.end.code"));
}

/* Whether the real tree was out of the command's reach: a record says what the run promised. */
static void tree_line(struct cli_page *p, const cJSON *record)
{
    const char *writes = cli_string_at(record, "plan.canonical.tree.writes");
    bool held = writes && strcmp(writes, "direct") != 0 && !cli_string_at(record, "plan.canonical.uncontained");
    cli_line(p, held ? CLI_PLAIN : CLI_BAD, "  %s",
             held ? "the real tree is as it was"
                  : "the real tree was written to: what is listed happened there");
}

void cli_verdict_lines(struct cli_page *p, const char *binding, const struct sr_run_result *r)
{
    const char *remedy = cli_reason(r->verdict.reason)->remedy;
    bool said = false;
    headline(p, binding, r);
    if (cli_bool_at(r->record, "policy.edited"))
        cli_line(p, CLI_WARN,
                 "  the tree's sandrun.json differs from the commit's and was not used");
    if (about_code(r)) {
        note_lines(p, r);
        return;
    }
    if (r->verdict.status == SR_STATUS_BLOCKED)
        said = refusal_lines(p, r->record, r->error.code);
    limit_lines(p, r->record);
    if (strcmp(r->verdict.reason, "env.repaired") == 0) {
        cli_repair_lines(p, cli_at(r->record, "changes"), r->record_path ? r->id : NULL);
        tree_line(p, r->record);
    }
    if (strcmp(r->verdict.reason, "env.mismatch") == 0)
        said = finding_lines(p, r->record);
    if (sr_error_is_set(&r->error) && !said)
        error_lines(p, &r->error);
    if (remedy && !said && !r->error.hint[0])
        cli_line(p, CLI_PLAIN, "  do: %s", remedy);
}
