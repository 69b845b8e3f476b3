/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), with the CPU's instructions where they are. */
#ifndef SR_BASE_SHA256_H
#define SR_BASE_SHA256_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * An own file, not libcrypto: loading libcrypto costs more than a whole run of a trivial command needs for hashing,
 * and the algorithm is fixed. x86 SHA-NI and aarch64 crypto extensions are chosen at first use; the portable code is
 * the reference the tests hold both against.
 */
enum { SR_SHA256_SIZE = 32, SR_SHA256_HEX = 65, SR_DIGEST_TEXT = 72 /* "sha256:" + 64 + NUL */ };

struct sr_sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[64];
};

void sr_sha256_init(struct sr_sha256 *c);
void sr_sha256_update(struct sr_sha256 *c, const void *data, size_t len);
void sr_sha256_final(struct sr_sha256 *c, unsigned char out[SR_SHA256_SIZE]);

void sr_sha256_bytes(const void *data, size_t len, unsigned char out[SR_SHA256_SIZE]);
void sr_sha256_hex(const unsigned char digest[SR_SHA256_SIZE], char out[SR_SHA256_HEX]);
/* "sha256:<hex>" */
void sr_sha256_text(const unsigned char digest[SR_SHA256_SIZE], char out[SR_DIGEST_TEXT]);
/* Whole content of a regular file from its current offset. Code: file.read. */
SR_CHECK int sr_sha256_fd(int fd, const char *name, unsigned char out[SR_SHA256_SIZE], uint64_t *ret_size, struct sr_error *err);

/* The portable code alone, for tests and for the CPU that lacks the instructions. */
void sr_sha256_portable(uint32_t h[8], const unsigned char *blocks, size_t n);

#endif
