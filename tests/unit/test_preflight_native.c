/* SPDX-License-Identifier: MIT */
/* Compiled parts of environments for other machines and libcs, node_modules, and trees that mean
 * harm. */
#include "preflight_fixture.h"

#include "base/mem.h"
#include "plan/elf.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

TestSuite(preflight_native, .init = pf_setup, .fini = pf_teardown, .timeout = 60);

static _Alignas(8) unsigned char image[1024];
static struct pf_fake fake;

static void run_as(const char *version)
{
    fake = (struct pf_fake){ .answer = version };
    pf_run(pf_fake_version, &fake);
}

static unsigned this_machine(void)
{
    struct utsname u;
    cr_assert_eq(uname(&u), 0);
    cr_assert_neq(elf_machine_from(u.machine), 0);
    return elf_machine_from(u.machine);
}

static unsigned other_machine(void)
{
    return this_machine() == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
}

/* The loader and libc of this host, from its own shell. */
static struct elf_info shell(void)
{
    struct elf_info e;
    cleanup_fd int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && elf_read_fd(fd, &e) == 0);
    return e;
}

static const char *other_libc(void)
{
    return shell().libc == ELF_LIBC_MUSL ? "libc.so.6" : "libc.musl-x86_64.so.1";
}

static const char *this_libc(void)
{
    return shell().libc == ELF_LIBC_MUSL ? "libc.musl-x86_64.so.1" : "libc.so.6";
}

static void write_elf(const char *path, unsigned machine, const char *interp, const char *needed)
{
    pf_write(path, image, pf_elf(image, machine, interp, needed), 0755);
}

static const char *library(const char *name)
{
    unsigned major, minor;
    static char path[256];
    cr_assert_eq(sscanf(pf_system_version(), "%u.%u", &major, &minor), 2);
    snprintf(path, sizeof path, "tree/.venv/lib/python%u.%u/site-packages/pkg/%s", major, minor,
             name);
    return path;
}

/* ---- the header reader ---- */

Test(preflight_native, a27_reads_this_hosts_own_programs)
{
    struct elf_info e = shell();
    cr_expect_eq(e.machine, this_machine());
    cr_expect_eq(e.interp[0], '/');
    cr_expect_neq(e.libc, ELF_LIBC_UNKNOWN);
    cr_expect_eq(access(e.interp, F_OK), 0, "%s", e.interp);
}

Test(preflight_native, a27_libc_by_what_a_library_needs)
{
    static const struct {
        const char *interp, *needed;
        enum elf_libc libc;
    } cases[] = {
        { NULL, "libc.so.6", ELF_LIBC_GLIBC },
        { NULL, "libc.musl-x86_64.so.1", ELF_LIBC_MUSL },
        { NULL, "libstdc++.so.6", ELF_LIBC_UNKNOWN },
        { NULL, NULL, ELF_LIBC_UNKNOWN },
        { "/lib/ld-musl-x86_64.so.1", NULL, ELF_LIBC_MUSL },
        { "/lib64/ld-linux-x86-64.so.2", NULL, ELF_LIBC_GLIBC },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elf_info e;
        size_t n = pf_elf(image, EM_RISCV, cases[i].interp, cases[i].needed);
        cr_assert_eq(elf_read_bytes(image, n, &e), 0, "case %zu", i);
        cr_expect_eq(e.libc, cases[i].libc, "case %zu", i);
        cr_expect_eq(e.machine, EM_RISCV);
        cr_expect_str_eq(e.interp, cases[i].interp ? cases[i].interp : "");
    }
}

Test(preflight_native, a27_damaged_headers_are_no_elf)
{
    struct elf_info e;
    size_t n = pf_elf(image, EM_X86_64, "/lib64/ld-linux-x86-64.so.2", "libc.so.6");
    cr_expect_eq(elf_read_bytes(image, 3, &e), -1);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *copy =
            sr_malloc(cut + 1); /* of its exact size, so that a sanitizer sees a read past it */
        memcpy(copy, image, cut);
        if (cut < 300)
            cr_expect_eq(elf_read_bytes(copy, cut, &e), -1, "cut at %zu", cut);
        else if (elf_read_bytes(copy, cut, &e) == 0)
            cr_expect_eq(e.machine, EM_X86_64);
        free(copy);
    }
    ((Elf64_Ehdr *)(void *)image)->e_phoff = UINT64_MAX - 8;
    cr_expect_eq(elf_read_bytes(image, n, &e), -1);
    pf_elf(image, EM_X86_64, NULL, NULL);
    ((Elf64_Ehdr *)(void *)image)->e_phnum = 60000;
    cr_expect_eq(elf_read_bytes(image, n, &e), -1);
}

/* ---- environments for elsewhere ---- */

Test(preflight_native, a27_an_interpreter_for_another_machine)
{
    pf_venv("tree/.venv", "--copies");
    write_elf("tree/.venv/bin/python", this_machine(), shell().interp, NULL);
    run_as(pf_system_version());
    pf_expect_none();
    write_elf("tree/.venv/bin/python", other_machine(), shell().interp, NULL);
    run_as(pf_system_version());
    const struct sr_finding *f = pf_expect_one("env.mismatch.arch", ".venv/bin/python");
    cr_expect_str_eq(f->expected, elf_machine_name((uint16_t)other_machine()));
    cr_expect(strstr(f->found, elf_machine_name((uint16_t)this_machine())), "%s", f->found);
    cr_expect_eq(fake.calls, 0);
}

Test(preflight_native, a27_an_interpreter_whose_loader_is_not_there)
{
    pf_venv("tree/.venv", "--copies");
    write_elf("tree/.venv/bin/python", this_machine(), "/lib/ld-nowhere.so.1", NULL);
    run_as(pf_system_version());
    const struct sr_finding *f = pf_expect_one("env.mismatch.libc", ".venv/bin/python");
    cr_expect(strstr(f->expected, "/lib/ld-nowhere.so.1"), "%s", f->expected);
    cr_expect_eq(fake.calls, 0);
}

Test(preflight_native, a27_extension_modules_for_another_machine_or_libc)
{
    static const char *const names[] = { "fast.cpython-311-x86_64-linux-gnu.so", "fast.abi3.so" };
    pf_venv("tree/.venv", "--symlinks");
    write_elf(library("good.so"), this_machine(), NULL, this_libc());
    pf_text(library("text.so"), 0644, "/* a linker script */\n");
    run_as(pf_system_version());
    pf_expect_none();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_elf(library(names[i]), this_machine(), NULL, other_libc());
        run_as(pf_system_version());
        pf_expect_one("env.mismatch.libc", library(names[i]) + strlen("tree/"));
        write_elf(library(names[i]), other_machine(), NULL, this_libc());
        run_as(pf_system_version());
        pf_expect_one("env.mismatch.arch", library(names[i]) + strlen("tree/"));
        pf_remove(library(names[i]));
    }
}

/* A debugger ships helpers for every machine it can attach on. */
Test(preflight_native, a27_a_foreign_library_among_fitting_ones_is_data)
{
    pf_venv("tree/.venv", "--symlinks");
    write_elf(library("attach_other.so"), other_machine(), NULL, this_libc());
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.arch", library("attach_other.so") + strlen("tree/"));
    write_elf(library("attach_this.so"), this_machine(), NULL, this_libc());
    run_as(pf_system_version());
    pf_expect_none();
}

/* ---- node_modules ---- */

Test(preflight_native, a27_environments_that_are_links_out_of_the_tree)
{
    static const char *const names[] = { "node_modules",    ".tox",          ".nox",
                                         "vendor",          "vendor/bundle", "__pypackages__",
                                         "bower_components" };
    pf_text("shared/x/index.js", 0644, "x");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *link = sr_asprintf("tree/%s", names[i]);
        pf_link(link, pf_path("shared"));
        pf_run(NULL, NULL);
        const struct sr_finding *f = pf_expect_one("env.mismatch.incomplete", names[i]);
        cr_expect_not_null(strstr(f->expected, " -> "), "%s", f->expected);
        cr_expect_not_null(strstr(f->found, pf_path("shared")), "%s", f->found);
        cr_expect_not_null(strstr(f->remedy, "\"mounts\""), "%s", f->remedy);
        pf_remove(link);
        /* a link within the tree is as good as what it leads to */
        pf_text("tree/inside/x/index.js", 0644, "x");
        pf_link(link, pf_path("tree/inside"));
        pf_run(NULL, NULL);
        pf_expect_none();
        pf_remove(link);
        pf_remove("tree/inside");
        /* its parent, made for it */
        rmdir(pf_path("tree/vendor"));
    }
    pf_link("tree/vendor", "not/checked/out");
    pf_run(NULL, NULL);
    pf_expect_none();
    pf_link("tree/node_modules", pf_path("shared"));
    pf_mount(pf_path("shared"), pf_path("shared"));
    pf_run(NULL, NULL);
    pf_expect_none();
}

Test(preflight_native, a27_packages_behind_a_link_are_judged_too)
{
    cr_assert_eq(mkdir(pf_path("tree/installed"), 0755), 0);
    pf_link("tree/node_modules", "installed");
    pf_text("tree/package.json", 0644, "{\"dependencies\": {\"x\": \"1\"}}\n");
    pf_run(NULL, NULL);
    pf_expect_one("env.mismatch.incomplete", "node_modules");
}

Test(preflight_native, a27_an_emptied_node_modules)
{
    cr_assert_eq(mkdir(pf_path("tree/node_modules"), 0755), 0);
    pf_text("tree/package.json", 0644, "{\"name\": \"x\"}\n");
    run_as(NULL);
    pf_expect_none();
    pf_text("tree/package.json", 0644, "{\"devDependencies\": {\"left-pad\": \"1\"}}\n");
    run_as(NULL);
    pf_expect_one("env.mismatch.incomplete", "node_modules");
    pf_text("tree/node_modules/.package-lock.json", 0644, "{}\n");
    run_as(NULL);
    pf_expect_one("env.mismatch.incomplete", "node_modules");
    pf_text("tree/node_modules/left-pad/index.js", 0644, "\n");
    run_as(NULL);
    pf_expect_none();
}

Test(preflight_native, a27_node_packages_for_another_platform)
{
    bool arm = this_machine() == EM_AARCH64;
    cr_assert(arm || this_machine() == EM_X86_64, "the test knows these two machines");
    pf_text("tree/node_modules/@esbuild/darwin-arm64/package.json", 0644, "{}\n");
    pf_text("tree/node_modules/is-linux-tools/package.json", 0644, "{}\n");
    run_as(NULL);
    pf_expect_one("env.mismatch.arch", "node_modules/@esbuild/darwin-arm64");
    pf_text(arm ? "tree/node_modules/@esbuild/linux-arm64/package.json"
                : "tree/node_modules/@esbuild/linux-x64/package.json",
            0644, "{}\n");
    run_as(NULL);
    pf_expect_none();

    bool musl = shell().libc == ELF_LIBC_MUSL;
    cleanup_free char *wrong = sr_asprintf("node_modules/@rollup/rollup-linux-%s-%s",
                                           arm ? "arm64" : "x64", musl ? "gnu" : "musl");
    cleanup_free char *right = sr_asprintf("node_modules/@rollup/rollup-linux-%s-%s",
                                           arm ? "arm64" : "x64", musl ? "musl" : "gnu");
    cleanup_free char *file = sr_asprintf("tree/%s/package.json", wrong);
    pf_text(file, 0644, "{}\n");
    run_as(NULL);
    pf_expect_one("env.mismatch.libc", wrong);
    cleanup_free char *also = sr_asprintf("tree/%s/package.json", right);
    pf_text(also, 0644, "{}\n");
    run_as(NULL);
    pf_expect_none();
}

Test(preflight_native, a27_what_node_gyp_built_elsewhere)
{
    write_elf("tree/node_modules/pkg/prebuilds/other/pkg.node", other_machine(), NULL, NULL);
    write_elf("tree/node_modules/pkg/build/Release/pkg.node", this_machine(), NULL, NULL);
    run_as(NULL);
    pf_expect_none();
    write_elf("tree/node_modules/@scope/pkg/build/Release/pkg.node", other_machine(), NULL, NULL);
    run_as(NULL);
    pf_expect_one("env.mismatch.arch", "node_modules/@scope/pkg/build/Release/pkg.node");
}

Test(preflight_native, a27_pnpms_store_at_another_path)
{
    char *pnpm[] = { (char[]){ "/usr/bin/pnpm" }, (char[]){ "test" }, NULL },
         *vitest[] = { (char[]){ "vitest" }, NULL };
    pf_text("tree/node_modules/x/index.js", 0644, "\n");
    pf_text("tree/node_modules/.modules.yaml", 0644,
            "layoutVersion: 5\nstoreDir: /nowhere/store/v3\nx: y\n");
    pf_plan.command = (struct sr_strv){ vitest, 1 };
    run_as(NULL);
    pf_expect_none();
    pf_plan.command = (struct sr_strv){ pnpm, 2 };
    run_as(NULL);
    cr_expect_str_eq(pf_expect_one("env.mismatch.moved", "node_modules/.modules.yaml")->expected,
                     "/nowhere/store/v3 (storeDir)");
    pf_text("tree/node_modules/.modules.yaml", 0644, "{\n  \"storeDir\": \"%s\",\n  \"x\": 1 }\n",
            pf_path("tree/store"));
    run_as(NULL);
    pf_expect_one("env.mismatch.moved", "node_modules/.modules.yaml");
    cr_assert_eq(mkdir(pf_path("tree/store"), 0755), 0);
    run_as(NULL);
    pf_expect_none();
}

/* ---- trees that mean harm: it ends, soon, and says something true ---- */

Test(preflight_native, a27_fifos_are_not_waited_for, .timeout = 20)
{
    pf_venv("tree/.venv", "--symlinks");
    const char *const fifos[] = { "tree/.venv/pyvenv.cfg",
                                  "tree/.venv/bin/tool",
                                  "tree/.venv/bin/activate",
                                  library("x.so"),
                                  library("x.pth"),
                                  "tree/package.json",
                                  "tree/node_modules/.modules.yaml" };
    char *pnpm[] = { (char[]){ "pnpm" }, NULL };
    pf_plan.command = (struct sr_strv){ pnpm, 1 };
    for (size_t i = 0; i < sizeof fifos / sizeof *fifos; i++) {
        pf_text(fifos[i], 0644, "x");
        cr_assert_eq(unlink(pf_path(fifos[i])), 0);
        cr_assert_eq(mkfifo(pf_path(fifos[i]), 0755), 0, "%s", fifos[i]);
    }
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.incomplete", ".venv/pyvenv.cfg");

    pf_venv("tree/venv", "--symlinks");
    cr_assert_eq(unlink(pf_path("tree/venv/bin/python")), 0);
    cr_assert_eq(mkfifo(pf_path("tree/venv/bin/python"), 0755), 0);
    run_as(pf_system_version());
    cr_expect_not_null(pf_find("env.mismatch.interpreter_missing"));
}

Test(preflight_native, a27_loops_of_links_end, .timeout = 20)
{
    pf_venv("tree/.venv", "--symlinks");
    pf_link("tree/.venv/bin/python3", "python");
    pf_link("tree/.venv/bin/python", "python3");
    pf_link("tree/venv", "venv");
    run_as(pf_system_version());
    for (size_t i = 0; i < pf_found.n; i++)
        cr_expect_str_eq(pf_found.v[i].code, "env.mismatch.interpreter_missing", "%s",
                         pf_found.v[i].text);
    cr_expect_geq(pf_found.n, 2);
    cr_expect(strstr(pf_found.v[0].found, "loop of links"), "%s", pf_found.v[0].found);
}

Test(preflight_native, a27_huge_files_are_not_read, .timeout = 20)
{
    pf_venv("tree/.venv", "--symlinks");
    const char *const huge[] = { "tree/.venv/pyvenv.cfg", "tree/.venv/bin/tool",
                                 "tree/.venv/bin/activate", library("x.so") };
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        pf_text(huge[i], 0755, "x");
        cr_assert_eq(truncate(pf_path(huge[i]), (off_t)1 << 40), 0, "%s", huge[i]);
    }
    run_as(pf_system_version());
    pf_expect_one("env.mismatch.incomplete", ".venv/pyvenv.cfg");
}

Test(preflight_native, a27_a_thousand_scripts_are_one_finding, .timeout = 20)
{
    pf_venv("tree/.venv", "--symlinks");
    for (unsigned i = 0; i < 1000; i++) {
        char name[64];
        snprintf(name, sizeof name, "tree/.venv/bin/x%04u", i);
        pf_text(name, 0755, "#!/nowhere/%u\n", i);
    }
    run_as(pf_system_version());
    const struct sr_finding *f = pf_expect_one("env.mismatch.shebang", ".venv/bin");
    unsigned n = 0;
    cr_assert_eq(sscanf(f->text, "%u console scripts", &n), 1);
    cr_expect(n > 400 && n <= 512, "%u", n);
}

Test(preflight_native, a27_links_out_of_the_environment_are_not_read_through)
{
    pf_venv("tree/.venv", "--symlinks");
    cleanup_free char *packages = sr_strdup(library(""));
    packages[strlen(packages) - strlen("/pkg/")] = '\0';
    write_elf("outside/x.so", other_machine(), NULL, NULL);
    pf_remove(packages);
    pf_link(packages, pf_path("outside"));
    run_as(pf_system_version());
    pf_expect_none();
}

/* ---- borrowed objects ---- */

static void repository(const char *path, const char *alternates)
{
    static const char *const files[] = { "HEAD", "config", "refs/heads/x", "objects/pack/x" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cleanup_free char *file = sr_asprintf("%s/%s", path, files[i]);
        pf_text(file, 0644, "%s", i ? "" : "ref: refs/heads/main\n");
    }
    cleanup_free char *list = sr_asprintf("%s/objects/info/alternates", path);
    pf_text(list, 0644, "%s", alternates);
}

/* git would read it on this host, and a hostile tree can name any repository so. */
Test(preflight_native, a09_a27_borrowed_objects_that_are_not_visible)
{
    const char *store = pf_path("main/.git/objects");
    cleanup_free char *absolute = sr_asprintf("%s\n", store),
                      *mounts = sr_asprintf("\"source\":\"%s\"", store);
    const char *const spellings[] = { absolute, "../../../main/.git/objects\n",
                                      "# x\n../../../main/.git/objects", "\"/quoted\"\n" };
    repository("main/.git", "");
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        repository("tree/.git", spellings[i]);
        pf_run(NULL, NULL);
        pf_expect_one("env.mismatch.git_alternates", ".git/objects/info/alternates");
    }
    repository("tree/.git", absolute);
    pf_run(NULL, NULL);
    const struct sr_finding *f = pf_find("env.mismatch.git_alternates");
    cr_assert_not_null(f);
    cr_expect_not_null(strstr(f->expected, store), "%s", f->expected);
    cr_expect_not_null(strstr(f->remedy, "git repack -a -d"), "%s", f->remedy);
    cr_expect_not_null(strstr(f->remedy, mounts), "%s", f->remedy);
    /* the second hop counts too */
    cleanup_free char *first = sr_asprintf("%s\n", pf_path("middle/objects"));
    pf_text("middle/objects/info/alternates", 0644, "%s", absolute);
    pf_mount(pf_path("middle"), pf_path("middle"));
    repository("tree/.git", first);
    pf_run(NULL, NULL);
    pf_expect_one("env.mismatch.git_alternates", ".git/objects/info/alternates");
    pf_mount(store, store);
    pf_run(NULL, NULL);
    pf_expect_none();
}

Test(preflight_native, a27_borrowed_objects_that_are_visible_or_nowhere)
{
    static const char *const spellings[] = { "/sandrun/not/there\n", "../../inner/objects\n", "",
                                             "#\n" };
    pf_text("tree/inner/objects/pack/x", 0644, "x");
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        repository("tree/.git", spellings[i]);
        pf_run(NULL, NULL);
        pf_expect_none();
    }
}
