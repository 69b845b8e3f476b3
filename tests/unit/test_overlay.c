/* SPDX-License-Identifier: MIT */
/* Real overlays, real commands: what the upper says is what the command did. */
#include "change_rig.h"

#include "change/set.h"

#include <sys/xattr.h>
#include <time.h>

struct overlay_case {
    const char *tree, *command, *want;
};

static void case_check(const struct overlay_case *c, const char *options)
{
    struct rig r = rig_case(c->tree, options, c->command);
    cleanup_free char *got = set_text(&r.set);
    cr_assert_str_eq(got, c->want, "command: %s\n options: %s\n got:  %s\n want: %s", c->command,
                     options, got, c->want);
    cr_assert_eq(r.set.total, r.set.n);
    rig_down(&r);
}

static const char *const both[] = { "", "userxattr" };
#define EACH_CASE(cases)                                                                           \
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)                                      \
        for (size_t k = 0; k < 2; k++)                                                             \
    case_check(&cases[i], both[k])

Test(overlay, plain_changes)
{
    static const struct overlay_case cases[] = {
        { "echo a > f", "true", "" },
        { "echo a > f", "echo b > g", "+g" },
        { "echo a > f", "rm f", "-f" },
        { "echo a > f", "echo longer > f", "~f" },
        { "echo a > f", "chmod 755 f", "%f" },
        { "mkdir d", "chmod 700 d", "%d" },
        { "mkdir d; echo a > d/f", "rm d/f", "-d/f" },
        { "mkdir d", "rmdir d", "-d" },
        { "true", "mkdir -p a/b; echo x > a/b/c", "+a +a/b +a/b/c" },
        { "echo a > f", "rm f; mkdir f; echo x > f/x", "!f +f/x" },
        { "mkdir d; echo a > d/f; mkdir d/e; echo b > d/e/g", "rm -r d; echo file > d",
          "!d -d/e -d/e/g -d/f" },
        { "ln -s a l", "ln -sf b l", "~l" },
        { "echo a > f", "rm f; ln -s x f", "!f" },
        { "true", "mkfifo p", "+p" },
        { "mkdir a; echo x > a/f; echo y > a-b", "rm -r a; rm a-b", "-a -a-b -a/f" },
    };
    EACH_CASE(cases);
}

Test(overlay, a21_copy_ups_that_changed_nothing)
{
    static const struct overlay_case cases[] = {
        { "echo a > f", "touch f", "" },
        { "echo a > f", "touch -d 2001-01-01 f", "" },
        { "echo a > f", "cp f g; mv g f", "" },
        { "echo a > f", "rm f; echo a > f", "" },
        { "mkdir d; echo a > d/f", "touch d", "" },
        { "echo a > f", "chmod 755 f; chmod 644 f", "" },
        { "echo a > f", "chown 1:1 f", "" },
        { "ln -s a l", "rm l; ln -s a l", "" },
        { "mkfifo p", "rm p; mkfifo p", "" },
        { "echo a > f; ln f g", "touch g", "" },
    };
    EACH_CASE(cases);
}

Test(overlay, a22_opaque_directory_lists_lost_files)
{
    static const struct overlay_case cases[] = {
        { "mkdir -p d/e; echo a > d/f; echo b > d/e/g", "rm -r d; mkdir d", "-d/e -d/e/g -d/f" },
        { "mkdir -p d/e; echo a > d/f; echo b > d/e/g", "rm -r d; mkdir d; echo new > d/n",
          "-d/e -d/e/g -d/f +d/n" },
        { "mkdir -p d/e; echo a > d/f; echo b > d/e/g", "rm -r d; mkdir -p d/e; echo other > d/e/g",
          "~d/e/g -d/f" },
        { "mkdir -p d/e; echo a > d/f; echo b > d/e/g",
          "rm -r d; mkdir -p d/e; echo a > d/f; echo b > d/e/g", "" },
        { "mkdir -p d/e; echo b > d/e/g", "rm -r d; mkdir d; echo file > d/e", "!d/e -d/e/g" },
        { "mkdir -p d/e/h; echo b > d/e/h/g", "rm -r d/e; mkdir d/e", "-d/e/h -d/e/h/g" },
    };
    EACH_CASE(cases);
}

Test(overlay, a22_same_size_and_mtime_but_other_bytes_is_a_change)
{
    static const struct overlay_case cases[] = {
        { "echo aaaa > f; touch -d 2001-01-01 f", "echo bbbb > f; touch -d 2001-01-01 f", "~f" },
        { "echo aaaa > f; touch -d 2001-01-01 f", "echo aaaa > f; touch -d 2002-02-02 f", "" },
    };
    EACH_CASE(cases);
}

/* Without redirect_dir the rename is EXDEV and mv copies; with it, the upper holds a redirect only.
 */
Test(overlay, a22_renamed_directories_are_listed_file_by_file)
{
    static const struct overlay_case cases[] = {
        { "mkdir -p d/e; echo a > d/f; echo b > d/e/g", "mv d n",
          "-d -d/e -d/e/g -d/f +n +n/e +n/e/g +n/f" },
        { "mkdir -p p/d q; echo a > p/d/f", "mv p/d q/d", "-p/d -p/d/f +q/d +q/d/f" },
        { "mkdir -p p/d; echo a > p/d/f", "mv p/d p/n; echo more > p/n/m; rm p/n/f",
          "-p/d -p/d/f +p/n +p/n/m" },
        { "mkdir -p a/s b; echo 1 > a/s/x; echo 2 > b/y", "mv a old; mv b a",
          "-a/s -a/s/x +a/y -b -b/y +old +old/s +old/s/x" },
        { "mkdir -p a/s; echo 1 > a/s/x", "mv a n; mv n/s n/t", "-a -a/s -a/s/x +n +n/t +n/t/x" },
        { "mkdir -p a/s; echo 1 > a/s/x", "mv a n; echo changed > n/s/x",
          "-a -a/s -a/s/x +n +n/s +n/s/x" },
        { "mkdir -p a/s; echo 1 > a/s/x", "mv a n; rm -r n/s; mkdir n/s; echo 2 > n/s/z",
          "-a -a/s -a/s/x +n +n/s +n/s/z" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        case_check(&cases[i], "redirect_dir=on");
        case_check(&cases[i], "");
        case_check(&cases[i], "userxattr");
    }
}

Test(overlay, a_redirect_is_really_there_when_it_is_tested)
{
    struct rig r = rig_make("mkdir -p a/s; echo 1 > a/s/x");
    char value[256];
    rig_run(&r, "redirect_dir=on", "mv a n");
    cleanup_free char *moved = sr_asprintf("%s/upper/n", r.dir);
    cr_assert_gt(getxattr(moved, "trusted.overlay.redirect", value, sizeof value), 0, "%s",
                 strerror(errno));
    rig_down(&r);
}

Test(overlay, metacopy_is_a_mode_change_and_no_lost_content)
{
    struct rig r = rig_case("echo content > f", "redirect_dir=on,metacopy=on", "chmod 755 f");
    const struct sr_change *c = change_at(&r.set, "f");
    cr_assert_not_null(c);
    cr_assert_eq(c->kind, SR_CHANGE_MODE);
    cr_assert_eq(r.set.n, 1);
    rig_down(&r);
}

/* In a trusted.* mount the command may write user.overlay.*: it must not be able to hide an edit
 * that way. */
Test(overlay, forged_attributes_hide_nothing)
{
    static const char *const attrs[] = { "user.overlay.opaque", "user.overlay.redirect",
                                         "user.overlay.whiteout", "user.overlay.metacopy",
                                         "user.overlay.origin" };
    static const char *const values[] = { "y", "/other", "d", "x", "" };
    for (size_t a = 0; a < sizeof attrs / sizeof *attrs; a++) {
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct rig r =
                rig_make("mkdir d other; echo good > d/f; echo o > other/f; echo keep > d/k");
            rig_run(&r, "", "echo evil > d/f");
            cleanup_free char *dir = sr_asprintf("%s/upper/d", r.dir),
                              *file = sr_asprintf("%s/f", dir);
            cr_assert_eq(setxattr(dir, attrs[a], values[v], strlen(values[v]), 0), 0, "%s",
                         strerror(errno));
            cr_assert_eq(setxattr(file, attrs[a], values[v], strlen(values[v]), 0), 0);
            rig_read(&r);
            rig_classify(&r);
            cr_assert_not_null(change_at(&r.set, "d/f"), "%s=%s", attrs[a], values[v]);
            rig_down(&r);
        }
    }
}

/* Nor may it tell losses that did not happen. */
Test(overlay, forged_attributes_invent_nothing)
{
    struct rig r = rig_make("mkdir d other; echo a > d/f; : > d/e; echo o > other/f; echo keep > d/k");
    rig_run(&r, "", "chmod 700 d; chmod 600 d/e; python3 -c 'import os\n"
                    "os.setxattr(\"d\", \"user.overlay.opaque\", b\"y\")\n"
                    "os.setxattr(\"d\", \"user.overlay.redirect\", b\"/other\")\n"
                    "os.setxattr(\"d/e\", \"user.overlay.whiteout\", b\"y\")'");
    rig_read(&r);
    rig_classify(&r);
    cleanup_free char *got = set_text(&r.set);
    cr_assert_str_eq(got, "%d %d/e");
    rig_down(&r);
}

Test(overlay, attribute_whiteouts_and_x_directories)
{
    struct rig r = rig_make("mkdir d; echo a > d/f; echo b > d/g");
    rig_sh(&r, "upper", "mkdir d; : > d/f; : > d/new");
    cleanup_free char *dir = sr_asprintf("%s/upper/d", r.dir), *file = sr_asprintf("%s/f", dir);
    cleanup_free char *over_nothing = sr_asprintf("%s/new", dir);
    cr_assert_eq(setxattr(dir, "trusted.overlay.opaque", "x", 1, 0), 0);
    cr_assert_eq(setxattr(file, "trusted.overlay.whiteout", "", 0, 0), 0);
    cr_assert_eq(setxattr(over_nothing, "trusted.overlay.whiteout", "", 0, 0), 0);
    rig_read(&r);
    rig_classify(&r);
    cleanup_free char *got = set_text(&r.set);
    cr_assert_str_eq(got, "-d/f +d/new");
    rig_down(&r);
}

Test(overlay, a24_odd_entries)
{
    static const struct overlay_case cases[] = {
        { "true",
          "mkfifo p; ln -s loop loop; python3 -c 'import socket; "
          "socket.socket(socket.AF_UNIX).bind(\"s\")'",
          "+loop +p +s" },
        { "mkdir d; echo a > d/f; chmod 000 d", "chmod 755 d; echo b > d/g; chmod 000 d", "+d/g" },
        { "mkdir d; echo a > d/f; chmod 555 d", "echo bb > d/f", "~d/f" },
        { "echo a > \"$(printf 'new\\nline')\"", "rm new*", "-new\nline" },
        { "echo a > \"$(printf 'bad\\377byte')\"", "rm bad*", "-bad\377byte" },
        { "truncate -s 3T sparse", "chmod 600 sparse", "%sparse" },
        { "truncate -s 3T sparse",
          "printf x | dd of=sparse bs=1 seek=2000000000000 conv=notrunc status=none", "~sparse" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        case_check(&cases[i], "metacopy=on,redirect_dir=on");
}

Test(overlay, a24_deeper_than_path_max)
{
    struct rig r = rig_case("python3 -c \"\nimport os\nfor i in range(1200):\n os.mkdir('ddd'); "
                            "os.chdir('ddd')\nopen('f','w')\"",
                            "", "rm -r ddd");
    cr_assert_eq(r.set.n, 1201);
    cr_assert_eq(r.set.v[0].kind, SR_CHANGE_DELETED);
    rig_down(&r);
    r = rig_case("true", "",
                 "python3 -c \"\nimport os\nfor i in range(1200):\n os.mkdir('ddd'); "
                 "os.chdir('ddd')\nopen('f','w')\"");
    cr_assert_eq(r.set.n, 1201);
    rig_down(&r);
}

Test(overlay, counts_stay_whole_beyond_what_a_record_lists)
{
    struct rig r = rig_make("python3 -c \"\nimport os\nfor d in range(3):\n os.mkdir(str(d))\n for "
                            "i in range(70000):\n  open('%d/%d' % (d, i), 'w').close()\"");
    rig_sh(&r, "upper", "mknod 0 c 0 0; mknod 1 c 0 0; mknod 2 c 0 0");
    rig_read(&r);
    rig_classify(&r);
    uint64_t sum = 0;
    cr_assert_eq(r.set.total, 210003);
    cr_assert_eq(r.set.n, 210003);
    cr_assert_not(r.set.overflow);
    for (size_t i = 0; i < SR_CLASS_COUNT; i++)
        sum += r.set.by_class[i];
    cr_assert_eq(sum, 210003);
    rig_down(&r);
}

/* A person edits the tree while the command runs: what was not there when it began is not its loss.
 */
Test(overlay, a25_what_others_add_to_a_deleted_directory_is_not_lost)
{
    static const struct {
        const char *command, *want;
    } cases[] = {
        { "rm -r d; mkdir d", "-d/old -d/sub -d/sub/old" },
        { "rm -r d", "-d -d/old -d/sub -d/sub/old" },
        { "rm -r d; echo x > d", "!d -d/old -d/sub -d/sub/old" },
        /* made again by a person after the command removed it: it was removed all the same */
        { "rm d/old", "-d/old" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timespec ts;
        struct rig r = rig_make("mkdir -p d/sub; echo 1 > d/old; echo 1 > d/sub/old");
        usleep(20000);
        clock_gettime(CLOCK_REALTIME, &ts);
        r.started_ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
        usleep(20000);
        rig_run(&r, "", cases[i].command);
        /* edits of what was there move its change time, and it is lost all the same */
        rig_sh(&r, "lower",
               "echo 2 >> d/sub/old; chmod 600 d/old; mkdir d/new; echo 1 > d/new/x; echo 1 > "
               "d/sub/new");
        if (i == 3)
            rig_sh(&r, "lower", "rm d/old; echo 3 > d/old");
        rig_read(&r);
        sr_set_sort_bytes(&r.set);
        cleanup_free char *got = set_text(&r.set);
        cr_expect_str_eq(got, cases[i].want, "%s\n got:  %s\n want: %s", cases[i].command, got,
                         cases[i].want);
        rig_down(&r);
    }
}
