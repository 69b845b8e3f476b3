/* SPDX-License-Identifier: MIT */
/* Whether two git index files differ in nothing but what `git status` refreshes. */
#ifndef CHANGE_GIT_REFRESH_H
#define CHANGE_GIT_REFRESH_H

#include <stdbool.h>
#include <stddef.h>

/* Times, inode and the like of entries, the checksum, and extensions that are caches. Anything odd:
 * false. */
bool sr_git_index_same(const void *before, size_t before_len, const void *after, size_t after_len);

#endif
