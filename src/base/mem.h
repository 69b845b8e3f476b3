/* SPDX-License-Identifier: MIT */
/* Ownership: cleanup attributes, steal, allocation that does not fail, string vectors. */
#ifndef SR_BASE_MEM_H
#define SR_BASE_MEM_H

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>

/*
 *     cleanup_free char *name = sr_strdup(x);      freed when the scope ends
 *     cleanup_fd int fd = open(...);               closed when the scope ends, errno kept
 *     *ret_name = steal_ptr(&name);                ownership leaves by steal, and only so
 *
 * Allocation failure ends the process (abort after one line): sandrun is short-lived, and the inventory
 * written before each resource mops up at the next start.
 */
#define cleanup_free __attribute__((cleanup(sr_freep)))
#define cleanup_fd __attribute__((cleanup(sr_closep)))
#define cleanup_dir __attribute__((cleanup(sr_closedirp)))
#define cleanup_file __attribute__((cleanup(sr_fclosep)))
#define cleanup_strv __attribute__((cleanup(sr_strv_clear)))

void sr_freep(void *p);
void sr_closep(int *fd);
void sr_closedirp(DIR **d);
void sr_fclosep(FILE **f);

void *sr_malloc(size_t n);
void *sr_calloc(size_t n, size_t size);
void *sr_reallocarray(void *p, size_t n, size_t size);
char *sr_strdup(const char *s); /* NULL gives NULL */
char *sr_strndup(const char *s, size_t n);
char *sr_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline void *sr_steal_ptr_(void *pp)
{
    void **p = pp;
    void *v = *p;
    *p = NULL;
    return v;
}
#define steal_ptr(p) ((__typeof__(*(p)))sr_steal_ptr_(p))

static inline int steal_fd(int *fd)
{
    int v = *fd;
    *fd = -1;
    return v;
}

/* Grows an array to hold one more: doubles, never shrinks. */
#define SR_GROW(array, n, cap)                                                                     \
    do {                                                                                           \
        if ((n) == (cap)) {                                                                        \
            (cap) = (cap) ? (cap) * 2 : 8;                                                         \
            (array) = sr_reallocarray((array), (cap), sizeof *(array));                            \
        }                                                                                          \
    } while (0)

/* A vector of owned strings. v is NULL-terminated whenever n > 0, so it can be an argv. */
struct sr_strv {
    char **v;
    size_t n;
};

void sr_strv_clear(struct sr_strv *s);
void sr_strv_add(struct sr_strv *s, const char *item);
void sr_strv_take(struct sr_strv *s, char *item); /* takes ownership */
void sr_strv_copy(struct sr_strv *dst, const struct sr_strv *src); /* dst is cleared first */
int sr_strv_has(const struct sr_strv *s, const char *item);

#endif
