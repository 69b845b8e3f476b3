/* SPDX-License-Identifier: MIT */
/* git's index: every version git writes, held against git ls-files. */
#include "git/index.h"
#include "git_fixture.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void index_history(const struct fixture *f)
{
    fixture_sh(f, "tree",
               "for d in a a-b a.b a/c 'sp ace' z; do mkdir -p \"$d\"; for i in 1 2 3 10 11 x; do "
               "echo $i > \"$d/f$i\"; done; done\n"
               "echo u > \"$(printf 'byte\\377\\nline')\"; touch 'colon:,\\back'; n=$(printf "
               "'n%.0s' $(seq 200))\n"
               "mkdir -p d/$n/$n/$n/$n/$n/$n; : > d/$n/$n/$n/$n/$n/$n/deep; git add .");
}

static bool tracked(struct sr_git *g, const char *path)
{
    struct sr_error err = { 0 };
    bool yes = false;
    cr_assert_eq(sr_git_tracked(g, path, &yes, &err), 0, "%s: %s: %s", path, err.code, err.text);
    return yes;
}

/* All that git lists is tracked; each name with one letter more, or two less (f10 and f1 are both
 * there), is not. */
static void assert_as_listed(const struct fixture *f, const char *tree)
{
    cleanup_free char *list = fixture_out(f, tree, "git ls-files -z | tr '\\n\\0' '\\001\\n'");
    cleanup_git struct sr_git *g = fixture_open(f, tree);
    size_t n = 0;
    char *save = NULL;
    for (char *line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
        for (char *p = line; *p; p++)
            if (*p == '\001')
                *p = '\n';
        cr_assert(tracked(g, line), "%s", line);
        cleanup_free char *more = sr_asprintf("%s~", line);
        cr_assert(!tracked(g, more), "%s", more);
        cr_assert_geq(strlen(line), 2);
        more[strlen(line) - 2] = '\0';
        cr_assert(!tracked(g, more), "%s", more);
    }
    cr_assert_gt(n, 30);
    cr_assert(!tracked(g, "a") && !tracked(g, "") && !tracked(g, "a/c/"));
}

static void assert_checksum(const struct fixture *f)
{
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX];
    cleanup_git struct sr_git *g = fixture_open(f, "tree");
    cleanup_free char *want =
        fixture_out(f, "tree",
                    "n=$(test \"$(git rev-parse --show-object-format)\" = sha256 && echo 32 || "
                    "echo 20); tail -c $n .git/index | od -An -v -tx1 | tr -d ' \\n'");
    cr_assert_eq(sr_git_index_checksum(g, hex, &err), 0, "%s", err.text);
    cr_assert_str_eq(hex, want);
}

Test(git_index, versions_and_formats)
{
    static const char *const formats[] = { "sha1", "sha256" };
    static const char versions[] = "234";
    for (size_t k = 0; k < 2; k++) {
        struct fixture f;
        fixture_init(&f, formats[k]);
        index_history(&f);
        for (size_t i = 0; i < 3; i++) {
            char script[256];
            /* Version 3 is what git writes when an entry needs the extended flags. */
            snprintf(script, sizeof script,
                     "git update-index --index-version %c; %s; test $(od -An -tu1 -j7 -N1 "
                     ".git/index) = %c",
                     versions[i],
                     versions[i] == '3'
                         ? "echo n > new; git add -N new; git update-index --skip-worktree z/f1"
                         : ":",
                     versions[i]);
            fixture_sh(&f, "tree", script);
            assert_as_listed(&f, "tree");
            assert_checksum(&f);
        }
        fixture_remove(&f);
    }
}

Test(git_index, none_conflicted_and_split)
{
    struct fixture f;
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX] = "x";
    bool yes = true;
    fixture_init(&f, "sha1");
    struct sr_git *g = fixture_open(&f, "tree");
    cr_assert(!tracked(g, "a/f1"));
    cr_assert_eq(sr_git_index_checksum(g, hex, &err), 0, "%s", err.text);
    cr_assert_str_eq(hex, "");
    sr_git_close(g);
    index_history(&f);
    fixture_sh(&f, "tree",
               "git commit -qm one; git checkout -q -b b; echo b > a/f1; git commit -qam b; git "
               "checkout -q main\n"
               "echo m > a/f1; git commit -qam m; ! git merge -q b >/dev/null; test $(git ls-files "
               "-s a/f1 | wc -l) = 3\n"
               "echo q > q; git add q");
    g = fixture_open(&f, "tree");
    cr_assert(tracked(g, "a/f1") && tracked(g, "a/f10") && tracked(g, "q"));
    sr_git_close(g);
    fixture_sh(&f, "tree", "git update-index --split-index; echo r > r; git add r");
    g = fixture_open(&f, "tree");
    cr_assert_eq(sr_git_tracked(g, "r", &yes, &err), -1);
    cr_assert_str_eq(err.code, "git.unsupported");
    cr_assert(yes);
    sr_git_close(g);
    fixture_remove(&f);
}

Test(git_index, skipped_hash_has_no_checksum)
{
    struct fixture f;
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX] = "x";
    fixture_init(&f, "sha1");
    index_history(&f);
    fixture_sh(&f, "tree",
               "n=$(stat -c %s .git/index); dd if=/dev/zero of=.git/index bs=1 seek=$((n-20)) "
               "count=20 conv=notrunc 2>/dev/null");
    assert_as_listed(&f, "tree");
    cleanup_git struct sr_git *g = fixture_open(&f, "tree");
    cr_assert_eq(sr_git_index_checksum(g, hex, &err), 0, "%s", err.text);
    cr_assert_str_eq(hex, "");
    fixture_remove(&f);
}

Test(git_index, sparse_directories_cover_what_is_below)
{
    struct fixture f;
    fixture_init(&f, "sha1");
    index_history(&f);
    fixture_sh(&f, "tree",
               "git commit -qm one; git sparse-checkout init --cone --sparse-index; git "
               "sparse-checkout set z\n"
               "git ls-files --sparse | grep -qx a/");
    cleanup_git struct sr_git *g = fixture_open(&f, "tree");
    cr_assert(tracked(g, "a/f1") && tracked(g, "a/c/f10") && tracked(g, "z/f1"));
    cr_assert(!tracked(g, "a") && !tracked(g, "z/none") && !tracked(g, "ab/f1"));
    fixture_remove(&f);
}

/* A version 4 index whose entries, a few bytes each, all stand for a path of four thousand. */
Test(git_index, paths_that_grow_out_of_little)
{
    enum { ENTRIES = 10000, LONG = 4000 };
    cleanup_buf struct sr_buf b = SR_BUF(4 << 20);
    struct sr_error err = { 0 };
    struct git_index *ix = NULL;
    unsigned char zero[62] = { 0 };
    sr_buf_add(&b, "DIRC\0\0\0\4\0\0\x27\x10", 12);
    zero[60] = 0x0f;
    zero[61] = 0xff;
    for (int i = 0; i < ENTRIES; i++) {
        sr_buf_add(&b, zero, sizeof zero);
        sr_buf_add(&b, "", 1); /* keep all of the name before */
        for (int k = 0; i == 0 && k < LONG; k++)
            sr_buf_putc(&b, 'a');
        sr_buf_add(&b, "", 1);
    }
    sr_buf_add(&b, zero, 20);
    unsigned char *data = (unsigned char *)b.data; /* a refused index stays the caller's */
    cr_assert_eq(git_index_parse(&data, b.len, 20, &ix, &err), -1);
    cr_assert_str_eq(err.code, "git.too_large", "%s", err.text);
    cr_assert_null(ix);
}

Test(git_index, counts_beyond_the_file)
{
    unsigned char head[64] = "DIRC\0\0\0\4\377\377\377\377", *data = head;
    struct sr_error err = { 0 };
    struct git_index *ix = NULL;
    cr_assert_eq(git_index_parse(&data, sizeof head, 20, &ix, &err), -1);
    cr_assert_str_eq(err.code, "git.corrupt");
    cr_assert_null(ix);
}
