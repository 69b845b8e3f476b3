/* SPDX-License-Identifier: MIT */
/* A directory of the host held copy-on-write: the tree, and its git directory when that lies outside. */
#ifndef SR_NATIVE_HOLD_H
#define SR_NATIVE_HOLD_H

#include "engine/native/native.h"

#include <sys/mount.h>

#define NATIVE_HELD_ATTR (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct native_held {
    const char *what, *path; /* "the tree"; where it stands on the host */
    int fd;                  /* the supervisor's: what is mounted must be the same inode */
    const char *lower, *upper, *work; /* its directories in the scratch */
};

/* In this mount namespace; it must be what the supervisor opened, whoever renamed what meanwhile. A descriptor, or -1. */
SR_CHECK int native_hold_open(const struct native_held *h, struct sr_error *err);
/* Makes upper and work. */
SR_CHECK int native_hold_places(struct native *n, const struct native_held *h, struct sr_error *err);
/* The directory as a read-only mount of its own at lower: what overlays stand on. */
SR_CHECK int native_hold_lower(struct native *n, const struct native_held *h, struct sr_error *err);
/* A copy at upper, as a mount with attr added. */
SR_CHECK int native_hold_copy(struct native *n, const struct native_held *h, uint64_t attr, int *ret_mnt, struct sr_error *err);
/* Whether the directory's filesystem refuses, and not the host: what makes the copy the answer. */
bool native_hold_refused(const struct sr_error *err);
/* mode: SR_TREE_COPY asks for the copy; what became of it comes back. */
SR_CHECK int native_hold(struct native *n, const struct native_held *h, enum sr_tree_mode *mode, int *ret_mnt, struct sr_error *err);

#endif
