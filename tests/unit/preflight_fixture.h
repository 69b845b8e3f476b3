/* SPDX-License-Identifier: MIT */
/* A tree in a directory of its own, Python environments in it, and the findings that a preflight
 * has there. */
#ifndef TEST_PREFLIGHT_FIXTURE_H
#define TEST_PREFLIGHT_FIXTURE_H

#include "sandrun/preflight.h"

#include <stdbool.h>
#include <stddef.h>

extern char pf_base[]; /* holds the tree; nothing of it but the tree is visible inside */
extern char *pf_tree;
extern struct sr_plan pf_plan;
extern struct sr_findings pf_found;

void pf_setup(void);
void pf_teardown(void);

/* Beneath pf_base; parents are made, what was there is replaced. */
void pf_write(const char *path, const void *data, size_t len, unsigned mode);
void pf_text(const char *path, unsigned mode, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void pf_link(const char *path, const char *target);
void pf_remove(const char *path);
char *pf_read(const char *path);       /* freed at the end of the process */
const char *pf_path(const char *path); /* absolute; likewise */

/* `python3 -m venv` of the root filesystem, with a console script "tool" as pip writes it. */
void pf_venv(const char *path, const char *option);
void pf_mount(const char *source, const char *target);

/* Answers with what the fake was told, and counts. */
struct pf_fake {
    const char *answer; /* NULL: -1 */
    unsigned calls;
    char path[4096];
};
int pf_fake_version(void *ctx, const char *path_inside, char version[32]);
/* Runs the interpreter. */
int pf_real_version(void *ctx, const char *path_inside, char version[32]);
const char *pf_system_version(void); /* "3.11.2" of /usr/bin/python3 */

/* Runs the preflight into pf_found; ctx NULL: versions are not compared. */
void pf_run(sr_interpreter_version *version, void *ctx);
void pf_expect_none(void);
/* Exactly one, with this code and path, all of it filled. */
const struct sr_finding *pf_expect_one(const char *code, const char *path);
/* The first of this code, NULL: none. */
const struct sr_finding *pf_find(const char *code);

/* A little-endian 64-bit ELF image: machine, PT_INTERP (or NULL), one DT_NEEDED (or NULL). */
size_t pf_elf(unsigned char out[1024], unsigned machine, const char *interp, const char *needed);

#endif
