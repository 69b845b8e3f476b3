/* SPDX-License-Identifier: MIT */
/* A growing byte buffer with a ceiling. */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sr_buf_clear(struct sr_buf *b)
{
    free(b->data);
    *b = SR_BUF(b->max);
}

void sr_buf_reset(struct sr_buf *b)
{
    b->len = 0;
    b->overflow = false;
    if (b->data)
        b->data[0] = '\0';
}

/* Room for len more and the NUL, or the sticky overflow. */
static bool reserve(struct sr_buf *b, size_t len)
{
    if (b->overflow || len > b->max - b->len) {
        b->overflow = true;
        return false;
    }
    size_t need = b->len + len + 1;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 64;
        while (cap < need)
            cap *= 2;
        b->data = sr_reallocarray(b->data, cap, 1);
        b->cap = cap;
    }
    return true;
}

void sr_buf_add(struct sr_buf *b, const void *data, size_t len)
{
    if (!reserve(b, len))
        return;
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void sr_buf_puts(struct sr_buf *b, const char *s)
{
    sr_buf_add(b, s, strlen(s));
}

void sr_buf_putc(struct sr_buf *b, char c)
{
    sr_buf_add(b, &c, 1);
}

void sr_buf_printf(struct sr_buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

char *sr_buf_steal(struct sr_buf *b)
{
    char *s = b->data ? steal_ptr(&b->data) : sr_strdup("");
    *b = SR_BUF(b->max);
    return s;
}
