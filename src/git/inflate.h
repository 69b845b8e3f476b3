/* SPDX-License-Identifier: MIT */
/* A zlib stream inside a file, read in pieces of a known size. */
#ifndef SR_GIT_INFLATE_H
#define SR_GIT_INFLATE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>
#include <zlib.h>

struct sr_git;

/*
 *     cleanup_inflate struct git_inflate s = { 0 };
 *     git_inflate_open(&s, g, fd, offset, end_of_file, name, err)
 *     git_inflate_exact(&s, out, 10, err) ...      exactly 10 bytes, else git.corrupt
 *     git_inflate_end(&s, err)                     nothing may follow, and the checksum of zlib
 * must hold
 *
 * What is read and what comes out is spent from the budget of g, so that a stream of empty blocks
 * costs too.
 */
struct git_inflate {
    struct sr_git *g;
    int fd;
    off_t off, end;
    const char *name;
    bool open, ended;
    z_stream z;
    unsigned char in[4096];
};

#define cleanup_inflate __attribute__((cleanup(git_inflate_close)))
void git_inflate_close(struct git_inflate *s);
SR_CHECK int git_inflate_open(struct git_inflate *s, struct sr_git *g, int fd, off_t off, off_t end,
                              const char *name, struct sr_error *err);
/* Up to len bytes, fewer only when the stream ends. */
SR_CHECK int git_inflate_some(struct git_inflate *s, void *out, size_t len, size_t *ret_len,
                              struct sr_error *err);
SR_CHECK int git_inflate_exact(struct git_inflate *s, void *out, size_t len, struct sr_error *err);
SR_CHECK int git_inflate_end(struct git_inflate *s, struct sr_error *err);

#endif
