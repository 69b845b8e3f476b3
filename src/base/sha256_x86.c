/* SPDX-License-Identifier: MIT */
/* SHA-256 with the x86 SHA extensions (sha256rnds2, sha256msg1, sha256msg2). */
#include "base/sha256_hw.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("sha,sse4.1,ssse3")))

/* Four rounds with the message words m (already in order) and the constants from k. */
TARGET static inline void rounds4(__m128i *abef, __m128i *cdgh, __m128i m, const uint32_t *k)
{
    __m128i wk = _mm_add_epi32(m, _mm_loadu_si128((const __m128i *)(const void *)k));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, wk);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(wk, 0x0e));
}

/* The next four message words from the last sixteen; a is the oldest group and is replaced. */
TARGET static inline __m128i schedule4(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m128i t = _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4));
    return _mm_sha256msg2_epu32(t, d);
}

TARGET static void block_x86(__m128i *abef, __m128i *cdgh, const unsigned char *p)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    const __m128i *in = (const __m128i *)(const void *)p;
    const __m128i abef0 = *abef, cdgh0 = *cdgh;
    __m128i m[4];
    for (unsigned i = 0; i < 4; i++) {
        m[i] = _mm_shuffle_epi8(_mm_loadu_si128(in + i), swap);
        rounds4(abef, cdgh, m[i], sr_sha256_k + 4 * i);
    }
    for (unsigned i = 16; i < 64; i += 16) {
        m[0] = schedule4(m[0], m[1], m[2], m[3]);
        rounds4(abef, cdgh, m[0], sr_sha256_k + i);
        m[1] = schedule4(m[1], m[2], m[3], m[0]);
        rounds4(abef, cdgh, m[1], sr_sha256_k + i + 4);
        m[2] = schedule4(m[2], m[3], m[0], m[1]);
        rounds4(abef, cdgh, m[2], sr_sha256_k + i + 8);
        m[3] = schedule4(m[3], m[0], m[1], m[2]);
        rounds4(abef, cdgh, m[3], sr_sha256_k + i + 12);
    }
    *abef = _mm_add_epi32(*abef, abef0);
    *cdgh = _mm_add_epi32(*cdgh, cdgh0);
}

/* The instructions want the state as (a,b,e,f) and (c,d,g,h), highest lane first; memory has a..h.
 */
TARGET static void transform_x86(uint32_t h[8], const unsigned char *blocks, size_t n)
{
    __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)h);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(h + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
    __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; n; n--, blocks += 64)
        block_x86(&abef, &cdgh, blocks);
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* cpuid itself and not __builtin_cpu_supports("sha"): gcc 12 and clang 14 do not know that name. */
sr_sha256_fn *sr_sha256_hardware(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
        return NULL;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 29)))
        return NULL;
    return transform_x86;
}

#elif !defined(__aarch64__)

sr_sha256_fn *sr_sha256_hardware(void)
{
    return NULL;
}

#endif
