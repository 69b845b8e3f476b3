/* SPDX-License-Identifier: MIT */
/* Environments among the changes: which there are, and what happened to each. */
#ifndef CHANGE_REPAIRS_H
#define CHANGE_REPAIRS_H

#include "change/environments.h"
#include "change/set.h"
#include "change/view.h"

enum { SR_NO_ENVIRONMENT = -1 };

struct sr_environment_seen {
    char *path;
    bool in_home;
    const struct sr_environment *before, *after;      /* NULL: none */
    uint64_t lost, added, modified;                   /* files, all of them */
    uint64_t solid_lost, solid_added, solid_modified; /* those that are not harmless */
    uint64_t remade; /* came back in a directory made anew: with the same bytes or others */
    bool touched;    /* a directory of it changed, or its mode */
    bool sign;       /* a package's own notes changed */
    bool gone, retyped, anew, moved, reidentified;
    struct sr_strv lost_paths, added_paths;
    bool judged; /* cls is meant */
    enum sr_change_class cls;
};

/* Where a change belongs. */
struct sr_owner {
    int32_t environment; /* SR_NO_ENVIRONMENT */
    bool harmless;
};

struct sr_environments_seen {
    struct sr_environment_seen *v;
    size_t n, cap;
    struct sr_owner *change_owner; /* one for each of set->v */
};

/* set is in the order of sr_set_sort_paths. */
void sr_environments_find(const struct sr_changeset *set, const struct sr_classify_options *o,
                          struct sr_environments_seen *ret);
void sr_environments_judge(struct sr_environments_seen *seen, const struct sr_changeset *set,
                           const struct sr_classify_options *o);
void sr_environments_seen_clear(struct sr_environments_seen *seen);

#endif
