/* SPDX-License-Identifier: MIT */
/* One Python environment: is it whole, and is its interpreter there, runnable and of the version it
 * was made for? */
#include "plan/preflight.h"

#include "base/fs.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *venv_path(const struct venv *v, const char *rest)
{
    return strcmp(v->name, ".") == 0 ? sr_strdup(rest) : sr_path_join(v->name, rest);
}

static void add(struct preflight *pf, const char *code, char *path, char *expected, char *found,
                char *text, char *remedy)
{
    preflight_add(pf, (struct sr_finding){ code, path, expected, found, text, remedy });
}

static char *rebuild_remedy(const struct venv *v)
{
    if (v->system)
        return sr_asprintf("rebuild %s with the interpreter of the root filesystem, outside of a "
                           "check (for example: %s -m venv --clear "
                           "%s, then install), or pin the image it was built in",
                           v->name, v->system, v->name);
    return sr_asprintf(
        "the root filesystem has no Python: install one, or pin the image that %s was built in",
        v->name);
}

/* ---- what is there ---- */

/* "python3.11", "pythonX.Y" as a directory of lib or an entry of bin; also pypy's spelling. */
static bool python_minor(const char *name, struct py_version *ret)
{
    const char *number = sr_text_starts(name, "python") ? name + 6
                         : sr_text_starts(name, "pypy") ? name + 4
                                                        : NULL;
    if (!number)
        return false;
    *ret = py_version_parse(number);
    /* 3.13t, the free-threaded build, keeps its letter */
    return ret->n == 2 && number[strspn(number, "0123456789.t")] == '\0';
}

static bool is_interpreter_name(const char *name)
{
    return sr_text_starts(name, "python") && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

static void read_minors(struct venv *v)
{
    cleanup_strv struct sr_strv names = { 0 };
    if (!preflight_names(v->fd, "lib", PREFLIGHT_BIN_ENTRIES, &names))
        return;
    for (size_t i = 0; i < names.n && v->n_minors < PREFLIGHT_MINORS; i++)
        v->n_minors += python_minor(names.v[i], &v->minors[v->n_minors]);
}

/* A Python of the root filesystem: of the wanted minor version, else any. */
static char *system_python(const struct sr_plan *p, const struct venv *v)
{
    char exact[2][64] = { "", "" };
    const char *candidates[] = { exact[0], exact[1], "/usr/local/bin/python3", "/usr/bin/python3" };
    if (v->n_minors) {
        snprintf(exact[0], sizeof exact[0], "/usr/local/bin/python%u.%u", v->minors[0].v[0],
                 v->minors[0].v[1]);
        snprintf(exact[1], sizeof exact[1], "/usr/bin/python%u.%u", v->minors[0].v[0],
                 v->minors[0].v[1]);
    }
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        cleanup_inside struct inside w = { 0 };
        if (candidates[i][0])
            inside_walk(p, candidates[i], &w);
        if (candidates[i][0] && w.end == INSIDE_THERE && S_ISREG(w.mode))
            return sr_strdup(w.path);
    }
    return NULL;
}

static void read_cfg(struct preflight *pf, struct venv *v)
{
    cleanup_buf struct sr_buf b = SR_BUF(PYVENV_MAX);
    struct sr_error err = { 0 };
    if (sr_file_read_at(v->fd, "pyvenv.cfg", PYVENV_MAX, &b, &err) == 0) {
        v->has_cfg = true;
        pyvenv_parse(b.data ? b.data : "", b.len, &v->cfg);
    } else if (strcmp(err.code, "file.missing") != 0) {
        add(pf, "env.mismatch.incomplete", venv_path(v, "pyvenv.cfg"),
            sr_strdup("a small regular file"), sr_strdup(err.text),
            sr_asprintf("the environment %s has no readable pyvenv.cfg: %s", v->name, err.text),
            rebuild_remedy(v));
    }
}

/* ---- is it whole? ---- */

static bool has(const struct venv *v, const char *name)
{
    return faccessat(v->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_interpreter(const struct venv *v)
{
    for (size_t i = 0; i < v->bin.n; i++)
        if (is_interpreter_name(v->bin.v[i]))
            return true;
    return has(v, "bin/python"); /* bin was read up to a limit */
}

/* virtualenv before 20 wrote no pyvenv.cfg, and noted the prefix in the library instead; conda
 * never writes one. */
static bool needs_no_cfg(const struct venv *v)
{
    if (has(v, "conda-meta"))
        return true;
    for (size_t i = 0; i < v->n_minors; i++) {
        cleanup_free char *note =
            sr_asprintf("lib/python%u.%u/orig-prefix.txt", v->minors[i].v[0], v->minors[i].v[1]);
        if (has(v, note))
            return true;
    }
    return false;
}

static bool was_venv(const struct venv *v)
{
    return has(v, "bin/activate") || (v->named_so && (has_interpreter(v) || v->n_minors));
}

/* Without pyvenv.cfg an interpreter takes itself for a system's, and the environment's packages are
 * not seen. */
static bool is_whole(struct preflight *pf, const struct venv *v)
{
    if (!v->has_cfg && !has(v, "pyvenv.cfg") && !needs_no_cfg(v) && was_venv(v)) {
        add(pf, "env.mismatch.incomplete", venv_path(v, "pyvenv.cfg"),
            sr_strdup("pyvenv.cfg beside bin and lib"), sr_strdup("no pyvenv.cfg"),
            sr_asprintf("the environment %s is incomplete: it has %s and no pyvenv.cfg, as a "
                        "removal that stopped half-way leaves it",
                        v->name, v->bin.n ? "bin" : "lib"),
            rebuild_remedy(v));
        return false;
    }
    if (v->has_cfg && !has_interpreter(v) && (v->named_so || has(v, "bin") || has(v, "lib"))) {
        const char *why = has(v, "Scripts") ? "was made on Windows" : "is incomplete";
        add(pf, "env.mismatch.incomplete", venv_path(v, "bin"),
            sr_strdup("an interpreter, bin/python"), sr_strdup("none in bin"),
            sr_asprintf("the environment %s %s: it has pyvenv.cfg and no interpreter in bin",
                        v->name, why),
            rebuild_remedy(v));
        return false;
    }
    return v->has_cfg || has_interpreter(v);
}

void preflight_venv(struct preflight *pf, const char *name, int fd, bool named_so)
{
    struct venv v = { .name = name, .named_so = named_so, .fd = fd };
    v.inside = strcmp(name, ".") == 0 ? sr_strdup(pf->plan->tree_target)
                                      : sr_path_join(pf->plan->tree_target, name);
    if (!preflight_names(fd, "bin", PREFLIGHT_BIN_ENTRIES, &v.bin) && has(&v, "bin/python"))
        sr_strv_add(&v.bin,
                    "python"); /* bin is a link: not listed, but the interpreter is judged */
    read_minors(&v);
    v.system = system_python(pf->plan, &v);
    read_cfg(pf, &v);
    if (is_whole(pf, &v)) {
        preflight_interpreter(pf, &v);
        preflight_scripts(pf, &v);
        preflight_programs(pf, &v);
        for (size_t i = 0; i < v.n_minors; i++) {
            cleanup_free char *dir =
                sr_asprintf("lib/python%u.%u/site-packages", v.minors[i].v[0], v.minors[i].v[1]);
            preflight_libraries(pf, v.name, v.fd, dir, ".so");
            preflight_editable(pf, &v, dir);
        }
    }
    pyvenv_clear(&v.cfg);
    sr_strv_clear(&v.bin);
    free(v.inside);
    free(v.system);
}

/* ---- the interpreter ---- */

/* What the environment names: "Python 3.11.16 of /opt/py/bin (pyvenv.cfg), <chain of links>". */
static char *named(const struct venv *v, const char *chain)
{
    return sr_asprintf("Python %s of %s (pyvenv.cfg), %s",
                       v->cfg.version ? v->cfg.version : "of a version not named",
                       v->cfg.home ? v->cfg.home : "a directory not named", chain);
}

static char *no_interpreter_found(const struct venv *v, const struct inside *w)
{
    char *missing = w->end == INSIDE_LOOP ? sr_strdup("a loop of links")
                    : strcmp(w->absent, w->path) == 0
                        ? sr_asprintf("no %s inside", w->path)
                        : sr_asprintf("no %s inside (%s does not exist there)", w->path, w->absent);
    char *ret = sr_asprintf("%s; %s%s", missing,
                            v->system ? v->system : "the root filesystem has no Python",
                            v->system ? " is there" : "");
    free(missing);
    return ret;
}

static void add_missing(struct preflight *pf, const struct venv *v, const char *entry,
                        const struct inside *w)
{
    char *found = no_interpreter_found(v, w);
    char *mount = w->end == INSIDE_ABSENT ? preflight_mount_remedy(pf->plan, w->path) : NULL;
    add(pf, "env.mismatch.interpreter_missing", venv_path(v, entry), named(v, w->chain), found,
        sr_asprintf("the interpreter of the environment %s does not exist in the check's root "
                    "filesystem: %s; %s",
                    v->name, w->chain, found),
        mount ? mount : rebuild_remedy(v));
}

static void add_unrunnable(struct preflight *pf, const struct venv *v, const char *entry,
                           const struct inside *w, const char *why)
{
    add(pf, "env.mismatch.interpreter_missing", venv_path(v, entry), named(v, w->chain),
        sr_asprintf("%s %s", w->path, why),
        sr_asprintf("the interpreter of the environment %s cannot be used: %s: %s %s", v->name,
                    w->chain, w->path, why),
        rebuild_remedy(v));
}

/* Its ELF header, when it has one: a script that stands for an interpreter is judged by running it.
 */
static bool elf_fits(struct preflight *pf, const struct venv *v, const char *entry,
                     const struct inside *w)
{
    struct elf_info elf;
    cleanup_fd int fd =
        w->host ? open(w->host, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    if (fd < 0 || elf_read_fd(fd, &elf) < 0)
        return true;
    cleanup_free char *remedy = rebuild_remedy(v);
    return preflight_elf(pf, &elf, venv_path(v, entry), remedy);
}

static bool entry_fits(struct preflight *pf, const struct venv *v, const char *entry,
                       char **last_missing)
{
    cleanup_free char *path = sr_path_join(v->inside, entry);
    cleanup_inside struct inside w;
    inside_walk(pf->plan, path, &w);
    if (w.end != INSIDE_THERE) {
        /* python, python3 and python3.X lead to one place: said once */
        if (!*last_missing || strcmp(*last_missing, w.path) != 0)
            add_missing(pf, v, entry, &w);
        free(*last_missing);
        *last_missing = sr_strdup(w.path);
        return false;
    }
    if (!S_ISREG(w.mode) || !(w.mode & 0111)) {
        add_unrunnable(pf, v, entry, &w,
                       S_ISREG(w.mode) ? "is not executable" : "is not a regular file");
        return false;
    }
    return elf_fits(pf, v, entry, &w);
}

static bool same_numbers(const struct py_version *a, const struct py_version *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (i >= a->n || i >= b->n || a->v[i] != b->v[i])
            return false;
    return true;
}

static bool has_library_for(const struct venv *v, const struct py_version *real)
{
    for (size_t i = 0; i < v->n_minors; i++)
        if (same_numbers(&v->minors[i], real, 2))
            return true;
    return v->n_minors == 0;
}

static char *made_for(const struct venv *v, const struct py_version *real)
{
    if (!has_library_for(v, real))
        return sr_asprintf("Python %u.%u (lib/python%u.%u)", v->minors[0].v[0], v->minors[0].v[1],
                           v->minors[0].v[0], v->minors[0].v[1]);
    return sr_asprintf("Python %s (pyvenv.cfg)", v->cfg.version);
}

static void compare_versions(struct preflight *pf, const struct venv *v, const char *entry,
                             const char *final, const char *version)
{
    struct py_version real = py_version_parse(version);
    const struct py_version *said = &v->cfg.number;
    bool minor = !has_library_for(v, &real) || (said->n >= 2 && !same_numbers(said, &real, 2));
    if (!minor && (said->n < 3 || same_numbers(said, &real, 3)))
        return;
    char *expected = made_for(v, &real);
    char *found = sr_asprintf("Python %s (%s)", version, final);
    add(pf, minor ? "env.mismatch.interpreter_minor" : "env.mismatch.interpreter_patch",
        venv_path(v, entry), expected, found,
        sr_asprintf("the environment %s was made for %s, and its interpreter inside is %s%s",
                    v->name, expected, found,
                    minor ? ": none of its packages would be found"
                          : ": tools such as uv remove and rebuild it for that"),
        rebuild_remedy(v));
}

static void ask_version(struct preflight *pf, struct venv *v, const char *entry)
{
    char version[32] = "";
    cleanup_free char *path = sr_path_join(v->inside, entry);
    cleanup_inside struct inside w;
    inside_walk(pf->plan, path, &w);
    if (pf->version(pf->version_ctx, path, version) == 0) {
        compare_versions(pf, v, entry, w.path, version);
        return;
    }
    v->usable = false;
    add_unrunnable(pf, v, entry, &w, "cannot be run inside");
}

void preflight_interpreter(struct preflight *pf, struct venv *v)
{
    cleanup_free char *last_missing = NULL;
    cleanup_free char *first = NULL;
    size_t n = 0;
    v->usable = true;
    for (size_t i = 0; i < v->bin.n && n < PREFLIGHT_MINORS; i++) {
        if (!is_interpreter_name(v->bin.v[i]))
            continue;
        n++;
        cleanup_free char *entry = sr_asprintf("bin/%s", v->bin.v[i]);
        if (!entry_fits(pf, v, entry, &last_missing))
            v->usable = false;
        if (!first)
            first = steal_ptr(&entry);
    }
    if (v->usable && first && pf->version)
        ask_version(pf, v, first);
}
