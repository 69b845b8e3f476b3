/* SPDX-License-Identifier: MIT */
/* Messages between the supervisor and the processes inside. */
#include "engine/native/native.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FDS_MAX = 4 };

union control {
    char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
    struct cmsghdr align;
};

int64_t native_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int native_send(int sock, const struct native_msg *m, const int *fds, size_t n)
{
    struct native_msg copy = *m;
    copy.when_ns = native_now();
    struct iovec iov = { .iov_base = &copy, .iov_len = sizeof copy };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    union control control;
    memset(&control, 0, sizeof control);
    if (n) {
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

static void take_fds(struct msghdr *msg, int *fds, size_t max, size_t *ret_n)
{
    *ret_n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (*ret_n < max)
                fds[(*ret_n)++] = fd;
            else
                close(fd);
        }
    }
}

int native_recv(int sock, struct native_msg *m, int *fds, size_t max, size_t *ret_n)
{
    struct iovec iov = { .iov_base = m, .iov_len = sizeof *m };
    union control control;
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space };
    ssize_t got;
    do
        got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    size_t n = 0;
    if (got > 0)
        take_fds(&msg, fds, max, &n);
    if (ret_n)
        *ret_n = n;
    if (got <= 0)
        return (int)got;
    if ((size_t)got != sizeof *m) {
        errno = EPROTO;
        return -1;
    }
    return 1;
}
