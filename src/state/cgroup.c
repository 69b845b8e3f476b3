/* SPDX-License-Identifier: MIT */
/* Removing the cgroup of a dead run: its members are killed, its children go first. Both cgroup versions. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "state/inventory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 8,                 /* the engine makes one level; the command can make none */
    PROCS_MAX = 1024 * 1024,       /* bytes of cgroup.procs read a round */
    PATIENCE_MS = 2000, ROUND_MS = 5, /* a killed member leaves only when its parent or init reaps it */
};

static int open_dir(int dirfd, const char *name)
{
    return openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_cgroup(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

/* Version 2 since Linux 5.14: one write that no fork can outrun. */
static bool kill_at_once(int fd)
{
    cleanup_fd int k = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    return k >= 0 && sr_write_all(k, "1", 1) == 0;
}

/* Elsewhere: every member listed, again each round, since a member may fork between the list and the signal. */
static void kill_listed(int fd)
{
    cleanup_buf struct sr_buf procs = SR_BUF(PROCS_MAX);
    cleanup_fd int p = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char chunk[4096];
    for (ssize_t n; p >= 0 && (n = read(p, chunk, sizeof chunk)) > 0 && !procs.overflow;)
        sr_buf_add(&procs, chunk, (size_t)n);
    char *save = NULL;
    for (char *w = procs.data ? strtok_r(procs.data, "\n", &save) : NULL; w; w = strtok_r(NULL, "\n", &save)) {
        uint64_t pid;
        struct sr_error ignored = { 0 };
        /* 0 stands for a process of another pid namespace; 1 and ourselves are never members of a dead run. */
        if (sr_text_u64(w, 2, INT32_MAX, &pid, &ignored) == 0 && (pid_t)pid != getpid())
            kill((pid_t)pid, SIGKILL);
    }
}

/* rmdir as soon as the members are reaped. -1 with errno. */
static int remove_emptied(int parent, const char *name, int fd)
{
    bool at_once = kill_at_once(fd);
    for (int waited = 0;; waited += ROUND_MS) {
        if (!at_once)
            kill_listed(fd);
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY || waited >= PATIENCE_MS)
            return -1;
        nanosleep(&(struct timespec){ .tv_nsec = ROUND_MS * 1000000L }, NULL);
    }
}

static int remove_tree(int parent, const char *name, int depth)
{
    cleanup_fd int fd = open_dir(parent, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (depth == DEPTH_MAX || !is_cgroup(fd)) {
        errno = depth == DEPTH_MAX ? ELOOP : ENOTSUP;
        return -1;
    }
    /* A second descriptor: closing the stream closes the one it was given. */
    int list = open_dir(fd, ".");
    cleanup_dir DIR *d = list < 0 ? NULL : fdopendir(list);
    if (!d) {
        sr_closep(&list);
        return -1;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_type == DT_DIR && e->d_name[0] != '.' && remove_tree(fd, e->d_name, depth + 1) < 0)
            return -1;
    return remove_emptied(parent, name, fd);
}

int sr_cgroup_remove(const char *path, struct sr_error *err)
{
    if (remove_tree(AT_FDCWD, path, 0) == 0)
        return 0;
    if (errno == ENOTSUP)
        return sr_error_set(err, "state.invalid", "removing the cgroup %s: it is not on a cgroup filesystem", path);
    sr_error_sys(err, "state.left", "removing the cgroup %s", path);
    return sr_error_hint(err, "rmdir '%s', as the user that made it", path);
}
