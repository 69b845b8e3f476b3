/* SPDX-License-Identifier: MIT */
/* A tree in a directory of its own, Python environments in it, and the findings that a preflight
 * has there. */
#include "preflight_fixture.h"

#include "base/fs.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char pf_base[PATH_MAX];
char *pf_tree;
struct sr_plan pf_plan;
struct sr_findings pf_found;
static struct sr_strv kept;

static const char *keep(char *s)
{
    sr_strv_take(&kept, s);
    return s;
}

const char *pf_path(const char *path)
{
    return keep(sr_path_join(pf_base, path));
}

void pf_setup(void)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *name = sr_asprintf("%s/sandrun-test-preflight.XXXXXX", tmp ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(name));
    cr_assert_not_null(realpath(name, pf_base));
    pf_tree = sr_path_join(pf_base, "tree");
    cr_assert_eq(mkdir(pf_tree, 0755), 0);
    pf_plan = (struct sr_plan){ .rootfs = SR_ROOTFS_HOST, .tree = pf_tree, .tree_target = pf_tree };
}

void pf_teardown(void)
{
    struct sr_error err = { 0 };
    sr_findings_clear(&pf_found);
    for (size_t i = 0; i < pf_plan.n_mounts; i++)
        sr_mount_clear(&pf_plan.mounts[i]);
    free(pf_plan.mounts);
    cr_expect_eq(sr_remove_at(AT_FDCWD, pf_base, &err), 0, "%s", err.text);
    free(pf_tree);
    sr_strv_clear(&kept);
}

static const char *make_room(const char *path)
{
    const char *full = pf_path(path);
    cleanup_free char *parent = sr_strndup(full, (size_t)(strrchr(full, '/') - full));
    struct sr_error err = { 0 };
    cr_assert_eq(sr_mkdir_p(AT_FDCWD, parent, 0755, &err), 0, "%s", err.text);
    unlink(full);
    return full;
}

void pf_write(const char *path, const void *data, size_t len, unsigned mode)
{
    const char *full = make_room(path);
    cleanup_fd int fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    cr_assert(fd >= 0 && sr_write_all(fd, data, len) == 0 && fchmod(fd, mode) == 0, "%s", full);
}

void pf_text(const char *path, unsigned mode, const char *fmt, ...)
{
    char text[8192];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cr_assert(n >= 0 && (size_t)n < sizeof text);
    pf_write(path, text, (size_t)n, mode);
}

void pf_link(const char *path, const char *target)
{
    cr_assert_eq(symlink(target, make_room(path)), 0, "%s", path);
}

void pf_remove(const char *path)
{
    struct sr_error err = { 0 };
    cr_assert_eq(sr_remove_at(AT_FDCWD, pf_path(path), &err), 0, "%s", err.text);
}

char *pf_read(const char *path)
{
    struct sr_buf b = SR_BUF(1 << 20);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_file_read_at(AT_FDCWD, pf_path(path), 1 << 20, &b, &err), 0, "%s", err.text);
    char *text = sr_buf_steal(&b);
    keep(text);
    return text;
}

/* Output of the program, trimmed of its newline; -1 unless it exits 0. */
static int run(char *const argv[], char *out, size_t size)
{
    int fds[2], status;
    cr_assert_eq(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const env[] = { (char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "LANG=C.UTF-8" }, NULL };
        dup2(fds[1], STDOUT_FILENO);
        execve(argv[0], argv, env);
        _exit(127);
    }
    close(fds[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], out + len, size - 1 - len)) > 0;)
        len += (size_t)n;
    close(fds[0]);
    out[len] = '\0';
    out[strcspn(out, "\n")] = '\0';
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return status == 0 ? 0 : -1;
}

void pf_venv(const char *path, const char *option)
{
    char out[256];
    const char *full = pf_path(path);
    char *argv[] = { (char[]){ "/usr/bin/python3" },
                     (char[]){ "-m" },
                     (char[]){ "venv" },
                     (char[]){ "--without-pip" },
                     sr_strdup(option),
                     sr_strdup(full),
                     NULL };
    cr_assert_eq(run(argv, out, sizeof out), 0, "python3 -m venv %s: %s", full, out);
    free(argv[4]);
    free(argv[5]);
    cleanup_free char *tool = sr_asprintf("%s/bin/tool", path);
    pf_text(tool, 0755, "#!%s/bin/python3\nprint('tool')\n", full);
}

void pf_mount(const char *source, const char *target)
{
    pf_plan.mounts = sr_reallocarray(pf_plan.mounts, pf_plan.n_mounts + 1, sizeof *pf_plan.mounts);
    pf_plan.mounts[pf_plan.n_mounts++] = (struct sr_mount){ .source = sr_strdup(source),
                                                            .target = sr_strdup(target),
                                                            .readonly = true };
}

int pf_fake_version(void *ctx, const char *path_inside, char version[32])
{
    struct pf_fake *f = ctx;
    f->calls++;
    snprintf(f->path, sizeof f->path, "%s", path_inside);
    if (!f->answer)
        return -1;
    snprintf(version, 32, "%s", f->answer);
    return 0;
}

int pf_real_version(void *ctx, const char *path_inside, char version[32])
{
    (void)ctx;
    char *argv[] = { sr_strdup(path_inside), (char[]){ "-ISc" },
                     (char[]){ "import sys; print('%d.%d.%d' % sys.version_info[:3])" }, NULL };
    int ret = run(argv, version, 32);
    free(argv[0]);
    return ret;
}

const char *pf_system_version(void)
{
    static char version[32];
    if (!version[0])
        cr_assert_eq(pf_real_version(NULL, "/usr/bin/python3", version), 0);
    return version;
}

void pf_run(sr_interpreter_version *version, void *ctx)
{
    struct sr_error err = { 0 };
    sr_findings_clear(&pf_found);
    cr_assert_eq(sr_preflight(&pf_plan, version, ctx, &pf_found, &err), 0, "%s", err.text);
    for (size_t i = 0; i < pf_found.n; i++) {
        const struct sr_finding *f = &pf_found.v[i];
        cr_expect(f->code && f->path && *f->path && f->expected && *f->expected && f->found &&
                  *f->found && f->text && *f->text && f->remedy && *f->remedy);
    }
}

void pf_expect_none(void)
{
    cr_expect_eq(pf_found.n, 0, "%s: %s", pf_found.n ? pf_found.v[0].code : "",
                 pf_found.n ? pf_found.v[0].text : "");
}

const struct sr_finding *pf_expect_one(const char *code, const char *path)
{
    cr_assert_geq(pf_found.n, 1, "no %s", code);
    const struct sr_finding *f = &pf_found.v[0];
    cr_expect_eq(pf_found.n, 1, "also %s: %s", pf_found.v[pf_found.n - 1].code,
                 pf_found.v[pf_found.n - 1].text);
    cr_expect_str_eq(f->code, code, "%s: %s", f->code, f->text);
    cr_expect_str_eq(f->path, path);
    return f;
}

const struct sr_finding *pf_find(const char *code)
{
    for (size_t i = 0; i < pf_found.n; i++)
        if (strcmp(pf_found.v[i].code, code) == 0)
            return &pf_found.v[i];
    return NULL;
}

size_t pf_elf(unsigned char out[1024], unsigned machine, const char *interp, const char *needed)
{
    Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)out;
    Elf64_Phdr *p = (Elf64_Phdr *)(void *)(out + sizeof *e);
    Elf64_Dyn *d = (Elf64_Dyn *)(void *)(out + 512);
    memset(out, 0, 1024);
    memcpy(e->e_ident, ELFMAG, SELFMAG);
    e->e_ident[EI_CLASS] = ELFCLASS64;
    e->e_ident[EI_DATA] = ELFDATA2LSB;
    e->e_machine = (Elf64_Half)machine;
    e->e_phoff = sizeof *e;
    e->e_phentsize = sizeof *p;
    p[e->e_phnum++] =
        (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = 0, .p_vaddr = 0x400000, .p_filesz = 1024 };
    if (interp) {
        memcpy(out + 640, interp, strlen(interp) + 1);
        p[e->e_phnum++] =
            (Elf64_Phdr){ .p_type = PT_INTERP, .p_offset = 640, .p_filesz = strlen(interp) + 1 };
    }
    if (needed) {
        memcpy(out + 901, needed, strlen(needed) + 1);
        d[0] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 1 };
        d[1] = (Elf64_Dyn){ .d_tag = DT_STRTAB, .d_un.d_ptr = 0x400000 + 900 };
        p[e->e_phnum++] =
            (Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_offset = 512, .p_filesz = 3 * sizeof *d };
    }
    return 1024;
}
