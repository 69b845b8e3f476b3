/* SPDX-License-Identifier: MIT */
/* What stood at a path before the command, and what stands there now. */
#ifndef CHANGE_VIEW_H
#define CHANGE_VIEW_H

#include "base/buf.h"
#include "change/set.h"

struct sr_view {
    const struct sr_changeset *set; /* in the order of sr_set_sort_paths */
    const struct sr_classify_options *options;
    bool in_home; /* which of the two roots paths are meant in; the private home was empty before */
};

mode_t sr_view_before(const struct sr_view *v, const char *path); /* 0: nothing */
mode_t sr_view_after(const struct sr_view *v, const char *path);
/* Content of a regular file; false when it cannot be had (a manifest keeps none). */
bool sr_view_read(const struct sr_view *v, const char *path, bool after, size_t max,
                  struct sr_buf *ret);

#endif
