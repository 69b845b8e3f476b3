/* SPDX-License-Identifier: MIT */
/* Object names: hex, and the hash that makes them. */
#include "base/sha256.h"
#include "git/private.h"
#include "git/sha1.h"

#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
    [GIT_ANY] = "any",   [GIT_COMMIT] = "commit", [GIT_TREE] = "tree",
    [GIT_BLOB] = "blob", [GIT_TAG] = "tag",
};

const char *git_type_name(enum git_type t)
{
    return type_names[t];
}

enum git_type git_type_parse(const char *s, size_t len)
{
    for (int t = GIT_COMMIT; t <= GIT_TAG; t++)
        if (strlen(type_names[t]) == len && memcmp(type_names[t], s, len) == 0)
            return (enum git_type)t;
    return GIT_ANY;
}

int git_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool git_oid_parse(const char *hex, size_t hash_len, struct git_oid *ret)
{
    struct git_oid o = { { 0 } };
    for (size_t i = 0; i < hash_len; i++) {
        int hi = git_hex_digit(hex[2 * i]);
        int lo = hi < 0 ? -1 : git_hex_digit(hex[2 * i + 1]); /* never past a NUL */
        if (lo < 0)
            return false;
        o.b[i] = (unsigned char)(hi << 4 | lo);
    }
    *ret = o;
    return true;
}

void git_oid_hex(const struct git_oid *o, size_t hash_len, char out[SR_GIT_HEX_MAX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < hash_len; i++) {
        out[2 * i] = digits[o->b[i] >> 4];
        out[2 * i + 1] = digits[o->b[i] & 15];
    }
    out[2 * hash_len] = '\0';
}

void git_object_name(bool sha256, enum git_type type, const void *data, size_t size,
                     struct git_oid *ret)
{
    char head[48];
    int n = snprintf(head, sizeof head, "%s %zu", type_names[type], size);
    size_t head_len = (size_t)n + 1; /* the NUL belongs to what is hashed */
    *ret = (struct git_oid){ { 0 } };
    if (sha256) {
        struct sr_sha256 c;
        sr_sha256_init(&c);
        sr_sha256_update(&c, head, head_len);
        sr_sha256_update(&c, data, size);
        sr_sha256_final(&c, ret->b);
    } else {
        struct git_sha1 c;
        git_sha1_init(&c);
        git_sha1_update(&c, head, head_len);
        git_sha1_update(&c, data, size);
        git_sha1_final(&c, ret->b);
    }
}
