/* SPDX-License-Identifier: MIT */
/* Reading trees that nobody vouches for: directories, entries, contents, always relative to a
 * descriptor. */
#ifndef CHANGE_WALK_H
#define CHANGE_WALK_H

#include "base/error.h"
#include "base/sha256.h"
#include "sandrun/change.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
    /* mkdir in a loop must end in an answer; configure's own deep-tree test makes about 1000. */
    SR_WALK_DEPTH_MAX = 8192,
    /* Above this, contents are digested block by block without their zero blocks (a sparse terabyte
     * must not take an hour), and the digest is for comparing only, not for showing. */
    SR_WALK_PLAIN_MAX = 1 << 30,
};

/* Opens the directory path (relative, clean, any length; "" is the root) beneath root_fd; follows
 * no link. force: also through directories without permissions, by giving the owner his back: for
 * trees that are sandrun's own. -1 with errno. */
int sr_walk_open(int root_fd, const char *path, bool force);

/* The directory opened last, by which a child of it opens in one step: without, a chain of
 * directories costs its square. */
struct sr_walk_cursor {
    int fd;
    char *path; /* NULL: none yet */
};
#define SR_WALK_CURSOR ((struct sr_walk_cursor){ .fd = -1 })
/* As sr_walk_open; the descriptor stays the cursor's. */
int sr_walk_step(struct sr_walk_cursor *c, int root_fd, const char *path, bool force);
void sr_walk_cursor_clear(struct sr_walk_cursor *c);
#define cleanup_cursor __attribute__((cleanup(sr_walk_cursor_clear)))

/* The entry at path: 0, or -1 with errno. Any length, follows nothing. */
int sr_walk_stat(int root_fd, const char *path, struct stat *ret);

/* Names of a directory in one go, sorted bytewise, without "." and "..". Rewinds first. */
struct sr_walk_names {
    char *arena;
    size_t len, cap;
    size_t *offset;
    size_t n, cap_offset;
};
#define cleanup_names __attribute__((cleanup(sr_walk_names_clear)))
SR_CHECK int sr_walk_list(int dirfd, const char *what, struct sr_walk_names *ret,
                          struct sr_error *err);
void sr_walk_names_clear(struct sr_walk_names *names);
static inline const char *sr_walk_name(const struct sr_walk_names *names, size_t i)
{
    return names->arena + names->offset[i];
}
bool sr_walk_has(const struct sr_walk_names *names, const char *name);

/* A regular file, O_NONBLOCK|O_NOFOLLOW and looked at again by fstat: a FIFO put there meanwhile
 * neither hangs nor is read. *now is what fstat said. -1 with errno; ESTALE when it is no regular
 * file any more. */
int sr_walk_open_file(int dirfd, const char *name, bool force, struct stat *now);

/* Fills ret: mode, size, and a digest (content of a regular file, target of a link, number of a
 * device). */
SR_CHECK int sr_walk_digest(int dirfd, const char *name, bool force, const struct stat *st,
                            struct sr_entry_state *ret, struct sr_error *err);
/* Mode and size alone. */
struct sr_entry_state sr_walk_state(const struct stat *st);
/* The link's target, of any length up to 64 KiB; NULL with errno. */
char *sr_walk_link(int dirfd, const char *name);

/* "a/b"; b alone when a is "". */
char *sr_walk_join(const char *a, const char *b);
/* Components, 0 for "". */
size_t sr_walk_depth(const char *path);

#endif
