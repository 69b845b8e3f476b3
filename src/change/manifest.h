/* SPDX-License-Identifier: MIT */
/* A manifest's inside: every entry of a tree in 48 bytes and its name. */
#ifndef CHANGE_MANIFEST_H
#define CHANGE_MANIFEST_H

#include "sandrun/change.h"

#include <sys/stat.h>

/*
 * Children of one directory are neighbours, sorted bytewise; a directory says where its children
 * are. So no path is stored whole, and a million files fit 64 MiB. Entry 0 is the root and has no
 * name.
 */
enum { SR_ENTRY_DIGEST = 1u << 31 }; /* in mode: digest is filled */

struct sr_manifest_entry {
    uint32_t name; /* offset into names */
    uint32_t mode;
    uint64_t size;
    union {
        unsigned char
            digest[SR_SHA256_SIZE]; /* content or target; without content: identity of the inode */
        struct {
            uint64_t identity; /* of the directory: device, inode, time of birth */
            uint32_t first, count;
        } dir;
    };
};

struct sr_manifest {
    struct sr_manifest_entry *v;
    size_t n, cap;
    char *names;
    size_t names_len, names_cap;
};

/* Appends; the index of the new entry. Code: snapshot.too_large. */
SR_CHECK int sr_manifest_add(struct sr_manifest *m, const char *name, const struct stat *st,
                             uint32_t *ret, struct sr_error *err);
static inline const char *sr_manifest_name(const struct sr_manifest *m, uint32_t i)
{
    return m->names + m->v[i].name;
}
/* NULL when path is not there. */
const struct sr_manifest_entry *sr_manifest_find(const struct sr_manifest *m, const char *path);
struct sr_entry_state sr_manifest_state(const struct sr_manifest_entry *e);

#endif
