/* SPDX-License-Identifier: MIT */
/* git's index, reduced to the sorted list of its paths. */
#ifndef SR_GIT_INDEX_H
#define SR_GIT_INDEX_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct git_index {
    unsigned char
        *file; /* owned; versions 2 and 3 hold their names whole, and are searched where they lie */
    struct sr_buf names; /* version 4: spelled out here, NUL-terminated */
    uint32_t *at; /* where each starts, in one or the other; sorted by bytes, as git keeps them */
    size_t n;
    bool sparse; /* some end in "/": everything below counts */
};

/* data: the whole file, checksum included; malloc'ed, and taken over (*data becomes NULL) on
 * success. git itself does not verify that checksum when it reads; what we take from the file is a
 * list of names whose every byte is bounds-checked, and who can write the file can write its
 * checksum. */
SR_CHECK int git_index_parse(unsigned char **data, size_t len, size_t hash_len,
                             struct git_index **ret, struct sr_error *err);
/* The nth path, n < ix->n. */
const char *git_index_name(const struct git_index *ix, size_t n);
bool git_index_has(const struct git_index *ix, const char *path);
void git_index_free(struct git_index *ix);

#endif
