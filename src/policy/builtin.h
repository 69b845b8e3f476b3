/* SPDX-License-Identifier: MIT */
/* The shipped policies, compiled in from policies/ by scripts/embed-policies. */
#ifndef SR_POLICY_BUILTIN_H
#define SR_POLICY_BUILTIN_H

#include <stddef.h>

struct sr_builtin_policy {
    const char *name; /* "floor", "python", ... */
    const char *text;
    size_t len;
};
extern const struct sr_builtin_policy sr_builtin_policies[];
extern const size_t sr_builtin_policies_n;

#endif
