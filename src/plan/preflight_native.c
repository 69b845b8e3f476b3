/* SPDX-License-Identifier: MIT */
/* Compiled parts of an environment: were they built for this machine and this root filesystem's
 * libc? */
#include "plan/preflight.h"

#include "base/fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 4 };

static bool add(struct preflight *pf, const char *code, char *path, char *expected, char *found,
                const char *remedy)
{
    preflight_add(pf, (struct sr_finding){
                          .code = code,
                          .path = path,
                          .expected = expected,
                          .found = found,
                          .text = sr_asprintf("%s cannot be loaded in the check's root filesystem: "
                                              "it is built for %s, and there is %s",
                                              path, expected, found),
                          .remedy = sr_strdup(remedy),
                      });
    return false;
}

static bool loader_fits(struct preflight *pf, const struct elf_info *elf, char *path,
                        const char *remedy)
{
    cleanup_inside struct inside w = { 0 };
    if (elf->interp[0] == '/')
        inside_walk(pf->plan, elf->interp, &w);
    if (elf->interp[0] == '/' && w.end != INSIDE_THERE)
        return add(pf, "env.mismatch.libc", path, sr_asprintf("the loader %s", elf->interp),
                   sr_asprintf("no %s inside", elf->interp), remedy);
    /* Without a loader of its own (a library): the libc it asks for has to be the one of the
     * programs that load it. */
    if (!elf->interp[0] && elf->libc != ELF_LIBC_UNKNOWN && preflight_libc(pf) != ELF_LIBC_UNKNOWN &&
        elf->libc != preflight_libc(pf))
        return add(pf, "env.mismatch.libc", path, sr_strdup(elf_libc_name(elf->libc)),
                   sr_asprintf("%s (the loader of /bin/sh)", elf_libc_name(preflight_libc(pf))), remedy);
    free(path);
    return true;
}

bool preflight_elf(struct preflight *pf, const struct elf_info *elf, char *path, const char *remedy)
{
    if (pf->machine && elf->machine != pf->machine)
        return add(pf, "env.mismatch.arch", path, sr_strdup(elf_machine_name(elf->machine)),
                   sr_asprintf("%s (this host)", elf_machine_name(pf->machine)), remedy);
    return loader_fits(pf, elf, path, remedy);
}

/*
 * A module whose name carries the tag of an interpreter is loaded or not at all: one for another
 * machine is a finding. A library without may be data, such as a debugger's helpers for each
 * machine it can attach on: those count only when nothing in the environment is for this one.
 */
struct search {
    struct preflight *pf;
    const char *name, *suffix;
    unsigned entries, libraries; /* looked at */
    bool found;                  /* one finding says it: the others come from the same build */
    bool one_fits;
    struct sr_finding doubtful; /* code NULL: none */
};

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static bool is_module(const char *name)
{
    return strstr(name, ".cpython-") || strstr(name, ".pypy") || has_suffix(name, ".abi3.so") ||
           has_suffix(name, ".node");
}

static void judge(struct search *s, const struct elf_info *elf, char *path, bool module)
{
    cleanup_free char *remedy = sr_asprintf("install %s again in the root filesystem that the "
                                            "check has, or pin the image it was installed in",
                                            s->name);
    if (preflight_elf(s->pf, elf, path, remedy)) {
        s->one_fits = true;
        return;
    }
    s->found = module;
    if (module)
        return;
    struct sr_finding taken = s->pf->found.v[--s->pf->found.n];
    if (s->doubtful.code)
        preflight_drop(&taken);
    else
        s->doubtful = taken;
}

static void look_at(struct search *s, int dir, const char *at, const char *name)
{
    struct elf_info elf;
    cleanup_fd int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    s->libraries++;
    if (fd >= 0 && elf_read_fd(fd, &elf) == 0)
        judge(s, &elf, sr_asprintf("%s/%s/%s", s->name, at, name), is_module(name));
}

static bool exhausted(const struct search *s)
{
    return s->found || s->entries >= PREFLIGHT_LIBRARY_ENTRIES ||
           s->libraries >= PREFLIGHT_LIBRARIES;
}

/* Takes fd, the directory at. */
static void search(struct search *s, int fd, const char *at, unsigned depth)
{
    cleanup_dir DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return;
    for (struct dirent *e; !exhausted(s) && (e = readdir(d));) {
        s->entries++;
        if (e->d_name[0] == '.')
            continue;
        cleanup_free char *below = sr_path_join(at, e->d_name);
        if (e->d_type == DT_DIR && depth < DEPTH_MAX)
            search(s, openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                   below, depth + 1);
        else if (e->d_type != DT_DIR && has_suffix(e->d_name, s->suffix))
            look_at(s, dirfd(d), at, e->d_name);
    }
}

void preflight_libraries(struct preflight *pf, const char *name, int fd, const char *dir,
                         const char *suffix)
{
    struct search s = { .pf = pf, .name = name, .suffix = suffix };
    /* links on the way are followed as long as they stay in the environment: pnpm's packages are
     * links into .pnpm */
    search(&s,
           sr_openat2(fd, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS),
           dir, 0);
    if (s.doubtful.code && !s.found && !s.one_fits)
        preflight_add(pf, s.doubtful);
    else
        preflight_drop(&s.doubtful);
}

void preflight_programs(struct preflight *pf, const struct venv *v)
{
    cleanup_fd int bin = openat(v->fd, "bin", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_free char *remedy = sr_asprintf("install %s again in the root filesystem that the "
                                            "check has, or pin the image it was installed in",
                                            v->name);
    for (size_t i = 0; bin >= 0 && i < v->bin.n && i < PREFLIGHT_SCRIPTS; i++) {
        struct elf_info elf;
        const char *name = v->bin.v[i];
        cleanup_fd int fd =
            openat(bin, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        /* the interpreter, where it is a file of the environment, has been judged by itself; the
         * first program that does not fit says it for all: they come from one installation */
        if (fd < 0 || strncmp(name, "python", 6) == 0 || elf_read_fd(fd, &elf) < 0)
            continue;
        if (!preflight_elf(pf, &elf, sr_asprintf("%s/bin/%s", v->name, name), remedy))
            return;
    }
}
