/* SPDX-License-Identifier: MIT */
/* One of the command's two outputs. */
#include "engine/native/stream.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A pipe that polls writable takes this much without blocking (pipe(7)). */
enum { FORWARD_PIECE = 4096 };

int stream_open(struct stream *s, int in, int dir_fd, const char *log_name, int forward, struct sr_error *err)
{
    struct stat st;
    s->in = in;
    s->forward = forward;
    s->forward_waits = forward >= 0 && !(fstat(forward, &st) == 0 && S_ISREG(st.st_mode));
    s->log = openat(dir_fd, log_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (s->log < 0)
        return sr_error_sys(err, errno == ENOSPC ? "log.no_space" : "log.write", "cannot make the log %s", log_name);
    sr_sha256_init(&s->hash);
    return 0;
}

void stream_close(struct stream *s)
{
    sr_closep(&s->in);
    sr_closep(&s->log);
    s->in = s->log = -1;
}

bool stream_wants_input(const struct stream *s)
{
    return s->in >= 0 && s->sent == s->len;
}

bool stream_wants_output(const struct stream *s)
{
    return s->sent < s->len;
}

int stream_read(struct stream *s, uint64_t room, struct sr_error *err)
{
    ssize_t got = read(s->in, s->chunk, sizeof s->chunk);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close(s->in);
        s->in = -1;
        return 0;
    }
    s->bytes += (uint64_t)got;
    size_t keep = (uint64_t)got < room ? (size_t)got : (size_t)room;
    if (sr_write_all(s->log, s->chunk, keep) < 0)
        return sr_error_sys(err, errno == ENOSPC || errno == EDQUOT ? "log.no_space" : "log.write", "cannot write the log of the command's output");
    sr_sha256_update(&s->hash, s->chunk, keep);
    s->logged += keep;
    s->sent = 0;
    s->len = s->forward >= 0 ? keep : 0;
    return 0;
}

void stream_forward(struct stream *s)
{
    size_t piece = s->len - s->sent;
    if (s->forward_waits && piece > FORWARD_PIECE)
        piece = FORWARD_PIECE;
    ssize_t put = write(s->forward, s->chunk + s->sent, piece);
    if (put > 0) {
        s->sent += (size_t)put;
    } else if (put < 0 && errno != EAGAIN && errno != EINTR) {
        /* the reader went away (EPIPE) or its disk is full: the log keeps everything, the run goes on */
        s->forward = -1;
        s->sent = s->len;
    }
}

void stream_result(struct stream *s, struct sr_stream_result *ret)
{
    unsigned char digest[SR_SHA256_SIZE];
    sr_sha256_final(&s->hash, digest);
    sr_sha256_text(digest, ret->digest);
    ret->bytes = s->bytes;
    ret->logged = s->logged;
}
