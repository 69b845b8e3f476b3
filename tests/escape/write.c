/* SPDX-License-Identifier: MIT */
/* Tries to write where nothing may be written, and to make what nobody may make. */
#include "probe.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* A new file in a directory, removed again. */
static enum answer attempt_create(const char *dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/.probe-%ld", dir, (long)getpid());
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0)
        return by_success(-1);
    unlink(path);
    return say(OPEN, "made %s", path);
}

/* Opening for writing is enough: nothing is written, so that the control outside stays harmless. */
static enum answer attempt_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK);
    return fd < 0 && errno == ETXTBSY ? say(OPEN, "ETXTBSY") : by_success(fd);
}

/* A running program's file can be replaced through its descriptor although its path is out of reach. */
static enum answer attempt_reopen(const char *path)
{
    char self[64];
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return by_success(-1);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return attempt_open(self);
}

static enum answer attempt_chmod(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return by_success(-1);
    return by_success(chmod(path, st.st_mode & 07777));
}

static enum answer device(mode_t type, unsigned ma, unsigned mi)
{
    long made = mknod(".probe-device", type | 0600, makedev(ma, mi));
    int e = errno;
    unlink(".probe-device");
    errno = e;
    return by_success(made);
}

static enum answer attempt_mknod_char(const char *unused)
{
    (void)unused;
    return device(S_IFCHR, 1, 3);
}

static enum answer attempt_mknod_block(const char *unused)
{
    (void)unused;
    return device(S_IFBLK, 254, 0);
}

/* A file with a capability, or one that is setuid to somebody, must not gain by being executed. */
static enum answer attempt_file_capability(const char *unused)
{
    (void)unused;
    static const unsigned char v2[20] = { 1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff };
    int fd = open(".probe-capability", O_CREAT | O_WRONLY, 0755);
    long set = fsetxattr(fd, "security.capability", v2, sizeof v2, 0);
    int e = errno;
    unlink(".probe-capability");
    errno = e;
    return by_success(set);
}

static enum answer flag_missing(const char *path, unsigned long flag)
{
    struct statvfs v;
    if (statvfs(path, &v) < 0)
        return by_success(-1);
    return v.f_flag & flag ? say(HELD, "flags %lx", v.f_flag) : say(OPEN, "flags %lx", v.f_flag);
}

static enum answer attempt_suid(const char *path) { return flag_missing(path, ST_NOSUID); }
static enum answer attempt_dev(const char *path) { return flag_missing(path, ST_NODEV); }

/* The old way back to a writable root. Arguments that outside change nothing: flags alone on a path that is no mount. */
static enum answer attempt_remount(const char *path)
{
    return by_refusal(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static enum answer attempt_immutable(const char *unused)
{
    (void)unused;
    int flags = 0, set = -1, fd = open(".probe-immutable", O_CREAT | O_RDWR, 0600), e;
    if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_IMMUTABLE_FL;
        set = ioctl(fd, FS_IOC_SETFLAGS, &flags);
        e = errno;
        flags &= ~FS_IMMUTABLE_FL;
        if (set == 0)
            ioctl(fd, FS_IOC_SETFLAGS, &flags);
    } else {
        e = errno;
    }
    unlink(".probe-immutable");
    errno = e;
    return by_success(set);
}

static const struct probe probes[] = {
    { "create=", attempt_create },
    { "open=", attempt_open },
    { "reopen=", attempt_reopen },
    { "chmod=", attempt_chmod },
    { "mknod-char", attempt_mknod_char },
    { "mknod-block", attempt_mknod_block },
    { "file-capability", attempt_file_capability },
    { "suid=", attempt_suid },
    { "dev=", attempt_dev },
    { "remount=", attempt_remount },
    { "immutable", attempt_immutable },
};
PROBE_MAIN(probes)
