/* SPDX-License-Identifier: MIT */
/* The new root and the scratch of a run, and the step into them. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The root holds directories, links and a few small files; it is read-only before anything foreign runs. */
enum { ROOT_SIZE = 4 * 1024 * 1024, ROOT_INODES = 4096 };
/* What the engine itself makes in the scratch: its directories, a mount point per view, overlay's index of work. */
enum { OWN_INODES = 64 };

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The run's directory in this mount namespace: a descriptor of the host's is no place to mount on here. */
static int run_directory(const struct native *n, struct sr_error *err)
{
    char link[64], target[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", n->run_fd);
    ssize_t len = readlink(link, target, sizeof target - 1);
    if (len < 0)
        return sr_error_sys(err, "engine.unavailable.proc", "cannot read %s", link);
    target[len] = '\0';
    int here = open(target, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return here < 0 ? sr_error_sys(err, "engine.unavailable.mount_point", "cannot open the run's directory %s", target) : here;
}

/*
 * The scratch hangs on the run's directory, the one directory of the host that is surely ours, seen in this mount namespace alone;
 * the new root hangs on a directory of the scratch. When the new root is entered, detaching the old one takes the scratch's own mount
 * point with it: one umount, each of which waits for an RCU grace period.
 */
int step_root(struct native *n, struct sr_error *err)
{
    cleanup_fd int here = run_directory(n, err);
    if (here < 0)
        return -1;
    /* one tmpfs for the tree's upper, /tmp, /var/tmp, /dev/shm and HOME: one limit for what a check writes, gone with its last user */
    const struct sr_limits *limits = &n->plan->limits;
    if (native_tmpfs("the scratch", limits->disk_bytes, limits->files + OWN_INODES, 0755, PLAIN, &n->scratch_fd, err) < 0 ||
        native_tmpfs("the root", ROOT_SIZE, ROOT_INODES, 0755, PLAIN, &n->root_fd, err) < 0)
        return -1;
    if (move_mount(n->scratch_fd, "", here, "", MOVE_MOUNT_F_EMPTY_PATH | NATIVE_T_EMPTY_PATH) < 0)
        return sr_error_sys(err, "engine.unavailable.move_mount", "cannot attach the scratch");
    return native_attach(n->scratch_fd, n->root_fd, "root", true, err);
}

/* The directories of the scratch. Sticky 1777 for the temporary ones, as on a host. */
static const struct {
    const char *name;
    mode_t mode;
    bool check_owns;
} scratch_dirs[] = {
    { "u", 0755, true },   { "w", 0700, false }, { "l", 0755, false },   { "empty", 0755, false },
    { "tmp", 01777, false }, { "home", 0700, true }, { "shm", 01777, false }, { "vartmp", 01777, false },
};

static int scratch_dir(struct native *n, const char *name, mode_t mode, bool check_owns, struct sr_error *err)
{
    if (mkdirat(n->scratch_fd, name, mode) < 0)
        return sr_error_sys(err, "engine.unavailable.tmpfs", "cannot make the directory %s of the scratch", name);
    if (check_owns && fchownat(n->scratch_fd, name, n->id.host_uid, n->id.host_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return sr_error_sys(err, "engine.unavailable.identity", "cannot give the scratch's %s to the check", name);
    return 0;
}

int step_scratch(struct native *n, struct sr_error *err)
{
    for (size_t i = 0; i < sizeof scratch_dirs / sizeof *scratch_dirs; i++)
        if (scratch_dir(n, scratch_dirs[i].name, scratch_dirs[i].mode, scratch_dirs[i].check_owns, err) < 0)
            return -1;
    return 0;
}

int step_private(struct native *n, struct sr_error *err)
{
    static const struct {
        const char *from, *to;
    } parts[] = { { "tmp", "/tmp" }, { "home", SR_INSIDE_HOME }, { "shm", "/dev/shm" }, { "vartmp", "/var/tmp" } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        cleanup_fd int mnt = -1;
        if (native_clone_mount(n->scratch_fd, parts[i].from, false, PLAIN, -1, &mnt, err) < 0 ||
            native_attach(n->root_fd, mnt, parts[i].to, true, err) < 0)
            return -1;
    }
    return sr_mkdir_p(n->root_fd, "run", 0755, err);
}

/* Last, and only where nothing of the plan stands below it already: a mount point is never made through a link. */
static int link_run(const struct native *n, struct sr_error *err)
{
    if (symlinkat("/run", n->root_fd, "var/run") < 0 && errno != EEXIST)
        return sr_error_sys(err, "engine.unavailable.mount_point", "cannot link /var/run");
    return 0;
}

int step_pivot(struct native *n, struct sr_error *err)
{
    if (link_run(n, err) < 0)
        return -1;
    if (fchdir(n->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0) {
        sr_error_sys(err, "engine.unavailable.pivot_root", "cannot make the new root the root");
        return sr_error_hint(err, "a process whose root is an initramfs cannot pivot: start sandrun from a mounted root filesystem");
    }
    /* "." is now both: the old root lies on top of the new one and is what comes off (pivot_root(2)) */
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return sr_error_sys(err, "engine.unavailable.pivot_root", "cannot detach the old root");
    struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY | PLAIN };
    if (mount_setattr(AT_FDCWD, "/", 0, &ro, sizeof ro) < 0)
        return sr_error_sys(err, "engine.unavailable.mount_setattr", "cannot make the root read-only");
    return 0;
}
