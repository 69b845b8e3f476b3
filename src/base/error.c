/* SPDX-License-Identifier: MIT */
/* The one error type. */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

SR_PRINTF(4, 0)
static void set_va(struct sr_error *err, const char *code, int sys, const char *fmt, va_list ap)
{
    /* Two failures in one error hide the first: a bug of the caller, not a matter of the input. */
    assert(!sr_error_is_set(err));
    snprintf(err->code, sizeof err->code, "%s", code);
    err->sys = sys;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    err->hint[0] = '\0';
}

int sr_error_set(struct sr_error *err, const char *code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_va(err, code, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int sr_error_sys(struct sr_error *err, const char *code, const char *fmt, ...)
{
    int sys = errno;
    va_list ap;
    va_start(ap, fmt);
    set_va(err, code, sys, fmt, ap);
    va_end(ap);
    size_t len = strlen(err->text);
    snprintf(err->text + len, sizeof err->text - len, ": %s", strerror(sys));
    return -1;
}

int sr_error_wrap(struct sr_error *err, const char *fmt, ...)
{
    char inner[SR_ERROR_TEXT_MAX];
    memcpy(inner, err->text, sizeof inner);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    size_t len = strlen(err->text);
    snprintf(err->text + len, sizeof err->text - len, ": %s", inner);
    return -1;
}

int sr_error_hint(struct sr_error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, ap);
    va_end(ap);
    return -1;
}

void sr_error_clear(struct sr_error *err)
{
    *err = (struct sr_error){ 0 };
}
