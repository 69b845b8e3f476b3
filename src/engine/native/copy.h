/* SPDX-License-Identifier: MIT */
/* The copy mode of the tree: where a filesystem carries neither an overlay nor an idmapped mount. */
#ifndef SR_NATIVE_COPY_H
#define SR_NATIVE_COPY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct native_copy_ids {
    bool shift;     /* privileged: id x becomes base + x, else the check's own */
    uint32_t base, count;
    uid_t uid;
    gid_t gid;
};

/*
 * Copies everything beneath src to dst: bytes (reflinked where both share a filesystem that can), whole modes (a bit left out would
 * read as the command's doing, and setuid does nothing where every mount is nosuid), times in nanoseconds (a copy that flattens
 * them makes build tools rebuild, or worse, not), links, FIFOs; hardlinks become files of their own; sockets and devices are left
 * out, a check has no use for them. At most NATIVE_COPY_DEPTH_MAX directories deep.
 * Codes: engine.unavailable.copy.
 */
enum { NATIVE_COPY_DEPTH_MAX = 256 };
SR_CHECK int native_copy_tree(int src, int dst, const struct native_copy_ids *ids, struct sr_error *err);

#endif
