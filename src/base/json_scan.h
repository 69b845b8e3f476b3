/* SPDX-License-Identifier: MIT */
/* The scanner in front of cJSON: refuses what cJSON lets pass and notes where each value stands.
 * Private to base/json*.c. */
#ifndef SR_BASE_JSON_SCAN_H
#define SR_BASE_JSON_SCAN_H

#include "base/json.h"

/* In the order in which a walk of the tree meets the items: an object or array before its members.
 */
struct sr_json_place {
    const cJSON *item;
    struct sr_json_where value, key; /* key {0,0}: no member of an object */
};

/*
 * text[len] must be '\0'. On success the comments in text are blanks, so that cJSON can read it,
 * and *ret holds a place for every value, without items. Caller frees.
 */
SR_CHECK int sr_json_scan(const char *name, char *text, size_t len, enum sr_json_flags flags,
                          struct sr_json_place **ret, size_t *ret_n, struct sr_error *err);

/*
 * [start,end) is a JSON number. True when the nearest double, printed with as many digits, is that
 * number again, and it is no integer beyond 2^53-1.
 */
bool sr_json_number_survives(const char *start, const char *end);

#endif
