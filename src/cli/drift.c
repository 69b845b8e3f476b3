/* SPDX-License-Identifier: MIT */
/* Comparing a record with what a plan resolves to now. */
#include "cli/drift.h"
#include "cli/record_view.h"
#include "sandrun/git.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cli_drift *drift_add(struct cli_drifts *d, const char *what, const char *code,
                                   const char *text, const char *before, const char *after)
{
    SR_GROW(d->v, d->n, d->cap);
    d->v[d->n] = (struct cli_drift){ .what = what,
                                     .code = code,
                                     .text = sr_strdup(text),
                                     .before = sr_strdup(before ? before : "none"),
                                     .after = sr_strdup(after ? after : "none") };
    return &d->v[d->n++];
}

static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The text of ARGS is in no record, their count and digest are: how the plan spells them is the
 * plan's business. */
static void args_drift(const cJSON *record, const cJSON *now, struct cli_drifts *ret)
{
    const cJSON *old_args = cli_at(record, "plan.canonical.args"),
                *new_args = sr_json_get(now, "args");
    cleanup_free char *before = old_args ? sr_json_compact(old_args) : sr_strdup("none");
    cleanup_free char *after = new_args ? sr_json_compact(new_args) : sr_strdup("none");
    if (!same(before, after))
        drift_add(ret, NULL, "repro.args",
                  "the arguments behind \"--\" are not the recorded ones; records do not hold "
                  "them, so they must be given again",
                  before, after);
}

static void pin_drift(const cJSON *record, const struct sr_plan *plan, struct cli_drifts *ret)
{
    const char *before = cli_string_at(record, "pin.observed");
    if (!same(before, plan->pin_observed))
        drift_add(ret, "pin", "repro.drift.pin", "the root filesystem is not the recorded one",
                  before, plan->pin_observed);
}

static const char *recorded_digest(const cJSON *files, const char *path)
{
    const cJSON *f;
    cJSON_ArrayForEach(f, files)
    {
        cleanup_free char *recorded = cli_path_at(f, "path");
        if (same(recorded, path))
            return cli_string_at(f, "digest");
    }
    return NULL;
}

/* "path digest" of each file, so that both a changed byte and a further file show. */
static char *files_now(const struct sr_plan *plan)
{
    struct sr_buf b = SR_BUF(1024 * 1024);
    for (size_t i = 0; i < plan->n_policy_files; i++)
        sr_buf_printf(&b, "%s%s %s", i ? ", " : "", plan->policy_files[i].path,
                      plan->policy_files[i].digest);
    return sr_buf_steal(&b);
}

static char *files_recorded(const cJSON *files)
{
    struct sr_buf b = SR_BUF(1024 * 1024);
    const cJSON *f;
    cJSON_ArrayForEach(f, files)
    {
        cleanup_free char *path = cli_path_at(f, "path");
        const char *digest = cli_string_at(f, "digest");
        sr_buf_printf(&b, "%s%s %s", b.len ? ", " : "", path ? path : "?", digest ? digest : "?");
    }
    return sr_buf_steal(&b);
}

/* The command line's layer comes from the record's own overrides; its digest stands in the list
 * like any other. */
static void policy_drift(const cJSON *record, const struct sr_plan *plan, struct cli_drifts *ret)
{
    const cJSON *files = cli_at(record, "policy.files");
    cleanup_free char *before = files_recorded(files), *after = files_now(plan);
    struct cli_drift *d;
    if (same(before, after))
        return;
    d = drift_add(ret, "policy", "repro.drift.policy", "the policy is not the recorded one", before,
                  after);
    for (size_t i = 0; i < plan->n_policy_files; i++)
        if (!same(recorded_digest(files, plan->policy_files[i].path), plan->policy_files[i].digest))
            sr_strv_add(&d->examples, plan->policy_files[i].path);
}

/* Other ARGS make another plan by themselves: that is said once. */
static void plan_drift(const cJSON *record, const cJSON *now, const struct sr_plan *plan,
                       bool args_differ, struct cli_drifts *ret)
{
    const char *before = cli_string_at(record, "plan_digest");
    cleanup_strv struct sr_strv fields = { 0 };
    const cJSON *item;
    if (same(before, plan->digest))
        return;
    cJSON_ArrayForEach(item, now)
    {
        const cJSON *old = sr_json_get(cli_at(record, "plan.canonical"), item->string);
        if ((!old || !cJSON_Compare(old, item, 1)) && strcmp(item->string, "args") != 0)
            sr_strv_add(&fields, item->string);
    }
    if (args_differ && fields.n == 0)
        return;
    struct cli_drift *d = drift_add(ret, "plan", "repro.drift.plan",
                                    "the plan is not the recorded one", before, plan->digest);
    sr_strv_copy(&d->examples, &fields);
}

/* ---- the tree ---- */

static void commit_now(const char *tree, char ret[SR_GIT_HEX_MAX])
{
    cleanup_git struct sr_git *git = NULL;
    struct sr_error ignored = { 0 };
    ret[0] = '\0';
    /* No git, or no commit yet: the record has "" for the same reason. */
    if (sr_git_open(tree, &git, &ignored) == 0 && sr_git_resolve(git, "HEAD", ret, &ignored) < 0)
        ret[0] = '\0';
}

static int tree_moved(const struct sr_plan *plan, int64_t taken_ns, struct cli_drifts *ret,
                      struct sr_error *err)
{
    cleanup_strv struct sr_strv changed = { 0 };
    struct cli_drift *d;
    if (cli_tree_changed_since(plan->tree, taken_ns, &changed, err) < 0)
        return -1;
    if (changed.n == 0)
        return 0;
    d = drift_add(ret, "tree", "repro.drift.tree",
                  "files of the tree changed after the recorded run", "unchanged",
                  "changed, among them:");
    sr_strv_copy(&d->examples, &changed);
    return 0;
}

static int tree_drift(const cJSON *record, const struct sr_plan *plan, struct cli_drifts *ret,
                      struct sr_error *err)
{
    const cJSON *before = cli_at(record, "tree.before");
    const char *commit = cli_string_at(before, "commit");
    char now[SR_GIT_HEX_MAX];
    struct stat st;
    if (stat(plan->tree, &st) < 0)
        return sr_error_sys(err, "file.read", "looking at the tree %s", plan->tree);
    commit_now(plan->tree, now);
    if (!same(commit, now)) {
        drift_add(ret, "tree", "repro.drift.tree", "the tree stands at another commit", commit,
                  now[0] ? now : NULL);
        return 0;
    }
    if (cli_u64_at(before, "dev") == st.st_dev && cli_u64_at(before, "ino") == st.st_ino)
        return tree_moved(plan, (int64_t)cli_u64_at(before, "taken_ns"), ret, err);
    if (!now[0])
        drift_add(ret, "tree", "repro.drift.tree",
                  "the tree is another directory, and no commit says that it holds the same",
                  cli_string_at(record, "plan.canonical.tree.path"), plan->tree);
    return 0;
}

int cli_drifts_find(const cJSON *record, const struct sr_plan *plan, struct cli_drifts *ret,
                    struct sr_error *err)
{
    cleanup_json cJSON *now = sr_plan_json(plan, SR_PLAN_DIGEST);
    struct cli_drifts found = { 0 };
    args_drift(record, now, &found);
    bool args_differ = found.n > 0;
    pin_drift(record, plan, &found);
    policy_drift(record, plan, &found);
    plan_drift(record, now, plan, args_differ, &found);
    if (tree_drift(record, plan, &found, err) < 0) {
        cli_drifts_clear(&found);
        return -1;
    }
    *ret = found;
    return 0;
}

void cli_drifts_clear(struct cli_drifts *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->v[i].text);
        free(d->v[i].before);
        free(d->v[i].after);
        sr_strv_clear(&d->v[i].examples);
    }
    free(d->v);
    *d = (struct cli_drifts){ 0 };
}
