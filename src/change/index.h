/* SPDX-License-Identifier: MIT */
/* The stat-keyed digest index: a cache, believed only while the inode says that nothing happened.
 */
#ifndef CHANGE_INDEX_H
#define CHANGE_INDEX_H

#include "base/error.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * File: "SRINDEX1", count (u64, this machine's order), count records sorted by key without repeats,
 * SHA-256 of all before. A key is half a SHA-256 over device, inode, size, mtime and ctime in
 * nanoseconds. ctime cannot be set back by the one who writes the file, so an edit that restores
 * size and mtime still has another key. Anything odd about the file makes it empty.
 */
enum { SR_INDEX_KEY = 16 };

struct sr_index_record {
    unsigned char key[SR_INDEX_KEY];
    unsigned char digest[SR_SHA256_SIZE];
};

struct sr_index {
    const struct sr_index_record *v; /* in the mapping, or NULL */
    size_t n;
    void *map;
    size_t map_len;
};

void sr_index_key(const struct stat *st, unsigned char key[SR_INDEX_KEY]);
/* Points into data, which must stay. False: not an index. */
bool sr_index_parse(const void *data, size_t len, struct sr_index *ret);
/* An index that cannot be read or believed is an empty one. */
void sr_index_open(int dirfd, const char *name, struct sr_index *ret);
void sr_index_close(struct sr_index *index);
const unsigned char *sr_index_find(const struct sr_index *index,
                                   const unsigned char key[SR_INDEX_KEY]);
/* Sorts v. Codes of sr_file_write_at. */
SR_CHECK int sr_index_write(int dirfd, const char *name, struct sr_index_record *v, size_t n,
                            struct sr_error *err);

#endif
