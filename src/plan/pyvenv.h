/* SPDX-License-Identifier: MIT */
/* pyvenv.cfg: what a Python environment says of the interpreter it was made with. */
#ifndef SR_PLAN_PYVENV_H
#define SR_PLAN_PYVENV_H

#include <stddef.h>

enum { PYVENV_MAX = 64 * 1024 };

/* The first numbers of a version; n of them are there (0 to 3). */
struct py_version {
    unsigned v[3];
    unsigned n;
};

struct pyvenv {
    char *home;    /* NULL when not said */
    char *version; /* as it is spelled; NULL when not said */
    struct py_version number;
};

/* Any bytes: lines that are no "key = value" are passed over, as Python itself does. */
void pyvenv_parse(const char *text, size_t len, struct pyvenv *ret);
void pyvenv_clear(struct pyvenv *c);

/* "3.11.2", "3.12.13", "3.11.2.final.0", "3.14.0rc1": up to three numbers. */
struct py_version py_version_parse(const char *text);

#endif
