/* SPDX-License-Identifier: MIT */
/* The field table: one row per field of a binding drives parser, merge, tightening, schema and
 * documentation. */
#ifndef SR_POLICY_FIELDS_H
#define SR_POLICY_FIELDS_H

#include "base/json.h"
#include "sandrun/policy.h"

/* What a parser of one value knows. Errors are "FILE:LINE:COLUMN: SCOPE.FIELD: why". */
struct sr_policy_reader {
    const struct sr_json *doc;
    enum sr_layer layer;
    const char *home;  /* may be NULL */
    const char *scope; /* "bindings.Test", "defaults" */
    const char *field; /* path of the field that is being read, or NULL */
    struct sr_error *err;
};

int sr_policy_refuse(struct sr_policy_reader *r, const cJSON *at, const char *code, const char *fmt,
                     ...) SR_PRINTF(4, 5);
/* As above, at the key of the member. */
int sr_policy_refuse_key(struct sr_policy_reader *r, const cJSON *at, const char *code,
                         const char *fmt, ...) SR_PRINTF(4, 5);

struct sr_policy_field;

/* A kind of value: how it is read, merged over a weaker layer's, and compared. */
struct sr_policy_type {
    int (*parse)(struct sr_policy_reader *r, const struct sr_policy_field *f, const cJSON *item,
                 struct sr_binding *b);
    void (*merge)(const struct sr_policy_field *f, struct sr_binding *dst,
                  const struct sr_binding *src);
    /* True when above allows nothing that below does not. Absent is the zero value of the member.
     */
    bool (*tightens)(const struct sr_policy_field *f, const struct sr_binding *below,
                     const struct sr_binding *above);
};

enum sr_policy_merge {
    SR_MERGE_REPLACE, /* the stronger layer's value stands alone */
    SR_MERGE_APPEND,  /* the stronger layer adds; the same name, key or target again replaces that
                         entry */
};

struct sr_policy_field {
    const char *path;
    const struct sr_policy_type *type;
    size_t offset;                  /* of the member, for the plain types */
    uint64_t min, max;              /* for numbers, in the unit of the member */
    int (*from)(const char *);      /* for enums: spelling to value */
    const unsigned char *looseness; /* for enums: rank by value, 0 the tightest */
    enum sr_policy_merge merge;
    const char *tighter; /* what the command line may do, in words */
    const char *values;  /* in words, for the README */
    const char *schema;  /* JSON Schema of the value */
    const char *doc;     /* one sentence */
};

extern const struct sr_policy_field sr_policy_fields[SR_FIELD_COUNT];

extern const struct sr_policy_type sr_type_bool, sr_type_enum, sr_type_duration, sr_type_size,
    sr_type_count, sr_type_cpus, sr_type_target, sr_type_command, sr_type_paths, sr_type_mounts,
    sr_type_env_set, sr_type_env_pass, sr_type_pass_secret, sr_type_rootfs, sr_type_uncontained,
    sr_type_network, sr_type_seccomp;

/* Shared by the types; each refuses with the code it names. */
const char *sr_policy_read_string(struct sr_policy_reader *r,
                                  const cJSON *item); /* NULL: policy.invalid.type */
int sr_policy_read_reason(struct sr_policy_reader *r, const cJSON *item, const char *opens,
                          char **ret); /* policy.invalid.reason */
/* Absolute, without "..", not /, /proc, /sys, /dev or below those. policy.invalid.path. Owned by
 * the caller. */
char *sr_policy_read_place(struct sr_policy_reader *r, const cJSON *item, const char *path);
/* Every member's key must be one of the NULL-terminated names. policy.invalid.unknown_key. */
int sr_policy_read_keys(struct sr_policy_reader *r, const cJSON *object, const char *const *names);
bool sr_policy_binding_name_ok(const char *name);
bool sr_policy_preset_name_ok(const char *name);
bool sr_policy_secret_name(const char *name);
bool sr_strv_within(const struct sr_strv *inner, const struct sr_strv *outer);
extern const char *const sr_policy_seccomp_groups[]; /* NULL-terminated */

#endif
