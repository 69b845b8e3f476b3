/* SPDX-License-Identifier: MIT */
/* References: loose files, packed-refs, and names that stand for other names. */
#include "git/private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool char_ok(unsigned char c)
{
    return c > ' ' && c != 0x7f && !strchr("~^:?*[\\", c);
}

/* git's own rules: what passes can be used as a path below a git directory. */
bool git_ref_name_ok(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n >= GIT_PATH_MAX || name[0] == '/' || name[n - 1] == '/' || name[n - 1] == '.' ||
        strcmp(name, "@") == 0 || strstr(name, "@{"))
        return false;
    for (const char *p = name; *p; p++)
        if (!char_ok((unsigned char)*p) ||
            ((p == name || p[-1] == '/') && (*p == '.' || *p == '/')) || (*p == '.' && p[1] == '.'))
            return false;
    for (const char *p = name; (p = strstr(p, ".lock")); p += 5)
        if (p[5] == '\0' || p[5] == '/')
            return false;
    return true;
}

/* Which directory holds the file of a reference, and its path there. Worktrees share all but a few.
 */
static int ref_place(const struct sr_git *g, const char *name, const char **ret_path)
{
    *ret_path = name;
    if (starts(name, "main-worktree/")) {
        *ret_path = name + strlen("main-worktree/");
        return g->common_fd;
    }
    if (starts(name, "worktrees/"))
        return g->common_fd;
    bool own = !starts(name, "refs/") || starts(name, "refs/bisect/") ||
               starts(name, "refs/worktree/") || starts(name, "refs/rewritten/");
    return own ? g->dir_fd : g->common_fd;
}

struct packed {
    const char *name;
    size_t name_len, hex_len;
    const char *found; /* the hex, in the reader's buffer */
};

static void packed_line(struct packed *k, const char *line, size_t len)
{
    if (len == k->hex_len + 1 + k->name_len && line[k->hex_len] == ' ' &&
        memcmp(line + k->hex_len + 1, k->name, k->name_len) == 0)
        k->found = line;
}

/* The file in pieces, line by line: it may hold a million references, and we want one. */
static int packed_scan(int fd, off_t size, struct packed *k, char *buf, size_t cap,
                       struct sr_error *err)
{
    size_t have = 0;
    for (off_t off = 0; off < size && !k->found;) {
        if (have == cap)
            return sr_error_set(err, "git.corrupt",
                                "packed-refs holds a line of more than %zu bytes", cap);
        size_t take = size - off < (off_t)(cap - have) ? (size_t)(size - off) : cap - have;
        if (git_pread(fd, buf + have, take, off, "packed-refs", err) < 0)
            return -1;
        off += (off_t)take;
        have += take;
        char *line = buf, *nl;
        while (!k->found && (nl = memchr(line, '\n', (size_t)(buf + have - line)))) {
            packed_line(k, line, (size_t)(nl - line));
            line = nl + 1;
        }
        if (k->found)
            break;
        have -= (size_t)(line - buf);
        memmove(buf, line, have);
    }
    return 0;
}

static int packed_read(struct sr_git *g, const char *name, struct git_oid *ret,
                       struct sr_error *err)
{
    off_t size;
    cleanup_fd int fd = git_open_file(g->common_fd, "packed-refs", &size, err);
    if (fd < 0)
        return fd == -1 ? 0 : -1;
    if (size > GIT_PACKED_REFS_MAX)
        return sr_error_set(err, "git.too_large",
                            "packed-refs of the repository is larger than %lld bytes",
                            (long long)GIT_PACKED_REFS_MAX);
    cleanup_free char *buf = sr_malloc(GIT_SMALL_FILE_MAX);
    struct packed k = { name, strlen(name), 2 * g->hash_len, NULL };
    if (packed_scan(fd, size, &k, buf, GIT_SMALL_FILE_MAX, err) < 0)
        return -1;
    if (!k.found)
        return 0;
    if (!git_oid_parse(k.found, g->hash_len, ret))
        return sr_error_set(err, "git.corrupt",
                            "packed-refs gives %s a value that is no object name", name);
    return 1;
}

/* One file: an object name, or the name of another reference (copied into next). 1, 0 no such file,
 * -1. */
static int loose_read(struct sr_git *g, const char *name, struct git_oid *ret,
                      char next[GIT_PATH_MAX], struct sr_error *err)
{
    const char *path;
    cleanup_buf struct sr_buf text = SR_BUF(GIT_SMALL_FILE_MAX);
    int dirfd = ref_place(g, name, &path);
    int rc = git_read_file(dirfd, path, GIT_SMALL_FILE_MAX, &text, err);
    if (rc <= 0)
        return rc;
    next[0] = '\0';
    if (starts(text.data, "ref:")) {
        const char *to = text.data + 4 + strspn(text.data + 4, " \t");
        size_t n = strcspn(to, "\r\n");
        while (n && (to[n - 1] == ' ' || to[n - 1] == '\t'))
            n--;
        cleanup_free char *target = sr_strndup(to, n);
        /* The target is opened as a path: it must be a reference by its form, whatever it says. */
        if (!git_ref_name_ok(target) || !starts(target, "refs/"))
            return sr_error_set(err, "git.corrupt", "the reference %s points to what cannot be one",
                                name);
        snprintf(next, GIT_PATH_MAX, "%s", target);
        return 1;
    }
    if (!git_oid_parse(text.data, g->hash_len, ret) ||
        !strchr(" \t\r\n", text.data[2 * g->hash_len]))
        return sr_error_set(err, "git.corrupt", "the reference %s holds no object name", name);
    return 1;
}

int git_ref_read(struct sr_git *g, const char *name, struct git_oid *ret, struct sr_error *err)
{
    char now[GIT_PATH_MAX], next[GIT_PATH_MAX];
    if (g->reftable)
        return sr_error_set(err, "git.unsupported",
                            "the repository keeps its references in a reftable");
    if (!git_ref_name_ok(name))
        return 0;
    snprintf(now, sizeof now, "%s", name);
    for (int depth = 0; depth <= GIT_SYMREF_DEPTH_MAX; depth++) {
        int rc = loose_read(g, now, ret, next, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return starts(now, "refs/") ? packed_read(g, now, ret, err) : 0;
        if (!next[0])
            return 1;
        memcpy(now, next, sizeof now);
    }
    return sr_error_set(err, "git.corrupt", "the reference %s leads through more than %d others",
                        name, GIT_SYMREF_DEPTH_MAX);
}
