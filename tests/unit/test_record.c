/* SPDX-License-Identifier: MIT */
/* Records: built from facts, read back strictly, compared. */
#include "base/mem.h"
#include "sandrun/change.h"
#include "sandrun/record.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A literal where the structs own their strings; nothing here frees it. */
#define S(literal) ((char *)(uintptr_t)(literal))
#define SECRET "s3cret-v4lue"

static char *command[] = { S("pytest"), S("-q"), S("--token=" SECRET "-arg"), NULL };
static char *lines_v[] = { S("arch x86_64"), NULL };
static char *pass_v[] = { S("PASSED"), NULL };
static struct sr_plan_env env[] = { { S("HOME"), S("/home/check"), SR_ENV_BUILTIN },
                                    { S("PASSED"), S(SECRET "-passed"), SR_ENV_PASS },
                                    { S("SET"), S(SECRET "-set"), SR_ENV_SET } };
static struct sr_plan_policy_file files[] = { { S("repository"), S("HEAD:sandrun.json"), S("sha256:ff") } };
static struct sr_plan_provenance provenance[] = { { S("command"), S("repository"), S("HEAD:sandrun.json") } };

static struct sr_plan plan(void)
{
    struct sr_plan p = {
        .binding = S("Test"),
        .command = { command, 3 },
        .n_args = 1,
        .executes = true,
        .staged = true,
        .rootfs = SR_ROOTFS_HOST,
        .pin = S("sha256:aa"),
        .pin_observed = S("sha256:aa"),
        .pin_lines = { lines_v, 1 },
        .tree = S("/src/tree"),
        .tree_target = S("/src/tree"),
        .env = env,
        .n_env = 3,
        .env_pass = { pass_v, 1 },
        .limits = { .wall_ns = 600000000000, .memory_bytes = 2147483648, .pids = 512, .cpus_milli = 2000,
                    .output_bytes = 16777216, .disk_bytes = 4294967296, .files = 200000 },
        .policy_commit = S("0123456789012345678901234567890123456789"),
        .policy_trusted = true,
        .policy_files = files,
        .n_policy_files = 1,
        .provenance = provenance,
        .n_provenance = 1,
    };
    sr_plan_seal(&p);
    return p;
}

static struct sr_observation observed[] = { { "root_readonly", true, "/" }, { "network_lo_only", true, "lo" } };
static const struct sr_tree_identity identity = { .commit = "0123", .index = "4567", .dev = 8, .ino = 9,
                                                  .taken_ns = 1790000000000000000 };

struct facts {
    struct sr_plan plan;
    struct sr_gate gate;
    struct sr_outcome outcome;
    struct sr_verdict verdict;
    struct sr_record_facts f;
};

/* Filled in place: f points into it. */
static void facts(struct facts *x)
{
    *x = (struct facts){ .plan = plan() };
    x->gate.decision = SR_CONTAINED;
    x->outcome = (struct sr_outcome){ .end = SR_END_EXITED, .code = 1, .started = true, .observed = observed, .n_observed = 2,
                                      .out = { 100, 50, "sha256:0e" }, .lower_fd = -1, .upper_fd = -1, .home_fd = -1 };
    x->verdict = (struct sr_verdict){ SR_STATUS_FAILED, "command.exit", true, 1, 1 };
    x->f = (struct sr_record_facts){ .id = "20260101000000000000aaaaaaaaaaaa",
                                     .plan = &x->plan,
                                     .gate = &x->gate,
                                     .outcome = &x->outcome,
                                     .verdict = &x->verdict,
                                     .tree_before = &identity,
                                     .tree_after = &identity,
                                     .policy_ref = "HEAD",
                                     .started_ns = 1790000000000000000,
                                     .phase_ns = { 1, 2, 3, 4, 5, 15 } };
}

static char *record_text(void)
{
    struct facts x;
    facts(&x);
    cleanup_json cJSON *r = sr_record_build(&x.f);
    return sr_json_pretty(r);
}

static void expect_parse(const char *text, const char *code)
{
    struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    int done = sr_record_parse("record.json", text, strlen(text), &doc, &err);
    if (code) {
        cr_expect_eq(done, -1, "expected %s", code);
        cr_expect_str_eq(err.code, code, "%s, not %s: %s", err.code, code, err.text);
        cr_expect(done == 0 || err.text[0]);
    } else {
        cr_expect_eq(done, 0, "%s: %s", err.code, err.text);
    }
    sr_json_clear(&doc);
}

static const char *const keys[] = { "schema", "id",      "binding", "staged",    "status",   "reason", "decided",
                                    "exit",   "plan",    "plan_digest", "policy", "pin",     "tree",   "preflight",
                                    "enforced", "timing", "usage",  "changes",   "attribution", "output", "cleanup" };

static void expect_keys(const cJSON *r)
{
    size_t k = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, r)
    {
        if (strcmp(item->string, "reason_detail") == 0)
            continue;
        cr_assert_lt(k, sizeof keys / sizeof *keys);
        cr_expect_str_eq(item->string, keys[k++]);
    }
    cr_expect_eq(k, sizeof keys / sizeof *keys);
}

Test(record, every_key_is_there_whatever_happened)
{
    struct facts x;
    facts(&x);
    struct sr_error err = { 0 };
    sr_error_set(&err, "policy.missing", "no policy");
    struct sr_verdict v;
    sr_verdict_error(&err, &v);
    const struct sr_record_facts cases[] = {
        x.f,
        { .id = x.f.id, .verdict = &v, .error = &err },
        { .id = x.f.id, .plan = &x.plan, .verdict = &v, .error = &err, .tree_before = &identity },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_json cJSON *r = sr_record_build(&cases[i]);
        cleanup_free char *text = sr_json_pretty(r);
        expect_keys(r);
        expect_parse(text, NULL);
    }
}

Test(record, a03_digest_of_the_record_is_the_digest_of_the_plan)
{
    struct facts x;
    facts(&x);
    cleanup_json cJSON *r = sr_record_build(&x.f);
    cr_expect_str_eq(sr_json_string(r, "plan_digest"), x.plan.digest);
}

Test(record, contained_is_said_of_what_was_seen_only)
{
    struct facts x;
    struct sr_observation broken[] = { observed[0], { "network_lo_only", false, "eth0" } };
    facts(&x);
    for (int i = 0; i < 5; i++) {
        x.gate.decision = i == 1 ? SR_OPTED_OUT : i == 2 ? SR_UNCONTAINED : SR_CONTAINED;
        x.outcome.observed = i == 3 ? broken : observed;
        x.outcome.n_observed = i == 4 ? 0 : 2;
        cleanup_json cJSON *r = sr_record_build(&x.f);
        cr_expect_eq(cJSON_IsTrue(sr_json_get(sr_json_get(r, "enforced"), "contained")), i == 0, "case %d", i);
    }
}

Test(record, a40_no_planted_secret_is_in_the_bytes)
{
    struct facts x;
    facts(&x);
    x.f.overrides = "{\"bindings\":{\"Test\":{\"env\":{\"set\":{\"SET\":\"" SECRET "-override\"}},\"limits\":{\"pids\":5}}}}";
    cleanup_json cJSON *r = sr_record_build(&x.f);
    cleanup_free char *text = sr_json_pretty(r);
    cr_expect_null(strstr(text, SECRET), "%s", text);
    cr_expect_not_null(strstr(text, "PASSED"));
    cr_expect_not_null(strstr(text, "\"SET\""));
    cr_expect_not_null(strstr(text, "pids\\\":5"), "%s", text);
    cr_expect_str_eq(sr_json_string(r, "plan_digest"), x.plan.digest);
    /* and one that cannot be searched is not kept at all */
    x.f.overrides = "{ \"" SECRET;
    cleanup_json cJSON *broken = sr_record_build(&x.f);
    cleanup_free char *broken_text = sr_json_pretty(broken);
    cr_expect_null(strstr(broken_text, SECRET));
}

Test(record, overrides_without_values_are_kept_byte_for_byte)
{
    struct facts x;
    facts(&x);
    x.f.overrides = "{ \"bindings\": {\"Test\":{\"limits\":{\"cpus\":1.5}}} }";
    cleanup_json cJSON *r = sr_record_build(&x.f);
    cr_expect_str_eq(sr_json_string(sr_json_get(sr_json_get(r, "policy"), "request"), "overrides"), x.f.overrides);
}

static void expect_lines(const cJSON *a, const cJSON *b, const char *const *expected, size_t n)
{
    cleanup_strv struct sr_strv lines = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(sr_record_compare(a, b, &lines, &err), 0, "%s", err.text);
    for (size_t i = 0; i < lines.n && i < n; i++)
        cr_expect_str_eq(lines.v[i], expected[i]);
    cr_expect_eq(lines.n, n, "%zu lines, the first: %s", lines.n, lines.n ? lines.v[0] : "");
}

/* Where an engine told of limits, as the policy spells them. */
static void reach(struct facts *x, cJSON *limits)
{
    cJSON *memory = sr_json_object(), *pids = sr_json_object();
    sr_json_add_string(memory, "value", "64MiB");
    sr_json_add_string(memory, "by", "cgroup v1");
    sr_json_add_u64(pids, "value", 32);
    sr_json_add_string(pids, "by", "rlimit");
    sr_json_add(limits, "memory", memory);
    sr_json_add(limits, "pids", pids);
    x->outcome.limits = limits;
    x->outcome.reached[SR_LIMIT_MEMORY] = (struct sr_reached){ .times = 6, .first_ns = 5, .last_ns = -1, .told_by = "kernel" };
    x->outcome.reached[SR_LIMIT_PIDS] = (struct sr_reached){ .times = 2, .first_ns = 7, .last_ns = 9, .told_by = "kernel", .by = "machine" };
    x->outcome.unknowable[SR_LIMIT_OPEN_FILES] = (struct sr_unknowable){ "rlimit", "it tells nobody" };
}

Test(record, a14_each_limit_reached_is_listed_and_each_that_nobody_can_tell)
{
    struct facts x;
    facts(&x);
    cleanup_json cJSON *limits = sr_json_object();
    reach(&x, limits);
    cleanup_json cJSON *r = sr_record_build(&x.f);
    const cJSON *enforced = sr_json_get(r, "enforced");
    cleanup_free char *reached = sr_json_compact(sr_json_get(enforced, "reached"));
    cr_expect_str_eq(reached, "[{\"limit\":\"memory\",\"bound\":\"64MiB\",\"by\":\"cgroup v1\",\"times\":6,"
                              "\"told_by\":\"kernel\",\"first_ns\":5,\"last_ns\":null},"
                              "{\"limit\":\"pids\",\"bound\":null,\"by\":\"machine\",\"times\":2,"
                              "\"told_by\":\"kernel\",\"first_ns\":7,\"last_ns\":9}]");
    cleanup_free char *unknowable = sr_json_compact(sr_json_get(enforced, "unknowable"));
    cr_expect_str_eq(unknowable, "[{\"limit\":\"open_files\",\"by\":\"rlimit\",\"why\":\"it tells nobody\"}]");
    cleanup_free char *text = sr_json_pretty(r);
    expect_parse(text, NULL);
    cr_expect(cJSON_IsNull(sr_json_get(sr_json_get(r, "usage"), "memory_at_bound")), "not told is not 0");
    x.outcome.at_bound_told = true;
    x.outcome.memory_at_bound = 12;
    cleanup_json cJSON *told = sr_record_build(&x.f);
    cr_expect_eq(sr_json_get(sr_json_get(told, "usage"), "memory_at_bound")->valuedouble, 12);
}

/* How often and when is the machine's scheduling; which, is a difference. */
Test(record, a39_reached_limits_compare_by_which)
{
    struct facts x;
    facts(&x);
    cleanup_json cJSON *limits = sr_json_object();
    reach(&x, limits);
    cleanup_json cJSON *a = sr_record_build(&x.f);
    x.outcome.reached[SR_LIMIT_MEMORY].times = 7;
    x.outcome.reached[SR_LIMIT_MEMORY].last_ns = 11;
    cleanup_json cJSON *b = sr_record_build(&x.f);
    expect_lines(a, b, NULL, 0);
    x.outcome.reached[SR_LIMIT_PIDS].times = 0;
    cleanup_json cJSON *c = sr_record_build(&x.f);
    cleanup_strv struct sr_strv lines = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(sr_record_compare(a, c, &lines, &err), 0);
    cr_assert_eq(lines.n, 1);
    cr_expect_eq(strstr(lines.v[0], "enforced.reached.1: {\"limit\":\"pids\""), lines.v[0], "%s", lines.v[0]);
}

Test(record, names_of_the_outside_world_are_harmless)
{
    struct facts x;
    facts(&x);
    x.plan.tree = S("/src/\033]0;x\007\xff");
    snprintf(x.outcome.detail, sizeof x.outcome.detail, "\033[2J\n");
    cleanup_json cJSON *r = sr_record_build(&x.f);
    cleanup_free char *text = sr_json_pretty(r);
    for (const char *c = text; *c; c++)
        cr_assert((unsigned char)*c >= 0x20 || *c == '\n', "byte %02x", (unsigned char)*c);
    expect_parse(text, NULL);
}

Test(record, a39_cut_records_are_refused_at_every_length)
{
    cleanup_free char *text = record_text();
    size_t len = strlen(text);
    for (size_t cut = 0; cut + 2 < len; cut += 7) {
        struct sr_json doc = { 0 };
        struct sr_error err = { 0 };
        cr_expect_eq(sr_record_parse("r", text, cut, &doc, &err), -1, "cut at %zu", cut);
        cr_expect_eq(strncmp(err.code, "record.invalid.json.", 20), 0, "%s", err.code);
        sr_json_clear(&doc);
    }
}

/* The record's text with the first occurrence of from replaced. */
static char *edited(const char *from, const char *to)
{
    cleanup_free char *text = record_text();
    char *at = strstr(text, from);
    cr_assert_not_null(at, "%s is not in %s", from, text);
    *at = '\0';
    return sr_asprintf("%s%s%s", text, to, at + strlen(from));
}

Test(record, a39_forged_records_are_refused_by_name)
{
    static const struct {
        const char *from, *to, *code;
    } table[] = {
        { "\"sandrun.record/1\"", "\"sandrun.record/2\"", "record.schema" },
        { "\"pytest\"", "\"true\"", "record.invalid.digest" },
        { "\"pids\": 512", "\"pids\": 513", "record.invalid.digest" },
        { "\"pin\": \"sha256:aa\"", "\"pin\": \"sha256:ab\"", "record.invalid.digest" },
        { "\"plan_digest\": \"sha256:", "\"plan_digest\": \"sha256:0", "record.invalid.digest" },
        { "\"declared\": \"sha256:aa\"", "\"declared\": \"sha256:ab\"", "record.invalid.inconsistent" },
        { "\"binding\": \"Test\"", "\"binding\": \"Lint\"", "record.invalid.inconsistent" },
        { "\"staged\": true", "\"staged\": false", "record.invalid.inconsistent" },
        { "\"status\": \"failed\"", "\"status\": \"passed\"", "record.invalid.inconsistent" },
        { "\"status\": \"failed\"", "\"status\": \"green\"", "record.invalid.inconsistent" },
        { "\"exit\": 1", "\"exit\": 0", "record.invalid.inconsistent" },
        { "\"decided\": true", "\"decided\": false", "record.invalid.inconsistent" },
        { "\"decided\": true", "\"decided\": \"true\"", "record.invalid.type" },
        { "\"cleanup\": []", "\"cleanup\": {}", "record.invalid.type" },
        { "\"cleanup\": []", "\"cleanup\": [], \"more\": 1", "record.invalid.unknown_key" },
        { "\"verified\": true", "\"verified\": true, \"more\": 1", "record.invalid.unknown_key" },
        { "\"attribution\"", "\"contribution\"", "record.invalid.unknown_key" },
        { "\"id\"", "\"schema\"", "record.invalid.json.duplicate_key" },
        { "\"looked\": false,", "", "record.invalid.missing" },
        { "\"reached\": []", "\"reached\": \"memory\"", "record.invalid.type" },
        { "\"unknowable\": []", "\"known\": []", "record.invalid.missing" },
        { "\"count\": 1", "\"count\": \"1\"", "record.invalid.type" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        cleanup_free char *text = edited(table[i].from, table[i].to);
        expect_parse(text, table[i].code);
    }
    expect_parse("[]", "record.invalid.type");
    expect_parse("{}", "record.invalid.missing");
}

Test(record, a39_every_missing_key_is_refused)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct facts x;
        facts(&x);
        cleanup_json cJSON *r = sr_record_build(&x.f);
        cJSON_DeleteItemFromObjectCaseSensitive(r, keys[i]);
        cleanup_free char *text = sr_json_compact(r);
        expect_parse(text, "record.invalid.missing");
    }
}

Test(record, a39_what_was_written_is_what_is_read)
{
    struct facts x;
    facts(&x);
    cleanup_json cJSON *r = sr_record_build(&x.f);
    cleanup_free char *text = sr_json_pretty(r), *compact = sr_json_compact(r);
    struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(sr_record_parse("r", text, strlen(text), &doc, &err), 0, "%s", err.text);
    cleanup_free char *again = sr_json_compact(doc.root);
    cr_expect_str_eq(again, compact);
    sr_json_clear(&doc);
}

Test(record, a39_two_runs_of_the_same_compare_equal)
{
    struct facts x;
    struct sr_tree_identity later = identity;
    facts(&x);
    cleanup_json cJSON *a = sr_record_build(&x.f);
    x.f.id = "20270101000000000000bbbbbbbbbbbb";
    x.f.started_ns++;
    x.f.phase_ns[0] = 99;
    x.f.policy_ref = "0123";
    x.outcome.memory_peak = 5;
    x.outcome.out.bytes = 7;
    later.taken_ns++;
    strcpy(later.index, "89");
    x.f.tree_before = &later;
    cleanup_json cJSON *b = sr_record_build(&x.f);
    expect_lines(a, b, NULL, 0);
}

Test(record, a39_each_difference_is_a_line)
{
    struct facts x;
    facts(&x);
    cleanup_json cJSON *a = sr_record_build(&x.f);
    x.verdict = (struct sr_verdict){ SR_STATUS_PASSED, "command.success", true, 0, 0 };
    x.plan.pin_observed = S("sha256:bb");
    x.outcome.n_observed = 1;
    cleanup_json cJSON *b = sr_record_build(&x.f);
    static const char *const expected[] = {
        "status: failed -> passed",
        "reason: command.exit -> command.success",
        "exit: 1 -> 0",
        "plan.observed.pin_observed: sha256:aa -> sha256:bb",
        "pin.observed: sha256:aa -> sha256:bb",
        "pin.verified: true -> false",
        "enforced.controls.1: {\"control\":\"network_lo_only\",\"held\":true,\"detail\":\"lo\"} -> absent",
    };
    expect_lines(a, b, expected, sizeof expected / sizeof *expected);
}

/* Through the writer of real records: a comparison that reads other names than it writes must not pass here. */
static cJSON *with_changes(struct sr_change *v, size_t n)
{
    struct facts x;
    struct sr_changeset set = { .v = v, .n = n, .total = n };
    for (size_t i = 0; i < n; i++)
        set.by_class[v[i].cls]++;
    facts(&x);
    x.f.changes = &set;
    return sr_record_build(&x.f);
}

#define CHANGE(name, home, what, class_of)                                                                                     \
    { .path = S(name), .in_home = home, .kind = what, .cls = class_of, .after = { .mode = 0100644, .size = sizeof name } }

Test(record, a39_changes_compare_by_path_and_not_by_place_in_the_list)
{
    struct sr_change before[] = { CHANGE("a", false, SR_CHANGE_ADDED, SR_CLASS_SOURCE_UNTRACKED),
                                  CHANGE("b", false, SR_CHANGE_DELETED, SR_CLASS_SOURCE_TRACKED) };
    struct sr_change after[] = { CHANGE("b", false, SR_CHANGE_DELETED, SR_CLASS_SOURCE_TRACKED),
                                 CHANGE("b", true, SR_CHANGE_ADDED, SR_CLASS_DEFERRED) };
    cleanup_json cJSON *a = with_changes(before, 2), *b = with_changes(after, 2);
    static const char *const expected[] = {
        "changes.by_class.source.untracked: 1 -> absent",
        "changes.by_class.deferred: absent -> 1",
        "changes a: added, source.untracked -> unchanged",
        "changes b (in the home): unchanged -> added, deferred",
    };
    expect_lines(a, b, expected, 4);
    expect_lines(a, a, NULL, 0);
}

/* A log whose name carries the time, an artefact whose content does: what every second run of npm leaves. */
Test(record, a39_caches_and_content_of_changed_files_do_not_count)
{
    struct sr_change before[] = { CHANGE("dist/out", false, SR_CHANGE_ADDED, SR_CLASS_SOURCE_UNTRACKED),
                                  CHANGE(".npm/_logs/2026-01-01T10.log", true, SR_CHANGE_ADDED, SR_CLASS_CACHE),
                                  CHANGE("z", true, SR_CHANGE_ADDED, SR_CLASS_SOURCE_UNTRACKED) };
    struct sr_change after[] = { CHANGE("dist/out", false, SR_CHANGE_ADDED, SR_CLASS_SOURCE_UNTRACKED),
                                 CHANGE(".npm/_logs/2026-02-02T20.log", true, SR_CHANGE_ADDED, SR_CLASS_CACHE),
                                 CHANGE(".npm/_logs/2026-02-02T21.log", true, SR_CHANGE_ADDED, SR_CLASS_CACHE),
                                 CHANGE("z", true, SR_CHANGE_ADDED, SR_CLASS_SOURCE_UNTRACKED) };
    after[0].after.size = 999;
    cleanup_json cJSON *a = with_changes(before, 3), *b = with_changes(after, 4);
    expect_lines(a, b, NULL, 0);
}

Test(record, a39_many_differences_are_bounded_and_counted)
{
    cleanup_json cJSON *a = sr_json_object(), *b = sr_json_object();
    for (int i = 0; i < 300; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        sr_json_add_u64(a, key, 1);
        sr_json_add_u64(b, key, 2);
    }
    cleanup_strv struct sr_strv lines = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(sr_record_compare(a, b, &lines, &err), 0);
    cr_expect_eq(lines.n, 201);
    cr_expect_str_eq(lines.v[200], "and 100 more differences");
    cr_expect_eq(sr_record_compare(a, NULL, &lines, &err), -1);
}
