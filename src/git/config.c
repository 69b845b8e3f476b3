/* SPDX-License-Identifier: MIT */
/* The few lines of a repository's config that say how its store is to be read. */
#include "git/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * git's own grammar, as far as a value can be told by it: sections, names without case, comments,
 * quotes, escapes and continued lines. Values of other sections are skipped by the same rules, so
 * that nothing inside a quoted value is taken for a section.
 */
struct reader {
    const char *p, *end;
    char section[32]; /* lower case; "" when longer or with a subsection: none of ours */
};

enum { VALUE_MAX = 128 };

static void blanks_skip(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

static void line_skip(struct reader *r)
{
    while (r->p < r->end && *r->p != '\n')
        r->p++;
}

static bool section_read(struct reader *r)
{
    size_t n = 0;
    bool ours = true, quoted = false;
    for (r->p++; r->p < r->end && *r->p != '\n'; r->p++) {
        char c = *r->p;
        if (c == ']' && !quoted) {
            r->p++;
            r->section[ours ? n : 0] = '\0';
            return true;
        }
        if (quoted && c == '\\' && r->p + 1 < r->end)
            r->p++;
        else if (c == '"')
            quoted = !quoted;
        if (!isalnum((unsigned char)c) || n == sizeof r->section - 1)
            ours = false;
        else
            r->section[n++] = (char)tolower((unsigned char)c);
    }
    return false;
}

/* What stands behind "=": trimmed, unquoted, cut at VALUE_MAX (no value of ours is that long). */
static bool value_read(struct reader *r, char out[VALUE_MAX])
{
    size_t n = 0, keep = 0;
    bool quoted = false;
    for (; r->p < r->end && *r->p != '\n'; r->p++) {
        char c = *r->p;
        if (!quoted && (c == '#' || c == ';')) {
            line_skip(r);
            break;
        }
        if (c == '"') {
            quoted = !quoted;
            keep = n;
            continue;
        }
        if (c == '\\') {
            if (++r->p == r->end)
                return false;
            if (*r->p == '\n') /* the line goes on */
                continue;
            c = *r->p == 'n' ? '\n' : *r->p == 't' ? '\t' : *r->p;
        }
        if (n < VALUE_MAX - 1)
            out[n++] = c;
        if (quoted || (c != ' ' && c != '\t' && c != '\r'))
            keep = n;
    }
    out[keep] = '\0';
    return !quoted;
}

static bool extension_known(const char *key)
{
    static const char *const known[] = {
        "noop",           "noop-v1",           "preciousobjects",    "partialclone",
        "worktreeconfig", "relativeworktrees", "compatobjectformat", "objectformat",
        "refstorage"
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(known[i], key) == 0)
            return true;
    return false;
}

static int setting(const struct reader *r, const char *key, const char *value, struct git_format *f,
                   struct sr_error *err)
{
    if (strcmp(r->section, "core") == 0 && strcasecmp(key, "repositoryformatversion") == 0) {
        if (strlen(value) != 1 || value[0] < '0' || value[0] > '9')
            return sr_error_set(err, "git.unsupported",
                                "core.repositoryformatversion has a value that is not known");
        f->version = (unsigned)(value[0] - '0');
        return 0;
    }
    if (strcmp(r->section, "extensions") != 0)
        return 0;
    if (strcasecmp(key, "objectformat") == 0) {
        f->sha256 = strcasecmp(value, "sha256") == 0;
        if (!f->sha256 && strcasecmp(value, "sha1") != 0)
            return sr_error_set(err, "git.unsupported",
                                "extensions.objectFormat has a value that is not known");
    } else if (strcasecmp(key, "refstorage") == 0) {
        f->unsupported_refs = strcasecmp(value, "files") != 0;
    } else if (!extension_known(key)) {
        snprintf(f->unknown_extension, sizeof f->unknown_extension, "%s", key);
    }
    return 0;
}

static int variable_read(struct reader *r, struct git_format *f, struct sr_error *err)
{
    char key[64], value[VALUE_MAX] = "true"; /* a name alone means true */
    size_t n = 0;
    for (; r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '-'); r->p++)
        if (n < sizeof key - 1)
            key[n++] = *r->p;
    key[n] = '\0';
    blanks_skip(r);
    if (r->p < r->end && *r->p == '=') {
        r->p++;
        blanks_skip(r);
        if (!value_read(r, value))
            n = 0;
    } else if (r->p < r->end && *r->p != '\n' && *r->p != '#' && *r->p != ';') {
        n = 0;
    } else {
        line_skip(r);
    }
    if (n == 0)
        return sr_error_set(err, "git.corrupt", "the config of the repository cannot be parsed");
    return setting(r, key, value, f, err);
}

int git_format_parse(const char *text, size_t len, struct git_format *ret, struct sr_error *err)
{
    struct reader r = { .p = text, .end = text + len };
    struct git_format f = { 0 };
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.p += 3;
    while (r.p < r.end) {
        if (isspace((unsigned char)*r.p)) {
            r.p++;
        } else if (*r.p == '#' || *r.p == ';') {
            line_skip(&r);
        } else if (*r.p == '[') {
            if (!section_read(&r))
                return sr_error_set(err, "git.corrupt",
                                    "the config of the repository cannot be parsed");
        } else if (variable_read(&r, &f, err) < 0) {
            return -1;
        }
    }
    *ret = f;
    return 0;
}
