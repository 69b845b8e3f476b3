/* SPDX-License-Identifier: MIT */
/* Spellings of the values that a policy declares and a plan carries. */
#include "sandrun/types.h"

#include <stdlib.h>
#include <string.h>

/* One spelling table per enum; NAME: value to spelling, FROM: back, -1 for an unknown one. */
#define NAME(type, count, ...)                                                                     \
    static const char *const type##_names[] = { __VA_ARGS__ };                                     \
    _Static_assert(sizeof type##_names / sizeof *type##_names == count, #type " spellings");       \
    const char *sr_##type##_name(enum sr_##type v)                                                 \
    {                                                                                              \
        return type##_names[v];                                                                    \
    }
#define FROM(type, count)                                                                          \
    int sr_##type##_from(const char *name)                                                         \
    {                                                                                              \
        for (int i = 0; i < (int)count; i++)                                                       \
            if (strcmp(type##_names[i], name) == 0)                                                \
                return i;                                                                          \
        return -1;                                                                                 \
    }

NAME(writes, SR_WRITES_COUNT, "hold", "keep", "none", "direct")
FROM(writes, SR_WRITES_COUNT)
NAME(network, SR_NETWORK_COUNT, "none", "allow", "host")
NAME(rootfs, SR_ROOTFS_COUNT, "absent", "host", "image")
NAME(on_repair, SR_ON_REPAIR_COUNT, "fail", "report")
FROM(on_repair, SR_ON_REPAIR_COUNT)
NAME(on_mismatch, SR_ON_MISMATCH_COUNT, "block", "report")
FROM(on_mismatch, SR_ON_MISMATCH_COUNT)
NAME(on_reached, SR_ON_REACHED_COUNT, "error", "report")
FROM(on_reached, SR_ON_REACHED_COUNT)
NAME(layer, SR_LAYER_COUNT, "floor", "preset", "organisation", "repository", "command line")

void sr_mount_clear(struct sr_mount *m)
{
    free(m->source);
    free(m->target);
    free(m->reason);
    *m = (struct sr_mount){ 0 };
}
