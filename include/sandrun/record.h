/* SPDX-License-Identifier: MIT */
/* The record: the JSON account of one run, written by the supervisor from facts the command cannot reach. */
#ifndef SANDRUN_RECORD_H
#define SANDRUN_RECORD_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/engine.h"
#include "sandrun/keep.h"
#include "sandrun/verdict.h"

#include <stdbool.h>

/*
 * Schema "sandrun.record/1". Top-level keys, always all of them, in this order:
 *   schema id binding staged status reason decided exit plan plan_digest policy pin tree preflight enforced timing usage
 *   changes attribution output cleanup
 * and, after reason, "reason_detail" {message {text, hint}, end {kind, code, started, detail}} when there is something to say.
 *   plan       {canonical, observed} (sandrun/plan.h), null when none was built. plan_digest is the digest of canonical, so
 *              that a changed record shows: record.invalid.digest
 *   policy     {commit, edited, trusted, files [{layer, path, digest}], provenance, request {file, ref, overrides: text or null}}
 *   pin        {kind, declared, observed, verified, lines}
 *   tree       {path, target, before, after}: {commit, index, dev, ino, taken_ns} or null
 *   preflight  {looked, findings}
 *   enforced   {contained, decision, uncontained, refusals [{code, text, line}], controls [{control, held, detail}], limits,
 *              tree_mode, reached, unknowable}. contained only when the gate said so and every control was seen to hold from
 *              inside. reached [{limit, bound (as a policy spells it), by, times, told_by, first_ns, last_ns}]: each limit that
 *              was reached, whatever became of the command; times are after the command's start, null where not known.
 *              unknowable [{limit, by, why}]: those of which nobody can tell here
 *   usage      ..., memory_at_bound: how often memory stood at its limit, null where the kernel does not tell. Reclaim makes
 *              room there, so that it alone is no limit reached
 *   changes    sr_changeset_json, null when nothing ran
 *   output     {stdout, stderr}: {bytes, logged, truncated, digest}
 *   cleanup    the inventory [{kind, value, state, why}]
 * Paths (path, target, source, file, field, examples, git_common_dir) are written by sr_json_add_path (base/json.h): one that has an
 * "\xNN" in it is spelled, \xNN being a byte and \\ a backslash; any other stands as it is.
 * Names of environment variables, never values; the caller's ARGS as count and digest.
 */
#define SR_RECORD_SCHEMA "sandrun.record/1"
enum { SR_RECORD_MAX = 256 * 1024 * 1024 };

/* Where the tree stood: cheap to take, whatever its size. */
struct sr_tree_identity {
    char commit[65];   /* HEAD's commit; "" without git */
    char index[65];    /* the index file's own checksum; "" without */
    uint64_t dev, ino; /* of the root directory */
    int64_t taken_ns;  /* CLOCK_REALTIME; a ctime later than this is a later change */
};

struct sr_record_facts {
    const char *id;
    const struct sr_plan *plan;
    const struct sr_gate *gate;         /* may be NULL */
    const struct sr_findings *findings; /* may be NULL */
    const struct sr_outcome *outcome;   /* NULL: nothing ran */
    const struct sr_changeset *changes; /* may be NULL */
    const struct sr_kept_list *kept;    /* what came back to the tree; may be NULL */
    const struct sr_verdict *verdict;
    const struct sr_error *error;       /* may be NULL */
    const struct sr_tree_identity *tree_before, *tree_after;
    const cJSON *inventory;             /* borrowed */
    const char *overrides;              /* the command line's policy JSON, or NULL */
    const char *policy_file, *policy_ref; /* as requested, for repro; or NULL */
    int64_t started_ns;
    uint64_t phase_ns[8];               /* resolve preflight setup run changes total, in enum sr_phase order */
};
enum sr_phase { SR_PHASE_RESOLVE, SR_PHASE_PREFLIGHT, SR_PHASE_SETUP, SR_PHASE_RUN, SR_PHASE_CHANGES, SR_PHASE_TOTAL, SR_PHASE_COUNT };

cJSON *sr_record_build(const struct sr_record_facts *f);
/* From record.json's bytes: checks the schema, every top-level key and its type, the plan against its digest, and what is
 * said twice against itself. Codes: record.schema, record.invalid.json.*, .unknown_key, .missing, .type, .inconsistent, .digest. */
SR_CHECK int sr_record_parse(const char *name, const char *text, size_t len, struct sr_json *ret, struct sr_error *err);

/* Field by field; each difference is a line "status: passed -> failed". Timing, ids, usage, output and what else differs by nature
 * between two runs of the same thing (the table in compare.c) do not count. */
SR_CHECK int sr_record_compare(const cJSON *before, const cJSON *after, struct sr_strv *ret_lines, struct sr_error *err);

#endif
