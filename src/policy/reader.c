/* SPDX-License-Identifier: MIT */
/* What the readers of policy values share: refusals with their place, reasons, paths, names. */
#include "policy/fields.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SR_PRINTF(4, 0)
static int refuse_va(struct sr_policy_reader *r, struct sr_json_where w, const char *code,
                     const char *fmt, va_list ap)
{
    char text[SR_ERROR_TEXT_MAX];
    vsnprintf(text, sizeof text, fmt, ap);
    if (w.line == 0)
        w = (struct sr_json_where){ 1, 1 }; /* an element's key: the whole file is meant */
    return sr_error_set(r->err, code, "%s:%u:%u: %s%s%s%s%s", r->doc->name, w.line, w.column,
                        r->scope ? r->scope : "", r->scope && r->field ? "." : "",
                        r->field ? r->field : "", r->scope || r->field ? ": " : "", text);
}

int sr_policy_refuse(struct sr_policy_reader *r, const cJSON *at, const char *code, const char *fmt,
                     ...)
{
    va_list ap;
    va_start(ap, fmt);
    refuse_va(r, sr_json_where_value(r->doc, at), code, fmt, ap);
    va_end(ap);
    return -1;
}

int sr_policy_refuse_key(struct sr_policy_reader *r, const cJSON *at, const char *code,
                         const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    refuse_va(r, sr_json_where_key(r->doc, at), code, fmt, ap);
    va_end(ap);
    return -1;
}

const char *sr_policy_read_string(struct sr_policy_reader *r, const cJSON *item)
{
    if (!cJSON_IsString(item)) {
        sr_policy_refuse(r, item, "policy.invalid.type", "a string is expected");
        return NULL;
    }
    return item->valuestring;
}

int sr_policy_read_keys(struct sr_policy_reader *r, const cJSON *object, const char *const *names)
{
    for (const cJSON *m = object->child; m; m = m->next) {
        const char *const *n = names;
        while (*n && strcmp(*n, m->string) != 0)
            n++;
        if (!*n)
            return sr_policy_refuse_key(r, m, "policy.invalid.unknown_key",
                                        "the key \"%s\" is not known here", m->string);
    }
    return 0;
}

/* One character of valid UTF-8; p moves behind it. */
static unsigned next_character(const unsigned char **p)
{
    unsigned c = *(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    c = more ? c & (0x3fu >> more) : c;
    for (; more > 0; more--)
        c = c << 6 | (*(*p)++ & 0x3f);
    return c;
}

/* Controls, and the marks that turn text around or hide it: audit repeats a reason, and it must
 * read as it is written. */
static bool is_unprintable(unsigned c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

int sr_policy_read_reason(struct sr_policy_reader *r, const cJSON *item, const char *opens,
                          char **ret)
{
    enum { REASON_MIN = 3, REASON_MAX = 500 };
    const char *code = "policy.invalid.reason";
    const char *s = item ? sr_policy_read_string(r, item) : NULL;
    if (!s)
        return -1;
    unsigned n = 0, letters = 0;
    for (const unsigned char *p = (const unsigned char *)s; *p; n++) {
        unsigned c = next_character(&p);
        if (is_unprintable(c))
            return sr_policy_refuse(
                r, item, code, "the reason holds a character that cannot be printed (U+%04X)", c);
        letters += c != ' ';
    }
    if (letters < REASON_MIN || n > REASON_MAX) {
        sr_policy_refuse(r, item, code, "%s needs a reason of %d to %d characters", opens,
                         REASON_MIN, REASON_MAX);
        return sr_error_hint(r->err, "say for the reviewer why it is needed, in one sentence");
    }
    free(*ret);
    *ret = sr_strdup(s);
    return 0;
}

static bool has_dotdot(const char *path)
{
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
            return true;
    }
    return false;
}

/* The directory of the sandbox that a path lies in, NULL when it lies in none: /dev/shm is a tmpfs, and has places of users. */
static const char *sandbox_dir(const char *clean)
{
    static const char *const dirs[] = { "/proc", "/sys", "/dev" };
    if (sr_text_starts(clean, "/dev/shm/"))
        return NULL;
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (sr_path_below(clean, dirs[i]))
            return dirs[i];
    return NULL;
}

char *sr_policy_read_place(struct sr_policy_reader *r, const cJSON *item, const char *path)
{
    const char *code = "policy.invalid.path";
    if (path[0] != '/' || has_dotdot(path)) {
        sr_policy_refuse(r, item, code, "\"%s\" is not an absolute path without \"..\"", path);
        return NULL;
    }
    cleanup_free char *clean = sr_path_clean(path);
    if (!clean || strcmp(clean, "/") == 0 || strlen(clean) >= 4096) {
        sr_policy_refuse(r, item, code, "\"%s\" cannot be used here", path);
        return NULL;
    }
    const char *dir = sandbox_dir(clean);
    if (dir) {
        sr_policy_refuse(r, item, code, "\"%s\": %s belongs to the sandbox", path, dir);
        return NULL;
    }
    return steal_ptr(&clean);
}

static bool is_name(const char *name, bool upper, const char *more)
{
    enum { NAME_MAX_LEN = 64 };
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_LEN || !isalpha((unsigned char)name[0]))
        return false;
    for (const char *p = name; *p; p++)
        if ((!isalnum((unsigned char)*p) || (isupper((unsigned char)*p) && !upper)) &&
            !strchr(more, *p))
            return false;
    return true;
}

bool sr_policy_binding_name_ok(const char *name)
{
    return is_name(name, true, "._-");
}

/* No dot and no slash: the name becomes a file name. */
bool sr_policy_preset_name_ok(const char *name)
{
    return is_name(name, false, "_-");
}

bool sr_strv_within(const struct sr_strv *inner, const struct sr_strv *outer)
{
    for (size_t i = 0; i < inner->n; i++)
        if (!sr_strv_has(outer, inner->v[i]))
            return false;
    return true;
}
