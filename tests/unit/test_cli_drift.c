/* SPDX-License-Identifier: MIT */
/* What repro refuses by name: each digest of a record against what a plan resolves to now. */
#include "base/fs.h"
#include "cli/drift.h"
#include "sandrun/record.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A plan over a directory of its own, and the record that a run of it would have left. */
struct scene {
    char dir[64];
    struct sr_plan plan;
    struct sr_plan_policy_file file;
    cJSON *record;
};

static void plan_fill(struct scene *s)
{
    struct sr_plan *p = &s->plan;
    s->file = (struct sr_plan_policy_file){ .layer = sr_strdup("repository"),
                                            .path = sr_strdup("sandrun.json"),
                                            .digest = sr_strdup("sha256:aa") };
    p->binding = sr_strdup("Test");
    sr_strv_add(&p->command, "true");
    sr_strv_add(&p->command, "argument");
    p->n_args = 1;
    p->pin = sr_strdup("sha256:11");
    p->pin_observed = sr_strdup("sha256:11");
    p->tree = sr_strdup(s->dir);
    p->tree_target = sr_strdup(s->dir);
    p->policy_files = &s->file;
    p->n_policy_files = 1;
    sr_plan_seal(p);
}

static void scene_make(struct scene *s)
{
    struct sr_verdict verdict = { .status = SR_STATUS_PASSED, .decided = true };
    struct stat st;
    *s = (struct scene){ 0 };
    snprintf(s->dir, sizeof s->dir, "/tmp/sr-drift-XXXXXX");
    cr_assert_not_null(mkdtemp(s->dir));
    cr_assert_eq(stat(s->dir, &st), 0);
    plan_fill(s);
    struct sr_tree_identity tree = { .dev = st.st_dev,
                                     .ino = st.st_ino,
                                     .taken_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 +
                                                 st.st_ctim.tv_nsec };
    struct sr_record_facts facts = {
        .id = "x", .plan = &s->plan, .verdict = &verdict, .tree_before = &tree, .tree_after = &tree
    };
    s->record = sr_record_build(&facts);
}

static void scene_clear(struct scene *s)
{
    struct sr_error err = { 0 };
    free(s->file.layer);
    free(s->file.path);
    free(s->file.digest);
    s->plan.policy_files = NULL;
    s->plan.n_policy_files = 0;
    sr_plan_clear(&s->plan);
    cJSON_Delete(s->record);
    cr_assert_eq(sr_remove_at(AT_FDCWD, s->dir, &err), 0);
}

/* The codes found, with a blank behind each. */
static char *codes(const struct scene *s)
{
    struct cli_drifts d = { 0 };
    struct sr_error err = { 0 };
    struct sr_buf b = SR_BUF(4096);
    cr_assert_eq(cli_drifts_find(s->record, &s->plan, &d, &err), 0, "%s", err.text);
    for (size_t i = 0; i < d.n; i++)
        sr_buf_printf(&b, "%s ", d.v[i].code);
    cli_drifts_clear(&d);
    return sr_buf_steal(&b);
}

static void replace(char **member, const char *value)
{
    free(*member);
    *member = sr_strdup(value);
}

Test(cli_repro, a39_the_same_has_no_drift)
{
    struct scene s;
    scene_make(&s);
    cleanup_free char *found = codes(&s);
    cr_assert_str_eq(found, "");
    scene_clear(&s);
}

Test(cli_repro, a39_another_host_is_named)
{
    struct scene s;
    scene_make(&s);
    replace(&s.plan.pin_observed, "sha256:22");
    cleanup_free char *found = codes(&s);
    cr_assert_str_eq(found, "repro.drift.pin ");
    scene_clear(&s);
}

Test(cli_repro, a39_another_policy_is_named)
{
    struct scene s;
    scene_make(&s);
    replace(&s.file.digest, "sha256:bb");
    cleanup_free char *found = codes(&s);
    cr_assert_str_eq(found, "repro.drift.policy ");
    scene_clear(&s);
}

Test(cli_repro, a39_another_plan_names_the_fields)
{
    struct scene s;
    struct cli_drifts d = { 0 };
    struct sr_error err = { 0 };
    scene_make(&s);
    s.plan.limits.pids = 7;
    sr_plan_seal(&s.plan);
    cr_assert_eq(cli_drifts_find(s.record, &s.plan, &d, &err), 0, "%s", err.text);
    cr_assert_eq(d.n, 1);
    cr_assert_str_eq(d.v[0].code, "repro.drift.plan");
    cr_assert_eq(d.v[0].examples.n, 1);
    cr_assert_str_eq(d.v[0].examples.v[0], "limits");
    cli_drifts_clear(&d);
    scene_clear(&s);
}

Test(cli_repro, a39_other_arguments_are_named_once_and_cannot_be_allowed)
{
    struct scene s;
    struct cli_drifts d = { 0 };
    struct sr_error err = { 0 };
    scene_make(&s);
    replace(&s.plan.command.v[1], "other");
    sr_plan_seal(&s.plan);
    cr_assert_eq(cli_drifts_find(s.record, &s.plan, &d, &err), 0, "%s", err.text);
    cr_assert_eq(d.n, 1);
    cr_assert_str_eq(d.v[0].code, "repro.args");
    cr_assert_null(d.v[0].what);
    cli_drifts_clear(&d);
    scene_clear(&s);
}

Test(cli_repro, a39_a_tree_that_moved_on_is_named)
{
    struct scene s;
    scene_make(&s);
    nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
    cleanup_free char *file = sr_asprintf("%s/new", s.dir);
    cleanup_fd int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0);
    cleanup_free char *found = codes(&s);
    cr_assert_str_eq(found, "repro.drift.tree ");
    scene_clear(&s);
}

Test(cli_repro, a39_another_directory_without_a_commit_is_named)
{
    struct scene s;
    scene_make(&s);
    cJSON *before = cJSON_GetObjectItem(cJSON_GetObjectItem(s.record, "tree"), "before");
    cr_assert(cJSON_ReplaceItemInObject(before, "ino", cJSON_CreateNumber(1)));
    cleanup_free char *found = codes(&s);
    cr_assert_str_eq(found, "repro.drift.tree ");
    scene_clear(&s);
}
