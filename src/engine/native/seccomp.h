/* SPDX-License-Identifier: MIT */
/* The system call filter: one table, compiled once, cached by content. Only seccomp*.c know seccomp. */
#ifndef SR_NATIVE_SECCOMP_H
#define SR_NATIVE_SECCOMP_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>

/*
 * An allow list: calls a test runner, compiler or language runtime needs are allowed; the ones known
 * and refused get EPERM (socket families: EAFNOSUPPORT; a few the answer of a kernel that lacks
 * them); unknown and new ones (and clone3) get ENOSYS, so that libraries fall back. Foreign
 * architectures and x32 are refused. ioctl requests are compared in their low bits only
 * (CVE-2019-10063). The table has a row per call or per handful of them: names, group, condition,
 * errno, reason.
 *
 * Compiling takes libseccomp 3 ms, a look into the cache 0.1: so the BPF is kept in the cache
 * directory under the digest of (table, groups, names libseccomp does not know, its version,
 * architecture, sandrun version) with its own SHA-256 inside the file; a file that does not verify
 * is made again.
 */

/* groups: opt-outs of the table ("debug", "userns"). ret gets an array of struct sock_filter. cache_fd: -1 for none.
 * Codes: seccomp.group (unknown group), seccomp.compile. */
SR_CHECK int sr_seccomp_filter(int cache_fd, const struct sr_strv *groups, struct sr_buf *ret, struct sr_error *err);

/* In the child, after no_new_privs. Async-signal-safe but for errno; 0 or -1 with errno. */
int sr_seccomp_install(const struct sr_buf *filter);

/* The groups a policy may name: NULL-terminated. */
const char *const *sr_seccomp_groups(void);

#endif
