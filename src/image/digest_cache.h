/* SPDX-License-Identifier: MIT */
/* Digests of files that did not change since they were last hashed, told by stat(2). */
#ifndef SR_IMAGE_DIGEST_CACHE_H
#define SR_IMAGE_DIGEST_CACHE_H

#include "base/error.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keyed by (dev, ino, size, mtime, ctime), times in ns. ctime cannot be set by a program, so
 * content that changed has another key, with one exception: a change in the same clock tick as the
 * hashing. Entries whose ctime is within two seconds of it (or ahead: a clock that was set back)
 * are therefore never stored.
 *
 * The file: magic, entries, SHA-256 over both. One that is not whole is as good as none. It lies in
 * a directory that only the user can write; whoever can forge it can replace sandrun.
 */
struct digest_entry {
    uint64_t dev, ino, size;
    int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
    unsigned char digest[SR_SHA256_SIZE];
};

enum { DIGEST_ENTRIES_MAX = 1024 };

struct digest_cache {
    int dirfd; /* borrowed; -1: nothing is kept */
    struct digest_entry *v;
    size_t n, cap;
    bool dirty;
    unsigned hashed; /* files read in full since the cache was opened */
};

#define cleanup_digest_cache __attribute__((cleanup(digest_cache_close)))
/* Never fails: without a usable file it starts empty. */
void digest_cache_open(struct digest_cache *c, int dirfd);
/* Of the regular file at the absolute path; a link in the last place is not followed. Code:
 * rootfs.unreadable. */
SR_CHECK int digest_cache_file(struct digest_cache *c, const char *path,
                               unsigned char out[SR_SHA256_SIZE], struct sr_error *err);
/* Writes what is new. A cache that cannot be written costs the next run time, no more: failure is
 * not reported. */
void digest_cache_save(struct digest_cache *c);
void digest_cache_close(struct digest_cache *c);

#endif
