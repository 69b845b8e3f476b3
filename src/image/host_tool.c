/* SPDX-License-Identifier: MIT */
/* Which files of the root filesystem a command runs: the tool, and the interpreters of scripts. */
#include "base/fs.h"
#include "base/mem.h"
#include "image/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel reads no more of a script than this (BINPRM_BUF_SIZE). */
enum { FIRST_LINE_MAX = 256 };

/*
 * Not realpath(3): that follows links through what the check cannot see, and would promise a tool
 * that is absent inside. The mount of /opt may be a view, but names and contents in it are the
 * host's.
 */

/* Replaces *path by what its link (if it is one) says, rest appended. 1 followed, 0 no link, -1
 * nothing there. */
static int link_follow(const struct host_view *v, char **path, const char *rest)
{
    struct stat st;
    char to[PATH_MAX];
    if (!host_view_passable(v, *path) || lstat(*path, &st) < 0)
        return -1;
    if (!S_ISLNK(st.st_mode))
        return 0;
    ssize_t n = readlink(*path, to, sizeof to - 1);
    if (n <= 0)
        return -1;
    to[n] = '\0';
    char *slash = strrchr(*path, '/');
    slash[1] = '\0';
    char *next = sr_asprintf("%s%s/%s", to[0] == '/' ? "" : *path, to, rest);
    free(*path);
    *path = next;
    return 1;
}

static int step(const struct host_view *v, char **done, const char *name, size_t n,
                const char *rest)
{
    if (n == 1 && name[0] == '.')
        return 0;
    if (n == 2 && name[0] == '.' && name[1] == '.') {
        char *slash = strrchr(*done, '/');
        if (slash)
            *slash = '\0'; /* done holds no links: its parent is what ".." means */
        return 0;
    }
    char *next = sr_asprintf("%s/%.*s", *done, (int)n, name);
    free(*done);
    *done = next;
    return link_follow(v, done, rest);
}

static bool is_visible_file(const struct host_view *v, const char *path)
{
    struct stat st;
    return host_view_visible(v, path) && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *host_resolve(const struct host_view *v, const char *path)
{
    cleanup_free char *now = sr_strdup(path);
    for (int links = 0; links <= HOST_LINKS_MAX; links++) {
        int rc = 0;
        cleanup_free char *done = sr_strdup("");
        for (const char *p = now + strspn(now, "/"); *p && rc == 0; p += strspn(p, "/")) {
            size_t n = strcspn(p, "/");
            rc = step(v, &done, p, n, p + n);
            p += n;
        }
        if (rc < 0 || strlen(done) >= PATH_MAX)
            return NULL;
        if (rc == 0)
            return is_visible_file(v, done) ? steal_ptr(&done) : NULL;
        free(now); /* a link: from the start again, with its target in its place */
        now = steal_ptr(&done);
    }
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && (st.st_mode & 0111);
}

/* execvp's search, over the entries that are of the root filesystem; those in the tree are the
 * tree's affair. */
static char *path_search(const struct host_view *v, const char *name, const char *path,
                         const char *tree)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, ":");
        cleanup_free char *dir = sr_strndup(p, n);
        p += n + (p[n] == ':');
        if (dir[0] != '/' || sr_path_below(dir, tree))
            continue;
        cleanup_free char *candidate = sr_path_join(dir, name);
        cleanup_free char *found = host_resolve(v, candidate);
        if (found && is_program(found))
            return steal_ptr(&found);
    }
    return NULL;
}

void host_tools_clear(struct host_tools *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->v[i].name);
        free(t->v[i].path);
    }
    *t = (struct host_tools){ 0 };
}

/* The first line behind "#!", or "" when the file is no script. */
static int first_line(const char *path, char out[FIRST_LINE_MAX + 1], struct sr_error *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, FIRST_LINE_MAX);
    if (n < 0) {
        sr_error_sys(err, "rootfs.unreadable", "cannot read the tool %s", path);
        return sr_error_hint(
            err,
            "a tool that cannot be read cannot be pinned: make it readable, or name another one");
    }
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (n < 2 || out[0] != '#' || out[1] != '!')
        out[0] = '\0';
    else
        memmove(out, out + 2, strlen(out + 2) + 1);
    return 0;
}

/* "env [-S] [-options] [VAR=value] NAME": the name, found by PATH. NULL when there is none. */
static const char *env_argument(char **save)
{
    const char *word;
    while ((word = strtok_r(NULL, " \t", save)))
        if (word[0] != '-' && !strchr(word, '='))
            return word;
    return NULL;
}

static bool is_env(const char *spelled)
{
    const char *slash = strrchr(spelled, '/');
    return strcmp(slash ? slash + 1 : spelled, "env") == 0;
}

/* Takes in one tool by its spelling. True when it is there and of the root filesystem, so that its
 * first line counts. What leads into the tree is no tool of the root filesystem: it is reviewed
 * with the tree, and a pin must not move with it. */
static bool tool_add(const struct host_view *v, const char *name, const char *path,
                     const char *tree, struct host_tools *t)
{
    if (t->n == HOST_TOOLS_MAX)
        return false;
    bool has_slash = strchr(name, '/') != NULL;
    if (has_slash && (name[0] != '/' || sr_path_below(name, tree)))
        return false;
    cleanup_free char *found = has_slash ? host_resolve(v, name) : path_search(v, name, path, tree);
    if (found && sr_path_below(found, tree))
        return false;
    t->v[t->n++] = (struct host_tool){ .name = sr_strdup(name), .path = steal_ptr(&found) };
    return t->v[t->n - 1].path != NULL;
}

int host_tools_find(const struct host_view *v, const char *name, const char *path, const char *tree,
                    struct host_tools *ret, struct sr_error *err)
{
    cleanup_tools struct host_tools t = { 0 };
    bool more = tool_add(v, name, path, tree, &t);
    while (more) {
        char line[FIRST_LINE_MAX + 1], *save = NULL;
        if (first_line(t.v[t.n - 1].path, line, err) < 0)
            return -1;
        const char *interpreter = strtok_r(line, " \t\r", &save);
        if (!interpreter)
            break;
        more = tool_add(v, interpreter, path, tree, &t);
        const char *real = is_env(interpreter) ? env_argument(&save) : NULL;
        if (more && real)
            more = tool_add(v, real, path, tree, &t);
    }
    *ret = t;
    t = (struct host_tools){ 0 };
    return 0;
}
