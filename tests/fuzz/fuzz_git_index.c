/* SPDX-License-Identifier: MIT */
/* Any bytes as git's index, with names of either length: refused, or a list that can be searched.
 */
#include "base/mem.h"
#include "git/index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t hash_len = 20; hash_len <= 32; hash_len += 12) {
        struct sr_error err = { 0 };
        struct git_index *ix = NULL;
        cleanup_free unsigned char *copy = sr_malloc(size);
        if (size)
            memcpy(copy, data, size);
        if (git_index_parse(&copy, size, hash_len, &ix, &err) < 0) {
            if (strncmp(err.code, "git.", 4) != 0)
                abort();
            continue;
        }
        /* What was taken in is found again. */
        for (size_t i = 0; i < ix->n; i++)
            if (!git_index_has(ix, git_index_name(ix, i)))
                abort();
        git_index_has(ix, "a/b/c");
        git_index_free(ix);
    }
    return 0;
}
