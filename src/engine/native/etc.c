/* SPDX-License-Identifier: MIT */
/* The files of /etc that name people, hosts and processors: made for the check, never the host's. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <unistd.h>

static int put(struct native *n, const char *path, const struct sr_buf *b, struct sr_error *err)
{
    cleanup_fd int fd = openat(n->root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || sr_write_all(fd, b->data ? b->data : "", b->len) < 0)
        return sr_error_sys(err, "engine.unavailable.rootfs", "cannot write /%s", path);
    return 0;
}

/* The check's own line comes first, so that getpwuid finds it also where its uid is 0 inside. */
static void passwd(const struct native *n, struct sr_buf *b)
{
    sr_buf_printf(b, "%s:x:%u:%u:check:%s:/bin/sh\n", SR_INSIDE_USER, n->id.uid, n->id.gid, SR_INSIDE_HOME);
    sr_buf_puts(b, "root:x:0:0:root:/nonexistent:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
}

static void group(const struct native *n, struct sr_buf *b)
{
    sr_buf_printf(b, "%s:x:%u:\n", SR_INSIDE_USER, n->id.gid);
    sr_buf_puts(b, "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n");
}

static void hosts(const struct native *n, struct sr_buf *b)
{
    (void)n;
    sr_buf_puts(b, "127.0.0.1\tlocalhost " SR_INSIDE_HOSTNAME "\n::1\tlocalhost ip6-localhost ip6-loopback " SR_INSIDE_HOSTNAME "\n");
}

static void hostname(const struct native *n, struct sr_buf *b)
{
    (void)n;
    sr_buf_puts(b, SR_INSIDE_HOSTNAME "\n");
}

/*
 * A commit inside needs an identity, and a person's is in a HOME that no check sees. This is the last place where git looks for the
 * domain of an address, so whatever the repository or the policy says stands over it; the name comes from /etc/passwd.
 */
static void mailname(const struct native *n, struct sr_buf *b)
{
    (void)n;
    sr_buf_puts(b, SR_INSIDE_HOSTNAME ".invalid\n");
}

static void nothing(const struct native *n, struct sr_buf *b)
{
    (void)n;
    (void)b;
}

static const struct {
    const char *path;
    void (*fill)(const struct native *n, struct sr_buf *b);
} files[] = {
    { "etc/passwd", passwd },
    { "etc/group", group },
    { "etc/hosts", hosts },
    { "etc/hostname", hostname },
    { "etc/mailname", mailname },
    { "etc/resolv.conf", nothing }, /* no name server: look-ups fail at once instead of timing out */
    { "etc/machine-id", nothing },  /* an empty one means "not set" (machine-id(5)) */
};

/* What libraries ask the processor count from (sysconf(3) reads these), without mounting a sysfs. */
static const char *const cpu_files[] = { "sys/devices/system/cpu/online", "sys/devices/system/cpu/possible" };

static int copy_cpu_files(struct native *n, struct sr_error *err)
{
    if (sr_mkdir_p(n->root_fd, "sys/devices/system/cpu", 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof cpu_files / sizeof *cpu_files; i++) {
        cleanup_free char *host = sr_asprintf("/%s", cpu_files[i]);
        cleanup_buf struct sr_buf b = SR_BUF(4096);
        struct sr_error unread = { 0 };
        /* a host without sysfs: the libraries have a fallback, and so has the check */
        if (sr_file_read_at(AT_FDCWD, host, 4096, &b, &unread) == 0 && put(n, cpu_files[i], &b, err) < 0)
            return -1;
    }
    return 0;
}

int step_etc(struct native *n, struct sr_error *err)
{
    if (sr_mkdir_p(n->root_fd, "etc", 0755, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        cleanup_buf struct sr_buf b = SR_BUF(4096);
        files[i].fill(n, &b);
        if (put(n, files[i].path, &b, err) < 0)
            return -1;
    }
    if (symlinkat("/proc/self/mounts", n->root_fd, "etc/mtab") < 0)
        return sr_error_sys(err, "engine.unavailable.rootfs", "cannot link /etc/mtab");
    return copy_cpu_files(n, err);
}
