/* SPDX-License-Identifier: MIT */
/* What overlayfs writes beside an upper's files, in the namespace that the mount used. */
#ifndef CHANGE_OVERLAY_ATTR_H
#define CHANGE_OVERLAY_ATTR_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

struct sr_overlay_attr {
    bool opaque;    /* nothing of the lower directory shows */
    char *redirect; /* "/from/the/root" or "sibling"; NULL: none */
};

/* Of an open upper directory. An attribute that is there and cannot be read is an error: guessing
 * would hide changes. */
SR_CHECK int sr_overlay_attr_read(int fd, const char *path, bool userxattr,
                                  struct sr_overlay_attr *ret, struct sr_error *err);
void sr_overlay_attr_clear(struct sr_overlay_attr *a);

/* Whiteout: char 0:0, or an empty file with the attribute (how one overlay keeps another's
 * whiteouts). */
bool sr_overlay_whiteout(int dirfd, const char *name, bool userxattr, const struct stat *st);
/* A file of which only the metadata was copied up. */
bool sr_overlay_metacopy(int dirfd, const char *name, bool userxattr, const struct stat *st);

/* The lower path that a redirect leads to, for a directory whose parent's lower path is parent;
 * NULL when it leads nowhere. */
char *sr_overlay_redirect(const char *redirect, const char *parent);

#endif
