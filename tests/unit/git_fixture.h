/* SPDX-License-Identifier: MIT */
/* Repositories made by the git program itself, for the tests of the reader. */
#ifndef SR_TESTS_GIT_FIXTURE_H
#define SR_TESTS_GIT_FIXTURE_H

#include "sandrun/git.h"

#include <stddef.h>

/* A temporary directory that is HOME of every git run below it. */
struct fixture {
    char dir[64];
    char tree[80]; /* dir/tree */
};

void fixture_make(struct fixture *f); /* the directory alone */
void fixture_init(struct fixture *f,
                  const char *format); /* and an empty repository in tree: "sha1", "sha256" */
void fixture_remove(struct fixture *f);

/* sh -c in dir/where with a clean environment; asserts exit 0. */
void fixture_sh(const struct fixture *f, const char *where, const char *script);
/* Its output without the last newline; the caller frees. */
char *fixture_out(const struct fixture *f, const char *where, const char *script);
/* Three commits, a directory, a link, a merge, tags, a file that changes often. */
void fixture_history(const struct fixture *f);

/* Opened, or the test fails. tree is below dir. */
struct sr_git *fixture_open(const struct fixture *f, const char *tree);
/* Resolves to what git rev-parse says. */
void assert_resolves(const struct fixture *f, const char *tree, const char *rev);
void assert_fails(const struct fixture *f, const char *tree, const char *rev, const char *code);
/* Each blob of each commit equals git cat-file; the number of blobs seen. */
size_t assert_all_blobs(const struct fixture *f, const char *tree);

#endif
