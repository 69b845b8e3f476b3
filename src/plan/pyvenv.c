/* SPDX-License-Identifier: MIT */
/* pyvenv.cfg: what a Python environment says of the interpreter it was made with. */
#include "plan/pyvenv.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Three writers, three spellings: venv has `version = 3.11.2`, virtualenv both `version = 3.11.2`
 * or `version_info = 3.11.2.final.0`, uv `version_info = 3.12.13`. Where there are two, the one
 * with more numbers counts. Python's own reader cuts at the first '=', strips blanks and ignores
 * the case of the key; so does this one.
 */

struct py_version py_version_parse(const char *text)
{
    struct py_version ret = { 0 };
    while (ret.n < 3 && *text >= '0' && *text <= '9') {
        unsigned v = 0;
        for (; *text >= '0' && *text <= '9'; text++)
            if (v < 100000)
                v = v * 10 + (unsigned)(*text - '0');
        ret.v[ret.n++] = v;
        if (*text != '.')
            break;
        text++;
    }
    return ret;
}

struct slice {
    const char *at;
    size_t len;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice strip(const char *at, size_t len)
{
    while (len && is_blank(*at)) {
        at++;
        len--;
    }
    while (len && is_blank(at[len - 1]))
        len--;
    return (struct slice){ at, len };
}

static bool is_key(struct slice key, const char *name)
{
    return key.len == strlen(name) && strncasecmp(key.at, name, key.len) == 0;
}

static void set_version(struct pyvenv *c, struct slice value)
{
    cleanup_free char *text = sr_strndup(value.at, value.len);
    struct py_version number = py_version_parse(text);
    if (c->version && number.n <= c->number.n)
        return;
    free(c->version);
    c->version = steal_ptr(&text);
    c->number = number;
}

static void take_line(struct pyvenv *c, const char *line, size_t len)
{
    const char *eq = memchr(line, '=', len);
    if (!eq)
        return;
    struct slice key = strip(line, (size_t)(eq - line));
    struct slice value = strip(eq + 1, len - (size_t)(eq - line) - 1);
    if (is_key(key, "home") && !c->home)
        c->home = sr_strndup(value.at, value.len);
    else if (is_key(key, "version") || is_key(key, "version_info"))
        set_version(c, value);
}

void pyvenv_parse(const char *text, size_t len, struct pyvenv *ret)
{
    *ret = (struct pyvenv){ 0 };
    while (len) {
        const char *end = memchr(text, '\n', len);
        size_t n = end ? (size_t)(end - text) : len;
        take_line(ret, text, n);
        n += end != NULL;
        text += n;
        len -= n;
    }
}

void pyvenv_clear(struct pyvenv *c)
{
    free(c->home);
    free(c->version);
    *c = (struct pyvenv){ 0 };
}
