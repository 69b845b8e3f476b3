/* SPDX-License-Identifier: MIT */
/* /dev with the few devices a check needs, and /proc of its own with the host's parts masked. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* major:minor of devices.txt: what is bound must be that device, not what somebody laid at its path (CVE-2025-31133). */
static const struct {
    const char *path;
    unsigned major, minor;
} devices[] = {
    { "/dev/null", 1, 3 },   { "/dev/zero", 1, 5 },    { "/dev/full", 1, 7 },
    { "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 },
};

static const struct {
    const char *to, *path;
} dev_links[] = {
    { "/proc/self/fd", "dev/fd" },     { "/proc/self/fd/0", "dev/stdin" }, { "/proc/self/fd/1", "dev/stdout" },
    { "/proc/self/fd/2", "dev/stderr" }, { "pts/ptmx", "dev/ptmx" },
};

static int bind_device(struct native *n, const char *path, unsigned maj, unsigned min, struct sr_error *err)
{
    cleanup_fd int mnt = -1;
    if (native_clone_mount(AT_FDCWD, path, false, 0, -1, &mnt, err) < 0)
        return -1;
    struct stat st;
    if (fstat(mnt, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(maj, min))
        return sr_error_set(err, "engine.unavailable.device", "%s is not the character device %u:%u", path, maj, min);
    cleanup_fd int point = openat(n->root_fd, path + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (point < 0 || move_mount(mnt, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | NATIVE_T_EMPTY_PATH) < 0)
        return sr_error_sys(err, "engine.unavailable.device", "cannot bind %s", path);
    return 0;
}

static int special(struct native *n, const char *type, const char *const options[][2], size_t n_options, const char *path, unsigned attr,
                   struct sr_error *err)
{
    cleanup_fd int fs = fsopen(type, FSOPEN_CLOEXEC);
    int set = fs < 0 ? -1 : 0;
    for (size_t i = 0; set == 0 && i < n_options; i++)
        set = fsconfig(fs, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0);
    if (set < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.special_mount", "cannot make a %s for %s", type, path);
    cleanup_fd int mnt = fsmount(fs, FSMOUNT_CLOEXEC, attr);
    if (mnt < 0)
        return sr_error_sys(err, "engine.unavailable.special_mount", "cannot mount a %s for %s", type, path);
    return native_attach(n->root_fd, mnt, path, true, err);
}

int step_dev(struct native *n, struct sr_error *err)
{
    static const char *const pts[][2] = { { "newinstance", NULL }, { "ptmxmode", "0666" }, { "mode", "620" } };
    if (sr_mkdir_p(n->root_fd, "dev", 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (bind_device(n, devices[i].path, devices[i].major, devices[i].minor, err) < 0)
            return -1;
    for (size_t i = 0; i < sizeof dev_links / sizeof *dev_links; i++)
        if (symlinkat(dev_links[i].to, n->root_fd, dev_links[i].path) < 0)
            return sr_error_sys(err, "engine.unavailable.mount_point", "cannot link %s", dev_links[i].path);
    /* every devpts is an instance of its own since Linux 4.7: newinstance (the first row) is implied */
    if (special(n, "devpts", pts + 1, 2, "/dev/pts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err) < 0)
        return -1;
    return special(n, "mqueue", NULL, 0, "/dev/mqueue", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
}

/* What Docker and Podman mask, together (their default profiles); hidden ones read as empty, the others cannot be written. */
static const struct {
    const char *path;
    bool hide;
} proc_masks[] = {
    { "/proc/acpi", true },          { "/proc/asound", true },      { "/proc/interrupts", true }, { "/proc/kcore", true },
    { "/proc/keys", true },          { "/proc/latency_stats", true }, { "/proc/sched_debug", true },
    { "/proc/scsi", true },          { "/proc/timer_list", true },  { "/proc/timer_stats", true }, { "/proc/bus", false },
    { "/proc/fs", false },           { "/proc/irq", false },        { "/proc/sys", false },       { "/proc/sysrq-trigger", false },
};

static int mask(struct native *n, const char *path, bool hide, struct sr_error *err)
{
    struct stat st;
    if (fstatat(n->root_fd, path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : sr_error_sys(err, "engine.unavailable.proc_mask", "cannot look at %s", path);
    bool dir = S_ISDIR(st.st_mode);
    const char *source = !hide ? path + 1 : dir ? "empty" : "dev/null";
    int from = hide && dir ? n->scratch_fd : n->root_fd;
    cleanup_fd int mnt = -1;
    uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | (hide && !dir ? 0 : MOUNT_ATTR_NODEV);
    if (native_clone_mount(from, source, false, attr, -1, &mnt, err) < 0 || native_attach(n->root_fd, mnt, path, dir, err) < 0)
        return sr_error_wrap(err, "masking %s", path);
    return 0;
}

int step_proc(struct native *n, struct sr_error *err)
{
    if (special(n, "proc", NULL, 0, "/proc", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err) < 0) {
        memcpy(err->code, "engine.unavailable.proc_mount", sizeof "engine.unavailable.proc_mount");
        return sr_error_hint(err, "the host's /proc has parts masked, as in a container, so the kernel refuses a new one: start the container with "
                                  "--security-opt systempaths=unconfined (Docker), --security-opt unmask=/proc/* (Podman) or procMount: Unmasked (Kubernetes)");
    }
    struct statfs fs;
    cleanup_fd int proc = openat(n->root_fd, "proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (proc < 0 || fstatfs(proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
        return sr_error_set(err, "engine.unavailable.proc_mount", "what was mounted at /proc is not a proc filesystem");
    for (size_t i = 0; i < sizeof proc_masks / sizeof *proc_masks; i++)
        if (mask(n, proc_masks[i].path, proc_masks[i].hide, err) < 0)
            return -1;
    return 0;
}
