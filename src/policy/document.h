/* SPDX-License-Identifier: MIT */
/* One policy file, parsed: what it declares, and where each field stands. */
#ifndef SR_POLICY_DOCUMENT_H
#define SR_POLICY_DOCUMENT_H

#include "policy/fields.h"

/* A file larger than this is no policy that someone reviewed. */
enum { SR_POLICY_FILE_MAX = 1024 * 1024 };

/* b.present says which members count; b.name is NULL for "defaults". */
struct sr_policy_declaration {
    struct sr_binding b;
    struct sr_json_where where[SR_FIELD_COUNT]; /* of the field's key */
    struct sr_json_where name_where;
};

struct sr_policy_lock {
    char *binding; /* NULL: every binding */
    uint64_t fields;
};

struct sr_policy_document {
    enum sr_layer layer;
    bool by_repository; /* a preset that the repository, and nobody above it, named */
    char *path;
    char digest[72];
    struct sr_strv extends;
    struct sr_json_where *extends_where;
    struct sr_policy_declaration defaults;
    struct sr_policy_declaration *bindings;
    size_t n_bindings;
    struct sr_policy_lock *locks;
    size_t n_locks;
};

SR_CHECK int sr_policy_document_parse(const struct sr_policy_source *src, const char *home,
                                      struct sr_policy_document *ret, struct sr_error *err);
void sr_policy_document_clear(struct sr_policy_document *d);

/* merge.c. Lays src over dst, noting that file number `file` set it. */
void sr_policy_declaration_merge(struct sr_policy_declaration *dst,
                                 const struct sr_policy_declaration *src, uint16_t file);

/* Every document in order of strength; d[n] each. */
struct sr_policy_documents {
    struct sr_policy_document *d;
    size_t n;
};
/* Binding by binding over all documents, with locks and the command line's bound. */
SR_CHECK int sr_policy_merge(const struct sr_policy_documents *docs, const char *binding,
                             struct sr_policy_declaration *ret, struct sr_error *err);
/* What only shows in the whole: secrets without a reason, keep without paths, a binding without a
 * command. */
SR_CHECK int sr_policy_check(const struct sr_policy_documents *docs,
                             struct sr_policy_declaration *merged, struct sr_error *err);

#endif
