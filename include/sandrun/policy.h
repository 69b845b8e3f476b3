/* SPDX-License-Identifier: MIT */
/* Policy: layers of JSON merged into bindings, with the layer that set each field. Pure: no file is opened in the merge. */
#ifndef SANDRUN_POLICY_H
#define SANDRUN_POLICY_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/types.h"

/*
 * Calling sequence:
 *
 *     struct sr_policy_source src[] = { weakest first };   the loader (load.c) fills it, tests build it by hand
 *     sr_policy_resolve(src, n, &policy, &err)              parse each, expand extends, merge, validate
 *     const struct sr_binding *b = sr_policy_binding(&policy, "Test");
 *
 * Errors carry "FILE:LINE:COLUMN: " in the text. Codes, each stable:
 *   policy.invalid.json.* (base/json.h codes after "policy.invalid."), policy.invalid.unknown_key,
 *   policy.invalid.unsupported_value, policy.invalid.duplicate_key, policy.invalid.type, policy.invalid.range,
 *   policy.invalid.size, policy.invalid.duration, policy.invalid.path, policy.invalid.name, policy.invalid.reason,
 *   policy.invalid.version, policy.invalid.unknown_preset, policy.invalid.extends_cycle, policy.invalid.secret_name,
 *   policy.invalid.digest, policy.invalid.tag (a tag where a digest is required), policy.invalid.missing,
 *   policy.loosens (a layer weaker-ranked in trust tried to loosen: command line, or a locked field), policy.locked.
 * All are exit 125 except policy.loosens and policy.locked, which are refusals (120).
 */

/* One row per field of a binding; policy/fields.c holds the rows. The id indexes the presence mask and the provenance. */
enum sr_field {
    SR_FIELD_COMMAND,
    SR_FIELD_EXECUTES,
    SR_FIELD_ROOTFS,
    SR_FIELD_UNCONTAINED,
    SR_FIELD_TREE_TARGET,
    SR_FIELD_TREE_WRITES,
    SR_FIELD_TREE_KEEP,
    SR_FIELD_TREE_PROTECT,
    SR_FIELD_MOUNTS,
    SR_FIELD_NETWORK,
    SR_FIELD_ENV_SET,
    SR_FIELD_ENV_PASS,
    SR_FIELD_ENV_PASS_SECRET,
    SR_FIELD_LIMIT_WALL,
    SR_FIELD_LIMIT_IDLE,
    SR_FIELD_LIMIT_MEMORY,
    SR_FIELD_LIMIT_PIDS,
    SR_FIELD_LIMIT_CPUS,
    SR_FIELD_LIMIT_OUTPUT,
    SR_FIELD_LIMIT_DISK,
    SR_FIELD_LIMIT_FILES,
    SR_FIELD_LIMIT_ON_REACHED,
    SR_FIELD_SECCOMP,
    SR_FIELD_ON_REPAIR,
    SR_FIELD_ON_MISMATCH,
    SR_FIELD_COUNT
};

const char *sr_field_path(enum sr_field f); /* "limits.wall" */

struct sr_pass_secret {
    char *name;
    char *reason;
};

/* Which file an entry of a field that layers add to comes from: a variable by its name, a mount by its target. */
struct sr_entry_source {
    enum sr_field field; /* mounts, env.set, env.pass, env.pass_secret */
    char *name;
    uint16_t file; /* index into sr_policy.files */
};

/* A binding as declared; after the merge every field that has a floor value is present. Owned members. */
struct sr_binding {
    char *name;
    uint64_t present; /* bit per enum sr_field: this layer (or, merged: any layer) set it */
    struct sr_strv command;
    bool executes;
    enum sr_rootfs rootfs;
    char *rootfs_pin; /* host: "sha256:..."; image: "name@sha256:..." */
    char *uncontained; /* the reason, or NULL */
    char *tree_target; /* "same", or an absolute path */
    enum sr_writes writes;
    struct sr_strv keep, protect; /* relative to the tree, clean */
    struct sr_mount *mounts;
    size_t n_mounts;
    enum sr_network network;
    struct sr_strv network_allow; /* "host:port" */
    char *network_reason;
    struct sr_env_set *env_set; /* sorted by name */
    size_t n_env_set;
    struct sr_strv env_pass; /* names, sorted */
    struct sr_pass_secret *pass_secret;
    size_t n_pass_secret;
    struct sr_limits limits;
    struct sr_strv seccomp_allow; /* group names */
    char *seccomp_reason;
    enum sr_on_repair on_repair;
    enum sr_on_mismatch on_mismatch;
    uint16_t set_by[SR_FIELD_COUNT]; /* index into sr_policy.files; meaningful where present */
    struct sr_entry_source *entries; /* filled by the merge */
    size_t n_entries;
};

/* One file (or the command line) that took part. */
struct sr_policy_file {
    enum sr_layer layer;
    char *path;       /* as shown to people: "sandrun.json", "floor", "preset:python", "HEAD:sandrun.json", "command line" */
    char digest[72];  /* "sha256:..." of its bytes */
};

struct sr_policy {
    struct sr_binding *bindings; /* in order of first declaration, floor first */
    size_t n_bindings;
    struct sr_policy_file *files; /* weakest first */
    size_t n_files;
};

struct sr_policy_source {
    enum sr_layer layer;
    const char *path;
    const char *text; /* JSON with comments; borrowed */
    size_t len;
};

/* Finds a preset's text by name; returns NULL when there is none. The text is borrowed and stays valid. */
typedef const char *sr_preset_find(void *ctx, const char *name, size_t *ret_len);

struct sr_policy_options {
    const struct sr_policy_source *sources;
    size_t n_sources;
    sr_preset_find *preset;
    void *preset_ctx;
    const char *home; /* what "~" in mounts[].source stands for */
};

SR_CHECK int sr_policy_resolve(const struct sr_policy_options *opts, struct sr_policy *ret, struct sr_error *err);
void sr_policy_clear(struct sr_policy *p);
void sr_binding_clear(struct sr_binding *b);
const struct sr_binding *sr_policy_binding(const struct sr_policy *p, const char *name);
/* Up to three names near to NAME, for "did you mean"; "" when none. Caller frees. */
char *sr_policy_near(const struct sr_policy *p, const char *name);

/* The loader: which files make up the policy of a tree. */
struct sr_policy_request {
    const char *tree;        /* absolute path of the tree */
    const char *file;        /* --policy FILE, instead of TREE/sandrun.json; NULL */
    const char *ref;         /* --policy-ref, read from the object store; NULL: the working tree's file */
    bool staged;             /* then ref (or a file outside the tree) is required, and this function sees to it */
    const char *policy_dir;  /* where floor.json and presets stand; NULL: the built-in copy */
    const char *organisation_dir; /* NULL: /etc/sandrun/policy.d */
    const char *overrides;   /* JSON text {"bindings":{"Test":{"limits":{...}}}} of the command line, or NULL */
};

struct sr_policy_loaded {
    struct sr_policy policy;
    char commit[65];      /* the commit the policy was read from; "" when from a file */
    bool edited;          /* a commit was read and the tree's sandrun.json differs from it */
    bool trusted;         /* from a commit, or from an explicit file outside the tree */
};

/* Further codes: policy.missing, policy.untrusted (staged without a trusted source: exit 120), policy.unreadable, policy.unsafe (the
 * organisation's files can be written by others than root and the caller, or are links: exit 120), git.* */
SR_CHECK int sr_policy_load(const struct sr_policy_request *req, struct sr_policy_loaded *ret, struct sr_error *err);
void sr_policy_loaded_clear(struct sr_policy_loaded *p);

/* The field table, printed. Caller frees. */
char *sr_policy_schema(void);         /* JSON Schema (draft 2020-12), pretty */
char *sr_policy_fields_markdown(void); /* the README's table */

#endif
