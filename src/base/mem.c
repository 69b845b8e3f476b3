/* SPDX-License-Identifier: MIT */
/* Ownership and allocation that does not fail. */
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *must(void *p)
{
    if (!p) {
        static const char line[] = "sandrun: out of memory\n";
        if (write(STDERR_FILENO, line, sizeof line - 1) < 0) {
            /* nothing is left to tell it to */
        }
        abort();
    }
    return p;
}

void sr_freep(void *p)
{
    int saved = errno;
    free(*(void **)p);
    errno = saved;
}

void sr_closep(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;
        close(*fd);
        errno = saved;
    }
}

void sr_closedirp(DIR **d)
{
    if (*d) {
        int saved = errno;
        closedir(*d);
        errno = saved;
    }
}

void sr_fclosep(FILE **f)
{
    if (*f) {
        int saved = errno;
        fclose(*f);
        errno = saved;
    }
}

void *sr_malloc(size_t n)
{
    return must(malloc(n ? n : 1));
}

void *sr_calloc(size_t n, size_t size)
{
    return must(calloc(n ? n : 1, size ? size : 1));
}

void *sr_reallocarray(void *p, size_t n, size_t size)
{
    return must(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *sr_strdup(const char *s)
{
    return s ? must(strdup(s)) : NULL;
}

char *sr_strndup(const char *s, size_t n)
{
    return must(strndup(s, n));
}

char *sr_asprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    return must(n < 0 ? NULL : s);
}

void sr_strv_clear(struct sr_strv *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    *s = (struct sr_strv){ 0 };
}

void sr_strv_take(struct sr_strv *s, char *item)
{
    s->v = sr_reallocarray(s->v, s->n + 2, sizeof *s->v);
    s->v[s->n++] = item;
    s->v[s->n] = NULL;
}

void sr_strv_add(struct sr_strv *s, const char *item)
{
    sr_strv_take(s, sr_strdup(item));
}

void sr_strv_copy(struct sr_strv *dst, const struct sr_strv *src)
{
    sr_strv_clear(dst);
    for (size_t i = 0; i < src->n; i++)
        sr_strv_add(dst, src->v[i]);
}

int sr_strv_has(const struct sr_strv *s, const char *item)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i], item) == 0)
            return 1;
    return 0;
}
