/* SPDX-License-Identifier: MIT */
/* SHA-1. */
#include "git/sha1.h"

#include "git/bytes.h"

#include <string.h>

static uint32_t rol(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

static void schedule(uint32_t w[80], const unsigned char block[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = git_be32(block + 4 * i);
    for (int i = 16; i < 80; i++)
        w[i] = rol(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
}

static uint32_t choose(uint32_t b, uint32_t c, uint32_t d)
{
    return d ^ (b & (c ^ d));
}

static uint32_t parity(uint32_t b, uint32_t c, uint32_t d)
{
    return b ^ c ^ d;
}

static uint32_t majority(uint32_t b, uint32_t c, uint32_t d)
{
    return (b & c) | (d & (b | c));
}

#define ROUNDS(from, to, f, k)                                                                     \
    for (int i = (from); i < (to); i++) {                                                          \
        uint32_t t = rol(a, 5) + f(b, c, d) + e + (k) + w[i];                                      \
        e = d;                                                                                     \
        d = c;                                                                                     \
        c = rol(b, 30);                                                                            \
        b = a;                                                                                     \
        a = t;                                                                                     \
    }

static void block_mix(uint32_t h[5], const unsigned char block[64])
{
    uint32_t w[80];
    schedule(w, block);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    ROUNDS(0, 20, choose, 0x5a827999u)
    ROUNDS(20, 40, parity, 0x6ed9eba1u)
    ROUNDS(40, 60, majority, 0x8f1bbcdcu)
    ROUNDS(60, 80, parity, 0xca62c1d6u)
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void git_sha1_init(struct git_sha1 *c)
{
    *c = (struct git_sha1){ .h = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u,
                                   0xc3d2e1f0u } };
}

void git_sha1_update(struct git_sha1 *c, const void *data, size_t len)
{
    const unsigned char *p = data;
    size_t have = c->bytes % 64;
    c->bytes += len;
    if (have) {
        size_t take = len < 64 - have ? len : 64 - have;
        memcpy(c->block + have, p, take);
        if (have + take < 64)
            return;
        block_mix(c->h, c->block);
        p += take;
        len -= take;
    }
    for (; len >= 64; p += 64, len -= 64)
        block_mix(c->h, p);
    if (len)
        memcpy(c->block, p, len);
}

void git_sha1_final(struct git_sha1 *c, unsigned char out[GIT_SHA1_SIZE])
{
    static const unsigned char pad[64] = { 0x80 };
    unsigned char length[8];
    uint64_t bits = c->bytes * 8;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    size_t have = c->bytes % 64;
    git_sha1_update(c, pad, have < 56 ? 56 - have : 120 - have);
    git_sha1_update(c, length, sizeof length);
    for (int i = 0; i < 20; i++)
        out[i] = (unsigned char)(c->h[i / 4] >> (24 - 8 * (i % 4)));
}
