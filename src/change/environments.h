/* SPDX-License-Identifier: MIT */
/* What an environment is: one row per ecosystem. */
#ifndef CHANGE_ENVIRONMENTS_H
#define CHANGE_ENVIRONMENTS_H

#include <stdbool.h>
#include <stddef.h>

enum { SR_ENVIRONMENT_WORDS = 8 };

struct sr_environment {
    const char *kind;
    const char
        *names[SR_ENVIRONMENT_WORDS]; /* its last component is one of these patterns; none: any */
    const char *parents[SR_ENVIRONMENT_WORDS]; /* the component above it is one of these patterns;
                                                  none: any */
    const char *not_names[SR_ENVIRONMENT_WORDS];
    const char *markers[SR_ENVIRONMENT_WORDS]; /* one of these exists, seen from it; none: the name
                                                  says it */
    const char *identity;                      /* the file that says which one it is */
    const char *keys[4]; /* its lines "key = value" or "key: value" that count; none: every byte */
    const char *harmless[SR_ENVIRONMENT_WORDS]; /* patterns below it that may be written, beside the
                                                   common ones */
    bool writes_are_builds; /* a build writes here in the ordinary way: only its loss or replacement
                               counts */
    bool weak; /* looks like one that is broken or not finished: counts once the real thing stands
                  there */
    bool by_sign; /* known by the packages in it alone (installed.c): other things may lie beside */
    bool home; /* one only below the private home: there the name says it, in a tree it does not */
};

extern const struct sr_environment sr_environments[];
extern const size_t sr_environments_n;

/* Does path (relative, clean) exist, as the caller sees it? */
typedef bool sr_exists_fn(void *context, const char *path);
/* The directory path is which environment? The caller knows that it is a directory. NULL: none. */
const struct sr_environment *sr_environment_match(const char *path, bool in_home,
                                                  sr_exists_fn *exists, void *context);
/* Whether path may lie in an environment, by its words alone: for what there is no room to look at.
 */
bool sr_environment_named(const char *path);

/* The link path, which is one by its name: where it leads may be outside of everything that is
 * looked at. NULL: none. */
const struct sr_environment *sr_environment_link(const char *path);

/* below: path seen from the environment's root. */
bool sr_environment_harmless(const struct sr_environment *e, const char *below);
/* x.pyc or x.pyo where x.py is: never loaded, since the source is. Alone, it is a module. */
bool sr_bytecode_beside_source(const char *path, sr_exists_fn *exists, void *context);
/* Whether below belongs to an environment that is the tree's own root: there sources lie beside it.
 */
bool sr_environment_root_owns(const struct sr_environment *e, const char *below);
/* Whether below is or lies in what installers note down of a package. */
bool sr_environment_signed(const char *below);

/* Whether the components of one of patterns (NULL ends them; one "*" in a component at most, and it
 * stays within) match as many of path's, from any one on; so "__pycache__" matches all that is
 * below such a directory. */
bool sr_patterns_match(const char *const *patterns, const char *path);
/* The same of one pattern, and from the first component of path on. */
bool sr_pattern_leads(const char *pattern, const char *path);

#endif
