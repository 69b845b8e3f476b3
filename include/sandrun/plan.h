/* SPDX-License-Identifier: MIT */
/* The plan: one binding fully resolved. Plain data: printable, hashable, replayable. Engines see this and no policy. */
#ifndef SANDRUN_PLAN_H
#define SANDRUN_PLAN_H

#include "base/error.h"
#include "base/json.h"
#include "base/sha256.h"
#include "sandrun/types.h"

enum sr_env_source { SR_ENV_BUILTIN, SR_ENV_SET, SR_ENV_PASS };

/* Fallback order of the copy-on-write view of the tree, as probed on this host for this tree. */
enum sr_tree_mode {
    SR_TREE_OVERLAY,   /* overlayfs, upper on a tmpfs of the run */
    SR_TREE_COPY,      /* reflink or plain copy with nanosecond times, on a tmpfs of the run */
    SR_TREE_READONLY,  /* writes: none */
    SR_TREE_DIRECT,    /* writes: direct */
    SR_TREE_MODE_COUNT
};
const char *sr_tree_mode_name(enum sr_tree_mode m);

struct sr_plan_env {
    char *name;
    char *value;
    enum sr_env_source source;
};

/* A name that looks like a secret and is passed all the same, with the reason the policy gives. */
struct sr_plan_secret {
    char *name;
    char *reason;
};

struct sr_plan_provenance {
    char *field;  /* "limits.wall"; of one entry "env.set.PATH", "env.pass.CI", "mounts./opt/x" */
    char *layer;  /* "repository" */
    char *file;   /* "HEAD:sandrun.json" */
};

struct sr_plan_policy_file {
    char *layer, *path, *digest;
};

struct sr_plan {
    char *binding;
    struct sr_strv command; /* policy's argv, then the caller's ARGS */
    size_t n_args;          /* how many of command's last are the caller's: their text never enters a record */
    bool executes;
    bool staged;
    char *uncontained; /* reason, or NULL */

    enum sr_rootfs rootfs;
    char *pin;          /* as the policy has it, NULL when absent */
    char *pin_observed; /* what this host has: the fingerprint computed now; NULL when it could not be */
    struct sr_strv pin_lines; /* the parts of the observed fingerprint; without one: why, as one line */

    char *tree;        /* absolute, links resolved */
    char *tree_target; /* where it stands inside */
    enum sr_writes writes;
    enum sr_tree_mode tree_mode;
    struct sr_strv keep;
    struct sr_strv protect; /* writes: direct: the tree's repository too, whatever the policy says */
    uint32_t tree_uid, tree_gid; /* owner of the tree on this host */
    char *git_common_dir; /* outside the tree (linked worktree, submodule): there at the same path; or NULL. sr_plan_git_held */

    struct sr_mount *mounts; /* parents before children */
    size_t n_mounts;

    enum sr_network network;
    struct sr_strv network_allow;
    char *network_reason;

    struct sr_plan_env *env; /* sorted by name; the whole environment of the command */
    size_t n_env;
    struct sr_strv env_pass; /* names the policy passes, whether or not the caller has them; sorted. The digest is over these:
                              * which of them are set is a fact of the caller, not of the plan */
    struct sr_plan_secret *pass_secret; /* passed too; sorted by name */
    size_t n_pass_secret;

    struct sr_limits limits;
    struct sr_strv seccomp_allow;
    char *seccomp_reason;
    enum sr_on_repair on_repair;
    enum sr_on_mismatch on_mismatch;

    char *policy_commit; /* commit the policy was read from, or NULL */
    bool policy_edited;  /* the tree's sandrun.json differs from that commit's */
    bool policy_trusted;
    struct sr_plan_policy_file *policy_files;
    size_t n_policy_files;
    struct sr_plan_provenance *provenance;
    size_t n_provenance;

    char digest[SR_DIGEST_TEXT]; /* sr_plan_seal */
};

/* What the check sees that no policy has to name. HOME, USER, LOGNAME, PATH, TMPDIR, LANG and git's safe.directory by
 * environment are builtin; a policy's env.set overrides PATH and LANG, never HOME/USER/LOGNAME/TMPDIR. */
#define SR_INSIDE_HOME "/home/check"
#define SR_INSIDE_USER "check"
#define SR_INSIDE_HOSTNAME "sandrun"
#define SR_INSIDE_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct sr_binding;
struct sr_policy_loaded;

struct sr_plan_request {
    const struct sr_policy_loaded *loaded;
    const struct sr_binding *binding;
    const char *tree;              /* absolute, real */
    const struct sr_strv *args;    /* the caller's, may be NULL */
    bool staged;
    char *const *environ_in;       /* where env.pass is read */
    int cache_dirfd;               /* digest cache of the fingerprint, -1: none */
};

/* Resolves; asks the host for the pin and the tree's owner, changes nothing. Codes: plan.tree (the tree cannot be checked
 * here), plan.path (a target or a mount). A pin that cannot be computed is no failure: pin_observed is NULL, the gate refuses. */
SR_CHECK int sr_plan_build(const struct sr_plan_request *req, struct sr_plan *ret, struct sr_error *err);
void sr_plan_clear(struct sr_plan *p);
/* Whether git_common_dir is held copy-on-write like the tree. It is read-only where the tree is, where writes are real, and where
 * the policy protects .git. */
bool sr_plan_git_held(const struct sr_plan *p);
/* The digest: SHA-256 of sr_plan_json(p, SR_PLAN_DIGEST) in its compact spelling. */
void sr_plan_seal(struct sr_plan *p);

enum sr_plan_view {
    /* What makes two plans the same: no host-observed values, digests of set values and of ARGS, names of passed ones. */
    SR_PLAN_DIGEST,
    /* {"canonical": <the digest view, so that a reader can recompute the digest>, "observed": {tree_uid tree_gid tree_mode
     * pin_observed pin_lines git_common_dir env [{name, source}]}, "policy": {commit edited trusted files provenance}}:
     * for the record and for people. Values of the environment never, ARGS as count and digest. */
    SR_PLAN_RECORD,
};
cJSON *sr_plan_json(const struct sr_plan *p, enum sr_plan_view view);

#endif
