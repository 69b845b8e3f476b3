/* SPDX-License-Identifier: MIT */
/* Which files a policy comes from, and what a staged run takes for trusted. */
#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/policy.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALL(t)                                                                                    \
    "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"limits\":{\"wall\":\"" t "\"}}}" \
                                                                                           "}"

/* root holds tree/ and org/; everything is below one directory that goes at the end. */
static char root[256], tree[300], org[300];

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *template = sr_asprintf("%s/policy-load-XXXXXX", tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(template));
    cleanup_free char *real = realpath(template, NULL);
    snprintf(root, sizeof root, "%s", real);
    snprintf(tree, sizeof tree, "%s/tree", root);
    snprintf(org, sizeof org, "%s/org", root);
    cr_assert(mkdir(tree, 0755) == 0 && mkdir(org, 0755) == 0);
}

static void teardown(void)
{
    struct sr_error err = { 0 };
    cr_assert(sr_remove_at(AT_FDCWD, root, &err) == 0, "%s", err.text);
}

TestSuite(policy_load, .init = setup, .fini = teardown);

static void put(const char *dir, const char *name, const char *text)
{
    cleanup_free char *path = sr_asprintf("%s/%s", dir, name);
    struct sr_error err = { 0 };
    cr_assert(sr_file_write_at(AT_FDCWD, path, text, strlen(text), 0644, &err) == 0, "%s",
              err.text);
}

static void commit(void)
{
    cleanup_free char *line = sr_asprintf("cd '%s' && git init -q -b main . && git add -A && git "
                                          "-c user.name=t -c user.email=t@example.invalid "
                                          "commit -q --no-gpg-sign -m x",
                                          tree);
    cr_assert_eq(system(line), 0, "git is needed by this test");
}

static int load(struct sr_policy_request *req, struct sr_policy_loaded *ret, struct sr_error *err)
{
    *ret = (struct sr_policy_loaded){ 0 };
    req->tree = tree;
    req->organisation_dir = org;
    return sr_policy_load(req, ret, err);
}

static uint64_t wall(const struct sr_policy_loaded *l)
{
    const struct sr_binding *b = sr_policy_binding(&l->policy, "Test");
    cr_assert_not_null(b);
    return b->limits.wall_ns / 1000000000;
}

static void refused(struct sr_policy_request *req, const char *code)
{
    struct sr_policy_loaded l;
    struct sr_error err = { 0 };
    cr_expect(load(req, &l, &err) < 0);
    cr_expect_str_eq(err.code, code, "%s: %s", err.code, err.text);
    sr_policy_loaded_clear(&l);
}

Test(policy_load, the_trees_own_file_over_organisation_and_floor)
{
    struct sr_policy_loaded l;
    struct sr_error err = { 0 };
    put(tree, "sandrun.json", WALL("3m"));
    put(org, "20-b.json", "{\"version\":1,\"defaults\":{\"limits\":{\"pids\":20}}}");
    put(org, "10-a.json", "{\"version\":1,\"defaults\":{\"limits\":{\"pids\":10,\"files\":1000}}}");
    put(org, ".hidden.json", "not even JSON");
    put(org, "README", "nor this");
    cr_assert(load(
                  &(struct sr_policy_request){
                      .overrides = "{\"bindings\":{\"Test\":{\"limits\":{\"wall\":\"2m\"}}}}" },
                  &l, &err) == 0,
              "%s", err.text);
    const struct sr_binding *b = sr_policy_binding(&l.policy, "Test");
    cr_expect_eq(wall(&l), 120);
    cr_expect_eq(b->limits.pids, 20, "20-b comes after 10-a");
    cr_expect_eq(b->limits.files, 1000);
    cr_expect_eq(b->limits.memory_bytes, 4ull << 30, "from the floor that is compiled in");
    cr_expect_str_eq(l.policy.files[b->set_by[SR_FIELD_LIMIT_WALL]].path, "command line");
    cr_expect_str_eq(l.policy.files[b->set_by[SR_FIELD_COMMAND]].path, "sandrun.json");
    cr_expect_not(l.trusted);
    cr_expect_str_eq(l.commit, "");
    sr_policy_loaded_clear(&l);
}

Test(policy_load, what_cannot_be_read_is_never_skipped)
{
    cleanup_free char *file = sr_asprintf("%s/sandrun.json", tree),
                      *link = sr_asprintf("%s/10-a.json", org);
    refused(&(struct sr_policy_request){ 0 }, "policy.missing");
    cr_assert(symlink("/etc/hostname", file) == 0);
    refused(&(struct sr_policy_request){ 0 }, "policy.unreadable");
    cr_assert(unlink(file) == 0 && mkdir(file, 0755) == 0);
    refused(&(struct sr_policy_request){ 0 }, "policy.unreadable");
    cr_assert(rmdir(file) == 0 && mkfifo(file, 0644) == 0);
    refused(&(struct sr_policy_request){ 0 }, "policy.unreadable");
    cr_assert(unlink(file) == 0);
    put(tree, "sandrun.json", WALL("3m"));
    cr_assert(symlink("/nonexistent", link) == 0);
    refused(&(struct sr_policy_request){ 0 }, "policy.unsafe");
    cr_assert(unlink(link) == 0 && mkfifo(link, 0644) == 0);
    refused(&(struct sr_policy_request){ 0 }, "policy.unreadable");
    cr_assert(unlink(link) == 0);
    put(org, "10-a.json", "{");
    refused(&(struct sr_policy_request){ 0 }, "policy.invalid.json.syntax");
    refused(&(struct sr_policy_request){ .file = "/nonexistent/policy.json" }, "policy.missing");
}

Test(policy_load, a_directory_of_shipped_policies_replaces_the_built_in_ones)
{
    struct sr_policy_loaded l;
    struct sr_error err = { 0 };
    put(tree, "sandrun.json", "{\"version\":1,\"extends\":[\"mine\"]}");
    refused(&(struct sr_policy_request){ .policy_dir = root }, "policy.unreadable");
    put(root, "floor.json", "{\"version\":1,\"defaults\":{\"limits\":{\"pids\":7}}}");
    refused(&(struct sr_policy_request){ .policy_dir = root }, "policy.invalid.unknown_preset");
    put(root, "mine.json", WALL("4m"));
    cr_assert(load(&(struct sr_policy_request){ .policy_dir = root }, &l, &err) == 0, "%s",
              err.text);
    cr_expect_eq(wall(&l), 240);
    cr_expect_eq(sr_policy_binding(&l.policy, "Test")->limits.pids, 7);
    sr_policy_loaded_clear(&l);
}

Test(policy_load, a04_staged_takes_the_commit_and_reports_the_edit)
{
    struct sr_policy_loaded l;
    struct sr_error err = { 0 };
    struct sr_policy_request req = { .staged = true, .ref = "HEAD" };
    put(tree, "sandrun.json", WALL("3m"));
    commit();
    cr_assert(load(&req, &l, &err) == 0, "%s", err.text);
    cr_expect_eq(wall(&l), 180);
    cr_expect(l.trusted && !l.edited);
    cr_expect_eq(strlen(l.commit), 40);
    cr_expect_str_eq(l.policy.files[1].path, "HEAD:sandrun.json");
    sr_policy_loaded_clear(&l);

    put(tree, "sandrun.json",
        "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"uncontained\":\"a model says "
        "so\"}}}");
    cr_assert(load(&req, &l, &err) == 0, "%s", err.text);
    cr_expect(l.trusted && l.edited);
    cr_expect_eq(wall(&l), 180);
    cr_expect_null(sr_policy_binding(&l.policy, "Test")->uncontained);
    sr_policy_loaded_clear(&l);

    cleanup_free char *file = sr_asprintf("%s/sandrun.json", tree);
    cr_assert(unlink(file) == 0);
    cr_assert(load(&req, &l, &err) == 0, "%s", err.text);
    cr_expect(l.edited, "a file that is gone was edited");
    sr_policy_loaded_clear(&l);
    refused(&(struct sr_policy_request){ .staged = true, .ref = "nowhere" }, "git.ref_missing");
}

Test(policy_load, a04_staged_without_a_trusted_source_is_refused)
{
    cleanup_free char *inside = sr_asprintf("%s/other.json", tree),
                      *link_in = sr_asprintf("%s/link.json", tree);
    cleanup_free char *link_out = sr_asprintf("%s/link.json", root),
                      *outside = sr_asprintf("%s/policy.json", root);
    cleanup_free char *dir_link = sr_asprintf("%s/dir", root),
                      *through = sr_asprintf("%s/dir/other.json", root);
    cleanup_free char *dots = sr_asprintf("%s/org/../tree/other.json", root);
    put(tree, "sandrun.json", WALL("3m"));
    put(tree, "other.json", WALL("3m"));
    put(root, "policy.json", WALL("6m"));
    refused(&(struct sr_policy_request){ .staged = true }, "policy.untrusted");
    refused(&(struct sr_policy_request){ .staged = true, .ref = "HEAD" }, "policy.untrusted");
    refused(&(struct sr_policy_request){ .staged = true, .file = inside }, "policy.untrusted");
    refused(&(struct sr_policy_request){ .staged = true, .file = dots }, "policy.untrusted");
    cr_assert(symlink(outside, link_in) == 0 && symlink(inside, link_out) == 0 &&
              symlink(tree, dir_link) == 0);
    refused(&(struct sr_policy_request){ .staged = true, .file = link_in }, "policy.untrusted");
    refused(&(struct sr_policy_request){ .staged = true, .file = link_out }, "policy.untrusted");
    refused(&(struct sr_policy_request){ .staged = true, .file = through }, "policy.untrusted");

    struct sr_policy_loaded l;
    struct sr_error err = { 0 };
    cr_assert(load(&(struct sr_policy_request){ .staged = true, .file = outside }, &l, &err) == 0,
              "%s", err.text);
    cr_expect(l.trusted);
    cr_expect_eq(wall(&l), 360);
    sr_policy_loaded_clear(&l);
    cr_assert(load(&(struct sr_policy_request){ .file = link_in }, &l, &err) == 0, "%s", err.text);
    cr_expect_not(l.trusted, "a person may read over a link; it is not trusted for that");
    sr_policy_loaded_clear(&l);
}

Test(policy_load, a04_a_commit_without_a_policy_is_missing_one)
{
    put(tree, "README", "x");
    commit();
    put(tree, "sandrun.json", WALL("3m"));
    refused(&(struct sr_policy_request){ .staged = true, .ref = "HEAD" }, "policy.missing");
}

static void org_refused(const char *names, const char *says)
{
    struct sr_policy_request req = { .tree = tree };
    struct sr_policy_loaded p;
    struct sr_error err = { 0 };
    cr_assert_eq(load(&req, &p, &err), -1, "%s", says);
    cr_expect_str_eq(err.code, "policy.unsafe", "%s: %s", err.code, err.text);
    cr_expect_not_null(strstr(err.text, names), "%s", err.text);
    cr_expect_not_null(strstr(err.hint, says), "%s", err.hint);
}

Test(policy_load, an_organisations_policy_that_others_can_write_is_not_taken)
{
    cleanup_free char *file = sr_asprintf("%s/a.json", org), *other = sr_asprintf("%s/o", root);
    struct sr_policy_request req = { .tree = tree };
    struct sr_policy_loaded p;
    struct sr_error err = { 0 };
    put(tree, "sandrun.json", WALL("1s"));
    put(org, "a.json", WALL("2s"));
    static const mode_t modes[] = { 0664, 0646, 0622, 0666 };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        cr_assert_eq(chmod(file, modes[i]), 0);
        org_refused(file, "chmod go-w");
    }
    cr_assert_eq(chmod(file, 0644), 0);
    cr_assert_eq(chown(file, 1001, 0), 0, "needs root");
    org_refused(file, "chown root");
    cr_assert_eq(chown(file, 0, 0), 0);
    /* who can write a directory can replace what is in it, or take a lock out of it */
    const char *const dirs[] = { org, root };
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(chmod(dirs[i], 0775), 0);
        org_refused(dirs[i], "chmod go-w");
        cr_assert_eq(chmod(dirs[i], 0755), 0);
        cr_assert_eq(chown(dirs[i], 1001, 0), 0);
        org_refused(dirs[i], "chown root");
        cr_assert_eq(chown(dirs[i], 0, 0), 0);
    }
    cr_assert_eq(load(&req, &p, &err), 0, "%s", err.text);
    sr_policy_loaded_clear(&p);
    cr_assert(rename(file, other) == 0 && symlink(other, file) == 0);
    org_refused(file, "in its place");
    cr_assert(unlink(file) == 0 && chmod(org, 0777) == 0);
    org_refused(org, "chmod go-w");
    cr_assert(rmdir(org) == 0 && symlink(tree, org) == 0);
    org_refused(org, "in its place");
}
