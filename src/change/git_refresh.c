/* SPDX-License-Identifier: MIT */
/* Compares two git index files, leaving out what `git status` refreshes. */
#include "change/git_refresh.h"

#include <stdint.h>
#include <string.h>

/*
 * An entry: ten 32-bit words of stat data (of which word 6 is the mode, which counts), the object
 * name, 16 bits of flags, 16 more when bit 14 of them is set (version 3), the name. Versions 2 and
 * 3 pad entries with NULs to eight bytes; version 4 shortens names against the entry before, so two
 * files that agree byte for byte there agree in names. The object name's length is the
 * repository's: 20 or 32, and the file does not say which; the caller of entries_same tries both.
 */
enum { HEADER = 12, STAT_WORDS = 40, MODE_AT = 24 };

struct cursor {
    const unsigned char *p;
    size_t len, at;
};

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The whole entry's length, 0 when it does not fit. */
static size_t entry_len(const struct cursor *c, uint32_t version, size_t hash)
{
    size_t name = STAT_WORDS + hash + 2;
    if (c->len - c->at < name)
        return 0;
    if (version >= 3 && c->p[c->at + STAT_WORDS + hash] & 0x40)
        name += 2;
    if (c->len - c->at <= name)
        return 0;
    const unsigned char *from = c->p + c->at + name;
    size_t left = c->len - c->at - name;
    size_t skip = 0;
    if (version == 4) { /* the count of bytes to drop is a varint and may hold a zero byte */
        while (skip < left && from[skip] & 0x80)
            skip++;
        skip++;
    }
    const unsigned char *end = skip < left ? memchr(from + skip, 0, left - skip) : NULL;
    if (!end)
        return 0;
    size_t len = (size_t)(end - (c->p + c->at)) + 1;
    if (version < 4)
        len = (len + 7) / 8 * 8;
    return len <= c->len - c->at ? len : 0;
}

static bool entries_same(struct cursor *a, struct cursor *b, size_t hash)
{
    uint32_t version = be32(a->p + 4), count = be32(a->p + 8);
    a->at = b->at = HEADER;
    for (uint32_t i = 0; i < count; i++) {
        size_t an = entry_len(a, version, hash), bn = entry_len(b, version, hash);
        if (an == 0 || an != bn)
            return false;
        const unsigned char *x = a->p + a->at, *y = b->p + b->at;
        if (memcmp(x + MODE_AT, y + MODE_AT, 4) != 0 ||
            memcmp(x + STAT_WORDS, y + STAT_WORDS, an - STAT_WORDS) != 0)
            return false;
        a->at += an;
        b->at += bn;
    }
    return true;
}

/* Cached trees, untracked files, the monitor's token, offsets: made anew from the rest at any time.
 */
static bool extension_is_cache(const unsigned char *name)
{
    static const char known[][4] = { { 'T', 'R', 'E', 'E' },
                                     { 'U', 'N', 'T', 'R' },
                                     { 'F', 'S', 'M', 'N' },
                                     { 'E', 'O', 'I', 'E' },
                                     { 'I', 'E', 'O', 'T' } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (memcmp(known[i], name, 4) == 0)
            return true;
    return false;
}

static bool extensions_are_caches(const struct cursor *c, size_t hash)
{
    if (c->len < c->at + hash)
        return false;
    size_t at = c->at, end = c->len - hash;
    while (at < end) {
        if (end - at < 8 || !extension_is_cache(c->p + at))
            return false;
        size_t len = be32(c->p + at + 4);
        if (len > end - at - 8)
            return false;
        at += 8 + len;
    }
    return true;
}

bool sr_git_index_same(const void *before, size_t before_len, const void *after, size_t after_len)
{
    struct cursor a = { before, before_len, 0 }, b = { after, after_len, 0 };
    if (before_len < HEADER || after_len < HEADER || memcmp(a.p, "DIRC", 4) != 0 ||
        memcmp(a.p, b.p, HEADER) != 0)
        return false;
    uint32_t version = be32(a.p + 4);
    if (version < 2 || version > 4)
        return false;
    static const size_t hashes[] = { 20, 32 };
    for (size_t i = 0; i < 2; i++)
        if (entries_same(&a, &b, hashes[i]) && extensions_are_caches(&a, hashes[i]) &&
            extensions_are_caches(&b, hashes[i]))
            return true;
    return false;
}
