/* SPDX-License-Identifier: MIT */
/* The listed paths come back to the tree. */
#include "sandrun/keep.h"

#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/git.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static bool is_listed(const struct sr_strv *keep, const char *path)
{
    for (size_t i = 0; i < keep->n; i++)
        if (sr_path_below(path, keep->v[i]))
            return true;
    return false;
}

/* Why this change does not come back, NULL when it may. */
static const char *unfit(const struct sr_change *c)
{
    /* by the path alone: an index that was merely refreshed has the class of a cache */
    if (sr_git_below(c->path))
        return "it is git's own, which never comes back";
    if (c->cls <= SR_CLASS_ENV_CHANGED)
        return "it is part of an environment";
    if (c->cls <= SR_CLASS_ESCAPE) /* the enum's order: git.*, deferred, escape */
        return "it is of a kind that later runs on the host or leads out of the tree";
    if (c->kind == SR_CHANGE_DELETED)
        return "deletions do not come back";
    if (!S_ISREG(c->after.mode) && !S_ISDIR(c->after.mode))
        return "it is neither a regular file nor a directory";
    return NULL;
}

/* Whether the host's file is still what the run started from. */
static bool host_moved(int tree_fd, const struct sr_change *c)
{
    struct stat st;
    cleanup_fd int fd = sr_openat2(tree_fd, c->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, BENEATH);
    if (fd < 0)
        return !(errno == ENOENT && c->before.mode == 0);
    if (fstat(fd, &st) < 0 || st.st_mode != c->before.mode)
        return true;
    if (!S_ISREG(st.st_mode))
        return false;
    unsigned char digest[SR_SHA256_SIZE];
    struct sr_error err = { 0 };
    uint64_t size;
    return !c->before.has_digest || sr_sha256_fd(fd, c->path, digest, &size, &err) < 0 || memcmp(digest, c->before.digest, sizeof digest) != 0;
}

/* The directory of path beneath the tree, made as needed; a link in the way is not followed. */
static int parent_beneath(int tree_fd, const char *path, const char **ret_base, struct sr_error *err)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *parent = slash ? sr_strndup(path, (size_t)(slash - path)) : sr_strdup(".");
    *ret_base = slash ? slash + 1 : path;
    if (slash && sr_mkdir_p(tree_fd, parent, 0755, err) < 0)
        return -1;
    int fd = sr_openat2(tree_fd, parent, O_RDONLY | O_DIRECTORY, 0, BENEATH);
    return fd < 0 ? sr_error_sys(err, "keep.write", "cannot open the directory of %s", path) : fd;
}

static int copy_all(int in, int out)
{
    char chunk[65536];
    for (ssize_t n; (n = read(in, chunk, sizeof chunk)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || sr_write_all(out, chunk, (size_t)n) < 0)
            return -1;
    }
    return 0;
}

static int write_back(int in, mode_t mode, int dir, const char *base, const struct stat *owner)
{
    cleanup_free char *temp = sr_asprintf(".%.200s.%d.sandrun-keep", base, getpid());
    cleanup_fd int out = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return -1;
    bool chowned = geteuid() != 0 || fchown(out, owner->st_uid, owner->st_gid) == 0;
    if (chowned && copy_all(in, out) == 0 && fchmod(out, mode & 0100 ? 0755 : 0644) == 0 && fsync(out) == 0 && renameat(dir, temp, dir, base) == 0)
        return 0;
    int saved = errno;
    unlinkat(dir, temp, 0);
    errno = saved;
    return -1;
}

static int keep_one(const struct sr_change *c, int tree_fd, int after_fd, struct sr_error *err)
{
    struct stat st, tree;
    const char *base;
    if (fstat(tree_fd, &tree) < 0)
        return sr_error_sys(err, "keep.write", "cannot look at the tree");
    cleanup_fd int dir = parent_beneath(tree_fd, c->path, &base, err);
    if (dir < 0)
        return -1;
    if (S_ISDIR(c->after.mode)) {
        if (mkdirat(dir, base, 0755) < 0 && errno != EEXIST)
            return sr_error_sys(err, "keep.write", "cannot make the directory %s", c->path);
        if (geteuid() == 0 && fchownat(dir, base, tree.st_uid, tree.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
            return sr_error_sys(err, "keep.write", "cannot give the directory %s to the owner of the tree", c->path);
        return 0;
    }
    cleanup_fd int in = sr_openat2(after_fd, c->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, BENEATH);
    if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode))
        return sr_error_sys(err, "keep.write", "cannot read what the run left at %s", c->path);
    if (write_back(in, st.st_mode, dir, base, &tree) < 0)
        return sr_error_sys(err, errno == ENOSPC || errno == EDQUOT ? "keep.no_space" : "keep.write", "cannot write %s back to the tree", c->path);
    return 0;
}

static void note(struct sr_kept_list *l, size_t *cap, const char *path, const char *refused)
{
    SR_GROW(l->v, l->n, *cap);
    l->v[l->n++] = (struct sr_kept){ .path = sr_strdup(path), .refused = sr_strdup(refused) };
}

int sr_changes_keep(const struct sr_changeset *set, const struct sr_strv *keep, int tree_fd, int after_fd, struct sr_kept_list *ret,
                    struct sr_error *err)
{
    struct sr_kept_list list = { 0 };
    size_t cap = 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_change *c = &set->v[i];
        struct sr_error failed = { 0 };
        if (c->in_home || !is_listed(keep, c->path))
            continue;
        const char *why = unfit(c);
        if (!why && !S_ISDIR(c->after.mode) && host_moved(tree_fd, c))
            why = "the host's file was changed while the run went on";
        if (!why && keep_one(c, tree_fd, after_fd, &failed) < 0) {
            if (failed.sys == ENOSPC || failed.sys == EDQUOT) {
                sr_kept_list_clear(&list);
                *err = failed;
                return -1;
            }
            why = failed.text;
        }
        note(&list, &cap, c->path, why);
    }
    *ret = list;
    return 0;
}

void sr_kept_list_clear(struct sr_kept_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].path);
        free(l->v[i].refused);
    }
    free(l->v);
    *l = (struct sr_kept_list){ 0 };
}

cJSON *sr_kept_list_json(const struct sr_kept_list *l)
{
    cJSON *array = sr_json_array();
    for (size_t i = 0; l && i < l->n; i++) {
        cJSON *item = sr_json_object();
        sr_json_add_path(item, "path", l->v[i].path);
        sr_json_add_bool(item, "kept", !l->v[i].refused);
        sr_json_add_string(item, "refused", l->v[i].refused);
        sr_json_append(array, item);
    }
    return array;
}
