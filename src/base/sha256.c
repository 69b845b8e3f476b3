/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4): the portable code, the choice of the CPU's instructions, and the calling
 * sequence. */
#include "base/sha256.h"

#include "base/sha256_hw.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const uint32_t initial[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

const uint32_t sr_sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static inline uint32_t load_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void store_be32(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v >> 24);
    p[1] = (unsigned char)(v >> 16);
    p[2] = (unsigned char)(v >> 8);
    p[3] = (unsigned char)v;
}

static void schedule_fill(uint32_t w[64], const unsigned char *block)
{
    for (unsigned i = 0; i < 16; i++)
        w[i] = load_be32(block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        uint32_t s0 = rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3;
        uint32_t s1 = rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void rounds_run(uint32_t s[8], const uint32_t w[64])
{
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t t1 = s[7] + s1 + ((e & s[5]) ^ (~e & s[6])) + sr_sha256_k[i] + w[i];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t t2 = s0 + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        s[7] = s[6];
        s[6] = s[5];
        s[5] = e;
        s[4] = s[3] + t1;
        s[3] = s[2];
        s[2] = s[1];
        s[1] = a;
        s[0] = t1 + t2;
    }
}

void sr_sha256_portable(uint32_t h[8], const unsigned char *blocks, size_t n)
{
    for (; n; n--, blocks += 64) {
        uint32_t w[64], s[8];
        schedule_fill(w, blocks);
        memcpy(s, h, sizeof s);
        rounds_run(s, w);
        for (unsigned i = 0; i < 8; i++)
            h[i] += s[i];
    }
}

/* Chosen at first use. Two threads of the hashing pool may both choose: they choose the same, so
 * the race is only about which of two equal stores comes last. */
static sr_sha256_fn *chosen;

static void transform(uint32_t h[8], const unsigned char *blocks, size_t n)
{
    sr_sha256_fn *fn = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (!fn) {
        fn = sr_sha256_hardware();
        if (!fn)
            fn = sr_sha256_portable;
        __atomic_store_n(&chosen, fn, __ATOMIC_RELAXED);
    }
    fn(h, blocks, n);
}

void sr_sha256_init(struct sr_sha256 *c)
{
    memcpy(c->h, initial, sizeof initial);
    c->bytes = 0;
}

void sr_sha256_update(struct sr_sha256 *c, const void *data, size_t len)
{
    const unsigned char *p = data;
    size_t have = c->bytes % sizeof c->block;
    if (len == 0)
        return;
    c->bytes += len;
    if (have) {
        size_t take = sizeof c->block - have < len ? sizeof c->block - have : len;
        memcpy(c->block + have, p, take);
        p += take;
        len -= take;
        if (have + take < sizeof c->block)
            return;
        transform(c->h, c->block, 1);
    }
    size_t whole = len / sizeof c->block;
    if (whole)
        transform(c->h, p, whole);
    memcpy(c->block, p + whole * sizeof c->block, len % sizeof c->block);
}

void sr_sha256_final(struct sr_sha256 *c, unsigned char out[SR_SHA256_SIZE])
{
    uint64_t bits = c->bytes * 8;
    size_t have = c->bytes % sizeof c->block;
    c->block[have++] = 0x80;
    if (have > sizeof c->block - 8) {
        memset(c->block + have, 0, sizeof c->block - have);
        transform(c->h, c->block, 1);
        have = 0;
    }
    memset(c->block + have, 0, sizeof c->block - 8 - have);
    store_be32(c->block + 56, (uint32_t)(bits >> 32));
    store_be32(c->block + 60, (uint32_t)bits);
    transform(c->h, c->block, 1);
    for (unsigned i = 0; i < 8; i++)
        store_be32(out + 4 * i, c->h[i]);
}

void sr_sha256_bytes(const void *data, size_t len, unsigned char out[SR_SHA256_SIZE])
{
    struct sr_sha256 c;
    sr_sha256_init(&c);
    sr_sha256_update(&c, data, len);
    sr_sha256_final(&c, out);
}

void sr_sha256_hex(const unsigned char digest[SR_SHA256_SIZE], char out[SR_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < SR_SHA256_SIZE; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * SR_SHA256_SIZE] = '\0';
}

void sr_sha256_text(const unsigned char digest[SR_SHA256_SIZE], char out[SR_DIGEST_TEXT])
{
    memcpy(out, "sha256:", 7);
    sr_sha256_hex(digest, out + 7);
}

int sr_sha256_fd(int fd, const char *name, unsigned char out[SR_SHA256_SIZE], uint64_t *ret_size,
                 struct sr_error *err)
{
    /* On the stack: the hashing pool's threads each need one, and 64 KiB is where larger reads stop
     * paying. */
    unsigned char chunk[64 * 1024];
    struct sr_sha256 c;
    sr_sha256_init(&c);
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sr_error_sys(err, "file.read", "cannot read %s to hash it", name);
        if (n == 0)
            break;
        sr_sha256_update(&c, chunk, (size_t)n);
    }
    if (ret_size)
        *ret_size = c.bytes;
    sr_sha256_final(&c, out);
    return 0;
}
