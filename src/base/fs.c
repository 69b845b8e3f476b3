/* SPDX-License-Identifier: MIT */
/* Files, relative to descriptors. */
#include "base/fs.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int sr_openat2(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        /* the kernel refuses a mode without a creating flag (EINVAL) */
        .mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
        .resolve = resolve,
    };
    for (;;) {
        int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
        /* EAGAIN: a rename raced with RESOLVE_BENEATH/IN_ROOT (openat2(2)); trying again is the documented answer */
        if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
            return fd;
    }
}

int sr_file_read_fd(int fd, const char *name, size_t max, struct sr_buf *ret, struct sr_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return sr_error_sys(err, "file.read", "cannot read %s", name);
    if (!S_ISREG(st.st_mode))
        return sr_error_set(err, "file.type", "cannot read %s: it is not a regular file", name);
    cleanup_buf struct sr_buf b = SR_BUF(max);
    char chunk[16384];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sr_error_sys(err, "file.read", "cannot read %s", name);
        if (n == 0)
            break;
        sr_buf_add(&b, chunk, (size_t)n);
        if (b.overflow)
            return sr_error_set(err, "file.too_large", "%s is larger than the %zu bytes it may have", name, max);
    }
    sr_buf_clear(ret);
    *ret = b;
    b = SR_BUF(max);
    return 0;
}

int sr_file_read_at(int dirfd, const char *path, size_t max, struct sr_buf *ret, struct sr_error *err)
{
    cleanup_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0) {
        if (errno == ENOENT)
            return sr_error_set(err, "file.missing", "%s does not exist", path);
        if (errno == ELOOP)
            return sr_error_set(err, "file.type", "cannot read %s: it is a symbolic link", path);
        return sr_error_sys(err, "file.read", "cannot open %s", path);
    }
    return sr_file_read_fd(fd, path, max, ret, err);
}

int sr_write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_failed(const char *name, struct sr_error *err)
{
    const char *code = errno == ENOSPC || errno == EDQUOT ? "file.no_space" : "file.write";
    return sr_error_sys(err, code, "cannot write %s", name);
}

int sr_file_write_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode, struct sr_error *err)
{
    const char *slash = strrchr(name, '/');
    cleanup_free char *parent = slash ? sr_strndup(name, (size_t)(slash - name) + 1) : NULL;
    cleanup_fd int dir = openat(dirfd, parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sr_error_sys(err, "file.write", "cannot write %s: opening its directory", name);
    const char *base = slash ? slash + 1 : name;
    cleanup_free char *temp = sr_asprintf(".%s.%d.tmp", base, getpid());
    unlinkat(dir, temp, 0);
    cleanup_fd int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return write_failed(name, err);
    if (sr_write_all(fd, data, len) < 0 || fsync(fd) < 0 || renameat(dir, temp, dir, base) < 0) {
        int failed = write_failed(name, err);
        unlinkat(dir, temp, 0);
        return failed;
    }
    /*
     * The directory is not synced: the rename is in the journal after the content, so a power cut in the seconds before its commit
     * loses the new file or leaves the old one, never half of one. A second commit would cost a run as much as all its mounts.
     */
    return 0;
}

int sr_mkdir_p(int dirfd, const char *path, mode_t mode, struct sr_error *err)
{
    cleanup_fd int at = openat(dirfd, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return sr_error_sys(err, "file.mkdir", "cannot make the directory %s", path);
    cleanup_free char *copy = sr_strdup(path);
    char *save = NULL;
    for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        if (mkdirat(at, part, mode) < 0 && errno != EEXIST)
            return sr_error_sys(err, "file.mkdir", "cannot make the directory %s (at %s)", path, part);
        int next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return sr_error_sys(err, "file.mkdir", "cannot make the directory %s (at %s)", path, part);
        close(at);
        at = next;
    }
    return 0;
}

char *sr_path_join(const char *a, const char *b)
{
    if (b[0] == '/' || a[0] == '\0')
        return sr_strdup(b);
    const char *sep = a[strlen(a) - 1] == '/' ? "" : "/";
    return sr_asprintf("%s%s%s", a, sep, b);
}

char *sr_path_clean(const char *path)
{
    size_t cap = strlen(path) + 2, len = 0;
    cleanup_free char *out = sr_malloc(cap);
    bool absolute = path[0] == '/';
    if (absolute)
        out[len++] = '/';
    size_t root = len;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') {
            if (len == root)
                return NULL;
            while (len > root && out[len - 1] != '/')
                len--;
            if (len > root)
                len--;
        } else if (n && !(n == 1 && p[0] == '.')) {
            if (len > root)
                out[len++] = '/';
            memcpy(out + len, p, n);
            len += n;
        }
        p += n;
        p += *p == '/';
    }
    if (!len)
        out[len++] = '.';
    out[len] = '\0';
    return steal_ptr(&out);
}

bool sr_path_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    if (n == 1 && dir[0] == '/')
        return path[0] == '/';
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
