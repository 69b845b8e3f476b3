/* SPDX-License-Identifier: MIT */
/* Commits, tags and trees as bytes, and the blob at a path. */
#include "git/private.h"

#include <string.h>

enum { MODE_TYPE = 0170000, MODE_FILE = 0100000, MODE_DIR = 0040000, MODE_LINK = 0120000 };

/* "KEY HEX\n" at *p: steps over it. */
static bool header_line(const char **p, const char *end, const char *key, size_t hash_len,
                        struct git_oid *ret)
{
    size_t k = strlen(key), need = k + 1 + 2 * hash_len + 1;
    if ((size_t)(end - *p) < need || memcmp(*p, key, k) != 0 || (*p)[k] != ' ' ||
        (*p)[need - 1] != '\n' || !git_oid_parse(*p + k + 1, hash_len, ret))
        return false;
    *p += need;
    return true;
}

int git_commit_tree(const char *data, size_t len, size_t hash_len, struct git_oid *ret,
                    struct sr_error *err)
{
    const char *p = data;
    if (!header_line(&p, data + len, "tree", hash_len, ret))
        return sr_error_set(err, "git.corrupt", "a commit names no tree");
    return 0;
}

int git_commit_parent(const char *data, size_t len, size_t hash_len, unsigned nth,
                      struct git_oid *ret, struct sr_error *err)
{
    const char *p = data;
    struct git_oid o;
    if (!header_line(&p, data + len, "tree", hash_len, &o))
        return sr_error_set(err, "git.corrupt", "a commit names no tree");
    for (unsigned i = 1; header_line(&p, data + len, "parent", hash_len, &o); i++) {
        if (i == nth) {
            *ret = o;
            return 1;
        }
    }
    return 0;
}

int git_tag_target(const char *data, size_t len, size_t hash_len, struct git_oid *ret,
                   enum git_type *ret_type, struct sr_error *err)
{
    const char *p = data, *end = data + len;
    struct git_oid o;
    if (header_line(&p, end, "object", hash_len, &o) && end - p > 5 && memcmp(p, "type ", 5) == 0) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        enum git_type t = nl ? git_type_parse(p + 5, (size_t)(nl - p - 5)) : GIT_ANY;
        if (t != GIT_ANY) {
            *ret = o;
            *ret_type = t;
            return 0;
        }
    }
    return sr_error_set(err, "git.corrupt", "a tag names no object");
}

/* "MODE NAME\0HASH" at *p. */
static bool tree_entry(const char **p, const char *end, size_t hash_len, unsigned *ret_mode,
                       const char **ret_name, size_t *ret_len)
{
    unsigned mode = 0;
    const char *q = *p;
    for (; q < end && *q >= '0' && *q <= '7' && q - *p < 7; q++)
        mode = mode << 3 | (unsigned)(*q - '0');
    if (q == *p || q == end || *q != ' ')
        return false;
    const char *name = ++q;
    const char *nul = memchr(name, '\0', (size_t)(end - name));
    if (!nul || nul == name || (size_t)(end - nul) < 1 + hash_len)
        return false;
    *ret_mode = mode;
    *ret_name = name;
    *ret_len = (size_t)(nul - name);
    *p = nul + 1 + hash_len;
    return true;
}

int git_tree_find(const char *data, size_t len, size_t hash_len, const char *name, size_t name_len,
                  unsigned *ret_mode, struct git_oid *ret, struct sr_error *err)
{
    const char *p = data, *end = data + len;
    while (p < end) {
        unsigned mode;
        const char *n;
        size_t n_len;
        if (!tree_entry(&p, end, hash_len, &mode, &n, &n_len))
            return sr_error_set(err, "git.corrupt", "a tree holds a malformed entry");
        if (n_len != name_len || memcmp(n, name, name_len) != 0)
            continue;
        *ret_mode = mode;
        *ret = (struct git_oid){ { 0 } };
        memcpy(ret->b, p - hash_len, hash_len);
        return 1;
    }
    return 0;
}

static bool path_ok(const char *path)
{
    if (!*path || strlen(path) >= GIT_PATH_MAX)
        return false;
    for (const char *p = path;;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        if (!p[n])
            return true;
        p += n + 1;
    }
}

static const char *mode_name(unsigned mode)
{
    switch (mode & MODE_TYPE) {
    case MODE_FILE:
        return "a file";
    case MODE_DIR:
        return "a directory";
    case MODE_LINK:
        return "a symbolic link";
    default:
        return "a submodule";
    }
}

static int missing(const char *commit, const char *path, struct sr_error *err)
{
    return sr_error_set(err, "git.object_missing", "commit %s has no %s", commit, path);
}

/* Down the tree, one object for each component. */
static int path_walk(struct sr_git *g, const char *commit, const char *path, struct git_oid *oid,
                     struct sr_error *err)
{
    for (const char *p = path;;) {
        cleanup_object struct git_object tree = { 0 };
        size_t n = strcspn(p, "/");
        unsigned mode;
        if (git_object_read(g, oid, GIT_TREE, GIT_META_MAX, &tree, err) < 0)
            return -1;
        int rc = git_tree_find(tree.data, tree.size, g->hash_len, p, n, &mode, oid, err);
        if (rc <= 0)
            return rc < 0 ? -1 : missing(commit, path, err);
        bool last = p[n] == '\0';
        if (last && (mode & MODE_TYPE) != MODE_FILE)
            return sr_error_set(err, "git.type", "%s in commit %s is %s, not a file", path, commit,
                                mode_name(mode));
        if (last)
            return 0;
        if ((mode & MODE_TYPE) != MODE_DIR)
            return missing(commit, path, err);
        p += n + 1;
    }
}

int sr_git_blob(struct sr_git *g, const char *commit_hex, const char *path, size_t max,
                struct sr_buf *ret, struct sr_error *err)
{
    struct git_oid oid;
    g->work = 0;
    if (strlen(commit_hex) != 2 * g->hash_len || !git_oid_parse(commit_hex, g->hash_len, &oid))
        return sr_error_set(err, "git.ref_missing", "%s is not the full name of a commit",
                            commit_hex);
    if (!path_ok(path))
        return missing(commit_hex, path, err);
    cleanup_object struct git_object commit = { 0 }, blob = { 0 };
    if (git_object_read(g, &oid, GIT_COMMIT, GIT_META_MAX, &commit, err) < 0 ||
        git_commit_tree(commit.data, commit.size, g->hash_len, &oid, err) < 0 ||
        path_walk(g, commit_hex, path, &oid, err) < 0)
        return -1;
    if (git_object_read(g, &oid, GIT_BLOB, max, &blob, err) < 0)
        return sr_error_wrap(err, "reading %s of commit %s", path, commit_hex);
    sr_buf_clear(ret);
    *ret = (struct sr_buf){ .data = blob.data, .len = blob.size, .cap = blob.size + 1, .max = max };
    blob.data = NULL;
    return 0;
}
