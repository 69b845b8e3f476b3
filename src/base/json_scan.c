/* SPDX-License-Identifier: MIT */
/* The scanner in front of cJSON: RFC 8259 to the letter, one value per name, numbers that survive a
 * double. */
#include "base/json_scan.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decoded key of an object that is still open. */
struct key {
    size_t off, len; /* in scan.key_bytes */
    struct sr_json_where where;
};

struct scan {
    const char *name;
    char *text; /* NUL after len, so looking one byte ahead is safe */
    size_t len, pos;
    unsigned line;
    size_t line_start;
    enum sr_json_flags flags;
    unsigned depth;
    struct sr_json_place *places;
    size_t n_places, cap_places;
    struct key *keys; /* a stack: each open object owns the top slice from its start */
    size_t n_keys, cap_keys;
    struct sr_buf key_bytes;
    struct sr_error *err;
};

static struct sr_json_where where_at(const struct scan *s, size_t pos)
{
    return (struct sr_json_where){ s->line, (unsigned)(pos - s->line_start + 1) };
}

static int refuse_at(struct scan *s, struct sr_json_where w, const char *code, const char *what)
{
    return sr_error_set(s->err, code, "%s:%u:%u: %s", s->name, w.line, w.column, what);
}

static int refuse(struct scan *s, const char *code, const char *what)
{
    return refuse_at(s, where_at(s, s->pos), code, what);
}

static char peek(const struct scan *s)
{
    return s->text[s->pos];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the UTF-8 sequence at p (RFC 3629: no overlong form, no surrogate, nothing above
 * U+10FFFF), 0 when there is none. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char lo = 0x80, hi = 0xbf;
    size_t n;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        n = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        n = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4;
    else
        return 0;
    lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : lo;
    hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : hi;
    if (left < n || p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

/* The whole text first, so that no comment and no string smuggles a byte past the rest of the
 * scanner. */
static int check_bytes(struct scan *s)
{
    const unsigned char *p = (const unsigned char *)s->text;
    while (s->pos < s->len) {
        size_t n = utf8_sequence(p + s->pos, s->len - s->pos);
        if (n == 0)
            return refuse(s, "json.utf8", "these bytes are not UTF-8");
        if (p[s->pos] == '\0')
            return refuse(s, "json.nul", "a NUL byte: what follows it would be invisible");
        s->pos += n;
        if (p[s->pos - 1] == '\n') {
            s->line++;
            s->line_start = s->pos;
        }
    }
    s->pos = 0;
    s->line = 1;
    s->line_start = 0;
    return 0;
}

static void newline(struct scan *s)
{
    s->line++;
    s->line_start = s->pos + 1;
}

/* One comment becomes blanks of the same length; newlines stay, so positions stay. */
static int skip_comment(struct scan *s)
{
    size_t start = s->pos;
    struct sr_json_where where = where_at(s, start);
    bool block = s->text[start + 1] == '*';
    s->pos += 2;
    while (s->pos < s->len &&
           (block ? peek(s) != '*' || s->text[s->pos + 1] != '/' : peek(s) != '\n')) {
        if (peek(s) == '\n')
            newline(s);
        s->pos++;
    }
    if (block && s->pos >= s->len)
        return refuse_at(s, where, "json.syntax", "this comment has no end");
    s->pos += block ? 2 : 0;
    for (size_t i = start; i < s->pos; i++)
        if (s->text[i] != '\n')
            s->text[i] = ' ';
    return 0;
}

static int skip_blanks(struct scan *s)
{
    for (;; s->pos++) {
        while (peek(s) == '/' && (s->text[s->pos + 1] == '/' || s->text[s->pos + 1] == '*')) {
            if (!(s->flags & SR_JSON_COMMENTS))
                return refuse(s, "json.syntax", "comments are not allowed here");
            if (skip_comment(s) < 0)
                return -1;
        }
        if (peek(s) == '\n')
            newline(s);
        else if (peek(s) != ' ' && peek(s) != '\t' && peek(s) != '\r')
            return 0;
    }
}

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = is_digit(c)            ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1; /* also the NUL at the end, so nothing behind it is read */
        v = v * 16 + d;
    }
    return v;
}

static void put_utf8(struct sr_buf *b, unsigned c)
{
    if (c < 0x80) {
        sr_buf_putc(b, (char)c);
        return;
    }
    if (c < 0x800) {
        sr_buf_putc(b, (char)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            sr_buf_putc(b, (char)(0xe0 | c >> 12));
        } else {
            sr_buf_putc(b, (char)(0xf0 | c >> 18));
            sr_buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
        }
        sr_buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    sr_buf_putc(b, (char)(0x80 | (c & 0x3f)));
}

/* At the 'u' of \uXXXX. */
static int scan_unicode(struct scan *s, struct sr_buf *out)
{
    int c = hex4(s->text + s->pos + 1);
    if (c < 0)
        return refuse(s, "json.syntax", "\\u wants four hexadecimal digits");
    if (c == 0)
        return refuse(s, "json.nul", "\\u0000: what follows it would be invisible");
    if (c >= 0xdc00 && c <= 0xdfff)
        return refuse(s, "json.surrogate", "the second half of a surrogate pair stands alone");
    s->pos += 5;
    if (c >= 0xd800 && c <= 0xdbff) {
        int low = peek(s) == '\\' && s->text[s->pos + 1] == 'u' ? hex4(s->text + s->pos + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return refuse(s, "json.surrogate", "the first half of a surrogate pair stands alone");
        s->pos += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    if (out)
        put_utf8(out, (unsigned)c);
    return 0;
}

static int scan_escape(struct scan *s, struct sr_buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    s->pos++;
    if (peek(s) == 'u')
        return scan_unicode(s, out);
    const char *at = peek(s) ? strchr(from, peek(s)) : NULL;
    if (!at)
        return refuse(s, "json.syntax", "no such escape in a string");
    if (out)
        sr_buf_putc(out, to[at - from]);
    s->pos++;
    return 0;
}

/* At the opening quote; out (NULL: not wanted) gets the decoded bytes. */
static int scan_string(struct scan *s, struct sr_buf *out)
{
    struct sr_json_where start = where_at(s, s->pos);
    s->pos++;
    while (peek(s) != '"') {
        if (s->pos >= s->len)
            return refuse_at(s, start, "json.syntax", "this string has no end");
        if ((unsigned char)peek(s) < 0x20)
            return refuse(s, "json.syntax",
                          "a control character in a string must be written as an escape");
        if (peek(s) == '\\') {
            if (scan_escape(s, out) < 0)
                return -1;
            continue;
        }
        if (out)
            sr_buf_putc(out, peek(s));
        s->pos++;
    }
    s->pos++;
    return 0;
}

static void skip_digits(struct scan *s)
{
    while (is_digit(peek(s)))
        s->pos++;
}

static int scan_number(struct scan *s)
{
    /* cJSON 1.7 copies a number into 64 bytes and cuts the rest off. */
    enum { NUMBER_MAX = 60 };
    struct sr_json_where where = where_at(s, s->pos);
    size_t start = s->pos;
    s->pos += peek(s) == '-';
    if (!is_digit(peek(s)) || (peek(s) == '0' && is_digit(s->text[s->pos + 1])))
        return refuse_at(s, where, "json.syntax", "this is no JSON number");
    skip_digits(s);
    if (peek(s) == '.') {
        s->pos++;
        if (!is_digit(peek(s)))
            return refuse_at(s, where, "json.syntax", "a number wants a digit after its point");
        skip_digits(s);
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->pos++;
        s->pos += peek(s) == '-' || peek(s) == '+';
        if (!is_digit(peek(s)))
            return refuse_at(s, where, "json.syntax", "a number wants a digit in its exponent");
        skip_digits(s);
    }
    if (s->pos - start > NUMBER_MAX || !sr_json_number_survives(s->text + start, s->text + s->pos))
        return refuse_at(s, where, "json.number", "this number would not be read as it is written");
    return 0;
}

static int key_compare(const void *a, const void *b, void *bytes)
{
    const struct key *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp((char *)bytes + x->off, (char *)bytes + y->off, n);
    if (c == 0)
        c = x->len < y->len ? -1 : x->len > y->len;
    if (c == 0) /* in order of the text, so that the later one is blamed */
        c = x->off < y->off ? -1 : x->off > y->off;
    return c;
}

/* By sorting: comparing each with each would let a file of a few megabytes hold us for minutes. */
static int check_keys(struct scan *s, size_t first)
{
    size_t n = s->n_keys - first;
    if (n < 2)
        return 0;
    struct key *k = s->keys + first;
    qsort_r(k, n, sizeof *k, key_compare, s->key_bytes.data);
    for (size_t i = 1; i < n; i++) {
        const char *name = s->key_bytes.data + k[i].off;
        if (k[i].len != k[i - 1].len ||
            memcmp(name, s->key_bytes.data + k[i - 1].off, k[i].len) != 0)
            continue;
        return sr_error_set(
            s->err, "json.duplicate_key", "%s:%u:%u: the key \"%.*s\" is already set at %u:%u",
            s->name, k[i].where.line, k[i].where.column, (int)(k[i].len < 100 ? k[i].len : 100),
            name, k[i - 1].where.line, k[i - 1].where.column);
    }
    return 0;
}

static int scan_value(struct scan *s, struct sr_json_where key);

static int scan_member(struct scan *s)
{
    if (peek(s) != '"')
        return refuse(s, "json.syntax",
                      peek(s) == '}' ? "no comma before }" : "a key in double quotes is expected");
    struct key k = { .off = s->key_bytes.len, .where = where_at(s, s->pos) };
    if (scan_string(s, &s->key_bytes) < 0)
        return -1;
    k.len = s->key_bytes.len - k.off;
    SR_GROW(s->keys, s->n_keys, s->cap_keys);
    s->keys[s->n_keys++] = k;
    if (skip_blanks(s) < 0)
        return -1;
    if (peek(s) != ':')
        return refuse(s, "json.syntax", "a colon is expected after the key");
    s->pos++;
    return scan_value(s, k.where);
}

/* Both containers: members up to the closing bracket, at which pos stands when it returns. */
static int scan_members(struct scan *s, char close)
{
    s->pos++;
    if (skip_blanks(s) < 0)
        return -1;
    if (peek(s) == close)
        return 0;
    for (;;) {
        int r = close == '}' ? scan_member(s) : scan_value(s, (struct sr_json_where){ 0, 0 });
        if (r < 0 || skip_blanks(s) < 0)
            return -1;
        if (peek(s) == close)
            return 0;
        if (peek(s) != ',')
            return refuse(s, "json.syntax",
                          close == '}' ? "a comma or } is expected" : "a comma or ] is expected");
        s->pos++;
        if (skip_blanks(s) < 0)
            return -1;
        if (peek(s) == close)
            return refuse(s, "json.syntax", "no comma before the closing bracket");
    }
}

static int scan_container(struct scan *s, char close)
{
    size_t first = s->n_keys, bytes = s->key_bytes.len;
    if (++s->depth > SR_JSON_DEPTH_MAX)
        return refuse(s, "json.depth", "nested deeper than 32 levels");
    if (scan_members(s, close) < 0 || check_keys(s, first) < 0)
        return -1;
    s->pos++;
    s->depth--;
    s->n_keys = first;
    s->key_bytes.len = bytes;
    return 0;
}

static int scan_word(struct scan *s)
{
    static const char *const words[] = { "true", "false", "null" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(s->text + s->pos, words[i], n) == 0) {
            s->pos += n;
            return 0;
        }
    }
    return refuse(s, "json.syntax",
                  s->pos >= s->len ? "the text ends where a value is expected"
                                   : "a value is expected");
}

static int scan_value(struct scan *s, struct sr_json_where key)
{
    if (skip_blanks(s) < 0)
        return -1;
    SR_GROW(s->places, s->n_places, s->cap_places);
    s->places[s->n_places++] = (struct sr_json_place){ .value = where_at(s, s->pos), .key = key };
    char c = peek(s);
    if (c == '{' || c == '[')
        return scan_container(s, c == '{' ? '}' : ']');
    if (c == '"')
        return scan_string(s, NULL);
    if (c == '-' || is_digit(c))
        return scan_number(s);
    return scan_word(s);
}

static int scan_text(struct scan *s)
{
    if (s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0)
        return refuse(s, "json.syntax", "a byte order mark stands first: save the text as UTF-8 without one");
    if (check_bytes(s) < 0 || scan_value(s, (struct sr_json_where){ 0, 0 }) < 0 ||
        skip_blanks(s) < 0)
        return -1;
    if (s->pos < s->len)
        return refuse(s, "json.trailing", "something follows the end of the value");
    return 0;
}

int sr_json_scan(const char *name, char *text, size_t len, enum sr_json_flags flags,
                 struct sr_json_place **ret, size_t *ret_n, struct sr_error *err)
{
    struct scan s = {
        .name = name, .text = text, .len = len, .line = 1, .flags = flags, .err = err
    };
    s.key_bytes = SR_BUF(len + 1);   /* decoding never lengthens */
    sr_buf_add(&s.key_bytes, "", 0); /* data is never NULL, also when the only keys are "" */
    int r = scan_text(&s);
    free(s.keys);
    sr_buf_clear(&s.key_bytes);
    if (r < 0) {
        free(s.places);
        return -1;
    }
    *ret = s.places;
    *ret_n = s.n_places;
    return 0;
}
