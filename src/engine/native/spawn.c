/* SPDX-License-Identifier: MIT */
/* Processes and user namespaces: the only clone and unshare of sandrun. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t native_spawn(uint64_t namespaces, int cgroup_fd, int *ret_pidfd)
{
    /*
     * Raw clone3: as fork(2), but straight into the namespaces, so that the child is PID 1 without a process in between, and into
     * its cgroup where that is v2 (Linux 5.7), which spares the lock a later move takes.
     */
    int pidfd = -1;
    struct clone_args args = {
        .flags = namespaces | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid > 0)
        *ret_pidfd = pidfd;
    return pid;
}

int native_cgroup_namespace(void)
{
    return unshare(CLONE_NEWCGROUP);
}

static int write_map(const char *path, const char *text, struct sr_error *err)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || sr_write_all(fd, text, strlen(text)) < 0)
        return sr_error_sys(err, "engine.unavailable.user_namespace", "cannot write the id map %s", path);
    return 0;
}

int native_userns_map_self(uid_t uid, gid_t gid, struct sr_error *err)
{
    char line[64];
    /* since Linux 3.19 an ordinary caller must give up setgroups(2) before it may map a group (CVE-2014-8989) */
    if (write_map("/proc/self/setgroups", "deny", err) < 0)
        return -1;
    snprintf(line, sizeof line, "%u %u 1\n", uid, uid);
    if (write_map("/proc/self/uid_map", line, err) < 0)
        return -1;
    snprintf(line, sizeof line, "%u %u 1\n", gid, gid);
    return write_map("/proc/self/gid_map", line, err);
}

/* Lives only while its parent does: it shares the parent's memory and descriptors' locks, and would keep a dead run alive. */
static int hold_namespace(void *parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != *(const pid_t *)parent)
        return 1;
    while (ppoll(NULL, 0, NULL, NULL) < 0)
        ;
    return 0;
}

int native_userns_make(const char *uid_map, const char *gid_map, int *ret_fd, struct sr_error *err)
{
    /*
     * A process that only holds the namespace while its map is written. It shares our memory (CLONE_VM), since copying the
     * page tables would cost more than everything else here; it runs ppoll(2) alone, on a stack of its own, and is killed.
     */
    static char stack[8192] __attribute__((aligned(64)));
    pid_t self = getpid();
    pid_t pid = clone(hold_namespace, stack + sizeof stack, CLONE_NEWUSER | CLONE_VM | SIGCHLD, &self);
    if (pid < 0) {
        bool chrooted = errno == EPERM;
        sr_error_sys(err, "engine.unavailable.user_namespace", "cannot create a user namespace");
        /* root gets EPERM in one case: its root directory is not that of its mount namespace (user_namespaces(7)) */
        return sr_error_hint(err, "%s", chrooted ? "sandrun runs in a chroot, where the kernel allows no user namespace: enter it with pivot_root or a container instead"
                                                 : "check that /proc/sys/user/max_user_namespaces is not 0");
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
    int made = write_map(path, uid_map, err);
    snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
    if (made == 0)
        made = write_map(path, gid_map, err);
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    if (made == 0) {
        *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
        if (*ret_fd < 0)
            made = sr_error_sys(err, "engine.unavailable.user_namespace", "cannot open %s", path);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return made;
}
