/* SPDX-License-Identifier: MIT */
/* What the files of preflight share. */
#ifndef SR_PLAN_PREFLIGHT_H
#define SR_PLAN_PREFLIGHT_H

#include "plan/elf.h"
#include "plan/inside.h"
#include "plan/pyvenv.h"
#include "sandrun/preflight.h"

#include <stdbool.h>

/* Limits, all of them: the tree is hostile, and the cost of a preflight must not grow with it. */
enum {
    PREFLIGHT_ROOT_ENTRIES = 65536, /* looked at in the tree's root */
    PREFLIGHT_ENVIRONMENTS = 64,
    PREFLIGHT_BIN_ENTRIES = 4096,     /* names kept of one bin directory */
    PREFLIGHT_SCRIPTS = 512,          /* console scripts opened, per environment */
    PREFLIGHT_SCRIPT_HEAD = 1024,     /* bytes read of each */
    PREFLIGHT_LIBRARIES = 32,         /* ELF files opened, per environment */
    PREFLIGHT_LIBRARY_ENTRIES = 8192, /* directory entries read to find them */
    PREFLIGHT_MINORS = 8,
};

struct preflight {
    const struct sr_plan *plan;
    sr_interpreter_version *version;
    void *version_ctx;
    int tree_fd;
    struct sr_findings found;
    size_t cap;
    uint16_t machine;   /* EM_* of this host, 0 when it is not known */
    bool libc_known;
    enum elf_libc libc; /* of the root filesystem: preflight_libc */
};

enum elf_libc preflight_libc(struct preflight *pf);

/* Takes ownership of the strings. */
void preflight_add(struct preflight *pf, struct sr_finding f);
void preflight_drop(struct sr_finding *f);

/* Where the link NAME of the tree leads inside, opened; -1, and a finding with this code, when that
 * is not there. */
int preflight_open_linked(struct preflight *pf, const char *name, const char *code);

/* A Python environment while it is looked at. */
struct venv {
    const char *name; /* relative to the tree, "." for the tree itself */
    char *inside;     /* its path inside */
    bool named_so;    /* its name alone says that it is meant to be an environment */
    int fd;
    bool has_cfg;
    struct pyvenv cfg;
    struct sr_strv bin;                         /* names in bin, sorted */
    struct py_version minors[PREFLIGHT_MINORS]; /* lib/pythonX.Y */
    size_t n_minors;
    bool usable;  /* its interpreter is there and can run, as far as was seen */
    char *system; /* a Python of the root filesystem: "/usr/bin/python3.11"; NULL: none */
};

/* "NAME/REST", or REST for the tree itself. Caller frees. */
char *venv_path(const struct venv *v, const char *rest);

/* The environment NAME, all that is asked of it. fd is an open directory and is closed. */
void preflight_venv(struct preflight *pf, const char *name, int fd, bool named_so);
/* Its interpreter: exists inside, has the version the environment was made for. Sets usable. */
void preflight_interpreter(struct preflight *pf, struct venv *v);
/* Its console scripts and its activate. */
void preflight_scripts(struct preflight *pf, const struct venv *v);
/* Editable installs: .pth files in dir that lead to directories of this host that are not inside.
 */
void preflight_editable(struct preflight *pf, const struct venv *v, const char *dir);

/* ELF: can it run here? False, and a finding at path (taken), when not. */
bool preflight_elf(struct preflight *pf, const struct elf_info *elf, char *path,
                   const char *remedy);
/* The shared libraries beneath dir of the environment at fd: of this machine and libc? */
void preflight_libraries(struct preflight *pf, const char *name, int fd, const char *dir,
                         const char *suffix);
/* The compiled programs of a Python environment's bin. */
void preflight_programs(struct preflight *pf, const struct venv *v);
void preflight_node(struct preflight *pf);
void preflight_git(struct preflight *pf);
/* pnpm's store, when the command is pnpm's: it clears a node_modules that was linked from another
 * store. */
void preflight_pnpm(struct preflight *pf, int modules_fd);
/* Optional packages of one platform each, among names of node_modules (or of one of its scopes): is
 * one for this platform? */
void preflight_platforms(struct preflight *pf, const char *scope, const struct sr_strv *names);

/* What to do about something that exists on this host but not inside: the "mounts" lines after
 * which path resolves, checked by resolving it with them. NULL when no mount would help. Caller
 * frees. */
char *preflight_mount_remedy(const struct sr_plan *p, const char *path);

/* Sorted names in the directory dir beneath fd, at most max; false when it cannot be read. No link
 * is followed. */
bool preflight_names(int fd, const char *dir, size_t max, struct sr_strv *ret);

#endif
