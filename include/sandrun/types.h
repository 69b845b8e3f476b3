/* SPDX-License-Identifier: MIT */
/* The values that a policy declares and a plan carries: enums with their spellings, limits, mounts. */
#ifndef SANDRUN_TYPES_H
#define SANDRUN_TYPES_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Each enum has X_COUNT last and a spelling for each value: sr_<enum>_name(v), sr_<enum>_from(name) (-1: none). */

/* tree.writes */
enum sr_writes {
    SR_WRITES_HOLD,   /* copy-on-write; nothing comes back (default) */
    SR_WRITES_KEEP,   /* copy-on-write; the listed paths come back */
    SR_WRITES_NONE,   /* the tree is read-only inside */
    SR_WRITES_DIRECT, /* to the real tree, full snapshots before and after; never contained */
    SR_WRITES_COUNT
};

enum sr_network {
    SR_NETWORK_NONE,  /* own network namespace, lo only */
    SR_NETWORK_ALLOW, /* provision steps: a list of host:port; no engine here can do it yet, so it is refused */
    SR_NETWORK_HOST,  /* the host's network; reason required; never contained */
    SR_NETWORK_COUNT
};

enum sr_rootfs { SR_ROOTFS_ABSENT, SR_ROOTFS_HOST, SR_ROOTFS_IMAGE, SR_ROOTFS_COUNT };

/* on_repair, on_mismatch */
enum sr_on_repair { SR_ON_REPAIR_FAIL, SR_ON_REPAIR_REPORT, SR_ON_REPAIR_COUNT };
enum sr_on_mismatch { SR_ON_MISMATCH_BLOCK, SR_ON_MISMATCH_REPORT, SR_ON_MISMATCH_COUNT };

/* limits.on_reached: what a limit that was reached means for a command that exited 0 all the same. A floor that does not say leaves
 * it to the plan: error for a staged run, report for any other. */
enum sr_on_reached { SR_ON_REACHED_ERROR, SR_ON_REACHED_REPORT, SR_ON_REACHED_COUNT };

/* Policy layers, weakest first. */
enum sr_layer {
    SR_LAYER_FLOOR,
    SR_LAYER_PRESET,
    SR_LAYER_ORGANISATION,
    SR_LAYER_REPOSITORY,
    SR_LAYER_COMMAND_LINE,
    SR_LAYER_COUNT
};

const char *sr_writes_name(enum sr_writes v);
int sr_writes_from(const char *name);
const char *sr_network_name(enum sr_network v);
const char *sr_rootfs_name(enum sr_rootfs v);
const char *sr_on_repair_name(enum sr_on_repair v);
int sr_on_repair_from(const char *name);
const char *sr_on_mismatch_name(enum sr_on_mismatch v);
int sr_on_mismatch_from(const char *name);
const char *sr_on_reached_name(enum sr_on_reached v);
int sr_on_reached_from(const char *name);
const char *sr_layer_name(enum sr_layer v);

/* Every limit is present in a plan that is contained; 0 means absent. */
struct sr_limits {
    uint64_t wall_ns;
    uint64_t idle_ns;      /* no output for that long; absent is allowed */
    uint64_t memory_bytes; /* all processes together, what they write to the tree, /tmp and HOME included */
    uint64_t pids;
    uint64_t cpus_milli;   /* 2 cpus = 2000 */
    uint64_t output_bytes; /* stdout and stderr together */
    uint64_t disk_bytes;   /* what may be written to the tree, /tmp and HOME */
    uint64_t files;        /* inodes of the same */
    enum sr_on_reached on_reached;
};

struct sr_mount {
    char *source; /* absolute, clean; "~" already replaced */
    char *target; /* absolute, clean; never NULL in a plan */
    bool readonly;
    char *reason; /* required when not readonly */
};

void sr_mount_clear(struct sr_mount *m);

struct sr_env_set {
    char *name;
    char *value;
};

#endif
