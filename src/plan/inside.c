/* SPDX-License-Identifier: MIT */
/* Paths as the check will see them, walked the way the kernel would walk them inside. */
#include "plan/inside.h"

#include "base/buf.h"
#include "base/fs.h"
#include "sandrun/image.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* MAXSYMLINKS of the kernel (path_resolution(7)). */
enum { LINKS_MAX = 40, REST_MAX = 2 * PATH_MAX, CHAIN_MAX = 4096 };

/* A place of its own inside: the tree, a mount, the common repository. */
struct place {
    const char *target, *source;
};

static size_t places(const struct sr_plan *p, size_t i, struct place *ret)
{
    size_t n = p->n_mounts + 2;
    if (i == 0)
        *ret = (struct place){ p->tree_target, p->tree };
    else if (i == 1)
        *ret = (struct place){ p->git_common_dir, p->git_common_dir };
    else if (i < n)
        *ret = (struct place){ p->mounts[i - 2].target, p->mounts[i - 2].source };
    return i < n;
}

char *inside_host_path(const struct sr_plan *p, const char *path)
{
    struct place at, best = { 0 };
    /* the deepest one covers the others, whatever order they are mounted in */
    for (size_t i = 0; places(p, i, &at); i++)
        if (at.target && sr_path_below(path, at.target) &&
            (!best.target || strlen(at.target) > strlen(best.target)))
            best = at;
    if (best.target)
        return sr_asprintf("%s%s", best.source, path + strlen(best.target));
    return sr_host_path_visible(path) ? sr_strdup(path) : NULL;
}

/* A directory that exists only because something stands below it. */
static bool is_made(const struct sr_plan *p, const char *path)
{
    struct place at;
    struct stat st;
    for (size_t i = 0; places(p, i, &at); i++)
        if (at.target && sr_path_below(at.target, path))
            return true;
    for (size_t i = 0; i < sr_host_paths_n; i++)
        /* the table has what any distribution may have */
        if (sr_path_below(sr_host_paths[i].path, path) && lstat(sr_host_paths[i].path, &st) == 0)
            return true;
    return false;
}

struct walk {
    const struct sr_plan *plan;
    struct inside *ret;
    char *at;   /* so far, free of links */
    char *rest; /* to go */
    unsigned links;
    struct sr_buf chain;
};

static bool end_walk(struct walk *w, enum inside_end end)
{
    w->ret->end = end;
    return false;
}

static bool end_absent(struct walk *w, const char *next, const char *rest)
{
    rest += strspn(rest, "/");
    w->ret->absent = sr_strdup(next);
    free(w->at);
    w->at = *rest ? sr_path_join(next, rest) : sr_strdup(next);
    return end_walk(w, INSIDE_ABSENT);
}

static void move_to(struct walk *w, char *at)
{
    free(w->at);
    w->at = at;
}

static bool follow(struct walk *w, const char *next, const char *host, const char *rest)
{
    char target[PATH_MAX];
    ssize_t len = readlink(host, target, sizeof target - 1);
    if (len <= 0)
        return end_absent(w, next, rest);
    target[len] = '\0';
    if (++w->links > LINKS_MAX || (size_t)len + strlen(rest) > REST_MAX)
        return end_walk(w, INSIDE_LOOP);
    sr_buf_printf(&w->chain, " -> %s", target);
    if (target[0] == '/')
        move_to(w, sr_strdup("/"));
    char *joined = sr_asprintf("%s%s", target, rest);
    free(w->rest);
    w->rest = joined;
    return true;
}

static void go_up(struct walk *w)
{
    char *slash = strrchr(w->at, '/');
    slash[slash == w->at] = '\0';
}

/* One component. False: the walk has ended. */
static bool step(struct walk *w)
{
    char *name = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(name, "/");
    cleanup_free char *part = sr_strndup(name, n);
    cleanup_free char *rest = sr_strdup(name + n);
    if (!n)
        return end_walk(w, INSIDE_THERE);
    memmove(w->rest, rest, strlen(rest) + 1);
    if (strcmp(part, ".") == 0)
        return true;
    if (strcmp(part, "..") == 0) {
        go_up(w);
        return true;
    }
    cleanup_free char *next = sr_path_join(w->at, part);
    cleanup_free char *host = inside_host_path(w->plan, next);
    struct stat st = { .st_mode = S_IFDIR | 0755 };
    if (!host ? !is_made(w->plan, next) : lstat(host, &st) < 0)
        return end_absent(w, next, rest);
    if (S_ISLNK(st.st_mode))
        return follow(w, next, host, rest);
    if (!S_ISDIR(st.st_mode) && *rest)
        return end_absent(w, next, rest);
    move_to(w, steal_ptr(&next));
    w->ret->mode = st.st_mode;
    return true;
}

void inside_walk(const struct sr_plan *p, const char *path, struct inside *ret)
{
    *ret = (struct inside){ .mode = S_IFDIR | 0755 };
    struct walk w = { .plan = p,
                      .ret = ret,
                      .at = sr_strdup("/"),
                      .rest = sr_strdup(path),
                      .chain = SR_BUF(CHAIN_MAX) };
    sr_buf_puts(&w.chain, path);
    while (step(&w))
        ;
    ret->path = w.at;
    ret->host = ret->end == INSIDE_LOOP ? NULL : inside_host_path(p, w.at);
    ret->chain = sr_buf_steal(&w.chain);
    free(w.rest);
}

void inside_clear(struct inside *w)
{
    free(w->path);
    free(w->host);
    free(w->absent);
    free(w->chain);
    *w = (struct inside){ 0 };
}
