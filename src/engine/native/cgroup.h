/* SPDX-License-Identifier: MIT */
/* Where on this host a controller's group can be made: private to the native engine's cgroup*.c and their tests. */
#ifndef SR_NATIVE_CGROUP_H
#define SR_NATIVE_CGROUP_H

#include "base/buf.h"
#include "engine/native/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum sr_controller { SR_CTL_MEMORY, SR_CTL_PIDS, SR_CTL_CPU, SR_CTL_CPUACCT, SR_CTL_COUNT };
const char *sr_controller_name(enum sr_controller c);

/* What the search looks at, so that layouts this host does not have can be searched too. */
struct sr_cgroup_view {
    const char *root;      /* put before every mount point: "" for the host itself */
    const char *self;      /* text of /proc/self/cgroup */
    const char *mountinfo; /* text of /proc/self/mountinfo */
    bool privileged;       /* the caller is root: the root of the v2 hierarchy may be used */
};

/*
 * The directory below which the group is to be made: an owned path, or NULL with one clause of why in `why`
 * ("not mounted", "/sys/fs/cgroup/x is not delegated", ...). On v2 it hands the controller down when this returns.
 */
char *sr_cgroup_find(const struct sr_cgroup_view *view, enum sr_controller c, bool v2, struct sr_buf *why);

/* Writes the limit into a group. 0 or -1 with errno; *ret_file: the file it failed on. Nothing to write: 0. */
int sr_cgroup_configure(int dirfd, enum sr_controller c, bool v2, const struct sr_limits *limits, const char **ret_file);

#endif
