/* SPDX-License-Identifier: MIT */
/* A zlib stream inside a file. */
#include "git/inflate.h"

#include "git/private.h"

#include <limits.h>

void git_inflate_close(struct git_inflate *s)
{
    if (s->open)
        inflateEnd(&s->z);
    s->open = false;
}

int git_inflate_open(struct git_inflate *s, struct sr_git *g, int fd, off_t off, off_t end,
                     const char *name, struct sr_error *err)
{
    s->g = g;
    s->fd = fd;
    s->off = off;
    s->end = end;
    s->name = name;
    s->ended = false;
    s->z = (z_stream){ 0 };
    if (inflateInit(&s->z) != Z_OK)
        return sr_error_set(err, "git.corrupt",
                            "zlib could not be started for %s of the repository", name);
    s->open = true;
    return 0;
}

static int refill(struct git_inflate *s, struct sr_error *err)
{
    off_t left = s->end - s->off;
    if (left <= 0)
        return sr_error_set(err, "git.corrupt",
                            "the compressed data in %s of the repository is cut off", s->name);
    size_t take = left < (off_t)sizeof s->in ? (size_t)left : sizeof s->in;
    if (git_spend(s->g, take, err) < 0 || git_pread(s->fd, s->in, take, s->off, s->name, err) < 0)
        return -1;
    s->off += (off_t)take;
    s->z.next_in = s->in;
    s->z.avail_in = (uInt)take;
    return 0;
}

int git_inflate_some(struct git_inflate *s, void *out, size_t len, size_t *ret_len,
                     struct sr_error *err)
{
    if (len > UINT_MAX || git_spend(s->g, len, err) < 0)
        return sr_error_is_set(err)
                   ? -1
                   : sr_error_set(err, "git.too_large", "an object is larger than zlib can say");
    s->z.next_out = out;
    s->z.avail_out = (uInt)len;
    while (s->z.avail_out && !s->ended) {
        if (s->z.avail_in == 0 && refill(s, err) < 0)
            return -1;
        int rc = inflate(&s->z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END)
            s->ended = true;
        else if (rc != Z_OK && !(rc == Z_BUF_ERROR && s->z.avail_in == 0))
            return sr_error_set(err, "git.corrupt",
                                "%s of the repository holds damaged compressed data", s->name);
    }
    *ret_len = len - s->z.avail_out;
    return 0;
}

int git_inflate_exact(struct git_inflate *s, void *out, size_t len, struct sr_error *err)
{
    size_t n;
    if (git_inflate_some(s, out, len, &n, err) < 0)
        return -1;
    if (n != len)
        return sr_error_set(err, "git.corrupt",
                            "an object in %s of the repository is shorter than it says", s->name);
    return 0;
}

int git_inflate_end(struct git_inflate *s, struct sr_error *err)
{
    char more;
    size_t n;
    if (git_inflate_some(s, &more, 1, &n, err) < 0)
        return -1;
    if (n != 0)
        return sr_error_set(err, "git.corrupt",
                            "an object in %s of the repository is longer than it says", s->name);
    return 0;
}
