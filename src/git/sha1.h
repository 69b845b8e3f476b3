/* SPDX-License-Identifier: MIT */
/* SHA-1 (FIPS 180-4), for the names of git's objects and for nothing else. */
#ifndef SR_GIT_SHA1_H
#define SR_GIT_SHA1_H

#include <stddef.h>
#include <stdint.h>

/*
 * An object is read because its name is already known, so what is needed is second-preimage
 * resistance, which SHA-1 still has. Two different objects of one name (a collision) can be made by
 * whoever writes both; it buys them nothing here that writing the repository did not.
 */
enum { GIT_SHA1_SIZE = 20 };

struct git_sha1 {
    uint32_t h[5];
    uint64_t bytes;
    unsigned char block[64];
};

void git_sha1_init(struct git_sha1 *c);
void git_sha1_update(struct git_sha1 *c, const void *data, size_t len);
void git_sha1_final(struct git_sha1 *c, unsigned char out[GIT_SHA1_SIZE]);

#endif
