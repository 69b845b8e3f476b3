/* SPDX-License-Identifier: MIT */
/* Directories of any name that an installer put packages into: pip install --target. */
#ifndef CHANGE_INSTALLED_H
#define CHANGE_INSTALLED_H

#include "base/mem.h"
#include "change/environments.h"
#include "change/view.h"

/* Where packages came to, among the changes. */
struct sr_installed {
    struct sr_strv tree, home; /* directories, sorted */
};
void sr_installed_find(const struct sr_changeset *set, struct sr_installed *ret);
void sr_installed_clear(struct sr_installed *i);

/* The environment that the directory dir is by the packages in it, as the command found it or as it
 * left it. NULL: none. */
const struct sr_environment *sr_installed_before(const struct sr_view *v, const char *dir);
const struct sr_environment *sr_installed_after(const struct sr_installed *i,
                                                const struct sr_view *v, const char *dir);

#endif
