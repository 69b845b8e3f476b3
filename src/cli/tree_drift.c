/* SPDX-License-Identifier: MIT */
/* Which entries of a tree changed after a moment, by ctime: the one time that a program cannot set
 * back. */
#include "base/fs.h"
#include "cli/drift.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    int root;
    dev_t dev;
    int64_t since_ns;
    struct sr_strv todo; /* directories to read, relative to root */
    struct sr_strv *changed;
};

static void entry_look(struct walk *w, const char *path, const struct stat *st)
{
    int64_t ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
    if (ctime_ns > w->since_ns && w->changed->n < CLI_DRIFT_EXAMPLES)
        sr_strv_add(w->changed, path);
}

static int entry_visit(struct walk *w, int dirfd, const char *dir, const char *name,
                       struct sr_error *err)
{
    cleanup_free char *path = strcmp(dir, ".") == 0 ? sr_strdup(name) : sr_path_join(dir, name);
    struct stat st;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) /* removed while we look: that is a change */
            return sr_strv_add(w->changed, path), 0;
        return sr_error_sys(err, "file.read", "looking at %s in the tree", path);
    }
    /* git rewrites its inside for its own reasons (index refresh, gc); the commit is compared
     * instead. */
    if (strcmp(path, ".git") == 0 && S_ISDIR(st.st_mode))
        return 0;
    entry_look(w, path, &st);
    if (S_ISDIR(st.st_mode) && st.st_dev == w->dev)
        sr_strv_add(&w->todo, path);
    return 0;
}

static int directory_visit(struct walk *w, const char *path, struct sr_error *err)
{
    int fd = sr_openat2(w->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    if (!dir) {
        sr_error_sys(err, "file.read", "reading the directory %s of the tree", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (w->changed->n < CLI_DRIFT_EXAMPLES && (errno = 0, e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (entry_visit(w, dirfd(dir), path, e->d_name, err) < 0)
            return -1;
    }
    return 0;
}

/* One directory open at a time, named from the root: a tree of any depth costs two descriptors; one
 * too deep for a path is an error, and so no unnoticed change. */
static int walk_all(struct walk *w, struct sr_error *err)
{
    struct stat st;
    if (fstat(w->root, &st) < 0)
        return sr_error_sys(err, "file.read", "looking at the tree");
    w->dev = st.st_dev;
    entry_look(w, ".", &st);
    sr_strv_add(&w->todo, ".");
    for (size_t i = 0; i < w->todo.n && w->changed->n < CLI_DRIFT_EXAMPLES; i++)
        if (directory_visit(w, w->todo.v[i], err) < 0)
            return -1;
    return 0;
}

int cli_tree_changed_since(const char *tree, int64_t taken_ns, struct sr_strv *ret,
                           struct sr_error *err)
{
    cleanup_fd int root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_strv struct sr_strv changed = { 0 };
    struct walk w = { .root = root, .since_ns = taken_ns, .changed = &changed };
    int r;
    if (root < 0)
        return sr_error_sys(err, "file.read", "opening the tree %s", tree);
    r = walk_all(&w, err);
    sr_strv_clear(&w.todo);
    if (r < 0)
        return -1;
    *ret = changed;
    changed = (struct sr_strv){ 0 };
    return 0;
}
