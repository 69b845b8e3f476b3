/* SPDX-License-Identifier: MIT */
/* Python environments broken in the ways people break them, and the healthy ones beside them. */
#include "preflight_fixture.h"

#include "base/mem.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(preflight, .init = pf_setup, .fini = pf_teardown, .timeout = 60);

static struct pf_fake fake;

static void run_as(const char *version)
{
    fake = (struct pf_fake){ .answer = version };
    pf_run(pf_fake_version, &fake);
}

/* The system's version with part i (0 major, 1 minor, 2 patch) one more. */
static const char *next_version(unsigned i)
{
    static char text[64];
    unsigned v[3];
    cr_assert_eq(sscanf(pf_system_version(), "%u.%u.%u", &v[0], &v[1], &v[2]), 3);
    v[i]++;
    snprintf(text, sizeof text, "%u.%u.%u", v[0], v[1], v[2]);
    return text;
}

/* "python3.11" */
static const char *versioned(void)
{
    static char text[64];
    unsigned major, minor;
    cr_assert_eq(sscanf(pf_system_version(), "%u.%u", &major, &minor), 2);
    snprintf(text, sizeof text, "python%u.%u", major, minor);
    return text;
}

static void contains(const char *text, const char *part)
{
    cr_expect(strstr(text, part), "\"%s\" is not in: %s", part, text);
}

/* An executable that stands for an interpreter outside of the tree. */
static void other_python(const char *path)
{
    pf_text(path, 0755, "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n");
}

/* ---- healthy ---- */

Test(preflight, a27_a_tree_without_environments_asks_nothing)
{
    pf_text("tree/src/main.c", 0644, "int main;\n");
    pf_text("tree/env/config.yaml", 0644, "a: b\n");
    pf_text("tree/venv/lib/notes.txt", 0644, "no environment\n");
    run_as("3.11.2");
    pf_expect_none();
    cr_expect_eq(fake.calls, 0);
}

Test(preflight, a27_a_healthy_environment_has_no_finding)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_run(pf_real_version, NULL);
    pf_expect_none();
    run_as(pf_system_version());
    pf_expect_none();
    cr_expect_eq(fake.calls, 1);
    cr_expect_str_eq(fake.path, pf_path("tree/.venv/bin/python"));
    pf_run(NULL, NULL);
    pf_expect_none();
}

Test(preflight, a27_copies_are_healthy_too)
{
    pf_venv("tree/venv", "--copies");
    pf_run(pf_real_version, NULL);
    pf_expect_none();
}

/* ---- the interpreter is not there ---- */

Test(preflight, a27_dangling_interpreter_names_both_sides)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_link("tree/.venv/bin/python3", "/opt/py/3.11.16/bin/python3.11");
    run_as(pf_system_version());
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
    contains(f->expected, "python -> python3 -> /opt/py/3.11.16/bin/python3.11");
    contains(f->expected, pf_system_version());
    contains(f->found, "no /opt/py/3.11.16/bin/python3.11 inside");
    contains(f->found, versioned());
    contains(f->remedy, "rebuild .venv with the interpreter of the root filesystem");
    contains(f->remedy, "pin the image");
    cr_expect_eq(fake.calls, 0, "what does not exist was run");
}

Test(preflight, a27_an_interpreter_outside_is_a_mounts_line_away)
{
    pf_venv("tree/.venv", "--symlinks");
    other_python("versions/3.11.7/bin/python3.11");
    pf_link("tree/.venv/bin/python3", pf_path("versions/3.11.7/bin/python3.11"));
    run_as(pf_system_version());
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
    cleanup_free char *line = sr_asprintf("\"mounts\": [{\"source\":\"%s\",\"readonly\":true}]",
                                          pf_path("versions/3.11.7"));
    contains(f->remedy, line);

    /* and with that line it is healthy */
    pf_mount(pf_path("versions/3.11.7"), pf_path("versions/3.11.7"));
    run_as(pf_system_version());
    pf_expect_none();
    cr_expect_eq(fake.calls, 1);
}

/* Mounting what `readlink -f` answers leaves out the alias that the link goes through. */
Test(preflight, a27_every_hop_of_an_alias_chain_must_exist_inside)
{
    pf_venv("tree/.venv", "--symlinks");
    other_python("py/cpython-3.14.5/bin/python3");
    pf_link("py/cpython-3.14", "cpython-3.14.5");
    pf_link("tree/.venv/bin/python3", pf_path("py/cpython-3.14/bin/python3"));
    pf_mount(pf_path("py/cpython-3.14.5"), pf_path("py/cpython-3.14.5"));
    run_as(pf_system_version());
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
    cleanup_free char *hop = sr_asprintf("%s does not exist there", pf_path("py/cpython-3.14"));
    contains(f->found, hop);
    cleanup_free char *line = sr_asprintf("{\"source\":\"%s\",\"target\":\"%s\",\"readonly\":true}",
                                          pf_path("py/cpython-3.14.5"), pf_path("py/cpython-3.14"));
    contains(f->remedy, line);

    pf_mount(pf_path("py/cpython-3.14.5"), pf_path("py/cpython-3.14"));
    run_as(pf_system_version());
    pf_expect_none();
}

Test(preflight, a27_a_versioned_entry_may_dangle_alone)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_link("tree/.venv/bin/python3.1", "/usr/bin/python3.1");
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python3.1");
}

Test(preflight, a27_what_cannot_be_run_inside_is_missing)
{
    pf_venv("tree/.venv", "--symlinks");
    run_as(NULL);
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
    contains(f->text, "cannot be run inside");
    cr_expect_eq(fake.calls, 1);

    /* judged by running it: it exits 1 */
    pf_text("tree/.venv/bin/python", 0755, "#!/bin/sh\nexit 1\n");
    pf_run(pf_real_version, NULL);
    pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");

    pf_text("tree/.venv/bin/python", 0644, "#!/bin/sh\nexit 0\n");
    run_as(pf_system_version());
    f = pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
    contains(f->text, "is not executable");
    cr_expect_eq(fake.calls, 0);
}

Test(preflight, a27_an_environment_that_is_a_link_out_of_the_tree)
{
    pf_venv("shared/venv", "--symlinks");
    pf_link("tree/.venv", "../shared/venv");
    run_as(pf_system_version());
    const struct sr_finding *f = pf_expect_one("env.mismatch.interpreter_missing", ".venv");
    contains(f->remedy, pf_path("shared/venv"));
    pf_mount(pf_path("shared/venv"), pf_path("shared/venv"));
    run_as(pf_system_version());
    pf_expect_none();
    cr_expect_eq(fake.calls, 1, "the environment behind the link was not looked at");
}

/* ---- the interpreter is another ---- */

Test(preflight, a27_another_minor_version)
{
    pf_venv("tree/.venv", "--symlinks");
    run_as(next_version(1));
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_minor", ".venv/bin/python");
    contains(f->expected, versioned());
    contains(f->found, next_version(1));
}

Test(preflight, a27_another_patch_version_in_each_spelling)
{
    static const char *const spellings[] = { "version = %s\n", "version_info = %s\n",
                                             "version_info = %s.final.0\n",
                                             "home = /usr/bin\r\nVersion=%s\r\n",
                                             "version = 3\nversion_info =   %s  \n" };
    pf_venv("tree/.venv", "--symlinks");
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        char format[128], *at = strstr(spellings[i], "%s");
        snprintf(format, sizeof format, "%.*s%s%s", (int)(at - spellings[i]), spellings[i],
                 pf_system_version(), at + 2);
        pf_text("tree/.venv/pyvenv.cfg", 0644, "%s", format);
        run_as(pf_system_version());
        pf_expect_none();
        run_as(next_version(2));
        const struct sr_finding *f =
            pf_expect_one("env.mismatch.interpreter_patch", ".venv/bin/python");
        contains(f->expected, pf_system_version());
        contains(f->found, next_version(2));
    }
}

Test(preflight, a27_edited_version_against_the_real_interpreter)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_text("tree/.venv/pyvenv.cfg", 0644, "home = /usr/bin\nversion_info = %s\n", next_version(2));
    pf_run(pf_real_version, NULL);
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_patch", ".venv/bin/python");
    contains(f->found, pf_system_version());
}

Test(preflight, a27_versions_are_numbers_not_text)
{
    pf_text("tree/.venv/bin/python", 0755, "#!/bin/sh\n");
    pf_text("tree/.venv/lib/python3.9/site-packages/x.py", 0644, "\n");
    pf_text("tree/.venv/pyvenv.cfg", 0644, "version = 3.9.02\n");
    run_as("3.9.2");
    pf_expect_none();
    run_as("3.90.2");
    pf_expect_one("env.mismatch.interpreter_minor", ".venv/bin/python");
    run_as("3.9.20");
    pf_expect_one("env.mismatch.interpreter_patch", ".venv/bin/python");
    /* a minor version alone promises no patch */
    pf_text("tree/.venv/pyvenv.cfg", 0644, "version_info = 3.9\n");
    run_as("3.9.20");
    pf_expect_none();
}

/* ---- console scripts ---- */

Test(preflight, a27_a_moved_tree_is_one_finding)
{
    pf_venv("tree/.venv", "--symlinks");
    for (unsigned i = 0; i < 20; i++) {
        char name[64];
        snprintf(name, sizeof name, "tree/.venv/bin/tool%02u", i);
        pf_text(name, 0755, "#!%s/bin/python3\n", pf_path("tree/.venv"));
    }
    cr_assert_eq(rename(pf_tree, pf_path("moved")), 0);
    pf_plan.tree = pf_plan.tree_target = sr_strdup(pf_path("moved"));
    pf_run(pf_real_version, NULL);
    const struct sr_finding *f = pf_expect_one("env.mismatch.moved", ".venv/bin");
    contains(f->expected, pf_path("tree/.venv"));
    contains(f->expected, "bin/tool, bin/tool00, bin/tool01 and 18 more");
    contains(f->found, pf_path("moved/.venv"));
    contains(f->remedy, "rebuild .venv");
    free(pf_plan.tree);
}

Test(preflight, a27_a_copied_environment_names_the_one_it_was_copied_from)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_venv("tree/second", "--symlinks");
    run_as(pf_system_version());
    pf_expect_none();
    pf_text("tree/second/bin/tool", 0755, "#!%s/bin/python3\n", pf_path("tree/.venv"));
    run_as(pf_system_version());
    const struct sr_finding *f = pf_expect_one("env.mismatch.moved", "second/bin");
    contains(f->expected, pf_path("tree/.venv"));
}

Test(preflight, a27_activate_alone_tells_a_moved_environment)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_remove("tree/.venv/bin/tool");
    run_as(pf_system_version());
    pf_expect_none();
    static const char *const spellings[] = {
        "VIRTUAL_ENV=\"/old/tree/.venv\"\n", "deactivate () {\n}\nVIRTUAL_ENV='/old/tree/.venv'\n",
        "if true ; then\n    export VIRTUAL_ENV=/old/tree/.venv\nfi\n"
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        pf_text("tree/.venv/bin/activate", 0644, "%s", spellings[i]);
        run_as(pf_system_version());
        contains(pf_expect_one("env.mismatch.moved", ".venv/bin/activate")->expected,
                 "/old/tree/.venv");
    }
    /* computed when sourced: it moves along */
    pf_text("tree/.venv/bin/activate", 0644,
            "VIRTUAL_ENV=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n");
    run_as(pf_system_version());
    pf_expect_none();
}

Test(preflight, a27_a_target_of_its_own_moves_the_environment)
{
    char target[] = "/srv/check";
    pf_venv("tree/.venv", "--symlinks");
    pf_plan.tree_target = target;
    run_as(pf_system_version());
    cr_expect_str_eq(fake.path, "/srv/check/.venv/bin/python");
    const struct sr_finding *f = pf_expect_one("env.mismatch.moved", ".venv/bin");
    contains(f->found, "/srv/check/.venv");
    contains(f->remedy, "\"target\": \"same\"");
}

Test(preflight, a27_a_first_line_that_leads_nowhere)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_text("tree/.venv/bin/a", 0755, "#!/usr/bin/env python3\n");
    pf_text("tree/.venv/bin/b", 0755, "#! /bin/sh -e\n");
    pf_text("tree/.venv/bin/c", 0644, "#!/nowhere/python\n"); /* cannot be executed anyway */
    pf_text("tree/.venv/bin/d", 0755, "#!python\n");
    run_as(pf_system_version());
    pf_expect_none();
    pf_text("tree/.venv/bin/e", 0755, "#!/opt/gone/bin/python3.99\n");
    pf_text("tree/.venv/bin/f", 0755, "#!%s/bin/python2.7\n", pf_path("tree/.venv"));
    run_as(pf_system_version());
    const struct sr_finding *f = pf_expect_one("env.mismatch.shebang", ".venv/bin");
    contains(f->expected, "/opt/gone/bin/python3.99");
    contains(f->text, "2 console scripts");
    contains(f->text, "bin/e, bin/f");
}

Test(preflight, a27_a_path_with_blanks_stands_in_the_second_line)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_text("tree/.venv/bin/tool", 0755,
            "#!/bin/sh\n'''exec' \"/old place/.venv/bin/python3\" \"$0\" \"$@\"\n' '''\n");
    run_as(pf_system_version());
    contains(pf_expect_one("env.mismatch.moved", ".venv/bin")->expected, "/old place/.venv");
    pf_text("tree/.venv/bin/tool", 0755,
            "#!/bin/sh\n'''exec' %s/bin/python3 \"$0\" \"$@\"\n' '''\n", pf_path("tree/.venv"));
    run_as(pf_system_version());
    pf_expect_none();
}

Test(preflight, a27_a_dangling_interpreter_is_not_said_again_for_each_script)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_link("tree/.venv/bin/python3", "/opt/gone/python3");
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
}

Test(preflight, a27_an_editable_install_from_outside)
{
    pf_venv("tree/.venv", "--symlinks");
    cleanup_free char *pth =
        sr_asprintf("tree/.venv/lib/%s/site-packages/__editable__.lib.pth", versioned());
    pf_text("library/src/lib.py", 0644, "\n");
    pf_text(pth, 0644, "import sys\n%s\n/never/was/here\n", pf_tree);
    run_as(pf_system_version());
    pf_expect_none();
    pf_text(pth, 0644, "%s\n", pf_path("library/src"));
    run_as(pf_system_version());
    const struct sr_finding *f = &pf_found.v[0];
    cr_assert_eq(pf_found.n, 1);
    cr_expect_str_eq(f->code, "env.mismatch.moved");
    contains(f->remedy, pf_path("library/src"));
    pf_mount(pf_path("library/src"), pf_path("library/src"));
    run_as(pf_system_version());
    pf_expect_none();
}

/* ---- incomplete ---- */

Test(preflight, a27_what_a_stopped_removal_leaves)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_remove("tree/.venv/pyvenv.cfg");
    run_as(pf_system_version());
    contains(pf_expect_one("env.mismatch.incomplete", ".venv/pyvenv.cfg")->found, "no pyvenv.cfg");
    cr_expect_eq(fake.calls, 0);

    pf_venv("tree/.venv", "--symlinks");
    pf_remove("tree/.venv/bin");
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.incomplete", ".venv/bin");

    /* a name that says nothing, and nothing else of an environment */
    pf_remove("tree/.venv");
    pf_text("tree/tools/bin/python", 0755, "#!/bin/sh\n");
    run_as(pf_system_version());
    pf_expect_none();
}

Test(preflight, a27_environments_of_tox_and_nox)
{
    pf_venv("tree/.tox/py311", "--symlinks");
    pf_venv("tree/.nox/tests", "--symlinks");
    pf_text("tree/.tox/log/1.log", 0644, "x\n");
    run_as(pf_system_version());
    pf_expect_none();
    cr_expect_eq(fake.calls, 2);
    pf_link("tree/.nox/tests/bin/python3", "/opt/gone/python3");
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.interpreter_missing", ".nox/tests/bin/python");
}

/* ---- the rest of the contract ---- */

Test(preflight, a27_findings_as_json)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_link("tree/.venv/bin/python3", "/opt/gone/python3");
    run_as(pf_system_version());
    const struct sr_finding *f =
        pf_expect_one("env.mismatch.interpreter_missing", ".venv/bin/python");
    cleanup_json cJSON *array = sr_findings_json(&pf_found);
    cr_assert_eq(cJSON_GetArraySize(array), 1);
    const cJSON *o = cJSON_GetArrayItem(array, 0);
    cr_expect_str_eq(sr_json_string(o, "code"), f->code);
    cr_expect_str_eq(sr_json_string(o, "path"), f->path);
    cr_expect_str_eq(sr_json_string(o, "expected"), f->expected);
    cr_expect_str_eq(sr_json_string(o, "found"), f->found);
    cr_expect_str_eq(sr_json_string(o, "text"), f->text);
    cr_expect_str_eq(sr_json_string(o, "remedy"), f->remedy);
}

Test(preflight, a27_another_root_filesystem_is_an_error_not_a_pass)
{
    struct sr_error err = { 0 };
    struct sr_findings none = { 0 };
    pf_plan.rootfs = SR_ROOTFS_IMAGE;
    cr_assert_eq(sr_preflight(&pf_plan, NULL, NULL, &none, &err), -1);
    cr_expect_str_eq(err.code, "preflight.rootfs");
    pf_plan.rootfs = SR_ROOTFS_HOST;
    cr_assert_eq(rmdir(pf_tree), 0);
    sr_error_clear(&err);
    cr_assert_eq(sr_preflight(&pf_plan, NULL, NULL, &none, &err), -1);
    cr_expect_str_eq(err.code, "preflight.tree");
}

Test(preflight, a27_looking_changes_nothing)
{
    struct stat before, after;
    pf_venv("tree/.venv", "--symlinks");
    cr_assert_eq(stat(pf_path("tree/.venv/bin"), &before), 0);
    run_as(pf_system_version());
    cr_assert_eq(stat(pf_path("tree/.venv/bin"), &after), 0);
    cr_expect(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec &&
              before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
}
