/* SPDX-License-Identifier: MIT */
/* Strict JSON over cJSON: everything cJSON lets pass is refused before anyone sees a value. */
#ifndef SR_BASE_JSON_H
#define SR_BASE_JSON_H

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * cJSON alone truncates at \u0000, keeps duplicate keys, ignores trailing bytes, looks keys up without case and rounds
 * 2^53+1. sr_json_parse scans the bytes first and refuses each of these, and more, with line and column:
 *
 *   json.syntax json.duplicate_key json.nul json.utf8 json.surrogate json.depth (> SR_JSON_DEPTH_MAX) json.trailing
 *   json.number (beyond 2^53-1 either way, or a decimal that a double, printed with as many digits, does not give back) json.size
 *
 * With SR_JSON_COMMENTS, // and block comments count as blanks (policies). Text is at most max bytes.
 */
enum { SR_JSON_DEPTH_MAX = 32 };
enum sr_json_flags { SR_JSON_STRICT = 0, SR_JSON_COMMENTS = 1 };

struct sr_json_where {
    unsigned line, column; /* from 1; column counts bytes */
};

struct sr_json {
    cJSON *root;
    char *name; /* as given, for messages */
    struct sr_json_place *places; /* private: item -> position of the value, of its key */
    size_t n_places;
};

#define cleanup_json_doc __attribute__((cleanup(sr_json_clear)))
#define cleanup_json __attribute__((cleanup(sr_json_deletep)))

SR_CHECK int sr_json_parse(const char *name, const char *text, size_t len, size_t max, enum sr_json_flags flags,
                           struct sr_json *ret, struct sr_error *err);
void sr_json_clear(struct sr_json *doc);
void sr_json_deletep(cJSON **item);

/* Where the value (or, for a member, its key) stands in the text. {0,0} for an item of another document. */
struct sr_json_where sr_json_where_value(const struct sr_json *doc, const cJSON *item);
struct sr_json_where sr_json_where_key(const struct sr_json *doc, const cJSON *item);

/* Case-sensitive member look-up that tolerates NULL and other types: NULL then. */
const cJSON *sr_json_get(const cJSON *object, const char *key);
const char *sr_json_string(const cJSON *object, const char *key); /* NULL unless a string */
bool sr_json_u64(const cJSON *object, const char *key, uint64_t *ret); /* exact non-negative integers only */
bool sr_json_bool(const cJSON *object, const char *key, bool *ret);

/* Builders that never fail (allocation aborts) and keep the order of the calls. Strings that are not UTF-8 are written
 * as sr_text_printable spells them. Integers above 2^53-1 are written as strings of digits. */
cJSON *sr_json_object(void);
cJSON *sr_json_array(void);
void sr_json_add(cJSON *object, const char *key, cJSON *value); /* takes ownership */
void sr_json_add_string(cJSON *object, const char *key, const char *s); /* NULL: null */
void sr_json_add_u64(cJSON *object, const char *key, uint64_t v);
void sr_json_add_bool(cJSON *object, const char *key, bool v);
void sr_json_append(cJSON *array, cJSON *value);
void sr_json_append_string(cJSON *array, const char *s);
/* A path may hold any bytes, and what is written of it leads back to them: as it is, but spelled by sr_text_printable (\xNN for a
 * byte, backslashes doubled) when it is not UTF-8 or already has an "\xNN" (two digits, lower case) in it, which so tells the two. */
void sr_json_add_path(cJSON *object, const char *key, const char *path); /* NULL: null */
void sr_json_append_path(cJSON *array, const char *path);
char *sr_json_path(const char *written); /* the bytes; NULL of NULL. Caller frees */

/* Compact, in the order of insertion: the canonical spelling that digests are taken over. Caller frees. */
char *sr_json_compact(const cJSON *item);
/* Two-space indented, with a final newline. Caller frees. */
char *sr_json_pretty(const cJSON *item);

#endif
