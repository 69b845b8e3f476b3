/* SPDX-License-Identifier: MIT */
/* Building plans, their canonical spelling, and where trees and mounts may stand. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandrun/plan.h"
#include "sandrun/policy.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A literal where the structs own their strings; nothing here frees it. */
#define S(literal) ((char *)(uintptr_t)(literal))

static char base[64];
static char *tree;
static struct sr_policy_file files[] = { { SR_LAYER_FLOOR, S("floor"), "sha256:f" },
                                         { SR_LAYER_REPOSITORY, S("HEAD:sandrun.json"), "sha256:r" } };
static struct sr_policy_loaded loaded;
static char *command[] = { S("true"), NULL };
static char *const no_environ[] = { NULL };

static void setup(void)
{
    snprintf(base, sizeof base, "/tmp/sandrun-test-plan.XXXXXX");
    cr_assert_not_null(mkdtemp(base));
    tree = sr_path_join(base, "tree");
    cr_assert_eq(mkdir(tree, 0755), 0);
    loaded = (struct sr_policy_loaded){ .policy = { .files = files, .n_files = 2 }, .trusted = true };
}

static void teardown(void)
{
    struct sr_error err = { 0 };
    cr_expect_eq(sr_remove_at(AT_FDCWD, base, &err), 0, "%s", err.text);
    free(tree);
}

TestSuite(plan, .init = setup, .fini = teardown, .timeout = 30);

static struct sr_binding binding(void)
{
    return (struct sr_binding){
        .name = S("Test"),
        .present = 1ull << SR_FIELD_COMMAND,
        .command = { command, 1 },
        .rootfs = SR_ROOTFS_HOST,
        .rootfs_pin = S("sha256:aa"),
        .tree_target = S("same"),
        .limits = { .wall_ns = 1, .memory_bytes = 2, .pids = 3, .cpus_milli = 4, .output_bytes = 5, .disk_bytes = 6, .files = 7 },
        .set_by = { [SR_FIELD_COMMAND] = 1 },
    };
}

static int build(const struct sr_binding *b, const char *where, const struct sr_strv *args, char *const *env, bool staged,
                 struct sr_plan *p, struct sr_error *err)
{
    const struct sr_plan_request req = { .loaded = &loaded, .binding = b, .tree = where, .args = args, .staged = staged,
                                         .environ_in = env, .cache_dirfd = -1 };
    *err = (struct sr_error){ 0 };
    return sr_plan_build(&req, p, err);
}

static struct sr_plan built(const struct sr_binding *b, char *const *env)
{
    struct sr_plan p;
    struct sr_error err;
    cr_assert_eq(build(b, tree, NULL, env, false, &p, &err), 0, "%s: %s", err.code, err.text);
    return p;
}

static void refused(const struct sr_binding *b, const char *where, const char *code)
{
    struct sr_plan p;
    struct sr_error err;
    cr_assert_eq(build(b, where, NULL, no_environ, false, &p, &err), -1, "%s was accepted", where);
    cr_expect_str_eq(err.code, code, "%s: %s", err.code, err.text);
    cr_expect(err.text[0] && err.hint[0]);
}

static const struct sr_plan_env *variable(const struct sr_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_env; i++)
        if (strcmp(p->env[i].name, name) == 0)
            return &p->env[i];
    return NULL;
}

static void expect_variable(const struct sr_plan *p, const char *name, const char *value, enum sr_env_source source)
{
    const struct sr_plan_env *e = variable(p, name);
    cr_assert_not_null(e, "%s", name);
    cr_expect_str_eq(e->value, value, "%s=%s", name, e->value);
    cr_expect_eq(e->source, source, "%s", name);
}

Test(plan, a09_environment_is_assembled_from_nothing)
{
    char *const env[] = { S("PYTHONPATH=/x"), S("LD_PRELOAD=/x"), S("GIT_DIR=/x"), S("NODE_OPTIONS=x"),
                          S("SSL_CERT_FILE=x"), S("TERM=xterm"), S("HOME=/root"), S("FOO=bar"), NULL };
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, env);
    static const char *const expected[] = { "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_VALUE_0",
                                            "GIT_OPTIONAL_LOCKS", "HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "USER" };
    cr_assert_eq(p.n_env, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < p.n_env; i++)
        cr_expect_str_eq(p.env[i].name, expected[i]);
    expect_variable(&p, "HOME", "/home/check", SR_ENV_BUILTIN);
    expect_variable(&p, "GIT_CONFIG_VALUE_0", tree, SR_ENV_BUILTIN);
    sr_plan_clear(&p);
}

Test(plan, a09_set_beats_pass_beats_builtin_and_four_names_stay)
{
    char *const env[] = { S("LANG=de_DE.UTF-8"), S("PATH=/caller"), S("HOME=/root"), S("USER=me"),
                          S("BOTH=passed"), S("LANGUAGE=xx"), S("EMPTY="), NULL };
    char *pass[] = { S("LANG"), S("HOME"), S("USER"), S("BOTH"), S("ABSENT"), S("EMPTY"), NULL };
    struct sr_env_set set[] = { { S("BOTH"), S("set") }, { S("PATH"), S("/set") },
                                { S("LOGNAME"), S("x") }, { S("TMPDIR"), S("/x") } };
    struct sr_pass_secret secret[] = { { S("PATH"), S("why") } };
    struct sr_binding b = binding();
    b.env_pass = (struct sr_strv){ pass, 6 };
    b.env_set = set;
    b.n_env_set = 4;
    b.pass_secret = secret;
    b.n_pass_secret = 1;
    struct sr_plan p = built(&b, env);
    expect_variable(&p, "LANG", "de_DE.UTF-8", SR_ENV_PASS);
    expect_variable(&p, "BOTH", "set", SR_ENV_SET);
    expect_variable(&p, "PATH", "/set", SR_ENV_SET);
    expect_variable(&p, "EMPTY", "", SR_ENV_PASS);
    expect_variable(&p, "HOME", SR_INSIDE_HOME, SR_ENV_BUILTIN);
    expect_variable(&p, "USER", SR_INSIDE_USER, SR_ENV_BUILTIN);
    expect_variable(&p, "LOGNAME", SR_INSIDE_USER, SR_ENV_BUILTIN);
    expect_variable(&p, "TMPDIR", "/tmp", SR_ENV_BUILTIN);
    cr_expect_null(variable(&p, "ABSENT"));
    cr_expect_null(variable(&p, "LANGUAGE"));
    sr_plan_clear(&p);
}

Test(plan, a03_digest_does_not_depend_on_the_caller_or_the_host)
{
    char *pass[] = { S("LANG"), S("TOKEN_NAME"), NULL };
    char *const one[] = { S("LANG=a"), NULL }, *const two[] = { S("LANG=b"), S("TOKEN_NAME=c"), S("X=1"), NULL };
    struct sr_binding b = binding();
    b.env_pass = (struct sr_strv){ pass, 2 };
    struct sr_plan p = built(&b, one);
    loaded.edited = true;
    strcpy(loaded.commit, "0123");
    struct sr_plan q = built(&b, two);
    cr_expect(sr_text_starts(p.digest, "sha256:"));
    cr_expect_str_eq(p.digest, q.digest);
    q.tree_uid = 4711;
    q.tree_mode = SR_TREE_COPY;
    free(q.pin_observed);
    q.pin_observed = NULL;
    sr_plan_seal(&q);
    cr_expect_str_eq(p.digest, q.digest);
    sr_plan_clear(&p);
    sr_plan_clear(&q);
}

/* Each of these is another plan than the one before. */
static void change_binding(int i, struct sr_binding *b)
{
    static char *other[] = { S("false"), NULL }, *list[] = { S("x"), NULL };
    static struct sr_env_set set[] = { { S("A"), S("1") } }, set2[] = { { S("A"), S("2") } };
    static struct sr_mount mounts[] = { { .source = S("/etc"), .target = S("/m"), .readonly = true } };
    static struct sr_pass_secret secret[] = { { S("S"), S("r") } };
    switch (i) {
    case 1: b->command.v = other; break;
    case 2: b->executes = true; break;
    case 3: b->uncontained = S("why"); break;
    case 4: b->rootfs_pin = S("sha256:bb"); break;
    case 5: b->rootfs = SR_ROOTFS_ABSENT; break;
    case 6: b->tree_target = S("/src"); break;
    case 7: b->writes = SR_WRITES_KEEP; break;
    case 8: b->keep = (struct sr_strv){ list, 1 }; break;
    case 9: b->protect = (struct sr_strv){ list, 1 }; break;
    case 10: b->mounts = mounts, b->n_mounts = 1; break;
    case 11: b->network = SR_NETWORK_HOST; break;
    case 12: b->network_reason = S("r"); break;
    case 13: b->env_set = set, b->n_env_set = 1; break;
    case 14: b->env_set = set2, b->n_env_set = 1; break;
    case 15: b->env_pass = (struct sr_strv){ list, 1 }; break;
    case 16: b->pass_secret = secret, b->n_pass_secret = 1; break;
    case 17: b->limits.wall_ns++; break;
    case 18: b->limits.idle_ns++; break;
    case 19: b->limits.memory_bytes++; break;
    case 20: b->limits.pids++; break;
    case 21: b->limits.cpus_milli++; break;
    case 22: b->limits.output_bytes++; break;
    case 23: b->limits.disk_bytes++; break;
    case 24: b->limits.files++; break;
    case 25: b->seccomp_allow = (struct sr_strv){ list, 1 }; break;
    case 26: b->seccomp_reason = S("r"); break;
    case 27: b->on_repair = SR_ON_REPAIR_REPORT; break;
    case 28: b->on_mismatch = SR_ON_MISMATCH_REPORT; break;
    case 29: b->name = S("Lint"); break;
    case 30: b->network_allow = (struct sr_strv){ list, 1 }; break;
    case 33: b->present |= 1ull << SR_FIELD_LIMIT_ON_REACHED; break; /* error, where absent is report */
    }
}

Test(plan, a03_every_field_that_matters_changes_the_digest)
{
    enum { N = 34 };
    char digests[N][SR_DIGEST_TEXT];
    char *ab[] = { S("a"), S("b"), NULL }, *a_b[] = { S("ab"), NULL };
    for (int i = 0; i < N; i++) {
        struct sr_binding b = binding();
        struct sr_strv args = i == 31 ? (struct sr_strv){ ab, 2 } : i == 32 ? (struct sr_strv){ a_b, 1 } : (struct sr_strv){ 0 };
        struct sr_plan p;
        struct sr_error err;
        change_binding(i, &b);
        cr_assert_eq(build(&b, tree, &args, no_environ, false, &p, &err), 0, "%d: %s", i, err.text);
        memcpy(digests[i], p.digest, sizeof digests[i]);
        for (int j = 0; j < i; j++)
            cr_expect_str_neq(digests[i], digests[j], "%d and %d have one digest", i, j);
        sr_plan_clear(&p);
        /* The same again is the same; staged is another. */
        cr_assert_eq(build(&b, tree, &args, no_environ, false, &p, &err), 0);
        cr_expect_str_eq(p.digest, digests[i]);
        sr_plan_clear(&p);
        cr_assert_eq(build(&b, tree, &args, no_environ, true, &p, &err), 0);
        cr_expect_str_neq(p.digest, digests[i]);
        sr_plan_clear(&p);
    }
}

/* Said or not, the plan has one value, and says whose it is. */
Test(plan, on_reached_is_definite_in_every_plan)
{
    static const struct {
        bool said, staged;
        enum sr_on_reached value, expected;
        const char *layer, *file;
    } rows[] = {
        { false, false, SR_ON_REACHED_ERROR, SR_ON_REACHED_REPORT, "default", "default of a run that is not staged" },
        { false, true, SR_ON_REACHED_ERROR, SR_ON_REACHED_ERROR, "default", "default of a staged run" },
        { true, false, SR_ON_REACHED_ERROR, SR_ON_REACHED_ERROR, "repository", "HEAD:sandrun.json" },
        { true, true, SR_ON_REACHED_REPORT, SR_ON_REACHED_REPORT, "repository", "HEAD:sandrun.json" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sr_binding b = binding();
        b.limits.on_reached = rows[i].value;
        b.present |= rows[i].said ? 1ull << SR_FIELD_LIMIT_ON_REACHED : 0;
        b.set_by[SR_FIELD_LIMIT_ON_REACHED] = 1;
        struct sr_plan p;
        struct sr_error err;
        cr_assert_eq(build(&b, tree, NULL, no_environ, rows[i].staged, &p, &err), 0, "%s", err.text);
        cr_expect_eq(p.limits.on_reached, rows[i].expected, "row %zu", i);
        cleanup_json cJSON *json = sr_plan_json(&p, SR_PLAN_DIGEST);
        cr_expect_str_eq(sr_json_string(sr_json_get(json, "limits"), "on_reached"), sr_on_reached_name(rows[i].expected));
        const struct sr_plan_provenance *last = &p.provenance[p.n_provenance - 1];
        cr_expect_str_eq(last->field, "limits.on_reached");
        cr_expect_str_eq(last->layer, rows[i].layer);
        cr_expect_str_eq(last->file, rows[i].file);
        sr_plan_clear(&p);
    }
}

Test(plan, a03_digest_is_over_the_canonical_view_that_the_record_view_holds)
{
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    cleanup_json cJSON *record = sr_plan_json(&p, SR_PLAN_RECORD);
    cleanup_free char *text = sr_json_compact(sr_json_get(record, "canonical"));
    unsigned char digest[SR_SHA256_SIZE];
    char spelled[SR_DIGEST_TEXT];
    sr_sha256_bytes(text, strlen(text), digest);
    sr_sha256_text(digest, spelled);
    cr_expect_str_eq(spelled, p.digest);
    const cJSON *from = cJSON_GetArrayItem(sr_json_get(sr_json_get(record, "policy"), "provenance"), 0);
    cr_expect_str_eq(sr_json_string(from, "field"), "command");
    cr_expect_str_eq(sr_json_string(from, "layer"), "repository");
    cr_expect_str_eq(sr_json_string(from, "file"), "HEAD:sandrun.json");
    sr_plan_clear(&p);
}

Test(plan, a40_no_value_and_no_argument_is_in_any_view)
{
    char *const env[] = { S("PASSED=s3cret-passed"), S("OTHER=s3cret-other"), NULL };
    char *pass[] = { S("PASSED"), NULL }, *argv[] = { S("--token=s3cret-arg"), NULL };
    struct sr_env_set set[] = { { S("SET"), S("s3cret-set") } };
    struct sr_binding b = binding();
    b.env_pass = (struct sr_strv){ pass, 1 };
    b.env_set = set;
    b.n_env_set = 1;
    struct sr_strv args = { argv, 1 };
    struct sr_plan p;
    struct sr_error err;
    cr_assert_eq(build(&b, tree, &args, env, false, &p, &err), 0, "%s", err.text);
    cr_expect_eq(p.command.n, 2);
    cr_expect_eq(p.n_args, 1);
    for (int v = SR_PLAN_DIGEST; v <= SR_PLAN_RECORD; v++) {
        cleanup_json cJSON *json = sr_plan_json(&p, (enum sr_plan_view)v);
        cleanup_free char *text = sr_json_pretty(json);
        cr_expect_null(strstr(text, "s3cret"), "%s", text);
        cr_expect_not_null(strstr(text, "PASSED"));
    }
    sr_plan_clear(&p);
}

Test(plan, a17_trees_that_are_no_trees_are_refused)
{
    cleanup_free char *file = sr_path_join(base, "file"), *link = sr_path_join(base, "link"), *gone = sr_path_join(base, "gone");
    cleanup_free char *dots = sr_asprintf("%s/../tree", tree), *slash = sr_asprintf("%s/", tree);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    cr_assert_eq(symlink(tree, link), 0);
    const char *const bad[] = { "/",    "/usr",  "/etc", "/home", "/root", "/tmp", "/var", "/proc", "/sys", "/dev", "/dev/shm",
                                "/run", "/proc/self", "tree", "", file, link, gone, dots, slash };
    struct sr_binding b = binding();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(&b, bad[i], "plan.tree");
}

Test(plan, a09_the_callers_home_is_no_tree)
{
    cleanup_free char *home = sr_asprintf("HOME=%s", tree), *below = sr_asprintf("HOME=%s/home", tree);
    cleanup_free char *above = sr_asprintf("HOME=%s", base);
    struct sr_binding b = binding();
    struct sr_plan p;
    struct sr_error err;
    cr_expect_eq(build(&b, tree, NULL, (char *[]){ home, NULL }, false, &p, &err), -1);
    cr_expect_str_eq(err.code, "plan.tree");
    cr_expect_eq(build(&b, tree, NULL, (char *[]){ below, NULL }, false, &p, &err), -1);
    cr_expect_str_eq(err.code, "plan.tree");
    cr_expect_eq(build(&b, tree, NULL, (char *[]){ above, NULL }, false, &p, &err), 0, "%s", err.text);
    sr_plan_clear(&p);
}

Test(plan, a12_owner_of_the_tree_is_observed)
{
    cr_assert_eq(chown(tree, 1001, 1002), 0);
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    cr_expect_eq(p.tree_uid, 1001);
    cr_expect_eq(p.tree_gid, 1002);
    sr_plan_clear(&p);
}

Test(plan, writes_choose_the_mode_of_the_tree)
{
    static const enum sr_tree_mode expected[] = { SR_TREE_OVERLAY, SR_TREE_OVERLAY, SR_TREE_READONLY, SR_TREE_DIRECT };
    for (int w = 0; w < SR_WRITES_COUNT; w++) {
        struct sr_binding b = binding();
        b.writes = (enum sr_writes)w;
        struct sr_plan p = built(&b, no_environ);
        cr_expect_eq(p.tree_mode, expected[w]);
        sr_plan_clear(&p);
    }
}

static void mount_refused(struct sr_mount *m, size_t n)
{
    struct sr_binding b = binding();
    b.mounts = m;
    b.n_mounts = n;
    refused(&b, tree, "plan.path");
}

Test(plan, a26_mounts_that_would_need_a_place_in_the_tree_or_the_host_are_refused)
{
    cleanup_free char *inside = sr_path_join(tree, "cache"), *link = sr_path_join(tree, "link");
    struct sr_mount m = { .source = S("/etc"), .target = inside, .readonly = true };
    mount_refused(&m, 1); /* not there yet */
    cr_assert_eq(access(inside, F_OK), -1, "and it was not made");
    cr_assert_eq(symlink("/etc", link), 0);
    m.target = link;
    mount_refused(&m, 1);
    static const char *const targets[] = { "/", "/usr", "/usr/bin", "/etc", "/tmp", "/home", "/home/check", "/proc/x", "/dev/x", "relative",
                                           "/a/../b", "/usr/sandrun-not-there" };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        m.target = S(targets[i]);
        mount_refused(&m, 1);
    }
    struct stat st;
    if (lstat("/lib", &st) == 0 && S_ISLNK(st.st_mode)) {
        m.target = S("/lib/sandrun-not-there"); /* through a link of the root filesystem */
        mount_refused(&m, 1);
    }
    m.target = tree; /* the tree's own place, and above it */
    mount_refused(&m, 1);
    m.target = base;
    mount_refused(&m, 1);
    m = (struct sr_mount){ .source = S("/sandrun-not-there"), .target = S("/m"), .readonly = true };
    mount_refused(&m, 1);
}

Test(plan, a17_an_existing_directory_of_the_tree_is_a_fine_target)
{
    cleanup_free char *inside = sr_path_join(tree, "cache");
    cr_assert_eq(mkdir(inside, 0755), 0);
    struct sr_mount m = { .source = S("/etc"), .target = inside, .readonly = true };
    struct sr_binding b = binding();
    b.mounts = &m;
    b.n_mounts = 1;
    struct sr_plan p = built(&b, no_environ);
    sr_plan_clear(&p);
    b.tree_target = S("/src"); /* the same mount point by its name inside */
    m.target = S("/src/cache");
    p = built(&b, no_environ);
    cr_expect_str_eq(p.tree_target, "/src");
    sr_plan_clear(&p);
    b.tree_target = S("/usr");
    refused(&b, tree, "plan.path");
}

Test(plan, mounts_are_sorted_and_none_stands_on_another)
{
    struct sr_mount m[] = { { .source = S("/etc"), .target = S("/m/b"), .readonly = true },
                            { .source = S("/etc"), .target = S("/m/a"), .readonly = true } };
    struct sr_binding b = binding();
    b.mounts = m;
    b.n_mounts = 2;
    struct sr_plan p = built(&b, no_environ);
    cr_expect_str_eq(p.mounts[0].target, "/m/a");
    cr_expect_str_eq(p.mounts[1].target, "/m/b");
    sr_plan_clear(&p);
    m[1].target = S("/m/b");
    mount_refused(m, 2);
    m[1].target = S("/m");
    mount_refused(m, 2);
    m[1].target = S("/m/b/c");
    mount_refused(m, 2);
}

static void put(const char *path, const char *text)
{
    cleanup_free char *dir = sr_strdup(path);
    struct sr_error err = { 0 };
    *strrchr(dir, '/') = '\0';
    cr_assert_eq(sr_mkdir_p(AT_FDCWD, dir, 0755, &err), 0, "%s", err.text);
    cr_assert_eq(sr_file_write_at(AT_FDCWD, path, text, strlen(text), 0644, &err), 0, "%s", err.text);
}

static void put_below(const char *dir, const char *name, const char *text)
{
    cleanup_free char *path = sr_path_join(dir, name);
    put(path, text);
}

/* A repository as git lays it out, with a linked worktree named wt. */
static char *repository(const char *worktree_back)
{
    char *git = sr_asprintf("%s/main/.git", base);
    put_below(git, "HEAD", "ref: refs/heads/main\n");
    put_below(git, "config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    put_below(git, "objects/pack/x", "");
    put_below(git, "refs/heads/x", "");
    put_below(git, "worktrees/wt/HEAD", "ref: refs/heads/main\n");
    put_below(git, "worktrees/wt/commondir", "../..\n");
    put_below(git, "worktrees/wt/gitdir", worktree_back);
    return git;
}

Test(plan, a17_linked_worktree_brings_its_repository)
{
    cleanup_free char *back = sr_asprintf("%s/.git\n", tree);
    cleanup_free char *git = repository(back);
    cleanup_free char *dotgit = sr_asprintf("gitdir: %s/worktrees/wt\n", git);
    put_below(tree, ".git", dotgit);
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    cr_assert_not_null(p.git_common_dir);
    cr_expect_str_eq(p.git_common_dir, git);
    sr_plan_clear(&p);
}

Test(plan, a09_git_file_that_names_the_repository_of_another_is_refused)
{
    cleanup_free char *git = repository("/somewhere/else/.git\n");
    cleanup_free char *worktree = sr_asprintf("gitdir: %s/worktrees/wt\n", git), *whole = sr_asprintf("gitdir: %s\n", git);
    struct sr_binding b = binding();
    put_below(tree, ".git", worktree);
    refused(&b, tree, "plan.tree");
    put_below(tree, ".git", whole);
    refused(&b, tree, "plan.tree");
    /* An administrative directory forged inside the tree, whose common directory is another's. */
    cleanup_free char *back = sr_asprintf("%s/.git\n", tree), *common = sr_asprintf("%s\n", git);
    put_below(tree, "forged/HEAD", "ref: refs/heads/main\n");
    put_below(tree, "forged/commondir", common);
    put_below(tree, "forged/gitdir", back);
    put_below(tree, ".git", "gitdir: forged\n");
    refused(&b, tree, "plan.tree");
}

Test(plan, a17_submodule_brings_its_repository)
{
    cleanup_free char *git = repository("x\n");
    cleanup_free char *dotgit = sr_asprintf("gitdir: %s\n", git);
    put_below(git, "config", "[core]\n\trepositoryformatversion = 0\n\tworktree = ../../tree\n");
    put_below(tree, ".git", dotgit);
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    cr_assert_not_null(p.git_common_dir);
    cr_expect_str_eq(p.git_common_dir, git);
    sr_plan_clear(&p);
}

/* ---- borrowed objects ---- */

/* A repository at base/NAME that borrows what alternates says. */
static char *store_of(const char *name, const char *alternates)
{
    char *objects = sr_asprintf("%s/%s/objects", base, name);
    cleanup_free char *git = sr_asprintf("%s/%s", base, name);
    put_below(git, "HEAD", "ref: refs/heads/main\n");
    put_below(git, "config", "[core]\n\trepositoryformatversion = 0\n");
    put_below(git, "refs/heads/x", "");
    put_below(objects, "pack/x", "");
    put_below(objects, "info/alternates", alternates);
    return objects;
}

static void expect_mounts(bool staged, const char *const *want)
{
    struct sr_binding b = binding();
    struct sr_plan p;
    struct sr_error err;
    cr_assert_eq(build(&b, tree, NULL, no_environ, staged, &p, &err), 0, "%s: %s", err.code, err.text);
    size_t n = 0;
    for (; want[n]; n++) {
        cr_assert_lt(n, p.n_mounts, "no mount of %s", want[n]);
        const struct sr_mount *m = &p.mounts[n];
        cr_expect(m->readonly && m->reason && strcmp(m->source, want[n]) == 0 && strcmp(m->target, want[n]) == 0, "%s, not %s", m->source,
                  want[n]);
    }
    cr_expect_eq(p.n_mounts, n);
    sr_plan_clear(&p);
}
#define EXPECT_MOUNTS(staged, ...) expect_mounts(staged, (const char *const[]){ __VA_ARGS__, NULL })

Test(plan, a27_borrowed_objects_are_mounts_unless_staged)
{
    cleanup_free char *far = store_of("far.git", ""), *to_far = sr_asprintf("# x\n%s\n", far);
    cleanup_free char *near = store_of("near", to_far), *own = store_of("tree/.git", "../../../near/objects\n");
    EXPECT_MOUNTS(false, far, near);
    EXPECT_MOUNTS(true, NULL);
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    const struct sr_plan_provenance *last = &p.provenance[p.n_provenance - 1];
    cleanup_free char *field = sr_asprintf("mounts.%s", far), *file = sr_asprintf("%s/info/alternates", own);
    cr_expect_str_eq(last->field, field);
    cr_expect_str_eq(last->layer, "tree");
    cr_expect_str_eq(last->file, file);
    char digest[SR_DIGEST_TEXT];
    memcpy(digest, p.digest, sizeof digest);
    sr_plan_clear(&p);
    /* what the policy mounts stays the policy's, and a binding of the host has no mounts */
    cleanup_free char *whole = sr_asprintf("%s/far.git", base);
    struct sr_mount mount = { .source = whole, .readonly = true };
    b.mounts = &mount;
    b.n_mounts = 1;
    p = built(&b, no_environ);
    cr_expect_eq(p.n_mounts, 2);
    cr_expect_str_eq(p.mounts[0].source, whole);
    cr_expect_str_eq(p.mounts[1].source, near);
    cr_expect_str_neq(p.digest, digest);
    sr_plan_clear(&p);
    b = binding();
    b.uncontained = S("a reason");
    p = built(&b, no_environ);
    cr_expect_eq(p.n_mounts, 0);
    sr_plan_clear(&p);
}

Test(plan, a27_what_is_no_object_store_is_not_mounted)
{
    cleanup_free char *inner = store_of("tree/inner", ""), *outer = store_of("outer", ""), *bare = sr_asprintf("%s/bare", base),
                       *link = sr_asprintf("%s/link", base), *linked = sr_asprintf("%s/link/objects", base), *above = sr_path_join(base, ".");
    cleanup_free char *repository_of = sr_asprintf("%s/outer", base);
    cleanup_free char *into_objects = sr_asprintf("%s/objects", link);
    put_below(bare, "info/x", "");
    cr_assert_eq(symlink(repository_of, link), 0);
    const char *const names[] = { inner, bare, linked, into_objects, repository_of, above, base, "/usr/share", "/etc", "/", "/root", "\"/quoted\"" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *text = sr_asprintf("%s\n", names[i]);
        free(store_of("tree/.git", text));
        EXPECT_MOUNTS(false, NULL);
    }
    cleanup_free char *text = sr_asprintf("%s\n%s\n", bare, outer);
    free(store_of("tree/.git", text));
    EXPECT_MOUNTS(false, outer);
    /* the caller's home, or what holds it, whatever it looks like */
    cleanup_free char *home = sr_asprintf("HOME=%s/objects/x", repository_of);
    char *const environ_in[] = { home, NULL };
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, environ_in);
    cr_expect_eq(p.n_mounts, 0);
    sr_plan_clear(&p);
}

Test(plan, a27_a_linked_worktree_whose_repository_borrows)
{
    cleanup_free char *back = sr_asprintf("%s/.git\n", tree), *git = repository(back), *far = store_of("far.git", "");
    cleanup_free char *dotgit = sr_asprintf("gitdir: %s/worktrees/wt\n", git), *to_far = sr_asprintf("%s\n", far);
    put_below(tree, ".git", dotgit);
    put_below(git, "objects/info/alternates", to_far);
    EXPECT_MOUNTS(false, far);
    EXPECT_MOUNTS(true, NULL);
}

Test(plan, a17_git_file_that_leads_nowhere_mounts_nothing)
{
    put_below(tree, ".git", "gitdir: /sandrun/not/there\n");
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    cr_expect_null(p.git_common_dir);
    sr_plan_clear(&p);
}

static void direct_protects(struct sr_strv own, const char *const *expected, size_t n)
{
    struct sr_binding b = binding();
    b.writes = SR_WRITES_DIRECT;
    b.protect = own;
    struct sr_plan p = built(&b, no_environ);
    cr_assert_eq(p.protect.n, n);
    for (size_t i = 0; i < n; i++)
        cr_expect_str_eq(p.protect.v[i], expected[i]);
    cleanup_json cJSON *json = sr_plan_json(&p, SR_PLAN_DIGEST);
    const cJSON *list = sr_json_get(sr_json_get(json, "tree"), "protect");
    cr_expect_eq((size_t)cJSON_GetArraySize(list), n);
    sr_plan_clear(&p);
}

Test(plan, a06_writes_to_the_real_tree_leave_the_repository_alone)
{
    static const char *const alone[] = { ".git" }, *const beside[] = { "out", ".git" }, *const elsewhere[] = { ".git", "moved" };
    char *out[] = { S("out"), NULL }, *git[] = { S(".git"), NULL };
    direct_protects((struct sr_strv){ 0 }, alone, 1);
    direct_protects((struct sr_strv){ git, 1 }, alone, 1);
    direct_protects((struct sr_strv){ out, 1 }, beside, 2);
    /* a .git file that leads to another place in the tree */
    put_below(tree, "moved/HEAD", "ref: refs/heads/main\n");
    put_below(tree, "moved/config", "[core]\n\trepositoryformatversion = 0\n");
    put_below(tree, "moved/objects/x", "");
    put_below(tree, "moved/refs/x", "");
    put_below(tree, ".git", "gitdir: moved\n");
    direct_protects((struct sr_strv){ 0 }, elsewhere, 2);
}

Test(plan, a06_held_writes_protect_what_the_policy_names)
{
    struct sr_binding b = binding();
    struct sr_plan p = built(&b, no_environ);
    cr_expect_eq(p.protect.n, 0);
    sr_plan_clear(&p);
}
