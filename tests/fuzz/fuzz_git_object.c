/* SPDX-License-Identifier: MIT */
/* Any bytes as a delta, commit, tag, tree or config of git; the first byte chooses. */
#include "base/mem.h"
#include "git/private.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int fuzz_delta(const uint8_t *p, size_t n, struct sr_error *err)
{
    size_t base = n ? p[0] : 0, len;
    char *out = NULL;
    if (base >= n)
        return 0;
    int rc = git_delta_apply(p + 1, base, p + 1 + base, n - 1 - base, 1 << 20, &out, &len, err);
    free(out);
    return rc;
}

static int fuzz_commit(const uint8_t *p, size_t n, struct sr_error *err)
{
    struct git_oid oid;
    if (git_commit_tree((const char *)p, n, 20, &oid, err) < 0)
        return -1;
    return git_commit_parent((const char *)p, n, 20, 3, &oid, err);
}

static int fuzz_tag(const uint8_t *p, size_t n, struct sr_error *err)
{
    struct git_oid oid;
    enum git_type type;
    return git_tag_target((const char *)p, n, 20, &oid, &type, err);
}

static int fuzz_tree(const uint8_t *p, size_t n, struct sr_error *err)
{
    struct git_oid oid;
    unsigned mode;
    return git_tree_find((const char *)p, n, 32, "name", 4, &mode, &oid, err);
}

static int fuzz_config(const uint8_t *p, size_t n, struct sr_error *err)
{
    struct git_format format;
    return git_format_parse((const char *)p, n, &format, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int (*const parts[])(const uint8_t *, size_t, struct sr_error *) = {
        fuzz_delta, fuzz_commit, fuzz_tag, fuzz_tree, fuzz_config,
    };
    struct sr_error err = { 0 };
    if (size == 0)
        return 0;
    int rc = parts[data[0] % (sizeof parts / sizeof *parts)](data + 1, size - 1, &err);
    if ((rc < 0) != (sr_error_is_set(&err) != 0))
        abort();
    return 0;
}
