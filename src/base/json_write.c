/* SPDX-License-Identifier: MIT */
/* JSON built and written: cJSON's printer indents with tabs and spells 10^15 as 1e+15, so the
 * writer is our own. */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740991.0 /* 2^53-1 */

/* cJSON says NULL when memory is out; see base/mem.h for why that ends the process. */
static cJSON *made(cJSON *item)
{
    if (!item) {
        fputs("sandrun: out of memory\n", stderr);
        abort();
    }
    return item;
}

cJSON *sr_json_object(void)
{
    return made(cJSON_CreateObject());
}

cJSON *sr_json_array(void)
{
    return made(cJSON_CreateArray());
}

/* Bytes of the outside world as a valid string; NULL when s already is one. */
static char *spelled(const char *s)
{
    if (sr_text_is_utf8(s, strlen(s)))
        return NULL;
    cleanup_buf struct sr_buf b = SR_BUF(SIZE_MAX / 4);
    sr_text_printable(&b, s, strlen(s));
    return sr_buf_steal(&b);
}

static cJSON *make_string(const char *s)
{
    if (!s)
        return made(cJSON_CreateNull());
    cleanup_free char *safe = spelled(s);
    return made(cJSON_CreateString(safe ? safe : s));
}

void sr_json_add(cJSON *object, const char *key, cJSON *value)
{
    cleanup_free char *safe = spelled(key);
    if (!cJSON_AddItemToObject(object, safe ? safe : key, made(value)))
        made(NULL);
}

void sr_json_add_string(cJSON *object, const char *key, const char *s)
{
    sr_json_add(object, key, make_string(s));
}

static bool has_spelt_byte(const char *s)
{
    static const char digits[] = "0123456789abcdef";
    while ((s = strstr(s, "\\x"))) {
        s += 2;
        if (s[0] && s[1] && strchr(digits, s[0]) && strchr(digits, s[1]))
            return true;
    }
    return false;
}

static cJSON *make_path(const char *path)
{
    cleanup_buf struct sr_buf b = SR_BUF(SIZE_MAX / 4);
    if (!path || !has_spelt_byte(path))
        return make_string(path);
    sr_text_printable(&b, path, strlen(path));
    return make_string(b.data);
}

void sr_json_add_path(cJSON *object, const char *key, const char *path)
{
    sr_json_add(object, key, make_path(path));
}

void sr_json_append_path(cJSON *array, const char *path)
{
    sr_json_append(array, make_path(path));
}

char *sr_json_path(const char *written)
{
    cleanup_buf struct sr_buf raw = SR_BUF(SIZE_MAX / 4);
    if (!written || !has_spelt_byte(written) || sr_text_unprintable(&raw, written) < 0)
        return sr_strdup(written);
    return sr_buf_steal(&raw);
}

void sr_json_add_u64(cJSON *object, const char *key, uint64_t v)
{
    char digits[24];
    if (v <= (uint64_t)EXACT_MAX) {
        sr_json_add(object, key, cJSON_CreateNumber((double)v));
        return;
    }
    snprintf(digits, sizeof digits, "%" PRIu64, v);
    sr_json_add_string(object, key, digits);
}

void sr_json_add_bool(cJSON *object, const char *key, bool v)
{
    sr_json_add(object, key, cJSON_CreateBool(v));
}

void sr_json_append(cJSON *array, cJSON *value)
{
    if (!cJSON_AddItemToArray(array, made(value)))
        made(NULL);
}

void sr_json_append_string(cJSON *array, const char *s)
{
    sr_json_append(array, make_string(s));
}

static void write_escape(struct sr_buf *b, char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = strchr(from, c);
    if (at)
        sr_buf_add(b, (const char[]){ '\\', to[at - from] }, 2);
    else
        sr_buf_printf(b, "\\u%04x", (unsigned)c);
}

static void write_string(struct sr_buf *b, const char *s)
{
    sr_buf_putc(b, '"');
    for (const char *run = s;; run++) {
        const char *end = run;
        while ((unsigned char)*end >= 0x20 && *end != '"' && *end != '\\' && *end != 0x7f)
            end++;
        sr_buf_add(b, run, (size_t)(end - run));
        if (!*end)
            break;
        write_escape(b, *end);
        run = end;
    }
    sr_buf_putc(b, '"');
}

/* Whole numbers without point or exponent, others in the fewest digits that give the same double
 * again. */
static void write_number(struct sr_buf *b, double v)
{
    char text[40];
    if (!isfinite(v)) {
        sr_buf_puts(b, "null"); /* JSON has no spelling for it */
        return;
    }
    if (fabs(v) <= EXACT_MAX && v == (double)(int64_t)v) {
        snprintf(text, sizeof text, "%" PRId64, (int64_t)v);
        sr_buf_puts(b, text);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    sr_buf_puts(b, text);
}

static void new_line(struct sr_buf *b, int level)
{
    static const char blanks[] = "\n                                                                ";
    size_t len = 1 + (size_t)(level < 0 ? 0 : level) * 2;
    if (level >= 0)
        sr_buf_add(b, blanks, len < sizeof blanks ? len : sizeof blanks - 1); /* 32 levels: SR_JSON_DEPTH_MAX */
}

/* level -1: compact */
static void write_item(struct sr_buf *b, const cJSON *item, int level)
{
    int type = item->type & 0xff;
    if (type == cJSON_String) {
        write_string(b, item->valuestring);
    } else if (type == cJSON_Number) {
        write_number(b, item->valuedouble);
    } else if (type == cJSON_True || type == cJSON_False) {
        sr_buf_puts(b, type == cJSON_True ? "true" : "false");
    } else if (type == cJSON_Object || type == cJSON_Array) {
        int inner = level < 0 ? level : level + 1;
        sr_buf_putc(b, type == cJSON_Object ? '{' : '[');
        for (const cJSON *m = item->child; m; m = m->next) {
            new_line(b, inner);
            if (type == cJSON_Object) {
                write_string(b, m->string);
                sr_buf_puts(b, level < 0 ? ":" : ": ");
            }
            write_item(b, m, inner);
            if (m->next)
                sr_buf_putc(b, ',');
        }
        if (item->child)
            new_line(b, level);
        sr_buf_putc(b, type == cJSON_Object ? '}' : ']');
    } else {
        sr_buf_puts(b, "null");
    }
}

char *sr_json_compact(const cJSON *item)
{
    struct sr_buf b = SR_BUF(SIZE_MAX / 4);
    write_item(&b, item, -1);
    return sr_buf_steal(&b);
}

char *sr_json_pretty(const cJSON *item)
{
    struct sr_buf b = SR_BUF(SIZE_MAX / 4);
    write_item(&b, item, 0);
    sr_buf_putc(&b, '\n');
    return sr_buf_steal(&b);
}
