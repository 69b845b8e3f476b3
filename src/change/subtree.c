/* SPDX-License-Identifier: MIT */
/* Subtrees that went or came, and the comparing of single entries. */
#include "change/subtree.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TODO_BYTES_MAX = 512 << 20 };

static size_t item_bytes(const char *path, const char *lower)
{
    return strlen(path) + 1 + (lower ? strlen(lower) + 1 : 0);
}

int sr_todo_push(struct sr_todo *t, char *path, char *lower, unsigned flags, struct sr_error *err)
{
    size_t bytes = item_bytes(path, lower);
    if (sr_walk_depth(path) > SR_WALK_DEPTH_MAX || t->bytes + bytes > TODO_BYTES_MAX) {
        sr_error_set(err, "snapshot.too_large",
                     "the tree is deeper than %d directories, or too wide that deep, at %.100s...",
                     SR_WALK_DEPTH_MAX, path);
        free(path);
        free(lower);
        return -1;
    }
    SR_GROW(t->v, t->n, t->cap);
    t->v[t->n++] = (struct sr_todo_item){ path, lower, flags };
    t->bytes += bytes;
    return 0;
}

bool sr_todo_pop(struct sr_todo *t, struct sr_todo_item *ret)
{
    if (t->n == 0)
        return false;
    *ret = t->v[--t->n];
    t->bytes -= item_bytes(ret->path, ret->lower);
    return true;
}

void sr_todo_item_clear(struct sr_todo_item *i)
{
    free(i->path);
    free(i->lower);
    *i = (struct sr_todo_item){ 0 };
}

void sr_todo_clear(struct sr_todo *t)
{
    while (t->n)
        sr_todo_item_clear(&t->v[--t->n]);
    free(t->v);
    *t = (struct sr_todo){ 0 };
}

/* The host may edit its tree meanwhile: what vanished or changed its type under our hands has no
 * content to compare. */
static bool vanished(const struct sr_error *err)
{
    return err->sys == ENOENT || err->sys == ESTALE || err->sys == ELOOP || err->sys == ENXIO ||
           err->sys == EINVAL;
}

/* A file of the host's tree that the caller may not read can be compared by its mode and size
 * alone. */
static int state_read(int dirfd, const char *name, bool ours, const struct stat *st,
                      struct sr_entry_state *ret, struct sr_error *err)
{
    if (sr_walk_digest(dirfd, name, ours, st, ret, err) == 0)
        return 0;
    if (ours || (!vanished(err) && err->sys != EACCES))
        return -1;
    sr_error_clear(err);
    ret->has_digest = false;
    return 0;
}

static bool states_equal(const struct sr_entry_state *a, const struct sr_entry_state *b)
{
    return a->mode == b->mode && a->size == b->size && a->has_digest == b->has_digest &&
           memcmp(a->digest, b->digest, SR_SHA256_SIZE) == 0;
}

/* The digest of a very large file is not the SHA-256 of its bytes: good for comparing, wrong to
 * show. */
static void digest_hide(struct sr_entry_state *s)
{
    if (S_ISREG(s->mode) && s->size > SR_WALK_PLAIN_MAX)
        s->has_digest = false;
}

int sr_entry_tell(const struct sr_entry *e, const char *path, bool in_home,
                  struct sr_changeset *set, bool *ret_changed, struct sr_error *err)
{
    struct sr_entry_state before = { 0 }, after = { 0 };
    bool both =
        e->before && e->after && (e->before->st_mode & S_IFMT) == (e->after->st_mode & S_IFMT);
    if (e->before)
        before = sr_walk_state(e->before);
    if (both && e->content && state_read(e->before_fd, e->name, false, e->before, &before, err) < 0)
        return -1;
    if (e->after)
        after = sr_walk_state(e->after);
    if (e->after && e->content &&
        state_read(e->after_fd, e->name, e->force, e->after, &after, err) < 0)
        return -1;
    bool changed = !both || !states_equal(&before, &after);
    if (ret_changed)
        *ret_changed = changed;
    if (!changed)
        return 0;
    digest_hide(&before);
    digest_hide(&after);
    char *target = e->after && S_ISLNK(after.mode) ? sr_walk_link(e->after_fd, e->name) : NULL;
    sr_set_add(set, sr_strdup(path), in_home, e->before ? &before : NULL, e->after ? &after : NULL,
               target);
    return 0;
}

int sr_root_tell(mode_t before, int after_fd, struct sr_changeset *ret, struct sr_error *err)
{
    struct stat was = { .st_mode = before }, is;
    if (fstat(after_fd, &is) < 0)
        return sr_error_sys(err, "snapshot.read", "cannot look at the root of the tree");
    struct sr_entry e = {
        .before_fd = -1, .after_fd = -1, .name = ".", .before = &was, .after = &is
    };
    return sr_entry_tell(&e, "", false, ret, NULL, err);
}

/* By its birth: the change time of an older file moves with each edit, and such a file is lost all
 * the same. The change time is in the stat that we have, and never before the birth. */
bool sr_entry_born_after(int dirfd, const char *name, const struct stat *st, int64_t moment)
{
    struct statx sx;
    if (!moment || (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec <= moment)
        return false;
    return statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &sx) == 0 &&
           (sx.stx_mask & STATX_BTIME) &&
           sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec > moment;
}

static bool leads_to_mount(const struct sr_subtree *s, const char *path)
{
    for (size_t i = 0; s->mount_points && i < s->mount_points->n; i++)
        if (sr_path_below(s->mount_points->v[i], path))
            return true;
    return false;
}

static int subtree_entry(const struct sr_subtree *s, int fd, const char *name,
                         const struct sr_todo_item *dir, struct sr_todo *todo,
                         struct sr_changeset *set, struct sr_error *err)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return 0;
        return sr_error_sys(err, "snapshot.read", "cannot look at %s/%s", dir->path, name);
    }
    if (sr_entry_born_after(fd, name, &st, s->born_before))
        return 0;
    cleanup_free char *to = sr_walk_join(dir->path, name);
    struct sr_entry e = {
        .before_fd = fd, .after_fd = fd, .name = name, .force = s->force, .content = s->digest
    };
    if (s->added)
        e.after = &st;
    else
        e.before = &st;
    if (!leads_to_mount(s, to) && sr_entry_tell(&e, to, s->in_home, set, NULL, err) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode))
        return 0;
    return sr_todo_push(todo, steal_ptr(&to), sr_walk_join(dir->lower, name), 0, err);
}

static int subtree_directory(const struct sr_subtree *s, const struct sr_todo_item *dir,
                             struct sr_walk_cursor *cursor, struct sr_todo *todo,
                             struct sr_changeset *set, struct sr_error *err)
{
    cleanup_names struct sr_walk_names names = { 0 };
    int fd = sr_walk_step(cursor, s->root_fd, dir->lower, s->force);
    if (fd < 0 && (errno == ENOENT || (errno == EACCES && !s->force)))
        return 0;
    if (fd < 0)
        return sr_error_sys(err, "snapshot.read", "cannot open the directory %s", dir->lower);
    if (sr_walk_list(fd, dir->lower, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (subtree_entry(s, fd, sr_walk_name(&names, i), dir, todo, set, err) < 0)
            return -1;
    return 0;
}

int sr_subtree_tell(const struct sr_subtree *s, struct sr_changeset *set, struct sr_error *err)
{
    cleanup_todo struct sr_todo todo = { 0 };
    cleanup_cursor struct sr_walk_cursor cursor = SR_WALK_CURSOR;
    if (sr_todo_push(&todo, sr_strdup(s->to), sr_strdup(s->from), 0, err) < 0)
        return -1;
    for (;;) {
        cleanup_todo_item struct sr_todo_item dir = { 0 };
        if (!sr_todo_pop(&todo, &dir))
            return 0;
        if (subtree_directory(s, &dir, &cursor, &todo, set, err) < 0)
            return -1;
    }
}
