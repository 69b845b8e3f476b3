/* SPDX-License-Identifier: MIT */
/* Reads an overlay's upper over its lower: what the command did, at the cost of what it did. */
#include "change/overlay_attr.h"
#include "change/subtree.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Every directory of the upper is one item of work: its path (the same in the upper and for the
 * command) and the lower path that shows through, if any. What is told compares two views of that
 * path: the lower as it was, and the merge.
 *
 *   plain    the upper lies over lower; names absent from the upper are as they were
 *   opaque   nothing of the lower shows: names absent from the upper are lost. `rm -r d; mkdir d`
 * leaves this and no whiteout. All directories below are upper-only, so they are opaque too without
 * saying so moved    lower is another directory's, brought here by a rename: all of the merge came,
 * all that was at the path is lost
 *
 * File contents are read where the upper has a file over a lower one; times and owners are never
 * compared, since a copy-up alone changes neither content nor mode.
 */
enum { ITEM_OPAQUE = 1, ITEM_MOVED = 2, ITEM_FLAGS = 3, ITEM_MODE_SHIFT = 2 };

struct overlay {
    int lower_fd, upper_fd;
    bool userxattr;
    int64_t started_ns;
    struct sr_changeset *set;
    struct sr_todo todo;
};

struct dir {
    const char *path, *lower; /* lower NULL: nothing was or shows there */
    unsigned flags;
    mode_t mode; /* as the command left it: opening the directory may have mended it */
    int fd, lower_fd;
    size_t mark; /* made anew: the files that came back the same are counted there */
};

static int tell_subtree(struct overlay *o, const char *from, const char *to, bool added,
                        struct sr_error *err)
{
    struct sr_subtree s = { .root_fd = o->lower_fd,
                            .from = from,
                            .to = to,
                            .added = added,
                            .born_before = added ? 0 : o->started_ns };
    return sr_subtree_tell(&s, o->set, err);
}

/* All that was below the lower directory at path is gone. */
static int tell_lost(struct overlay *o, const char *path, enum sr_mark_kind mark,
                     struct sr_error *err)
{
    sr_set_mark(o->set, path, false, mark);
    return tell_subtree(o, path, path, false, err);
}

/* 1 there, 0 not, -1. */
static int lower_look(const struct dir *d, const char *name, struct stat *ret, struct sr_error *err)
{
    if (d->lower_fd < 0 || fstatat(d->lower_fd, name, ret, AT_SYMLINK_NOFOLLOW) < 0) {
        if (d->lower_fd < 0 || errno == ENOENT)
            return 0;
        return sr_error_sys(err, "snapshot.read", "cannot look at %s/%s below the upper", d->lower,
                            name);
    }
    return 1;
}

/* A name of the lower that does not show any more (or, in a moved directory, that shows for the
 * first time). */
static int lower_name_tell(struct overlay *o, const struct dir *d, const char *name, bool added,
                           struct sr_error *err)
{
    struct stat st;
    int there = lower_look(d, name, &st, err);
    if (there <= 0)
        return there;
    cleanup_free char *path = sr_walk_join(d->path, name), *from = sr_walk_join(d->lower, name);
    struct sr_entry e = { .before_fd = d->lower_fd, .after_fd = d->lower_fd, .name = name };
    if (added)
        e.after = &st;
    else
        e.before = &st;
    if (sr_entry_tell(&e, path, false, o->set, NULL, err) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (!added)
        sr_set_mark(o->set, path, false, SR_MARK_GONE);
    return tell_subtree(o, from, path, added, err);
}

static int file_tell(struct overlay *o, const struct dir *d, const char *name,
                     const struct stat *st, const struct stat *lower, struct sr_error *err)
{
    cleanup_free char *path = sr_walk_join(d->path, name);
    bool changed;
    struct sr_entry e = { .before_fd = d->lower_fd,
                          .after_fd = d->fd,
                          .name = name,
                          .before = lower,
                          .after = st,
                          .force = true,
                          .content = !sr_overlay_metacopy(d->fd, name, o->userxattr, st) };
    if (sr_entry_tell(&e, path, false, o->set, &changed, err) < 0)
        return -1;
    if (!changed && d->flags & ITEM_OPAQUE)
        sr_set_same(o->set, d->mark);
    if (lower && S_ISDIR(lower->st_mode))
        return tell_lost(o, path, SR_MARK_GONE, err);
    return 0;
}

static int name_read(struct overlay *o, const struct dir *d, const char *name, struct sr_error *err)
{
    struct stat st, lower;
    if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return sr_error_sys(err, "snapshot.read", "cannot look at %s/%s in the upper", d->path,
                            name);
    int was = lower_look(d, name, &lower, err);
    if (was < 0)
        return -1;
    bool moved = d->flags & ITEM_MOVED;
    /* The kernel lets nobody make a char 0:0 through an overlay, so over nothing it is only a
     * leftover. */
    bool whiteout = (was || S_ISCHR(st.st_mode)) && sr_overlay_whiteout(d->fd, name, o->userxattr, &st);
    if (whiteout)
        return was && !moved ? lower_name_tell(o, d, name, false, err) : 0;
    if (S_ISDIR(st.st_mode)) {
        /* Its attributes decide; they are read when it is open. The lower here is the parent's. */
        char *parent = d->lower ? sr_strdup(d->lower) : NULL;
        return sr_todo_push(&o->todo, sr_walk_join(d->path, name), parent,
                            d->flags | (unsigned)st.st_mode << ITEM_MODE_SHIFT, err);
    }
    return file_tell(o, d, name, &st, was && !moved ? &lower : NULL, err);
}

static int names_read(struct overlay *o, const struct dir *d, struct sr_error *err)
{
    cleanup_names struct sr_walk_names upper = { 0 }, lower = { 0 };
    if (sr_walk_list(d->fd, d->path, &upper, err) < 0)
        return -1;
    for (size_t i = 0; i < upper.n; i++)
        if (name_read(o, d, sr_walk_name(&upper, i), err) < 0)
            return -1;
    if (!(d->flags & (ITEM_OPAQUE | ITEM_MOVED)) || d->lower_fd < 0)
        return 0;
    if (sr_walk_list(d->lower_fd, d->lower, &lower, err) < 0)
        return -1;
    for (size_t i = 0; i < lower.n; i++) {
        const char *name = sr_walk_name(&lower, i);
        struct stat st;
        if (sr_walk_has(&upper, name))
            continue;
        /* nobody's loss; a whiteout is another matter, since the command saw what it removed */
        if (!(d->flags & ITEM_MOVED) && lower_look(d, name, &st, err) == 1 &&
            sr_entry_born_after(d->lower_fd, name, &st, o->started_ns))
            continue;
        if (lower_name_tell(o, d, name, d->flags & ITEM_MOVED, err) < 0)
            return -1;
    }
    return 0;
}

/* The directory itself: new, of another type, of another mode, or as it was. */
static int self_tell(struct overlay *o, const struct dir *d, const struct stat *was,
                     struct sr_error *err)
{
    struct stat st;
    if (fstat(d->fd, &st) < 0)
        return sr_error_sys(err, "snapshot.read", "cannot look at the directory %s in the upper",
                            d->path);
    st.st_mode = d->mode;
    struct sr_entry e = {
        .before_fd = -1, .after_fd = -1, .name = d->path, .before = was, .after = &st
    };
    return sr_entry_tell(&e, d->path, false, o->set, NULL, err);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Finds which lower shows through; *ret_lower is owned by the caller. */
static int lower_resolve(struct overlay *o, struct dir *d, const char *parent, char **ret_lower,
                         bool *ret_was, struct stat *was, struct sr_error *err)
{
    cleanup_free char *below = parent ? sr_walk_join(parent, base_name(d->path)) : NULL;
    struct sr_overlay_attr attr = { 0 };
    bool moved = d->flags & ITEM_MOVED, there = below && sr_walk_stat(o->lower_fd, below, was) == 0;
    bool there_dir = there && S_ISDIR(was->st_mode);
    *ret_was = there && !moved;
    if (sr_overlay_attr_read(d->fd, d->path, o->userxattr, &attr, err) < 0)
        return -1;
    cleanup_free char *from = attr.redirect ? sr_overlay_redirect(attr.redirect, parent) : NULL;
    bool opaque = attr.opaque;
    sr_overlay_attr_clear(&attr);
    if (from && !(below && strcmp(from, below) == 0)) {
        struct stat st;
        bool shows = sr_walk_stat(o->lower_fd, from, &st) == 0 && S_ISDIR(st.st_mode);
        d->flags = ITEM_MOVED;
        *ret_lower = shows ? steal_ptr(&from) : NULL;
        return there_dir && !moved ? tell_lost(o, d->path, SR_MARK_MOVED, err) : 0;
    }
    if (opaque && !(d->flags & ITEM_OPAQUE))
        d->flags = moved ? 0 : ITEM_OPAQUE;
    *ret_lower = there_dir && !(moved && opaque) ? steal_ptr(&below) : NULL;
    if (*ret_lower && d->flags & ITEM_OPAQUE)
        d->mark = sr_set_mark(o->set, d->path, false, SR_MARK_ANEW);
    return 0;
}

/* The lower's own permissions may shut its owner out when he is not root: then nobody could list it
 * before either. */
static int lower_open(struct overlay *o, struct dir *d, struct sr_error *err)
{
    if (!d->lower)
        return 0;
    d->lower_fd = sr_walk_open(o->lower_fd, d->lower, false);
    if (d->lower_fd < 0 && errno != ENOENT && errno != EACCES)
        return sr_error_sys(err, "snapshot.read", "cannot open the directory %s below the upper",
                            d->lower);
    return 0;
}

static int directory_read(struct overlay *o, const struct sr_todo_item *item, struct sr_error *err)
{
    cleanup_fd int fd = sr_walk_open(o->upper_fd, item->path, true), lower_fd = -1;
    if (fd < 0)
        return sr_error_sys(err, "snapshot.read", "cannot open the directory %s in the upper",
                            item->path);
    cleanup_free char *lower = NULL;
    struct dir d = { .path = item->path,
                     .flags = item->flags & ITEM_FLAGS,
                     .mode = (mode_t)(item->flags >> ITEM_MODE_SHIFT),
                     .fd = fd,
                     .lower_fd = -1,
                     .mark = SR_NO_MARK };
    if (*item->path == '\0') {
        lower = sr_strdup("");
    } else {
        struct stat was;
        bool there;
        if (lower_resolve(o, &d, item->lower, &lower, &there, &was, err) < 0 ||
            self_tell(o, &d, there ? &was : NULL, err) < 0)
            return -1;
    }
    d.lower = lower;
    if (lower_open(o, &d, err) < 0)
        return -1;
    lower_fd = d.lower_fd; /* for the closing */
    return names_read(o, &d, err);
}

int sr_overlay_read(int lower_fd, int upper_fd, bool userxattr, int64_t started_ns,
                    struct sr_changeset *ret, struct sr_error *err)
{
    struct overlay o = { lower_fd, upper_fd, userxattr, started_ns, ret, { 0 } };
    int r = sr_todo_push(&o.todo, sr_strdup(""), NULL, 0, err);
    while (r == 0) {
        cleanup_todo_item struct sr_todo_item item = { 0 };
        if (!sr_todo_pop(&o.todo, &item))
            break;
        r = directory_read(&o, &item, err);
    }
    sr_todo_clear(&o.todo);
    return r;
}
