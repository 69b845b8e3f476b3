/* SPDX-License-Identifier: MIT */
/* Manifests: whole, bounded, never fooled by times, never opening what is no regular file. */
#include "base/fs.h"
#include "change/index.h"
#include "change/manifest.h"
#include "change_rig.h"

#include <dirent.h>
#include <sys/resource.h>
#include <time.h>

static struct sr_manifest *take(struct rig *r, int index_dirfd)
{
    struct sr_snapshot_options o = { .content = true,
                                     .index_dirfd = index_dirfd,
                                     .index_name = "index" };
    struct sr_manifest *m = NULL;
    cr_assert_eq(sr_snapshot(r->lower_fd, &o, &m, &r->err), 0, "%s %s", r->err.code, r->err.text);
    return m;
}

static char *diff_text(struct rig *r, const struct sr_manifest *a, const struct sr_manifest *b)
{
    sr_changeset_clear(&r->set);
    cr_assert_eq(sr_manifest_diff(a, b, false, &r->set, &r->err), 0);
    struct sr_classify_options o = { .tree_fd = -1, .after_fd = -1, .before = a };
    cr_assert_eq(sr_changes_classify(&r->set, &o, &r->err), 0);
    return set_text(&r->set);
}

static const struct {
    const char *tree, *command, *want;
} cases[] = {
    { "echo a > f", "true", "" },
    { "echo a > f", "touch f", "" },
    { "echo aaaa > f; touch -d 2001-01-01 f", "echo bbbb > f; touch -d 2001-01-01 f", "~f" },
    { "echo a > f", "chmod 755 f", "%f" },
    { "mkdir -p d/e; echo a > d/e/f", "rm -r d", "-d -d/e -d/e/f" },
    { "mkdir -p d/e; echo a > d/e/f", "mv d n", "-d -d/e -d/e/f +n +n/e +n/e/f" },
    { "mkdir d; echo a > d/f", "rm -r d; echo x > d", "!d -d/f" },
    { "echo x > d", "rm d; mkdir d; echo a > d/f", "!d +d/f" },
    { "ln -s a l", "ln -sf b l", "~l" },
    { "mkdir a; echo x > a/f; echo y > a-b; echo z > a.c", "echo 1 > a/f; echo 1 > a-b; rm a.c",
      "~a-b -a.c ~a/f" },
    { "echo a > \"$(printf 'n\\nl')\"", "rm n*", "-n\nl" },
    { "echo a > \"$(printf 'b\\377d')\"", "rm b*", "-b\377d" },
    { "echo a > f; ln f g", "echo b > g", "~f ~g" },
};

/* The digest of the whole is of what lies in the tree; the root's own mode is told beside it. */
Test(snapshot, a22_the_root_itself)
{
    struct rig r = rig_make("touch f");
    struct sr_manifest *a = take(&r, -1);
    rig_sh(&r, "lower", "chmod 700 .; touch +g");
    struct sr_manifest *b = take(&r, -1);
    cleanup_free char *got = diff_text(&r, a, b);
    cr_assert_str_eq(got, "++g %.");
    cr_assert(r.set.v[1].before.mode == 040755 && r.set.v[1].after.mode == 040700);
    sr_manifest_free(a);
    sr_manifest_free(b);
    rig_down(&r);
}

Test(snapshot, what_changed_between_two)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r = rig_make(cases[i].tree);
        char one[SR_DIGEST_TEXT], two[SR_DIGEST_TEXT];
        struct sr_manifest *a = take(&r, -1);
        rig_sh(&r, "lower", cases[i].command);
        struct sr_manifest *b = take(&r, -1);
        cleanup_free char *got = diff_text(&r, a, b);
        sr_manifest_root(a, one);
        sr_manifest_root(b, two);
        cr_assert_str_eq(got, cases[i].want, "%s: %s", cases[i].command, got);
        cr_assert_eq(strcmp(one, two) == 0, *cases[i].want == '\0',
                     "the digest of the whole agrees");
        sr_manifest_free(a);
        sr_manifest_free(b);
        rig_down(&r);
    }
}

Test(snapshot, the_root_does_not_depend_on_where_when_or_by_which_inodes)
{
    struct rig r = rig_make("mkdir -p d/e; echo a > d/e/f; ln -s x l; mkfifo p; chmod 700 d");
    char one[SR_DIGEST_TEXT], two[SR_DIGEST_TEXT];
    struct sr_manifest *a = take(&r, -1);
    sr_manifest_root(a, one);
    cr_assert_eq(sr_manifest_count(a), 5);
    rig_sh(&r, ".", "cp -a lower/. upper; touch -d 2001-01-01 upper/d/e/f");
    close(r.lower_fd);
    r.lower_fd = openat(r.root_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sr_manifest *b = take(&r, -1);
    sr_manifest_root(b, two);
    cr_assert_str_eq(one, two);
    sr_manifest_free(a);
    sr_manifest_free(b);
    rig_down(&r);
}

/* A newline in a name must not make two trees look alike. */
Test(snapshot, names_cannot_forge_lines)
{
    struct rig r = rig_make("mkdir a; : > a/b");
    char one[SR_DIGEST_TEXT], two[SR_DIGEST_TEXT];
    struct sr_manifest *a = take(&r, -1);
    sr_manifest_root(a, one);
    rig_sh(&r, "lower", "rm -r a; : > \"$(printf 'a 40755 0 -\\na')\"");
    struct sr_manifest *b = take(&r, -1);
    sr_manifest_root(b, two);
    cr_assert_str_neq(one, two);
    sr_manifest_free(a);
    sr_manifest_free(b);
    rig_down(&r);
}

Test(snapshot, a24_odd_entries_neither_hang_nor_fail)
{
    struct rig r =
        rig_make("mkfifo p; mkfifo wr; ln -s p lp; ln -s loop loop; truncate -s 3T sparse; mkdir "
                 "z; chmod 000 z; mkdir v; touch v/f; chmod 555 v;"
                 "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; mknod c c "
                 "1 5; mknod b b 7 99; touch f; ln f g; chmod 0 f");
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    struct sr_manifest *m = take(&r, -1);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    cr_assert_eq(sr_manifest_count(m), 13);
    cr_assert_lt(t1.tv_sec - t0.tv_sec, 5);
    sr_manifest_free(m);
    rig_down(&r);
}

Test(snapshot, a24_a_written_byte_in_a_sparse_terabyte_is_seen)
{
    struct rig r = rig_make("truncate -s 3T sparse");
    struct sr_manifest *a = take(&r, -1);
    rig_sh(&r, "lower", "printf x | dd of=sparse bs=1 seek=2000000000000 conv=notrunc status=none");
    struct sr_manifest *b = take(&r, -1);
    rig_sh(&r, "lower",
           "dd if=/dev/zero of=sparse bs=1 count=1 seek=2000000000000 conv=notrunc status=none");
    struct sr_manifest *c = take(&r, -1);
    cleanup_free char *ab = diff_text(&r, a, b);
    cr_assert_str_eq(ab, "~sparse");
    cr_assert_not(r.set.v[0].after.has_digest, "a digest that is not the content's is not shown");
    cleanup_free char *ac = diff_text(&r, a, c);
    cr_assert_str_eq(ac, "", "zeros written out are the zeros of a hole");
    sr_manifest_free(a);
    sr_manifest_free(b);
    sr_manifest_free(c);
    rig_down(&r);
}

Test(snapshot, a24_deeper_than_path_max_with_few_descriptors)
{
    struct rig r = rig_make("python3 -c \"\nimport os\nfor i in range(3000):\n os.mkdir('deep'); "
                            "os.chdir('deep')\nopen('f','w')\"");
    struct rlimit few = { 16, 16 };
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct sr_manifest *m = take(&r, -1);
    cr_assert_eq(sr_manifest_count(m), 3001);
    sr_manifest_free(m);
    rig_down(&r);
}

Test(snapshot, too_deep_is_an_answer)
{
    struct rig r = rig_make(
        "python3 -c \"\nimport os\nfor i in range(8200):\n os.mkdir('d'); os.chdir('d')\"");
    struct sr_snapshot_options o = { .content = false, .index_dirfd = -1 };
    struct sr_manifest *m = NULL;
    cr_assert_eq(sr_snapshot(r.lower_fd, &o, &m, &r.err), -1);
    cr_assert_str_eq(r.err.code, "snapshot.too_large");
    cr_assert_null(m);
    rig_down(&r);
}

/* ---- the index ---- */

static size_t records(struct rig *r)
{
    struct sr_index index;
    sr_index_open(r->upper_fd, "index", &index);
    size_t n = index.n;
    sr_index_close(&index);
    return n;
}

/* mtime can be set back, ctime cannot: age is made by waiting out the racy time. */
static void age(void)
{
    struct timespec t = { 2, 300000000 };
    nanosleep(&t, NULL);
}

Test(snapshot, the_index_trusts_nothing_recent)
{
    struct rig r = rig_make("echo a > f; echo b > g");
    sr_manifest_free(take(&r, r.upper_fd));
    cr_assert_eq(records(&r), 0, "both were written within the racy time");
    age();
    sr_manifest_free(take(&r, r.upper_fd));
    cr_assert_eq(records(&r), 2);
    rig_down(&r);
}

Test(snapshot, a22_the_index_sees_an_edit_that_restores_size_and_mtime)
{
    struct rig r = rig_make("echo aaaa > f; touch -d 2001-01-01 f; echo keep > g");
    age();
    struct sr_manifest *a = take(&r, r.upper_fd);
    cr_assert_eq(records(&r), 2);
    rig_sh(&r, "lower", "echo bbbb > f; touch -d 2001-01-01 f");
    struct sr_manifest *b = take(&r, r.upper_fd);
    cleanup_free char *got = diff_text(&r, a, b);
    cr_assert_str_eq(got, "~f");
    sr_manifest_free(a);
    sr_manifest_free(b);
    rig_down(&r);
}

Test(snapshot, the_index_is_used_when_it_may_be)
{
    struct rig r = rig_make("echo aaaa > f");
    struct stat st;
    struct sr_index_record forged;
    age();
    sr_manifest_free(take(&r, r.upper_fd));
    cr_assert_eq(fstatat(r.lower_fd, "f", &st, 0), 0);
    sr_index_key(&st, forged.key);
    memset(forged.digest, 7, sizeof forged.digest);
    cr_assert_eq(sr_index_write(r.upper_fd, "index", &forged, 1, &r.err), 0);
    struct sr_manifest *m = take(&r, r.upper_fd);
    cr_assert_eq(sr_manifest_find(m, "f")->digest[0], 7, "what the index says was taken");
    sr_manifest_free(m);
    rig_down(&r);
}

Test(snapshot, a_damaged_index_is_an_empty_one)
{
    struct rig r = rig_make("echo a > f; echo b > g");
    cleanup_buf struct sr_buf good = SR_BUF(1 << 20);
    age();
    sr_manifest_free(take(&r, r.upper_fd));
    cr_assert_eq(sr_file_read_at(r.upper_fd, "index", 1 << 20, &good, &r.err), 0);
    cr_assert_eq(records(&r), 2);
    for (size_t at = 0; at < good.len; at++) {
        struct sr_index index = { 0 };
        good.data[at] ^= 1;
        cr_assert_not(sr_index_parse(good.data, good.len, &index), "byte %zu", at);
        cr_assert_not(sr_index_parse(good.data, at, &index), "cut at %zu", at);
        good.data[at] ^= 1;
    }
    rig_sh(&r, "upper", "echo garbage > index");
    struct sr_manifest *m = take(&r, r.upper_fd);
    cr_assert_eq(sr_manifest_count(m), 2);
    cr_assert_eq(records(&r), 2, "and it is written anew");
    sr_manifest_free(m);
    rig_down(&r);
}

Test(snapshot, looking_up_by_path)
{
    struct rig r = rig_make("mkdir -p a/b ab; echo x > a/b/c; echo y > abc; ln -s a l");
    struct sr_manifest *m = take(&r, -1);
    static const char *const there[] = { "a", "a/b", "a/b/c", "ab", "abc", "l", "" };
    static const char *const absent[] = { "b", "a/c", "a/b/c/d", "l/b", "abcd", "a/bb", "A" };
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        cr_assert_not_null(sr_manifest_find(m, there[i]), "%s", there[i]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        cr_assert_null(sr_manifest_find(m, absent[i]), "%s", absent[i]);
    sr_manifest_free(m);
    rig_down(&r);
}
