/* SPDX-License-Identifier: MIT */
/* Reaches for other processes: the one that launched us, and those of the host. */
#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static enum answer open_of(const char *pid, const char *what, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, what);
    int fd = open(path, flags);
    if (fd < 0 && errno == ETXTBSY)
        return say(OPEN, "ETXTBSY");
    if (fd < 0 || flags != O_RDONLY)
        return by_success(fd);
    char byte;
    ssize_t got = read(fd, &byte, 1);
    return got > 0 ? say(OPEN, "read") : got == 0 ? say(HELD, "empty") : by_success(-1);
}

static enum answer attempt_environ(const char *pid) { return open_of(pid, "environ", O_RDONLY); }
static enum answer attempt_mem(const char *pid) { return open_of(pid, "mem", O_RDWR); }
static enum answer attempt_maps(const char *pid) { return open_of(pid, "maps", O_RDONLY); }
static enum answer attempt_exe(const char *pid) { return open_of(pid, "exe", O_RDONLY); }
static enum answer attempt_exe_write(const char *pid) { return open_of(pid, "exe", O_WRONLY); }
static enum answer attempt_root(const char *pid) { return open_of(pid, "root/", O_DIRECTORY | O_PATH); }
static enum answer attempt_cwd(const char *pid) { return open_of(pid, "cwd/", O_DIRECTORY | O_PATH); }

static enum answer attempt_fdlist(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *d = opendir(path);
    return d ? say(OPEN, "listed") : by_success(-1);
}

static pid_t number(const char *pid)
{
    return (pid_t)strtol(pid, NULL, 10);
}

static enum answer attempt_ptrace(const char *pid)
{
    return by_success(ptrace(PTRACE_SEIZE, number(pid), NULL, NULL));
}

static enum answer attempt_vm_read(const char *pid)
{
    char byte;
    struct iovec here = { &byte, 1 }, there = { NULL, 1 };
    /* A bad address of a process that may be read is EFAULT. */
    return by_refusal(syscall(SYS_process_vm_readv, number(pid), &here, 1UL, &there, 1UL, 0UL));
}

static enum answer attempt_getfd(const char *pid)
{
    int fd = (int)syscall(SYS_pidfd_open, number(pid), 0);
    return fd < 0 ? by_success(-1) : by_success(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static enum answer attempt_signal(const char *pid)
{
    return by_success(kill(number(pid), 0));
}

/* A process of the host carries the marker in its arguments; is it to be seen from here? */
static enum answer attempt_marker(const char *marker)
{
    char path[300], text[4096];
    DIR *d = opendir("/proc");
    if (!d)
        return by_success(-1);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        int fd = open(path, O_RDONLY);
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text);
        if (fd >= 0)
            close(fd);
        /* Our own arguments name the marker with "marker=" in front. */
        if (got > 0 && memmem(text, (size_t)got, marker, strlen(marker)) && !memmem(text, (size_t)got, "marker=", 7))
            return say(OPEN, "pid %s", e->d_name);
    }
    return say(HELD, "not to be seen");
}

static const struct probe probes[] = {
    { "environ=", attempt_environ }, { "mem=", attempt_mem },         { "maps=", attempt_maps },
    { "exe=", attempt_exe },         { "exe-write=", attempt_exe_write }, { "root=", attempt_root },
    { "cwd=", attempt_cwd },         { "fd-list=", attempt_fdlist },  { "ptrace=", attempt_ptrace },
    { "vm-read=", attempt_vm_read }, { "pidfd-getfd=", attempt_getfd }, { "signal=", attempt_signal },
    { "marker=", attempt_marker },
};
PROBE_MAIN(probes)
