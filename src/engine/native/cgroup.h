/* SPDX-License-Identifier: MIT */
/* Where on this host a controller's group can be made: private to the native engine's cgroup*.c and
 * their tests. */
#ifndef SR_NATIVE_CGROUP_H
#define SR_NATIVE_CGROUP_H

#include "base/buf.h"
#include "engine/native/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum sr_controller { SR_CTL_MEMORY, SR_CTL_PIDS, SR_CTL_CPU, SR_CTL_COUNT };
const char *sr_controller_name(enum sr_controller c);

/* What the search looks at, so that layouts this host does not have can be searched too. */
struct sr_cgroup_view {
    const char *root;      /* put before every mount point: "" for the host itself */
    const char *self;      /* text of /proc/self/cgroup */
    const char *mountinfo; /* text of /proc/self/mountinfo */
    bool privileged;       /* the caller is root: the root of the v2 hierarchy may be used */
};

/*
 * The directory below which the group is to be made, owned; NULL when there is none. `why` gets
 * clauses on what was lacking on the way ("not mounted", "/sys/fs/cgroup/x is not delegated to this
 * user", ...).
 *
 * A process is in one group of the v2 hierarchy, so there is one directory for all controllers: the
 * nearest that has them all, else the nearest that has most (*ret_have: bits 1 << controller). On
 * return it hands them down. v1 has a hierarchy, and so a directory, per controller.
 */
char *sr_cgroup_find_v2(const struct sr_cgroup_view *view, unsigned *ret_have, struct sr_buf *why);
char *sr_cgroup_find_v1(const struct sr_cgroup_view *view, enum sr_controller c,
                        struct sr_buf *why);

/* Writes the limit into a group. 0 or -1 with errno; *ret_file: the file it failed on. Nothing to
 * write: 0. */
int sr_cgroup_configure(int dirfd, enum sr_controller c, bool v2, const struct sr_limits *limits,
                        const char **ret_file);

#endif
