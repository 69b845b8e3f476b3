/* SPDX-License-Identifier: MIT */
/* Deltas of packs: a result built of pieces of a base and of new bytes. */
#include "git/private.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const unsigned char *p, *end;
};

static bool number(struct reader *r, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; r->p < r->end && shift < 63; shift += 7) {
        unsigned char c = *r->p++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static int header(struct reader *r, uint64_t *ret_base, uint64_t *ret_result, struct sr_error *err)
{
    if (!number(r, ret_base) || !number(r, ret_result))
        return sr_error_set(err, "git.corrupt", "a delta has no whole header");
    return 0;
}

int git_delta_sizes(const unsigned char *delta, size_t len, uint64_t *ret_base,
                    uint64_t *ret_result, struct sr_error *err)
{
    struct reader r = { delta, delta + len };
    return header(&r, ret_base, ret_result, err);
}

/* The operands of a copy: up to four bytes of offset, up to three of size, each there when its bit
 * is. */
static bool copy_operands(struct reader *r, unsigned char op, size_t *ret_off, size_t *ret_len)
{
    size_t v[2] = { 0, 0 };
    for (unsigned bit = 0; bit < 7; bit++) {
        if (!(op & 1u << bit))
            continue;
        if (r->p == r->end)
            return false;
        bool is_size = bit >= 4;
        v[is_size] |= (size_t)*r->p++ << 8 * (is_size ? bit - 4 : bit);
    }
    *ret_off = v[0];
    *ret_len = v[1] ? v[1] : 0x10000;
    return true;
}

/* One instruction: where its bytes come from. */
static bool piece(struct reader *r, const unsigned char *base, size_t base_len,
                  const unsigned char **ret_from, size_t *ret_len)
{
    unsigned char op = *r->p++;
    if (op & 0x80) {
        size_t off, len;
        if (!copy_operands(r, op, &off, &len) || off > base_len || len > base_len - off)
            return false;
        *ret_from = base + off;
        *ret_len = len;
        return true;
    }
    if (op == 0 || op > r->end - r->p) /* 0 is reserved */
        return false;
    *ret_from = r->p;
    *ret_len = op;
    r->p += op;
    return true;
}

int git_delta_apply(const unsigned char *base, size_t base_len, const unsigned char *delta,
                    size_t len, size_t result_max, char **ret_data, size_t *ret_len,
                    struct sr_error *err)
{
    struct reader r = { delta, delta + len };
    uint64_t want_base = 0, want = 0;
    if (header(&r, &want_base, &want, err) < 0)
        return -1;
    if (want_base != base_len)
        return sr_error_set(err, "git.corrupt", "a delta was made for another base");
    if (want > result_max)
        return sr_error_set(err, "git.too_large", "an object is larger than %zu bytes", result_max);
    cleanup_free char *out = sr_malloc((size_t)want + 1);
    size_t n = 0;
    while (r.p < r.end) {
        const unsigned char *from;
        size_t take;
        if (!piece(&r, base, base_len, &from, &take) || take > want - n)
            return sr_error_set(err, "git.corrupt", "a delta copies what is not there");
        memcpy(out + n, from, take);
        n += take;
    }
    if (n != want)
        return sr_error_set(err, "git.corrupt", "a delta ends before its result is whole");
    out[n] = '\0';
    *ret_data = steal_ptr(&out);
    *ret_len = n;
    return 0;
}
