/* SPDX-License-Identifier: MIT */
/* The index: versions 2, 3 and 4. */
#include "git/index.h"

#include "git/bytes.h"
#include "git/private.h"

#include <stdlib.h>
#include <string.h>

/*
 *   "DIRC" version count | entries | extensions | hash
 *   entry: 10 numbers of 4 bytes, object name, flags (2), with bit 14 of them 2 more, then
 *     version 2, 3: name, 1 to 8 NULs up to a multiple of 8 from the start of the entry
 *     version 4:    how many bytes to drop from the name before, what to append, NUL
 */
enum { HEADER = 12, STAT = 40, FLAG_EXTENDED = 0x4000, FLAG_NAME = 0x0fff, MODE_AT = 24 };

struct reader {
    const unsigned char *start, *p, *end; /* end: where the hash begins */
    size_t hash_len;
    unsigned version;
    size_t last_at, last_len; /* version 4: the name before */
};

static bool drop_parse(struct reader *r, size_t *ret)
{
    if (r->p == r->end)
        return false;
    unsigned char c = *r->p++;
    size_t v = c & 0x7f;
    while (c & 0x80) {
        if (r->p == r->end || v > GIT_INDEX_MAX)
            return false;
        c = *r->p++;
        v = (v + 1) << 7 | (c & 0x7f);
    }
    *ret = v;
    return true;
}

/* The name at r->p, NUL-terminated where it lies; steps over it. NULL: not whole, or too long. */
static const char *string_read(struct reader *r, size_t *ret_len)
{
    const char *name = (const char *)r->p;
    const unsigned char *nul = memchr(r->p, '\0', (size_t)(r->end - r->p));
    if (!nul || nul - r->p >= GIT_PATH_MAX)
        return NULL;
    *ret_len = (size_t)(nul - r->p);
    r->p = nul + 1;
    return name;
}

/* Versions 2 and 3: the name stays in the file, and NULs fill the entry up to a multiple of 8. */
static bool plain_name(struct reader *r, const unsigned char *entry, uint32_t *ret_at,
                       size_t *ret_len)
{
    const char *name = string_read(r, ret_len);
    size_t whole = ((size_t)(r->p - entry) + 7) & ~(size_t)7;
    if (!name || whole > (size_t)(r->end - entry))
        return false;
    r->p = entry + whole;
    *ret_at = (uint32_t)((const unsigned char *)name - r->start);
    return true;
}

/* Version 4: what the name before has, less a few bytes, and what is written here. */
static bool short_name(struct reader *r, struct git_index *ix, uint32_t *ret_at, size_t *ret_len)
{
    size_t drop = 0, n = 0, start = ix->names.len;
    if (!drop_parse(r, &drop) || drop > r->last_len)
        return false;
    const char *end = string_read(r, &n);
    size_t keep = r->last_len - drop;
    if (!end || keep + n >= GIT_PATH_MAX)
        return false;
    char name[GIT_PATH_MAX];
    if (keep)
        memcpy(name, ix->names.data + r->last_at, keep);
    memcpy(name + keep, end, n + 1);
    sr_buf_add(&ix->names, name, keep + n + 1);
    r->last_at = start;
    r->last_len = keep + n;
    *ret_at = (uint32_t)start;
    *ret_len = keep + n;
    return !ix->names.overflow;
}

static bool entry_read(struct reader *r, struct git_index *ix, unsigned *ret_mode)
{
    const unsigned char *entry = r->p;
    if ((size_t)(r->end - entry) < STAT + r->hash_len + 4)
        return false;
    unsigned flags = git_be16(entry + STAT + r->hash_len);
    r->p = entry + STAT + r->hash_len + 2;
    if (flags & FLAG_EXTENDED) {
        if (r->version < 3)
            return false;
        r->p += 2;
    }
    *ret_mode = git_be32(entry + MODE_AT);
    uint32_t at = 0;
    size_t len = 0;
    if (!(r->version == 4 ? short_name(r, ix, &at, &len) : plain_name(r, entry, &at, &len)))
        return false;
    if ((flags & FLAG_NAME) != FLAG_NAME && (flags & FLAG_NAME) != len)
        return false;
    ix->at[ix->n++] = at;
    return true;
}

const char *git_index_name(const struct git_index *ix, size_t n)
{
    return (ix->file ? (const char *)ix->file : ix->names.data) + ix->at[n];
}

/* Sorted, or the search would miss what is there. Equal names are stages of a conflict. */
static bool order_ok(const struct git_index *ix)
{
    return ix->n < 2 || strcmp(git_index_name(ix, ix->n - 2), git_index_name(ix, ix->n - 1)) <= 0;
}

static int entries_read(struct reader *r, size_t count, struct git_index *ix, struct sr_error *err)
{
    for (size_t i = 0; i < count; i++) {
        unsigned mode;
        if (!entry_read(r, ix, &mode)) {
            if (ix->names.overflow)
                return sr_error_set(err, "git.too_large",
                                    "the names in the index are longer than %zu bytes in all",
                                    ix->names.max);
            return sr_error_set(err, "git.corrupt", "entry %zu of the index is malformed", i);
        }
        if (!order_ok(ix))
            return sr_error_set(err, "git.corrupt", "entry %zu of the index is out of order", i);
        if ((mode & 0170000) == 0040000)
            ix->sparse = true;
    }
    return 0;
}

/* Four letters, a size, the data. A small first letter means: not to be ignored. */
static int extensions_check(struct reader *r, struct sr_error *err)
{
    while (r->end - r->p >= 8) {
        const unsigned char *name = r->p;
        uint32_t size = git_be32(r->p + 4);
        r->p += 8;
        if (size > (size_t)(r->end - r->p))
            return sr_error_set(err, "git.corrupt", "an extension of the index is cut off");
        r->p += size;
        if (memcmp(name, "link", 4) == 0)
            return sr_error_set(err, "git.unsupported", "the index is split (core.splitIndex)");
        if ((name[0] < 'A' || name[0] > 'Z') && memcmp(name, "sdir", 4) != 0)
            return sr_error_set(err, "git.unsupported",
                                "the index holds an extension that must be understood");
    }
    if (r->p != r->end)
        return sr_error_set(err, "git.corrupt", "the index ends in the middle of an extension");
    return 0;
}

static int header_read(struct reader *r, size_t len, size_t *ret_count, struct sr_error *err)
{
    if (len < HEADER + r->hash_len || memcmp(r->p, "DIRC", 4) != 0)
        return sr_error_set(err, "git.corrupt", "the index is not an index of git");
    r->end = r->start + len - r->hash_len;
    r->version = git_be32(r->p + 4);
    if (r->version < 2 || r->version > 4)
        return sr_error_set(err, "git.unsupported", "the index has version %u", r->version);
    size_t count = git_be32(r->p + 8);
    if (count > len / (STAT + r->hash_len + 4))
        return sr_error_set(err, "git.corrupt", "the index is too short for its %zu entries",
                            count);
    r->p += HEADER;
    *ret_count = count;
    return 0;
}

static void indexp_free(struct git_index **ix)
{
    git_index_free(*ix);
}

int git_index_parse(unsigned char **data, size_t len, size_t hash_len, struct git_index **ret,
                    struct sr_error *err)
{
    struct reader r = { .start = *data, .p = *data, .hash_len = hash_len };
    size_t count = 0;
    if (header_read(&r, len, &count, err) < 0)
        return -1;
    __attribute__((cleanup(indexp_free))) struct git_index *ix = sr_calloc(1, sizeof *ix);
    ix->names.max = GIT_NAMES_MAX(len) < GIT_INDEX_MAX ? GIT_NAMES_MAX(len) : GIT_INDEX_MAX;
    ix->at = sr_reallocarray(NULL, count, sizeof *ix->at);
    if (r.version < 4)
        ix->file = *data;
    int rc = entries_read(&r, count, ix, err) < 0 ? -1 : extensions_check(&r, err);
    /* Only a split index, refused above by its name, has entries without one. */
    if (rc == 0 && ix->n && *git_index_name(ix, 0) == '\0')
        rc = sr_error_set(err, "git.corrupt", "the index holds an entry without a name");
    if (rc < 0) {
        ix->file = NULL; /* still the caller's */
        return -1;
    }
    if (!ix->file)
        free(*data);
    *data = NULL;
    *ret = steal_ptr(&ix);
    return 0;
}

void git_index_free(struct git_index *ix)
{
    if (!ix)
        return;
    sr_buf_clear(&ix->names);
    free(ix->file);
    free(ix->at);
    free(ix);
}

static bool has(const struct git_index *ix, const char *path)
{
    size_t lo = 0, hi = ix->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(git_index_name(ix, mid), path);
        if (c == 0)
            return true;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

bool git_index_has(const struct git_index *ix, const char *path)
{
    if (has(ix, path))
        return true;
    if (!ix->sparse || strlen(path) >= GIT_PATH_MAX)
        return false;
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        char prefix[GIT_PATH_MAX];
        size_t n = (size_t)(slash - path) + 1;
        memcpy(prefix, path, n);
        prefix[n] = '\0';
        if (has(ix, prefix))
            return true;
    }
    return false;
}

static int index_load(struct sr_git *g, struct sr_error *err)
{
    off_t size;
    cleanup_fd int fd = git_open_file(g->dir_fd, "index", &size, err);
    if (fd == -2)
        return -1;
    if (fd == -1) { /* nothing was ever added */
        g->index = sr_calloc(1, sizeof *g->index);
        return 0;
    }
    if ((uint64_t)size > GIT_INDEX_MAX)
        return sr_error_set(err, "git.too_large", "the index is larger than %zu bytes",
                            GIT_INDEX_MAX);
    cleanup_free unsigned char *data = sr_malloc((size_t)size);
    if (git_pread(fd, data, (size_t)size, 0, "index", err) < 0)
        return -1;
    return git_index_parse(&data, (size_t)size, g->hash_len, &g->index, err);
}

int sr_git_tracked(struct sr_git *g, const char *path, bool *ret, struct sr_error *err)
{
    if (!g->index && index_load(g, err) < 0)
        return -1;
    *ret = git_index_has(g->index, path);
    return 0;
}

int sr_git_index_checksum(struct sr_git *g, char ret_hex[SR_GIT_HEX_MAX], struct sr_error *err)
{
    static const struct git_oid nothing;
    struct git_oid sum = { { 0 } };
    off_t size;
    cleanup_fd int fd = git_open_file(g->dir_fd, "index", &size, err);
    if (fd == -2)
        return -1;
    if (fd >= 0 && size < (off_t)(HEADER + g->hash_len))
        return sr_error_set(err, "git.corrupt", "the index ends too early");
    if (fd >= 0 && git_pread(fd, sum.b, g->hash_len, size - (off_t)g->hash_len, "index", err) < 0)
        return -1;
    if (memcmp(&sum, &nothing, sizeof sum) == 0)
        ret_hex[0] = '\0';
    else
        git_oid_hex(&sum, g->hash_len, ret_hex);
    return 0;
}
