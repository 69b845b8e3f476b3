/* SPDX-License-Identifier: MIT */
/* One of the command's two outputs: read without blocking, counted, logged, hashed, passed on at the caller's pace. */
#ifndef SR_NATIVE_STREAM_H
#define SR_NATIVE_STREAM_H

#include "base/error.h"
#include "base/sha256.h"
#include "sandrun/engine.h"

#include <stdbool.h>

enum { STREAM_CHUNK = 65536 };

struct stream {
    int in;       /* pipe from the command, O_NONBLOCK; -1 once it ended */
    int log;      /* log file */
    int forward;  /* where it streams to, -1: nowhere (any more) */
    bool forward_waits; /* the forward is no regular file: written in pieces that do not block */
    char chunk[STREAM_CHUNK];
    size_t len, sent; /* of chunk: what waits for the forward */
    uint64_t bytes, logged;
    struct sr_sha256 hash;
};

SR_CHECK int stream_open(struct stream *s, int in, int dir_fd, const char *log_name, int forward, struct sr_error *err);
void stream_close(struct stream *s);

/* Poll events wanted now: POLLIN on in when nothing waits, POLLOUT on forward when something does. */
bool stream_wants_input(const struct stream *s);
bool stream_wants_output(const struct stream *s);

/* Reads once, at most room bytes more into the log (0: nothing more is kept). -1: the log could not be written. */
SR_CHECK int stream_read(struct stream *s, uint64_t room, struct sr_error *err);
void stream_forward(struct stream *s);
void stream_result(struct stream *s, struct sr_stream_result *ret);

#endif
