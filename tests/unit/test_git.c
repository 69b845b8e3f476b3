/* SPDX-License-Identifier: MIT */
/* git: what the reader says is what the git program says, over every shape of store. */
#include "git_fixture.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const revisions[] = {
    "HEAD",         "@",
    "main",         "side",
    "light",        "v1",
    "v1.1",         "feature/x",
    "origin/main",  "origin",
    "refs/tags/v1", "heads/main",
    "tags/v1.1",    "remotes/origin/HEAD",
    "HEAD^",        "HEAD^2",
    "HEAD^1^",      "HEAD~",
    "HEAD~3",       "HEAD~3^0",
    "v1^{}",        "v1.1^{commit}~2",
    "@~1^",         "HEAD^2~2",
    "light^0",      "main~0",
};

static void all_revisions(const struct fixture *f, const char *tree)
{
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++)
        assert_resolves(f, tree, revisions[i]);
    cleanup_free char *hex = fixture_out(f, tree, "git rev-parse HEAD~2");
    assert_resolves(f, tree, hex);
    cleanup_free char *brief = fixture_out(f, tree, "git rev-parse --short=9 HEAD~2");
    assert_resolves(f, tree, brief);
    brief[4] = (char)(brief[4] >= 'a' ? brief[4] - 32 : brief[4]);
    assert_resolves(f, tree, brief);
}

Test(git, a04_loose_store)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    all_revisions(&f, "tree");
    cr_assert_gt(assert_all_blobs(&f, "tree"), 15);
    fixture_remove(&f);
}

Test(git, a04_packed_store_with_deltas)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree",
               "git gc -q --aggressive --prune=now; test -f .git/packed-refs; test ! -f "
               ".git/refs/heads/side");
    cleanup_free char *deep = fixture_out(
        &f, "tree", "git verify-pack -v .git/objects/pack/*.idx | grep -c '^chain length'");
    cr_assert_gt(atoi(deep), 2, "the packs hold no chains: %s", deep);
    all_revisions(&f, "tree");
    cr_assert_gt(assert_all_blobs(&f, "tree"), 15);
    fixture_remove(&f);
}

Test(git, a04_packs_with_ref_deltas_and_several_packs)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree",
               "git -c repack.useDeltaBaseOffset=false repack -q -a -d -f --depth=40 --window=40\n"
               "git checkout -q -b extra; echo more > more; git add more; git commit -qm more; git "
               "repack -q -d; git multi-pack-index write\n"
               "git commit -q --allow-empty -m loose; git checkout -q main; test $(ls "
               ".git/objects/pack/*.idx | wc -l) = 2");
    all_revisions(&f, "tree");
    assert_resolves(&f, "tree", "extra");
    assert_resolves(&f, "tree", "extra~1");
    cr_assert_gt(assert_all_blobs(&f, "tree"), 15);
    fixture_remove(&f);
}

Test(git, a04_more_packs_than_are_kept_open, .timeout = 60)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree",
               "git checkout -q -b many; for i in $(seq 45); do echo $i > n; git add n; git commit "
               "-qm $i; git repack -q -d; done\n"
               "git checkout -q main; test $(ls .git/objects/pack/*.idx | wc -l) = 45");
    all_revisions(&f, "tree");
    assert_resolves(&f, "tree", "many~40");
    cr_assert_gt(assert_all_blobs(&f, "tree"), 60);
    fixture_remove(&f);
}

Test(git, a04_repacked_while_it_is_open)
{
    struct fixture f;
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX];
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree", "git gc -q");
    cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
    cleanup_git struct sr_git *g = fixture_open(&f, "tree");
    cr_assert_eq(sr_git_resolve(g, "HEAD", hex, &err), 0, "%s", err.text);
    fixture_sh(
        &f, "tree",
        "echo new > new; git add new; git commit -qm new; git gc -q --aggressive --prune=now");
    cr_assert_eq(sr_git_resolve(g, "HEAD", hex, &err), 0, "%s", err.text);
    cr_assert_eq(sr_git_blob(g, hex, "new", 100, &b, &err), 0, "%s", err.text);
    cr_assert_str_eq(b.data, "new\n");
    cr_assert_eq(sr_git_resolve(g, "HEAD~5", hex, &err), 0, "%s", err.text);
    fixture_remove(&f);
}

Test(git, a04_sha256_store)
{
    struct fixture f;
    fixture_init(&f, "sha256");
    fixture_history(&f);
    all_revisions(&f, "tree");
    cr_assert_gt(assert_all_blobs(&f, "tree"), 15);
    fixture_sh(&f, "tree", "git gc -q --aggressive --prune=now");
    all_revisions(&f, "tree");
    cr_assert_gt(assert_all_blobs(&f, "tree"), 15);
    fixture_remove(&f);
}

Test(git, a04_policy_from_a_commit_runs_nothing_of_the_tree)
{
    struct fixture f;
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX];
    fixture_init(&f, "sha1");
    fixture_history(&f);
    /* What a model may leave behind: an edited policy, and a config that executes at the first git
     * command. */
    fixture_sh(
        &f, "tree",
        "echo '{\"version\": 2}' > sandrun.json; echo 'sandrun.json filter=x' > .gitattributes\n"
        "printf '[core]\\n\\tfsmonitor = touch ../ran\\n\\tpager = touch ../ran\\n' >> "
        ".git/config\n"
        "printf '[filter \"x\"]\\n\\tsmudge = touch ../ran; cat\\n\\tclean = touch ../ran; cat\\n' "
        ">> .git/config");
    cleanup_git struct sr_git *g = fixture_open(&f, "tree");
    cleanup_buf struct sr_buf b = SR_BUF(100);
    bool tracked = false;
    cr_assert_eq(sr_git_resolve(g, "HEAD", hex, &err), 0, "%s", err.text);
    cr_assert_eq(sr_git_blob(g, hex, "sandrun.json", 100, &b, &err), 0, "%s", err.text);
    cr_assert_str_eq(b.data, "{\"version\": 1}\n");
    cr_assert_eq(sr_git_tracked(g, "sandrun.json", &tracked, &err), 0, "%s", err.text);
    cr_assert(tracked);
    fixture_sh(&f, ".", "test ! -e ran");
    fixture_remove(&f);
}

Test(git, a04_blob_refusals)
{
    static const struct {
        const char *path, *code;
    } bad[] = { { "absent", "git.object_missing" },
                { "src/deep/absent", "git.object_missing" },
                { "sandrun.json/x", "git.object_missing" },
                { "link", "git.type" },
                { "link/file", "git.object_missing" },
                { "src", "git.type" },
                { "", "git.object_missing" },
                { "/sandrun.json", "git.object_missing" },
                { "src/../sandrun.json", "git.object_missing" },
                { "src//deep/file", "git.object_missing" },
                { "src/", "git.object_missing" },
                { "big", "git.too_large" } };
    struct fixture f;
    char hex[SR_GIT_HEX_MAX];
    fixture_init(&f, "sha1");
    fixture_history(&f);
    for (int packed = 0; packed < 2; packed++) {
        cleanup_git struct sr_git *g = fixture_open(&f, "tree");
        struct sr_error first = { 0 };
        cr_assert_eq(sr_git_resolve(g, "HEAD", hex, &first), 0, "%s", first.text);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            struct sr_error err = { 0 };
            cleanup_buf struct sr_buf b = SR_BUF(64);
            cr_assert_eq(sr_git_blob(g, hex, bad[i].path, 64, &b, &err), -1, "%s", bad[i].path);
            cr_assert_str_eq(err.code, bad[i].code, "%s: %s", bad[i].path, err.text);
            cr_assert_null(b.data);
        }
        fixture_sh(&f, "tree", "git gc -q --aggressive --prune=now");
    }
    fixture_remove(&f);
}

#define TEN "nnnnnnnnnn"
#define LONG_NAME                                                                                  \
    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN    \
        TEN TEN TEN TEN

Test(git, revisions_that_are_none)
{
    static const struct {
        const char *rev, *code;
    } bad[] = { { "nope", "git.ref_missing" },
                { "HEAD^3", "git.ref_missing" },
                { "HEAD~50", "git.ref_missing" },
                { "HEAD~9999999999999999", "git.ref_missing" },
                { "", "git.ref_missing" },
                { "^HEAD", "git.ref_missing" },
                { "config", "git.ref_missing" },
                { "../HEAD", "git.ref_missing" },
                { "refs/heads/../../HEAD", "git.ref_missing" },
                { "refs/heads/main.lock", "git.ref_missing" },
                { "HEAD^x", "git.ref_missing" },
                { "HEAD@{1}", "git.unsupported" },
                { "HEAD:sandrun.json", "git.unsupported" },
                { "HEAD^{tree}", "git.unsupported" },
                { "0123456789012345678901234567890123456789", "git.object_missing" },
                { "abc", "git.ref_missing" },
                { "main..side", "git.ref_missing" },
                { LONG_NAME, "git.ref_missing" },
                { "refs/heads", "git.ref_missing" } };
    struct fixture f;
    fixture_init(&f, "sha1");
    assert_fails(&f, "tree", "HEAD", "git.ref_missing"); /* unborn */
    fixture_history(&f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(&f, "tree", bad[i].rev, bad[i].code);
    cleanup_free char *tree = fixture_out(&f, "tree", "git rev-parse HEAD^{tree}");
    assert_fails(&f, "tree", tree, "git.type");
    fixture_remove(&f);
}

Test(git, abbreviation_shared_by_two_commits)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    /* Enough commits that two share four digits (the birthday of 65536 is near 300), told apart by
     * five or more. */
    fixture_sh(&f, "tree",
               "for i in $(seq 1 900); do printf 'commit refs/heads/main\\ncommitter c "
               "<c@example.com> %d +0000\\n"
               "data 1\\nx' $i; done | git fast-import --quiet");
    cleanup_free char *both =
        fixture_out(&f, "tree", "git rev-list main | cut -c1-4 | sort | uniq -d | head -1");
    cr_assert_eq(strlen(both), 4);
    assert_fails(&f, "tree", both, "git.ref_missing");
    char script[128];
    snprintf(script, sizeof script,
             "git rev-parse --short=10 $(git rev-list main | grep '^%s' | head -1)", both);
    cleanup_free char *one = fixture_out(&f, "tree", script);
    assert_resolves(&f, "tree", one);
    assert_resolves(&f, "tree", "main~899");
    fixture_remove(&f);
}

Test(git, detached_head_and_symbolic_loops)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree", "git checkout -q HEAD~2");
    assert_resolves(&f, "tree", "HEAD");
    fixture_sh(&f, "tree",
               "echo 'ref: refs/heads/a' > .git/refs/heads/b; echo 'ref: refs/heads/b' > "
               ".git/refs/heads/a");
    assert_fails(&f, "tree", "a", "git.corrupt");
    fixture_sh(&f, "tree",
               "echo 'ref: config' > .git/refs/heads/c; echo 'ref: refs/../../../x' > "
               ".git/refs/heads/d; : > .git/refs/heads/e");
    assert_fails(&f, "tree", "c", "git.corrupt");
    assert_fails(&f, "tree", "d", "git.corrupt");
    assert_fails(&f, "tree", "e", "git.corrupt");
    fixture_remove(&f);
}

Test(git, a17_linked_worktree)
{
    struct fixture f;
    struct sr_error err = { 0 };
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, "tree",
               "git worktree add -q -b wt '../a b/wt' main; cd '../a b/wt'; echo w > only-here; "
               "git add only-here");
    all_revisions(&f, "a b/wt");
    assert_resolves(&f, "a b/wt", "wt");
    assert_resolves(&f, "a b/wt", "main-worktree/HEAD");
    assert_resolves(&f, "tree", "worktrees/wt/HEAD");
    cleanup_git struct sr_git *g = fixture_open(&f, "a b/wt");
    cleanup_free char *dir = fixture_out(&f, "a b/wt", "realpath $(git rev-parse --git-dir)");
    cleanup_free char *common =
        fixture_out(&f, "a b/wt", "realpath $(git rev-parse --git-common-dir)");
    cr_assert_str_eq(sr_git_dir(g), dir);
    cr_assert_str_eq(sr_git_common_dir(g), common);
    bool here = false, there = true;
    cr_assert_eq(sr_git_tracked(g, "only-here", &here, &err), 0, "%s", err.text);
    cleanup_git struct sr_git *m = fixture_open(&f, "tree");
    cr_assert_eq(sr_git_tracked(m, "only-here", &there, &err), 0, "%s", err.text);
    cr_assert(here && !there);
    /* Relative pointers, as newer git writes them. */
    fixture_sh(&f, "a b/wt", "echo 'gitdir: ../../tree/.git/worktrees/wt' > .git");
    all_revisions(&f, "a b/wt");
    fixture_sh(&f, ".", "rm -rf tree");
    struct sr_git *none = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/a b/wt", f.dir);
    cr_assert_eq(sr_git_open(path, &none, &err), -1);
    cr_assert_str_eq(err.code, "git.none");
    fixture_remove(&f);
}

Test(git, a17_submodule)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(&f, ".",
               "git init -q -b main super; cd super; git -c protocol.file.allow=always submodule "
               "--quiet add ../tree sub\n"
               "git commit -qm super; test -f sub/.git");
    assert_resolves(&f, "super/sub", "HEAD");
    assert_resolves(&f, "super/sub", "HEAD~2");
    cr_assert_gt(assert_all_blobs(&f, "super/sub"), 15);
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX];
    cleanup_buf struct sr_buf b = SR_BUF(100);
    cleanup_git struct sr_git *g = fixture_open(&f, "super");
    cr_assert_eq(sr_git_resolve(g, "HEAD", hex, &err), 0, "%s", err.text);
    cr_assert_eq(sr_git_blob(g, hex, "sub", 100, &b, &err), -1);
    cr_assert_str_eq(err.code, "git.type");
    fixture_remove(&f);
}

Test(git, alternates)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    fixture_sh(
        &f, "tree",
        "git gc -q; cd ..; git clone -q --shared tree shared; git clone -q --shared shared again\n"
        "cd again; git commit -q --allow-empty -m own; ! ls .git/objects/pack/*.pack 2>/dev/null");
    assert_resolves(&f, "shared", "HEAD~3");
    assert_resolves(&f, "again", "HEAD~3");
    assert_resolves(&f, "again", "HEAD");
    cr_assert_gt(assert_all_blobs(&f, "again"), 10);
    fixture_sh(&f, ".", "echo ../../../tree/.git/objects > again/.git/objects/info/alternates");
    assert_resolves(&f, "again", "HEAD~2");
    /* Itself, a loop, and what is not there: as if they were not named. */
    fixture_sh(&f, ".",
               "cd tree/.git/objects; printf '/nonexistent\\n../objects\\n%s\\n' "
               "../../../again/.git/objects > info/alternates");
    assert_resolves(&f, "again", "HEAD~2");
    fixture_sh(&f, ".", ": > again/.git/objects/info/alternates");
    assert_fails(&f, "again", "HEAD~2", "git.object_missing");
    fixture_remove(&f);
}

Test(git, not_a_repository)
{
    struct fixture f;
    fixture_make(&f);
    static const char *const shapes[] = { "mkdir tree",
                                          "mkdir tree/.git",
                                          "rmdir tree/.git; echo hello > tree/.git",
                                          "echo 'gitdir: /etc' > tree/.git",
                                          "echo 'gitdir: nowhere' > tree/.git",
                                          "rm tree/.git; ln -s /etc/hostname tree/.git",
                                          "rm tree/.git; mkfifo tree/.git" };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct sr_error err = { 0 };
        struct sr_git *g = NULL;
        fixture_sh(&f, ".", shapes[i]);
        cr_assert_eq(sr_git_open(f.tree, &g, &err), -1, "%s", shapes[i]);
        cr_assert(strncmp(err.code, "git.", 4) == 0, "%s", err.code);
        if (i < 5)
            cr_assert_str_eq(err.code, "git.none", "%s: %s", shapes[i], err.text);
        cr_assert_null(g);
    }
    fixture_remove(&f);
}

Test(git, formats_that_are_refused)
{
    static const struct {
        const char *change, *code;
    } bad[] = {
        { "git config core.repositoryformatversion 2", "git.unsupported" },
        { "git config core.repositoryformatversion 1; git config extensions.newthing true",
          "git.unsupported" },
        { "git config core.repositoryformatversion 1; git config extensions.objectformat sha3",
          "git.unsupported" },
        { "echo '[core' > .git/config", "git.corrupt" },
        { "echo 'x = \"' > .git/config", "git.corrupt" }
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture f;
        struct sr_error err = { 0 };
        struct sr_git *g = NULL;
        fixture_init(&f, "sha1");
        fixture_sh(&f, "tree", bad[i].change);
        cr_assert_eq(sr_git_open(f.tree, &g, &err), -1, "%s", bad[i].change);
        cr_assert_str_eq(err.code, bad[i].code, "%s: %s", bad[i].change, err.text);
        fixture_remove(&f);
    }
}

Test(git, reftable_is_refused_where_references_are_read)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    fixture_history(&f);
    cleanup_free char *hex = fixture_out(&f, "tree", "git rev-parse HEAD");
    fixture_sh(&f, "tree",
               "printf '[core]\\n\\trepositoryformatversion = 1\\n[Extensions]\\n\\trefStorage = "
               "reftable ; c\\n' > .git/config");
    assert_fails(&f, "tree", "HEAD", "git.unsupported");
    struct sr_error err = { 0 };
    char got[SR_GIT_HEX_MAX];
    cleanup_git struct sr_git *g = fixture_open(&f, "tree");
    cr_assert_eq(sr_git_resolve(g, hex, got, &err), 0, "%s", err.text);
    fixture_remove(&f);
}
