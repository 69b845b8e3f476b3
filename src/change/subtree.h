/* SPDX-License-Identifier: MIT */
/* A whole subtree that went or came, entry by entry; and comparing single entries. */
#ifndef CHANGE_SUBTREE_H
#define CHANGE_SUBTREE_H

#include "change/set.h"
#include "change/walk.h"

/* What is below from (not itself) is told as below to. */
struct sr_subtree {
    int root_fd;
    const char *from, *to;
    bool in_home;
    bool added;          /* else deleted */
    bool digest;         /* read contents */
    bool force;          /* sr_walk_open */
    const struct sr_strv *mount_points; /* not told themselves, nor what leads to them; may be NULL */
    int64_t born_before; /* what was made later is left out; 0: nothing is */
};
/* Was it made after that moment (CLOCK_REALTIME)? Not known counts as no, and so does 0. */
bool sr_entry_born_after(int dirfd, const char *name, const struct stat *st, int64_t moment);
SR_CHECK int sr_subtree_tell(const struct sr_subtree *s, struct sr_changeset *set,
                             struct sr_error *err);

/* A stack of directories still to do. */
struct sr_todo {
    struct sr_todo_item {
        char *path, *lower; /* lower may be NULL */
        unsigned flags;
    } * v;
    size_t n, cap;
    size_t bytes; /* of paths: ten thousand directories at a depth of thousands are gigabytes */
};
#define cleanup_todo __attribute__((cleanup(sr_todo_clear)))
/* Takes both. Code: snapshot.too_large when path is too deep. */
SR_CHECK int sr_todo_push(struct sr_todo *t, char *path, char *lower, unsigned flags,
                          struct sr_error *err);
bool sr_todo_pop(struct sr_todo *t, struct sr_todo_item *ret);
void sr_todo_clear(struct sr_todo *t);
void sr_todo_item_clear(struct sr_todo_item *i);
#define cleanup_todo_item __attribute__((cleanup(sr_todo_item_clear)))

/* One name in a directory that was, or is, or both; the descriptor of an absent side is not used.
 */
struct sr_entry {
    int before_fd, after_fd;
    const char *name;
    const struct stat *before, *after; /* NULL: not there */
    bool force;                        /* for the after side */
    bool content;                      /* false: the content is known to be the same */
};
/* Tells the change of one entry (not of what is below it) as path, when there is one; *ret_changed
 * may be NULL. */
SR_CHECK int sr_entry_tell(const struct sr_entry *e, const char *path, bool in_home,
                           struct sr_changeset *set, bool *ret_changed, struct sr_error *err);

#endif
