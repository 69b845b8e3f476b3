/* SPDX-License-Identifier: MIT */
/* The rows of the system call filter and its compiler: private to seccomp*.c and their tests. */
#ifndef SR_NATIVE_SECCOMP_TABLE_H
#define SR_NATIVE_SECCOMP_TABLE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

enum { SR_SYSCALL_CMP_MAX = 3, SR_SYSCALL_EXCEPT_MAX = 4 };

/* All comparisons hold, each on another argument (libseccomp takes one per argument). */
struct sr_syscall_test {
    struct scmp_arg_cmp cmp[SR_SYSCALL_CMP_MAX];
    unsigned n;
};

/* The low `width` bits of one argument are none of the values. */
struct sr_syscall_except {
    unsigned arg, width, n;
    uint32_t value[SR_SYSCALL_EXCEPT_MAX];
};

/*
 * One row says one thing about one or more calls. The tests of a row are joined by "or"; none:
 * always. error 0 allows. A call that no test of any of its rows matches is EPERM, a number that no
 * row names is ENOSYS. Rows of one call must not overlap in what they match unless they agree:
 * libseccomp gives no order then. A row whose group was asked for takes the place of all rows of
 * its calls that have no group.
 */
struct sr_syscall_row {
    const char *names; /* libseccomp's names, one blank between two */
    const char *group; /* NULL: always */
    const struct sr_syscall_test *when;
    size_t n_when;
    const struct sr_syscall_except *except;
    int error;
    const char *reason;
};

extern const struct sr_syscall_row sr_syscall_table[];
extern const size_t sr_syscall_table_size;

/* Without the cache, for any architecture token of libseccomp. Code: seccomp.compile. */
SR_CHECK int sr_seccomp_compile(uint32_t arch, const struct sr_strv *groups, struct sr_buf *ret,
                                struct sr_error *err);

#endif
