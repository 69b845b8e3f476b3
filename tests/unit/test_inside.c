/* SPDX-License-Identifier: MIT */
/* Which paths exist in the plan's root filesystem, hop by hop; and pyvenv.cfg in its spellings. */
#include "preflight_fixture.h"

#include "base/mem.h"
#include "plan/inside.h"
#include "plan/pyvenv.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(inside, .init = pf_setup, .fini = pf_teardown, .timeout = 30);

static void there(const char *path, const char *at, const char *host)
{
    cleanup_inside struct inside w;
    inside_walk(&pf_plan, path, &w);
    cr_expect_eq(w.end, INSIDE_THERE, "%s: no %s", path, w.absent ? w.absent : "end");
    cr_expect_str_eq(w.path, at);
    if (host)
        cr_expect_str_eq(w.host, host);
}

static void absent(const char *path, const char *at)
{
    cleanup_inside struct inside w;
    inside_walk(&pf_plan, path, &w);
    cr_assert_eq(w.end, INSIDE_ABSENT, "%s exists inside as %s", path, w.path);
    cr_expect_str_eq(w.absent, at);
}

Test(inside, a27_the_root_filesystem_is_there_and_nothing_else)
{
    char real[PATH_MAX];
    cr_assert_not_null(realpath("/bin/sh", real));
    there("/bin/sh", real, real);
    there("/usr//bin/./../bin/env", "/usr/bin/env", "/usr/bin/env");
    there("/", "/", NULL);
    there("/..", "/", NULL);
    absent("/root/.pyenv/bin/python", "/root");
    absent("/home/someone", "/home");
    absent("/run/x", "/run");
    absent("/etc/passwd/x", "/etc/passwd");
    absent("/etc/shadow", "/etc/shadow");
    absent("/proc/self/exe", "/proc");
    absent("/usr/bin/env/x", "/usr/bin/env");
    absent("/usr/no-such/x", "/usr/no-such");
}

Test(inside, a27_the_tree_and_the_mounts_stand_at_their_targets)
{
    char target[] = "/srv/deep/tree";
    pf_text("tree/a/file", 0644, "x");
    pf_text("data/sub/file", 0644, "x");
    pf_text("data/secret", 0644, "x");
    there(pf_path("tree/a/file"), pf_path("tree/a/file"), pf_path("tree/a/file"));
    absent(pf_path("data/sub/file"), pf_path("data"));
    pf_plan.tree_target = target;
    pf_mount(pf_path("data/sub"), "/srv/deep/tree/a");
    pf_mount(pf_path("data/sub"), "/dataset/data");
    there("/srv/deep", "/srv/deep", NULL);
    there("/srv/deep/tree/a/file", "/srv/deep/tree/a/file", pf_path("data/sub/file"));
    there("/dataset/data/file", "/dataset/data/file", pf_path("data/sub/file"));
    absent("/dataset/data/secret", "/dataset/data/secret");
    absent(pf_path("tree/a/file"), "/tmp");
    absent("/srv/other", "/srv/other");
}

Test(inside, a27_links_are_followed_as_the_kernel_would_inside)
{
    pf_text("tree/real/bin/python", 0755, "x");
    pf_link("tree/alias", "real");
    pf_link("tree/direct", pf_path("tree/alias/bin/python"));
    pf_link("tree/up", "alias/bin/../bin/./python");
    pf_link("tree/out", "../beside");
    pf_text("beside/x", 0644, "x");
    there(pf_path("tree/direct"), pf_path("tree/real/bin/python"), NULL);
    there(pf_path("tree/up"), pf_path("tree/real/bin/python"), NULL);
    absent(pf_path("tree/out/x"), pf_path("beside"));
    absent(pf_path("tree/direct/x"), pf_path("tree/real/bin/python"));
    cleanup_inside struct inside w;
    inside_walk(&pf_plan, pf_path("tree/direct"), &w);
    cleanup_free char *chain =
        sr_asprintf("%s -> %s -> real", pf_path("tree/direct"), pf_path("tree/alias/bin/python"));
    cr_expect_str_eq(w.chain, chain);
}

Test(inside, a27_forty_links_are_followed_and_not_one_more)
{
    pf_text("tree/0", 0644, "x");
    for (unsigned i = 1; i <= 41; i++) {
        char path[64], target[16];
        snprintf(path, sizeof path, "tree/%u", i);
        snprintf(target, sizeof target, "%u", i - 1);
        pf_link(path, target);
    }
    /* A mount anywhere on the system makes the kernel start a walk again, and it counts the links
     * of the first attempt too: forty may fail now and then, forty-one never succeed. */
    struct stat st;
    int forty = -1;
    for (unsigned tries = 0; forty < 0 && tries < 1000; tries++) {
        forty = stat(pf_path("tree/40"), &st);
        if (forty < 0)
            usleep(1000);
    }
    cr_assert(forty == 0 && stat(pf_path("tree/41"), &st) < 0,
              "the kernel draws the line elsewhere");
    there(pf_path("tree/40"), pf_path("tree/0"), NULL);
    cleanup_inside struct inside w;
    inside_walk(&pf_plan, pf_path("tree/41"), &w);
    cr_expect_eq(w.end, INSIDE_LOOP);
}

Test(inside, a27_pyvenv_spellings)
{
    static const struct {
        const char *text, *home, *version;
        unsigned n, patch;
    } cases[] = {
        { "home = /usr/bin\nversion = 3.11.2\n", "/usr/bin", "3.11.2", 3, 2 },
        { "version_info = 3.12.13\r\nuv = 0.5.0\r\n", NULL, "3.12.13", 3, 13 },
        { "version_info = 3.11.2.final.0", NULL, "3.11.2.final.0", 3, 2 },
        { "VERSION=3.14.0rc1\n# version = 1.1.1\n", NULL, "3.14.0rc1", 3, 0 },
        { "version_info = 3.12\n", NULL, "3.12", 2, 0 },
        { "  home\t=  /a = b \n", "/a = b", NULL, 0, 0 },
        { "no line\n=\n\n=x\nversion =\n", NULL, "", 0, 0 },
        { "version = 99999999999999999999.1\n", NULL, "99999999999999999999.1", 2, 0 },
        { "", NULL, NULL, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pyvenv c;
        pyvenv_parse(cases[i].text, strlen(cases[i].text), &c);
        if (cases[i].home)
            cr_expect_str_eq(c.home, cases[i].home, "case %zu", i);
        else
            cr_expect_null(c.home, "case %zu", i);
        if (cases[i].version)
            cr_expect_str_eq(c.version, cases[i].version, "case %zu", i);
        else
            cr_expect_null(c.version, "case %zu", i);
        cr_expect_eq(c.number.n, cases[i].n, "case %zu", i);
        cr_expect_eq(c.number.v[2], cases[i].patch, "case %zu", i);
        pyvenv_clear(&c);
    }
}
