/* SPDX-License-Identifier: MIT */
/* Filling a change set: bounded list, whole counts, and the evidence that no single entry shows. */
#ifndef CHANGE_SET_H
#define CHANGE_SET_H

#include "sandrun/change.h"

enum sr_mark_kind {
    SR_MARK_ANEW,  /* a directory that was there was removed and made anew under its name */
    SR_MARK_MOVED, /* another directory was renamed into its place */
    SR_MARK_GONE,  /* a directory was removed whole */
};

struct sr_change_mark {
    char *path;
    bool in_home;
    enum sr_mark_kind kind;
    uint64_t same; /* files below it that came back with the same bytes, and so are no change */
};

enum { SR_MARKS_MAX = SR_CHANGES_MAX };
/* 8192 nested directories with names of 255 bytes are 8 GiB of paths. */
enum { SR_SET_BYTES_MAX = 256 << 20, SR_SET_BYTES_RESERVE = 64 << 20 };
#define SR_NO_MARK SIZE_MAX

/* Takes path and target (may be NULL). before or after NULL: not there. The kind follows from the
 * two. */
void sr_set_add(struct sr_changeset *set, char *path, bool in_home,
                const struct sr_entry_state *before, const struct sr_entry_state *after,
                char *target);
/* Takes a change that has its class already: the lists and counts are the classified set's. */
void sr_set_take(struct sr_changeset *set, const struct sr_change *change);
/* Returns the mark's number, for sr_set_same; SR_NO_MARK when there is no room. */
size_t sr_set_mark(struct sr_changeset *set, const char *path, bool in_home,
                   enum sr_mark_kind kind);
/* One more file that came back the same below that mark. */
void sr_set_same(struct sr_changeset *set, size_t mark);

/* Order in which a directory and all below it are neighbours: '/' sorts before every byte. */
int sr_path_compare(const char *a, const char *b);
/* By (in_home, sr_path_compare); a deletion and an addition of one path become one change, or none.
 */
void sr_set_sort_paths(struct sr_changeset *set);
/* By (in_home, bytes): the order of the contract. */
void sr_set_sort_bytes(struct sr_changeset *set);
/* In the order of sr_set_sort_paths. NULL: path did not change. */
const struct sr_change *sr_set_find(const struct sr_changeset *set, const char *path, bool in_home);

#endif
