/* SPDX-License-Identifier: MIT */
/* A growing byte buffer that cannot exist without a ceiling. */
#ifndef SR_BASE_BUF_H
#define SR_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/*
 *     cleanup_buf struct sr_buf b = SR_BUF(64 * 1024);
 *     sr_buf_printf(&b, "%s", name);
 *     if (b.overflow) ...        sticky: what would pass the ceiling is dropped whole, later appends too
 *
 * data is NUL-terminated once anything was appended (the NUL is not counted in len); it may hold NULs.
 */
struct sr_buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max;
    bool overflow;
};

#define SR_BUF(ceiling) ((struct sr_buf){ .max = (ceiling) })
#define cleanup_buf __attribute__((cleanup(sr_buf_clear)))

void sr_buf_clear(struct sr_buf *b); /* frees; the ceiling stays */
void sr_buf_reset(struct sr_buf *b); /* empties, keeps the memory */
void sr_buf_add(struct sr_buf *b, const void *data, size_t len);
void sr_buf_puts(struct sr_buf *b, const char *s);
void sr_buf_putc(struct sr_buf *b, char c);
void sr_buf_printf(struct sr_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *sr_buf_steal(struct sr_buf *b); /* never NULL: "" when empty */

#endif
