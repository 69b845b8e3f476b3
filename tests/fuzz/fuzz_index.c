/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the readers of two foreign files: the digest index and git's index as the
 * classifier compares it. */
#include "base/mem.h"
#include "change/git_refresh.h"
#include "change/index.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The checksum is made right, so that what it guards is reached too. */
static void index_with_checksum(const uint8_t *data, size_t size)
{
    struct sr_index index = { 0 };
    unsigned char *copy = sr_malloc(size + SR_SHA256_SIZE);
    memcpy(copy, data, size);
    sr_sha256_bytes(data, size, copy + size);
    if (sr_index_parse(copy, size + SR_SHA256_SIZE, &index))
        for (size_t i = 0; i < index.n; i++)
            if (sr_index_find(&index, index.v[i].key) != index.v[i].digest)
                abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_index index = { 0 };
    if (size == 0)
        return 0;
    if (sr_index_parse(data, size, &index) && index.n > size / sizeof(struct sr_index_record))
        abort();
    index_with_checksum(data, size);
    /* The first byte says where the input is cut in two. */
    size_t cut = (size_t)data[0] * (size - 1) / 255;
    sr_git_index_same(data + 1, cut, data + 1 + cut, size - 1 - cut);
    sr_git_index_same(data + 1, size - 1, data + 1, size - 1);
    return 0;
}
