/* SPDX-License-Identifier: MIT */
/* What a person writes for a commit: names, abbreviations, and the steps behind them. */
#include "git/private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* git's order: the first of these that exists is meant. */
static const char *const search_order[] = {
    "%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD",
};

/* Directly below the git directory only names like HEAD and ORIG_HEAD are references; "config" is a
 * file. */
static bool root_name_ok(const char *s)
{
    if (strncmp(s, "refs/", 5) == 0 || strncmp(s, "main-worktree/", 14) == 0 ||
        strncmp(s, "worktrees/", 10) == 0)
        return true;
    for (const char *p = s; *p; p++)
        if (!isupper((unsigned char)*p) && *p != '_')
            return false;
    return true;
}

static int name_find(struct sr_git *g, const char *base, struct git_oid *ret, struct sr_error *err)
{
    for (size_t i = 0; i < sizeof search_order / sizeof *search_order; i++) {
        char name[GIT_PATH_MAX];
        const char *hole = strstr(search_order[i], "%s");
        int n = snprintf(name, sizeof name, "%.*s%s%s", (int)(hole - search_order[i]),
                         search_order[i], base, hole + 2);
        if (n < 0 || (size_t)n >= sizeof name || (i == 0 && !root_name_ok(base)))
            continue;
        int rc = git_ref_read(g, name, ret, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* From an object to the commit it is or, through tags, points to. */
static int commit_read(struct sr_git *g, struct git_oid *oid, struct git_object *ret,
                       struct sr_error *err)
{
    for (int depth = 0; depth < GIT_TAG_DEPTH_MAX; depth++) {
        cleanup_object struct git_object o = { 0 };
        enum git_type said;
        if (git_object_read(g, oid, GIT_ANY, GIT_META_MAX, &o, err) < 0)
            return -1;
        if (o.type == GIT_COMMIT) {
            *ret = o;
            o.data = NULL;
            return 0;
        }
        char hex[SR_GIT_HEX_MAX];
        git_oid_hex(oid, g->hash_len, hex);
        if (o.type != GIT_TAG)
            return sr_error_set(err, "git.type", "object %s is a %s, not a commit", hex,
                                git_type_name(o.type));
        if (git_tag_target(o.data, o.size, g->hash_len, oid, &said, err) < 0)
            return sr_error_wrap(err, "reading tag %s", hex);
    }
    return sr_error_set(err, "git.corrupt", "a tag leads through more than %d others",
                        GIT_TAG_DEPTH_MAX);
}

static bool prefix_parse(const char *s, size_t hash_len, struct git_prefix *ret)
{
    size_t n = strlen(s);
    if (n < GIT_ABBREV_MIN || n > 2 * hash_len)
        return false;
    for (size_t i = 0; i < n; i++) {
        int d = git_hex_digit(s[i]);
        if (d < 0)
            return false;
        ret->b[i / 2] |= (unsigned char)(i % 2 ? d : d << 4);
    }
    ret->digits = (unsigned)n;
    return true;
}

static int ambiguous(const char *s, struct sr_error *err)
{
    sr_error_set(err, "git.ref_missing", "the abbreviation %s stands for more than one commit", s);
    return sr_error_hint(err, "write more digits of the object name");
}

/* An abbreviation may be shared with trees and blobs: those cannot be meant where a commit is
 * wanted. */
static int abbreviation_find(struct sr_git *g, const char *s, struct git_oid *ret,
                             struct sr_error *err)
{
    struct git_prefix p = { 0 };
    if (!prefix_parse(s, g->hash_len, &p))
        return 0;
    if (git_prefix_search(g, &p, err) < 0)
        return -1;
    unsigned commits = 0;
    for (unsigned i = 0; i < p.n; i++) {
        cleanup_object struct git_object o = { 0 };
        struct git_oid oid = p.found[i];
        struct sr_error inner = { 0 };
        if (commit_read(g, &oid, &o, &inner) == 0) {
            commits++;
            *ret = p.found[i];
        } else if (strcmp(inner.code, "git.type") != 0) {
            /* Also git.too_large: what could not be looked at might be the second commit of this
             * abbreviation. */
            *err = inner;
            return -1;
        }
    }
    if (commits > 1 || (commits && p.more))
        return ambiguous(s, err);
    return commits == 1;
}

static int base_find(struct sr_git *g, const char *base, struct git_oid *ret, struct sr_error *err)
{
    if (strcmp(base, "@") == 0)
        base = "HEAD";
    if (strlen(base) == 2 * g->hash_len && git_oid_parse(base, g->hash_len, ret))
        return 1;
    int rc = name_find(g, base, ret, err);
    return rc != 0 ? rc : abbreviation_find(g, base, ret, err);
}

/* Digits behind ~ or ^; none is 1. */
static bool count_parse(const char **p, unsigned *ret)
{
    unsigned v = 0;
    if (!isdigit((unsigned char)**p)) {
        *ret = 1;
        return true;
    }
    for (; isdigit((unsigned char)**p); ++*p) {
        v = v * 10 + (unsigned)(**p - '0');
        if (v > GIT_STEPS_MAX)
            return false;
    }
    *ret = v;
    return true;
}

static int parent_step(struct sr_git *g, const char *rev, unsigned nth, struct git_oid *oid,
                       struct sr_error *err)
{
    cleanup_object struct git_object c = { 0 };
    if (commit_read(g, oid, &c, err) < 0)
        return -1;
    if (nth == 0)
        return 0;
    int rc = git_commit_parent(c.data, c.size, g->hash_len, nth, oid, err);
    if (rc == 0)
        return sr_error_set(err, "git.ref_missing",
                            "there is no commit %s: one on the way has no parent %u", rev, nth);
    return rc < 0 ? -1 : 0;
}

/* "^" "^2" "~" "~3" "^{}" "^{commit}" in any number, at most GIT_STEPS_MAX commits in all. */
static int suffix_walk(struct sr_git *g, const char *rev, const char *p, struct git_oid *oid,
                       struct sr_error *err)
{
    unsigned steps = 0;
    while (*p) {
        char op = *p++;
        unsigned n;
        if (op == '^' && *p == '{') {
            size_t len = strncmp(p, "{}", 2) == 0 ? 2 : strncmp(p, "{commit}", 8) == 0 ? 8 : 0;
            if (len == 0)
                return sr_error_set(err, "git.unsupported",
                                    "%s asks for something else than a commit", rev);
            p += len;
            continue;
        }
        if ((op != '^' && op != '~') || !count_parse(&p, &n))
            return sr_error_set(err, "git.ref_missing", "%s is not a revision", rev);
        unsigned times = op == '~' ? n : 1;
        steps += times;
        if (steps > GIT_STEPS_MAX)
            return sr_error_set(err, "git.too_large", "%s goes back more than %d commits", rev,
                                GIT_STEPS_MAX);
        for (unsigned i = 0; i < times; i++)
            if (parent_step(g, rev, op == '~' ? 1 : n, oid, err) < 0)
                return -1;
    }
    return 0;
}

int sr_git_resolve(struct sr_git *g, const char *rev, char ret_hex[SR_GIT_HEX_MAX],
                   struct sr_error *err)
{
    struct git_oid oid;
    g->work = 0;
    if (strstr(rev, "@{") || strchr(rev, ':') || strlen(rev) >= GIT_PATH_MAX)
        return sr_error_set(err, "git.unsupported", "%s is not a plain revision", rev);
    size_t n = strcspn(rev, "^~");
    cleanup_free char *base = sr_strndup(rev, n);
    int rc = n ? base_find(g, base, &oid, err) : 0;
    if (rc < 0)
        return -1;
    if (rc == 0) {
        sr_error_set(err, "git.ref_missing", "the repository %s has no commit, branch or tag %s",
                     g->dir, base);
        return sr_error_hint(err, "commit something first, or name a revision that git log shows");
    }
    cleanup_object struct git_object c = { 0 };
    if (suffix_walk(g, rev, rev + n, &oid, err) < 0 || commit_read(g, &oid, &c, err) < 0)
        return -1;
    git_oid_hex(&oid, g->hash_len, ret_hex);
    return 0;
}
