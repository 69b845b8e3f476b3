/* SPDX-License-Identifier: MIT */
/* The classes of what lies in a git directory. */
#ifndef CHANGE_GIT_CLASS_H
#define CHANGE_GIT_CLASS_H

#include "change/view.h"

/* The class of a path below a git directory ("hooks/pre-commit"); "" is the directory itself. */
enum sr_change_class sr_git_class_below(const char *below);
/* The class of a change whose path has a component ".git"; false: it has none. */
bool sr_git_class(const struct sr_change *change, enum sr_change_class *ret);
/* Whether a change of class git.index is nothing but what `git status` refreshes. */
bool sr_git_refreshed(const struct sr_view *v, const struct sr_change *change);

#endif
