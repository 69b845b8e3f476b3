/* SPDX-License-Identifier: MIT */
/* Paths as the check will see them: which exist in the plan's root filesystem, and through which
 * links. */
#ifndef SR_PLAN_INSIDE_H
#define SR_PLAN_INSIDE_H

#include "base/mem.h"
#include "sandrun/plan.h"

#include <sys/types.h>

/*
 * Inside are: the shipped table of host paths, the tree at its target, the mounts at theirs, the
 * repository of a linked worktree; and nothing else. A path is walked one component at a time, as
 * the kernel would walk it there: a link whose target the caller's shell can follow may lead
 * nowhere inside, and so may a hop in the middle of a chain whose two ends are both there. What
 * `readlink -f` answers says nothing about either.
 */
enum inside_end {
    INSIDE_THERE,
    INSIDE_ABSENT,
    INSIDE_LOOP, /* more links than the kernel follows, or a path longer than it takes */
};

struct inside {
    enum inside_end end;
    char *path;   /* THERE: the file, free of links. Else: the whole path that was wanted where the
                     walk ended */
    char *host;   /* THERE: that file on this host, NULL for a directory that the sandbox makes.
                     ABSENT: may be NULL */
    char *absent; /* ABSENT: the part of path that does not exist inside */
    char *chain;  /* the links followed: "/t/.venv/bin/python -> python3 -> /opt/x/python3.12"; the
                     path alone without any */
    mode_t mode;  /* THERE */
};

void inside_walk(const struct sr_plan *p, const char *path, struct inside *ret);
void inside_clear(struct inside *w);

#define cleanup_inside __attribute__((cleanup(inside_clear)))

/* Where the absolute clean path comes from on this host, links not looked at; NULL: it is not
 * inside. Caller frees. */
char *inside_host_path(const struct sr_plan *p, const char *path);

#endif
