/* SPDX-License-Identifier: MIT */
/* Text: one checked parser per type, and names of the outside world made harmless. */
#ifndef SR_BASE_TEXT_H
#define SR_BASE_TEXT_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* "90s" "10m" "1h30m" "250ms" "2d" -> nanoseconds. A bare number is refused: no unit, no meaning. Code: value.duration. */
SR_CHECK int sr_text_duration(const char *s, uint64_t *ret_ns, struct sr_error *err);
/* "512" (bytes) "16KiB" "2GiB" "4GB" "1.5GiB" is refused (no fractions). Code: value.size. */
SR_CHECK int sr_text_size(const char *s, uint64_t *ret_bytes, struct sr_error *err);
/* Decimal, no sign, no blanks, within [min,max]. Code: value.number. */
SR_CHECK int sr_text_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct sr_error *err);

/* The shortest exact spelling: 600000000000 -> "10m", 2147483648 -> "2GiB". out holds 32 bytes. */
void sr_text_format_duration(uint64_t ns, char out[32]);
void sr_text_format_size(uint64_t bytes, char out[32]);

/* Appends len bytes; control characters, DEL, C1 and bytes that are not UTF-8 become \xNN, backslash becomes \\.
 * What comes out can be printed on a terminal and put into JSON, and the raw name can be told from it. */
void sr_text_printable(struct sr_buf *out, const void *bytes, size_t len);
/* The inverse: appends the raw bytes of such a spelling. -1, with nothing promised about out, when s is none: a backslash
 * without a second one or xNN (lower case) behind it. */
SR_CHECK int sr_text_unprintable(struct sr_buf *out, const char *s);
bool sr_text_is_utf8(const void *bytes, size_t len);

bool sr_text_starts(const char *s, const char *prefix);
/* Levenshtein distance, for "did you mean"; strings over 63 bytes count as far. */
unsigned sr_text_distance(const char *a, const char *b);

#endif
