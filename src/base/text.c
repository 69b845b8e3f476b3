/* SPDX-License-Identifier: MIT */
/* Text: one checked parser per type, and names made harmless. */
#include "base/text.h"

#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Largest first: formatting takes the first that divides. */
static const struct unit duration_units[] = {
    { "d", 86400000000000u }, { "h", 3600000000000u }, { "m", 60000000000u }, { "s", 1000000000u },
    { "ms", 1000000u },       { "us", 1000u },         { "ns", 1u },
};
static const struct unit size_units[] = {
    { "TiB", 1ull << 40 }, { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 }, { "KiB", 1ull << 10 },
    { "TB", 1000000000000u }, { "GB", 1000000000u }, { "MB", 1000000u },   { "kB", 1000u },
    { "KB", 1000u },       { "B", 1u },
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at *s; false for none. *big: the value does not fit, which is another mistake than a misspelling. */
static bool take_number(const char **s, uint64_t *ret, bool *big)
{
    uint64_t v = 0;
    if (!is_digit(**s))
        return false;
    for (; is_digit(**s); (*s)++)
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(**s - '0'), &v))
            *big = true;
    *ret = v;
    return true;
}

static const struct unit *take_unit(const char **s, const struct unit *units, size_t n)
{
    size_t len = strcspn(*s, "0123456789");
    for (size_t i = 0; i < n; i++)
        if (strlen(units[i].name) == len && memcmp(units[i].name, *s, len) == 0) {
            *s += len;
            return &units[i];
        }
    return NULL;
}

int sr_text_duration(const char *s, uint64_t *ret_ns, struct sr_error *err)
{
    uint64_t total = 0, last = UINT64_MAX;
    const char *p = s;
    bool big = false;
    do {
        uint64_t v;
        const struct unit *u = NULL;
        if (!take_number(&p, &v, &big) || !(u = take_unit(&p, duration_units, COUNT(duration_units))) || u->factor >= last)
            return sr_error_set(err, "value.duration", "\"%s\" is not a duration; write a number and a unit, as in 90s, 10m, 1h30m or 250ms", s);
        last = u->factor;
        if (big || __builtin_mul_overflow(v, u->factor, &v) || __builtin_add_overflow(total, v, &total))
            return sr_error_set(err, "value.duration", "the duration \"%s\" is too long to count", s);
    } while (*p);
    *ret_ns = total;
    return 0;
}

int sr_text_size(const char *s, uint64_t *ret_bytes, struct sr_error *err)
{
    const char *p = s;
    uint64_t v, factor = 1;
    const struct unit *u = NULL;
    bool big = false;
    if (!take_number(&p, &v, &big) || (*p && (!(u = take_unit(&p, size_units, COUNT(size_units))) || *p)))
        return sr_error_set(err, "value.size", "\"%s\" is not a size; write whole bytes or a number and a unit, as in 512, 16KiB, 256MiB or 2GiB", s);
    factor = u ? u->factor : 1;
    if (big || __builtin_mul_overflow(v, factor, &v))
        return sr_error_set(err, "value.size", "the size \"%s\" is too large to count", s);
    *ret_bytes = v;
    return 0;
}

int sr_text_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct sr_error *err)
{
    const char *p = s;
    uint64_t v;
    bool big = false;
    if (!take_number(&p, &v, &big) || *p)
        return sr_error_set(err, "value.number", "\"%s\" is not a whole number", s);
    if (big || v < min || v > max)
        return sr_error_set(err, "value.number", "%s is outside %llu to %llu", s, (unsigned long long)min, (unsigned long long)max);
    *ret = v;
    return 0;
}

static void format(uint64_t v, const struct unit *units, size_t n, const char *zero, char out[32])
{
    struct sr_buf b = SR_BUF(31);
    for (size_t i = 0; v && i < n; i++)
        if (v % units[i].factor == 0) {
            sr_buf_printf(&b, "%llu%s", (unsigned long long)(v / units[i].factor), units[i].name);
            break;
        }
    memcpy(out, b.len ? b.data : zero, b.len ? b.len + 1 : strlen(zero) + 1);
    sr_buf_clear(&b);
}

void sr_text_format_duration(uint64_t ns, char out[32])
{
    format(ns, duration_units, COUNT(duration_units), "0s", out);
}

void sr_text_format_size(uint64_t bytes, char out[32])
{
    /* binary units only: 2000000 is "2000000B", not a rounder "2MB" that reads like "2MiB" */
    static const struct unit binary[] = { { "TiB", 1ull << 40 }, { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 }, { "KiB", 1ull << 10 }, { "B", 1 } };
    format(bytes, binary, COUNT(binary), "0B", out);
}

/* Length of the UTF-8 sequence at s (RFC 3629: no overlong form, no surrogate, at most U+10FFFF), 0 when there is none. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
    static const struct {
        unsigned char mask, lead, size;
        uint32_t min;
    } forms[] = { { 0x80, 0x00, 1, 0 }, { 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 }, { 0xf8, 0xf0, 4, 0x10000 } };
    for (size_t f = 0; f < COUNT(forms); f++) {
        if ((s[0] & forms[f].mask) != forms[f].lead)
            continue;
        if (forms[f].size > len)
            return 0;
        uint32_t c = s[0] & (unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].size; i++) {
            if ((s[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (s[i] & 0x3f);
        }
        bool good = c >= forms[f].min && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
        return good ? forms[f].size : 0;
    }
    return 0;
}

bool sr_text_is_utf8(const void *bytes, size_t len)
{
    const unsigned char *s = bytes;
    for (size_t i = 0, n; i < len; i += n)
        if (!(n = utf8_length(s + i, len - i)))
            return false;
    return true;
}

/* What could steer a terminal: C0, DEL, C1 (U+0080-U+009F), and the bidirectional overrides that reorder what is read. */
static bool is_steering(const unsigned char *s, size_t n)
{
    if (n == 1)
        return s[0] < 0x20 || s[0] == 0x7f;
    if (n == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    return n == 3 && s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

void sr_text_printable(struct sr_buf *out, const void *bytes, size_t len)
{
    const unsigned char *s = bytes;
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length(s + i, len - i);
        if (n == 1 && s[i] == '\\') {
            sr_buf_puts(out, "\\\\");
        } else if (n && !is_steering(s + i, n)) {
            sr_buf_add(out, s + i, n);
        } else {
            n = n ? n : 1;
            for (size_t k = 0; k < n; k++)
                sr_buf_printf(out, "\\x%02x", s[i + k]);
        }
        i += n;
    }
}

static int hex_value(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sr_text_unprintable(struct sr_buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s != '\\') {
            sr_buf_putc(out, *s);
        } else if (s[1] == '\\') {
            sr_buf_putc(out, *++s);
        } else {
            int high = s[1] == 'x' ? hex_value(s[2]) : -1, low = high < 0 ? -1 : hex_value(s[3]);
            if (low < 0)
                return -1;
            sr_buf_putc(out, (char)(high << 4 | low));
            s += 3;
        }
    }
    return 0;
}

bool sr_text_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

unsigned sr_text_distance(const char *a, const char *b)
{
    enum { MAX = 63 };
    size_t la = strlen(a), lb = strlen(b);
    if (la > MAX || lb > MAX)
        return MAX + 1;
    unsigned row[MAX + 1];
    for (size_t j = 0; j <= lb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            unsigned least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[lb];
}
