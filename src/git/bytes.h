/* SPDX-License-Identifier: MIT */
/* Big-endian numbers out of bytes. */
#ifndef SR_GIT_BYTES_H
#define SR_GIT_BYTES_H

#include <stdint.h>

static inline uint32_t git_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t git_be64(const unsigned char *p)
{
    return (uint64_t)git_be32(p) << 32 | git_be32(p + 4);
}

static inline unsigned git_be16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

#endif
