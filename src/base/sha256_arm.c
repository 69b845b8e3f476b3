/* SPDX-License-Identifier: MIT */
/* SHA-256 with the aarch64 crypto extension (sha256h, sha256h2, sha256su0, sha256su1). */
#include "base/sha256_hw.h"

#if defined(__aarch64__)

#ifdef __clang__
#define TARGET __attribute__((target("crypto")))
#else
#define TARGET __attribute__((target("+crypto")))
#endif

#include <arm_neon.h>
#include <sys/auxv.h>

/* <asm/hwcap.h> */
#define HWCAP_SHA2_BIT (1ul << 6)

TARGET static inline void rounds4(uint32x4_t *abcd, uint32x4_t *efgh, uint32x4_t m,
                                  const uint32_t *k)
{
    uint32x4_t wk = vaddq_u32(m, vld1q_u32(k));
    uint32x4_t before = *abcd;
    *abcd = vsha256hq_u32(before, *efgh, wk);
    *efgh = vsha256h2q_u32(*efgh, before, wk);
}

TARGET static void transform_arm(uint32_t h[8], const unsigned char *blocks, size_t n)
{
    uint32x4_t abcd = vld1q_u32(h), efgh = vld1q_u32(h + 4);
    for (; n; n--, blocks += 64) {
        const uint32x4_t abcd0 = abcd, efgh0 = efgh;
        uint32x4_t m[4];
        for (unsigned i = 0; i < 4; i++)
            m[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * i)));
        for (unsigned i = 0; i < 16; i++) {
            uint32x4_t *w = &m[i % 4];
            if (i >= 4)
                *w = vsha256su1q_u32(vsha256su0q_u32(*w, m[(i + 1) % 4]), m[(i + 2) % 4],
                                     m[(i + 3) % 4]);
            rounds4(&abcd, &efgh, *w, sr_sha256_k + 4 * i);
        }
        abcd = vaddq_u32(abcd, abcd0);
        efgh = vaddq_u32(efgh, efgh0);
    }
    vst1q_u32(h, abcd);
    vst1q_u32(h + 4, efgh);
}

sr_sha256_fn *sr_sha256_hardware(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SHA2_BIT ? transform_arm : NULL;
}

#endif
