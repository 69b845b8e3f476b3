/* SPDX-License-Identifier: MIT */
/* What sandrun init finds in a repository, and the policy it writes from that. */
#ifndef SR_CLI_INIT_H
#define SR_CLI_INIT_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"

#include <stdbool.h>

struct init_check {
    const char *name; /* "Test" "Validate" "Lint" */
    struct sr_strv command;
    char *why;                /* a comment: where it comes from */
    char pin[SR_DIGEST_TEXT]; /* the host's, "" until it is known */
};

struct init_found {
    int tree_fd; /* borrowed */
    struct sr_strv presets;
    struct sr_strv files; /* what was recognised, in order */
    struct sr_strv problems; /* sentences: what will stand in the way of a check */
    struct init_check *checks;
    size_t n_checks, cap_checks;
};

enum { INIT_FILE_MAX = 1024 * 1024 };

/* Looks at the files at the root of the tree; follows no link, runs nothing. */
void init_detect(int tree_fd, struct init_found *ret);
void init_found_clear(struct init_found *f);
/* The text of sandrun.json. A check without a pin gets one that is still to be filled in, for the
 * draft that the pins are asked with. */
void init_text(const struct init_found *f, struct sr_buf *out);

/* For the detectors. A name that is taken stays: the first detector knows best. argv ends with
 * NULL. */
void init_check_add(struct init_found *f, const char *name, const char *why,
                    const char *const *argv);
void init_preset_add(struct init_found *f, const char *preset);
bool init_has_check(const struct init_found *f, const char *name);
/* The text of a regular file of the tree; "" when there is none that can be read. Remembers it
 * among files when there is. */
char *init_file(struct init_found *f, const char *name);
void init_problem(struct init_found *f, const char *fmt, ...) SR_PRINTF(2, 3);
bool init_exists(const struct init_found *f, const char *name);

/* The detectors, one per kind of repository. */
void init_detect_python(struct init_found *f);
void init_detect_node(struct init_found *f);
void init_detect_rust(struct init_found *f);
void init_detect_go(struct init_found *f);
void init_detect_make(struct init_found *f);
void init_detect_cmake(struct init_found *f);
void init_detect_meson(struct init_found *f);

#endif
