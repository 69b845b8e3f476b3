/* SPDX-License-Identifier: MIT */
/* Two directories: content and mode decide, sizes and times are not believed. */
#include "change_rig.h"

static const struct {
    const char *before, *command, *want;
} cases[] = {
    { "echo a > f", "true", "" },
    { "echo a > f", "touch -d 2001-01-01 f", "" },
    { "echo aaaa > f; touch -d 2001-01-01 f", "echo bbbb > f; touch -d 2001-01-01 f", "~f" },
    { "echo a > f", "rm f", "-f" },
    { "true", "mkdir -p a/b; echo x > a/b/c", "+a +a/b +a/b/c" },
    { "mkdir -p d/e; echo a > d/e/f", "rm -r d", "-d -d/e -d/e/f" },
    { "mkdir d; echo a > d/f", "rm -r d; ln -s / d", "!d -d/f" },
    { "echo x > d", "rm d; mkdir d; echo y > d/f", "!d +d/f" },
    { "echo a > f", "chmod 755 f", "%f" },
    { "mkdir d", "chmod 000 d", "%d" },
    { "mkfifo p", "rm p; mkfifo p", "" },
    { "mkfifo p", "rm p; echo x > p", "!p" },
    { "echo a > f; ln f g", "echo b > g", "~f ~g" },
    { "ln -s loop loop", "ln -sf other loop", "~loop" },
    { "truncate -s 2T sparse",
      "printf x | dd of=sparse bs=1 seek=1000000000000 conv=notrunc status=none", "~sparse" },
    { "truncate -s 2T sparse", "true", "" },
};

static char *compare_text(struct rig *r)
{
    cleanup_fd int after = openat(r->root_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(sr_tree_compare(r->lower_fd, after, &r->set, &r->err), 0, "%s", r->err.text);
    struct sr_classify_options o = { .tree_fd = r->lower_fd, .after_fd = after };
    cr_assert_eq(sr_changes_classify(&r->set, &o, &r->err), 0);
    return set_text(&r->set);
}

Test(compare, a22_by_content)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig r = rig_make(cases[i].before);
        rig_sh(&r, ".", "rmdir upper; cp -a --sparse=always lower upper");
        rig_sh(&r, "upper", cases[i].command);
        cleanup_free char *got = compare_text(&r);
        cr_assert_str_eq(got, cases[i].want, "%s: %s", cases[i].command, got);
        rig_down(&r);
    }
}

/* Of an overlay's upper and of a copy alike. */
Test(compare, a22_the_root_itself)
{
    static const struct {
        mode_t before;
        const char *command, *want;
    } roots[] = {
        { 040755, "true", "" },
        { 040755, "echo x > f", "+f" },
        { 040755, "chmod 700 .", "%." },
        { 040755, "chmod 000 .; echo x > -a; echo x > a", "+-a %. +a" },
        { 040755, "chmod 1755 .", "%." },
    };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        struct rig r = rig_make("true");
        rig_sh(&r, "upper", roots[i].command);
        cr_assert_eq(sr_root_tell(roots[i].before, r.upper_fd, &r.set, &r.err), 0, "%s", r.err.text);
        rig_read(&r);
        rig_classify(&r);
        cleanup_free char *got = set_text(&r.set);
        cr_expect_str_eq(got, roots[i].want, "%o %s: %s", roots[i].before, roots[i].command, got);
        rig_down(&r);
    }
}

Test(compare, a24_deeper_than_path_max)
{
    struct rig r = rig_make("true");
    static const char deep[] = "python3 -c \"\nimport os\nfor i in range(1200):\n "
                               "os.mkdir('deep'); os.chdir('deep')\nopen('f','w').write('%s')\"";
    cleanup_free char *a = sr_asprintf(deep, "a"), *b = sr_asprintf(deep, "b");
    rig_sh(&r, "lower", a);
    rig_sh(&r, "upper", b);
    cleanup_free char *got = compare_text(&r);
    cr_assert_eq(got[0], '~');
    cr_assert_eq(r.set.n, 1);
    cr_assert_eq(r.set.v[0].kind, SR_CHANGE_MODIFIED);
    rig_down(&r);
}

Test(compare, added_leaves_out_mount_points_and_the_way_to_them)
{
    struct rig r = rig_make("true");
    char *points[] = { (char *)(uintptr_t)"a/b/tree", (char *)(uintptr_t)"file" };
    const struct sr_strv ours = { .v = points, .n = 2 };
    rig_sh(&r, "upper", "mkdir -p a/b/tree; : >file; echo x >a/b/new; mkdir a/bc; echo x >files");
    cr_assert_eq(sr_tree_added(r.upper_fd, true, &ours, &r.set, &r.err), 0, "%s", r.err.text);
    rig_classify(&r);
    cleanup_free char *got = set_text(&r.set);
    cr_assert_str_eq(got, "+a/b/new +a/bc +files");
    rig_down(&r);
}

Test(compare, added_tells_all_with_digests)
{
    struct rig r = rig_make("true");
    unsigned char want[SR_SHA256_SIZE];
    rig_sh(&r, "upper", "mkdir d; printf abc > d/f; chmod 0 d/f; chmod 0 d; mkfifo p");
    cr_assert_eq(sr_tree_added(r.upper_fd, true, NULL, &r.set, &r.err), 0, "%s", r.err.text);
    rig_classify(&r);
    cleanup_free char *got = set_text(&r.set);
    cr_assert_str_eq(got, "+d +d/f +p");
    sr_sha256_bytes("abc", 3, want);
    cr_assert(r.set.v[1].after.has_digest && r.set.v[1].in_home);
    cr_assert_eq(memcmp(r.set.v[1].after.digest, want, sizeof want), 0);
    rig_down(&r);
}
