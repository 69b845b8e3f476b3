/* SPDX-License-Identifier: MIT */
/* Reaches for what lies outside: files, sockets of every kind, variables, devices. */
#include "probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static enum answer attempt_read(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return by_success(-1);
    ssize_t got = read(fd, &byte, 1);
    return got > 0 ? say(OPEN, "%zd byte", got) : got == 0 ? say(HELD, "empty") : by_success(-1);
}

static enum answer attempt_list(const char *path)
{
    DIR *d = opendir(path);
    if (!d)
        return by_success(-1);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n > 0 ? say(OPEN, "%zu entries", n) : say(HELD, "empty");
}

/* Only bytes that come back from the listener outside prove a connection: inside, another listener may stand there. */
static enum answer talk(int fd, const struct sockaddr *to, socklen_t len)
{
    char back[16] = "";
    struct timeval wait = { .tv_sec = 2 };
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0 || connect(fd, to, len) < 0 ||
        send(fd, "ping", 4, MSG_NOSIGNAL) != 4)
        return by_success(-1);
    ssize_t got = recv(fd, back, sizeof back - 1, 0);
    return got == 4 && strcmp(back, "pong") == 0 ? say(OPEN, "pong") : by_success(-1);
}

static enum answer inet(const char *port, int family, int type)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(family, type, 0);
    return family == AF_INET ? talk(fd, (struct sockaddr *)&v4, sizeof v4) : talk(fd, (struct sockaddr *)&v6, sizeof v6);
}

static enum answer attempt_tcp4(const char *port) { return inet(port, AF_INET, SOCK_STREAM); }
static enum answer attempt_tcp6(const char *port) { return inet(port, AF_INET6, SOCK_STREAM); }
static enum answer attempt_udp4(const char *port) { return inet(port, AF_INET, SOCK_DGRAM); }

static enum answer local(const char *name, bool abstract, int type)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t len = strlen(name);
    if (len + 2 > sizeof a.sun_path)
        return say(OPEN, "the name is too long to try");
    memcpy(a.sun_path + abstract, name, len);
    return talk(socket(AF_UNIX, type, 0), (struct sockaddr *)&a,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + len));
}

static enum answer attempt_abstract(const char *name) { return local(name, true, SOCK_STREAM); }
static enum answer attempt_unix(const char *path) { return local(path, false, SOCK_STREAM); }

static enum answer attempt_env(const char *name)
{
    return getenv(name) ? say(OPEN, "it is set") : say(HELD, "not set");
}

static enum answer attempt_interfaces(const char *unused)
{
    (void)unused;
    struct ifaddrs *all, *i;
    if (getifaddrs(&all) < 0)
        return by_success(-1);
    for (i = all; i; i = i->ifa_next)
        if (strcmp(i->ifa_name, "lo") != 0)
            return say(OPEN, "%s", i->ifa_name);
    return say(HELD, "lo alone");
}

static enum answer attempt_hostname(const char *name)
{
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    return strcmp(own, name) == 0 ? say(OPEN, "%s", own) : say(HELD, "%s", own);
}

static enum answer attempt_shm(const char *key)
{
    return by_success(shmget((key_t)strtol(key, NULL, 0), 0, 0));
}

/* Descriptors the launcher forgot: anything beyond the three. */
static enum answer attempt_fds(const char *unused)
{
    (void)unused;
    for (int fd = 3; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return say(OPEN, "descriptor %d is open", fd);
    return say(HELD, "none above 2");
}

static enum answer attempt_tty(const char *unused)
{
    (void)unused;
    return by_success(open("/dev/tty", O_RDWR));
}

static const struct probe probes[] = {
    { "read=", attempt_read },         { "list=", attempt_list },         { "tcp4=", attempt_tcp4 },
    { "tcp6=", attempt_tcp6 },         { "udp4=", attempt_udp4 },         { "abstract=", attempt_abstract },
    { "unix=", attempt_unix },         { "env=", attempt_env },           { "interfaces", attempt_interfaces },
    { "hostname=", attempt_hostname }, { "shm=", attempt_shm },           { "fds", attempt_fds },
    { "tty", attempt_tty },
};
PROBE_MAIN(probes)
