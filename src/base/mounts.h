/* SPDX-License-Identifier: MIT */
/* What is mounted where this process is: one observation, for all who ask about it. */
#ifndef SR_BASE_MOUNTS_H
#define SR_BASE_MOUNTS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

/* Zeroed: not looked yet. */
struct sr_mounts {
    struct sr_buf text;    /* of /proc/self/mountinfo (proc(5)) */
    struct sr_strv points; /* the mount points in it, in the order they were mounted, each once */
};
#define cleanup_mounts __attribute__((cleanup(sr_mounts_clear)))

/* Once; a second call keeps what the first saw. Code: engine.unavailable.proc. */
SR_CHECK int sr_mounts_read(struct sr_mounts *m, struct sr_error *err);
void sr_mounts_clear(struct sr_mounts *m);

#endif
