/* SPDX-License-Identifier: MIT */
/* The seam between SHA-256 and the CPU's own instructions: one file per architecture, each empty on
 * the others. */
#ifndef SR_BASE_SHA256_HW_H
#define SR_BASE_SHA256_HW_H

#include <stddef.h>
#include <stdint.h>

typedef void sr_sha256_fn(uint32_t h[8], const unsigned char *blocks, size_t n);

extern const uint32_t sr_sha256_k[64];

/* The CPU's code when this CPU has it, else NULL. */
sr_sha256_fn *sr_sha256_hardware(void);

#endif
