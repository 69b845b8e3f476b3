/* SPDX-License-Identifier: MIT */
/* Preflight: finds the environments of the tree and asks of each whether it can work in the plan's
 * root filesystem. */
#include "plan/preflight.h"

#include "base/fs.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * The cost is that of one readdir of the tree's root, two look-ups for each directory in it, and
 * the environments found: a tree of a million files is never walked. Nothing is written and nothing
 * of the tree is run here; what must be run to be judged (an interpreter) the caller runs
 * contained.
 */

/* Names that say by themselves what the directory is meant to be. */
static const char *const venv_names[] = { ".venv", "venv", "env", ".virtualenv" };
/* Directories of environments. */
static const char *const nests[] = { ".tox", ".nox" };
/* Environments that are not looked into, but may be links. */
static const char *const linked_names[] = { ".tox",          ".nox",           "vendor",
                                            "vendor/bundle", "__pypackages__", "bower_components",
                                            "Pods",          "_opam" };

void preflight_add(struct preflight *pf, struct sr_finding f)
{
    SR_GROW(pf->found.v, pf->found.n, pf->cap);
    pf->found.v[pf->found.n++] = f;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool preflight_names(int fd, const char *dir, size_t max, struct sr_strv *ret)
{
    cleanup_fd int at = openat(fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *d = at < 0 ? NULL : fdopendir(at);
    if (!d)
        return false;
    steal_fd(&at);
    for (struct dirent *e; ret->n < max && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            sr_strv_add(ret, e->d_name);
    if (ret->n)
        qsort(ret->v, ret->n, sizeof *ret->v, by_name);
    return true;
}

static bool is_listed(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}
#define LISTED(name, list) is_listed(name, list, sizeof(list) / sizeof *(list))

/* Does the environment have this entry, whatever it is and wherever it leads? */
static bool has_entry(int fd, const char *name)
{
    return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_venv(int fd, bool named_so)
{
    return has_entry(fd, "pyvenv.cfg") || has_entry(fd, "bin/python") ||
           (named_so && (has_entry(fd, "bin") || has_entry(fd, "lib")));
}

/* An environment that is a link: looked at where it leads inside. */
int preflight_open_linked(struct preflight *pf, const char *name, const char *code)
{
    cleanup_free char *path = sr_path_join(pf->plan->tree_target, name);
    cleanup_inside struct inside w;
    inside_walk(pf->plan, path, &w);
    if (w.end == INSIDE_THERE)
        return w.host ? open(w.host, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    char *remedy = w.end == INSIDE_ABSENT ? preflight_mount_remedy(pf->plan, path) : NULL;
    preflight_add(
        pf,
        (struct sr_finding){
            .code = code,
            .path = sr_strdup(name),
            .expected = sr_strdup(w.chain),
            .found =
                w.absent ? sr_asprintf("no %s inside", w.absent) : sr_strdup("a loop of links"),
            .text = sr_asprintf("the environment %s is a link that leads nowhere in the check's "
                                "root filesystem: %s%s%s",
                                name, w.chain, w.absent ? "; there is no " : "",
                                w.absent ? w.absent : ""),
            .remedy = remedy ? remedy
                             : sr_asprintf(
                                   "make the environment in the tree itself, or remove the link %s",
                                   name),
        });
    return -1;
}

static int open_environment(struct preflight *pf, const char *name, bool named_so)
{
    int fd = openat(pf->tree_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* O_DIRECTORY with O_NOFOLLOW: a link is ENOTDIR, like any other non-directory (open(2)) */
    char target[2];
    if (fd < 0 && named_so && readlinkat(pf->tree_fd, name, target, sizeof target) >= 0)
        return preflight_open_linked(pf, name, "env.mismatch.interpreter_missing");
    return fd;
}

static void look_at(struct preflight *pf, const char *name, bool named_so, size_t *n)
{
    if (*n == PREFLIGHT_ENVIRONMENTS)
        return;
    cleanup_fd int fd = open_environment(pf, name, named_so);
    if (fd < 0 || !is_venv(fd, named_so))
        return;
    (*n)++;
    preflight_venv(pf, name, fd, named_so);
}

/* Those that are links and lead nowhere inside, so that the command would fail as if the code were
 * wrong. What leads nowhere on the host either is how the tree is: such names have other uses too.
 */
static void look_at_links(struct preflight *pf)
{
    for (size_t i = 0; i < sizeof linked_names / sizeof *linked_names; i++) {
        char target[2];
        if (readlinkat(pf->tree_fd, linked_names[i], target, sizeof target) < 0 ||
            faccessat(pf->tree_fd, linked_names[i], F_OK, 0) < 0)
            continue;
        /* only whether it is there is asked; what is in it is not looked at */
        int fd = preflight_open_linked(pf, linked_names[i], "env.mismatch.incomplete");
        sr_closep(&fd);
    }
}

static void look_into_nest(struct preflight *pf, const char *nest, size_t *n)
{
    cleanup_strv struct sr_strv names = { 0 };
    if (!preflight_names(pf->tree_fd, nest, PREFLIGHT_BIN_ENTRIES, &names))
        return;
    for (size_t i = 0; i < names.n; i++) {
        cleanup_free char *name = sr_asprintf("%s/%s", nest, names.v[i]);
        look_at(pf, name, false, n);
    }
}

static void look_at_all(struct preflight *pf, const struct sr_strv *names)
{
    size_t n = 0;
    /* known names first: the bound on environments must not be used up by what a tree puts before
     * them */
    for (size_t i = 0; i < sizeof venv_names / sizeof *venv_names; i++)
        look_at(pf, venv_names[i], true, &n);
    if (has_entry(pf->tree_fd, "pyvenv.cfg") && has_entry(pf->tree_fd, "bin"))
        look_at(pf, ".", false, &n);
    for (size_t i = 0; i < names->n; i++)
        if (LISTED(names->v[i], nests))
            look_into_nest(pf, names->v[i], &n);
        else if (!LISTED(names->v[i], venv_names) && strcmp(names->v[i], "node_modules") != 0)
            look_at(pf, names->v[i], false, &n);
}

/* The libc of the root filesystem is the one its shell asks for; looked up when a library asks. */
enum elf_libc preflight_libc(struct preflight *pf)
{
    cleanup_inside struct inside w = { 0 };
    struct elf_info elf;
    if (pf->libc_known)
        return pf->libc;
    pf->libc_known = true;
    inside_walk(pf->plan, "/bin/sh", &w);
    cleanup_fd int fd = w.end == INSIDE_THERE && w.host
                            ? open(w.host, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                            : -1;
    pf->libc = fd >= 0 && elf_read_fd(fd, &elf) == 0 ? elf.libc : ELF_LIBC_UNKNOWN;
    return pf->libc;
}

int sr_preflight(const struct sr_plan *plan, sr_interpreter_version *version, void *ctx,
                 struct sr_findings *ret, struct sr_error *err)
{
    if (plan->rootfs != SR_ROOTFS_HOST) {
        sr_error_set(err, "preflight.rootfs",
                     "cannot look whether the environments of %s fit the root filesystem: only the "
                     "host's own "
                     "can be looked into",
                     plan->tree);
        return sr_error_hint(err, "\"rootfs\": {\"host\": ...} in the binding");
    }
    struct preflight pf = { .plan = plan, .version = version, .version_ctx = ctx };
    cleanup_fd int fd = open(plan->tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_strv struct sr_strv names = { 0 };
    pf.tree_fd = fd;
    if (fd < 0 || !preflight_names(fd, ".", PREFLIGHT_ROOT_ENTRIES, &names))
        return sr_error_sys(err, "preflight.tree", "cannot look for environments in the tree %s",
                            plan->tree);
    struct utsname host;
    pf.machine = uname(&host) == 0 ? elf_machine_from(host.machine) : 0;
    look_at_all(&pf, &names);
    look_at_links(&pf);
    preflight_node(&pf);
    preflight_git(&pf);
    *ret = pf.found;
    return 0;
}

/* ---- findings ---- */

void preflight_drop(struct sr_finding *f)
{
    free(f->path);
    free(f->expected);
    free(f->found);
    free(f->text);
    free(f->remedy);
    *f = (struct sr_finding){ 0 };
}

void sr_findings_clear(struct sr_findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        preflight_drop(&f->v[i]);
    free(f->v);
    *f = (struct sr_findings){ 0 };
}

cJSON *sr_findings_json(const struct sr_findings *f)
{
    cJSON *array = sr_json_array();
    for (size_t i = 0; i < f->n; i++) {
        const struct sr_finding *v = &f->v[i];
        cJSON *o = sr_json_object();
        sr_json_add_string(o, "code", v->code);
        sr_json_add_path(o, "path", v->path);
        sr_json_add_string(o, "expected", v->expected);
        sr_json_add_string(o, "found", v->found);
        sr_json_add_string(o, "text", v->text);
        sr_json_add_string(o, "remedy", v->remedy);
        sr_json_append(array, o);
    }
    return array;
}
