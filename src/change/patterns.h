/* SPDX-License-Identifier: MIT */
/* Paths that say by themselves what a change of them means. */
#ifndef CHANGE_PATTERNS_H
#define CHANGE_PATTERNS_H

#include <stdbool.h>

bool sr_path_deferred(
    const char *path); /* will run on the host later, without anyone starting it as a check */
bool sr_path_cache(const char *path, bool in_home);

#endif
