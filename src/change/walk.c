/* SPDX-License-Identifier: MIT */
/* Directories and names of trees that nobody vouches for. */
#include "change/walk.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK_MAX = 2048, DIRENTS_SIZE = 64 * 1024 };

static const uint64_t beneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

/* Gives the owner his permissions back, through the descriptor's own name: an O_PATH one does for
 * that, and needs no permission on the directory itself. */
static int mend(int fd)
{
    char self[64];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -1;
    if ((st.st_mode & (S_IRUSR | S_IXUSR)) == (S_IRUSR | S_IXUSR))
        return 0;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return chmod(self, (st.st_mode & 07777) | S_IRWXU);
}

static int open_forced(int dirfd, const char *path)
{
    cleanup_fd int fd = sr_openat2(dirfd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, beneath);
    if (fd < 0 || mend(fd) < 0)
        return -1;
    return sr_openat2(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, beneath);
}

static int open_chunk(int dirfd, const char *path, bool last, bool force)
{
    /* On the way O_PATH is enough: search permission is what counts, and the next step checks it.
     */
    int flags = (last || force ? O_RDONLY : O_PATH) | O_DIRECTORY | O_NOFOLLOW;
    int fd = sr_openat2(dirfd, path, flags, 0, beneath);
    if (fd < 0 && errno == EACCES && force)
        fd = open_forced(dirfd, path);
    return fd;
}

/* The end of the longest prefix of whole components that fits a chunk; one component when each may
 * need force. */
static size_t chunk_end(const char *path, bool one)
{
    size_t end = strcspn(path, "/");
    while (!one && path[end] == '/') {
        size_t next = end + 1 + strcspn(path + end + 1, "/");
        if (next > CHUNK_MAX)
            break;
        end = next;
    }
    return end;
}

static int open_chunks(int root_fd, const char *path, bool force)
{
    cleanup_fd int fd = -1;
    while (*path) {
        size_t end = chunk_end(path, force);
        cleanup_free char *chunk = sr_strndup(path, end);
        path += end + (path[end] == '/');
        int next = open_chunk(fd < 0 ? root_fd : fd, chunk, *path == '\0', force);
        if (next < 0)
            return -1;
        sr_closep(&fd);
        fd = next;
    }
    return steal_fd(&fd);
}

/* A directory that can be listed but not searched opens all the same, and then nothing in it does. */
static int searchable(int fd, bool force)
{
    if (fd >= 0 && force && geteuid() != 0 && mend(fd) < 0)
        sr_closep(&fd);
    return fd;
}

int sr_walk_open(int root_fd, const char *path, bool force)
{
    /* the root too: "chmod 0 ." */
    if (force && geteuid() != 0 && mend(root_fd) < 0)
        return -1;
    if (*path == '\0')
        return openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = open_chunks(root_fd, path, false);
    if (fd < 0 && errno == EACCES && force)
        fd = open_chunks(root_fd, path, true);
    return searchable(fd, force);
}

void sr_walk_cursor_clear(struct sr_walk_cursor *c)
{
    sr_closep(&c->fd);
    free(c->path);
    *c = SR_WALK_CURSOR;
}

int sr_walk_step(struct sr_walk_cursor *c, int root_fd, const char *path, bool force)
{
    size_t len = c->path ? strlen(c->path) : 0;
    bool child =
        len && strncmp(path, c->path, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
    int fd =
        child ? searchable(open_chunk(c->fd, path + len + 1, true, force), force) : sr_walk_open(root_fd, path, force);
    if (fd < 0)
        return -1;
    sr_walk_cursor_clear(c);
    c->fd = fd;
    c->path = sr_strdup(path);
    return fd;
}

int sr_walk_stat(int root_fd, const char *path, struct stat *ret)
{
    if (*path == '\0')
        return fstat(root_fd, ret);
    const char *slash = strrchr(path, '/');
    if (!slash)
        return fstatat(root_fd, path, ret, AT_SYMLINK_NOFOLLOW);
    cleanup_free char *dir = sr_strndup(path, (size_t)(slash - path));
    cleanup_fd int fd = open_chunks(root_fd, dir, false);
    return fd < 0 ? -1 : fstatat(fd, slash + 1, ret, AT_SYMLINK_NOFOLLOW);
}

/* ---- names ---- */

/* struct linux_dirent64, which libc does not export. */
struct raw_dirent {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

void sr_walk_names_clear(struct sr_walk_names *names)
{
    free(names->arena);
    free(names->offset);
    *names = (struct sr_walk_names){ 0 };
}

static void names_add(struct sr_walk_names *names, const char *name)
{
    size_t len = strlen(name) + 1;
    if (names->len + len > names->cap) {
        names->cap = names->cap ? names->cap * 2 : 1024;
        while (names->len + len > names->cap)
            names->cap *= 2;
        names->arena = sr_reallocarray(names->arena, names->cap, 1);
    }
    memcpy(names->arena + names->len, name, len);
    SR_GROW(names->offset, names->n, names->cap_offset);
    names->offset[names->n++] = names->len;
    names->len += len;
}

static int offset_compare(const void *a, const void *b, void *arena)
{
    return strcmp((const char *)arena + *(const size_t *)a,
                  (const char *)arena + *(const size_t *)b);
}

int sr_walk_list(int dirfd, const char *what, struct sr_walk_names *ret, struct sr_error *err)
{
    /* getdents64 and not readdir: no second descriptor and no allocation per directory. */
    _Alignas(struct raw_dirent) char buf[DIRENTS_SIZE];
    cleanup_names struct sr_walk_names names = { 0 };
    if (lseek(dirfd, 0, SEEK_SET) < 0)
        return sr_error_sys(err, "snapshot.read", "cannot rewind the directory %s", what);
    for (;;) {
        long n = syscall(SYS_getdents64, dirfd, buf, sizeof buf);
        if (n < 0)
            return sr_error_sys(err, "snapshot.read", "cannot list the directory %s", what);
        if (n == 0)
            break;
        for (long at = 0; at < n;) {
            const struct raw_dirent *d = (const struct raw_dirent *)(const void *)(buf + at);
            if (strcmp(d->name, ".") != 0 && strcmp(d->name, "..") != 0)
                names_add(&names, d->name);
            at += d->reclen;
        }
    }
    if (names.n)
        qsort_r(names.offset, names.n, sizeof *names.offset, offset_compare, names.arena);
    *ret = names;
    names = (struct sr_walk_names){ 0 };
    return 0;
}

bool sr_walk_has(const struct sr_walk_names *names, const char *name)
{
    size_t lo = 0, hi = names->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(name, sr_walk_name(names, mid));
        if (c == 0)
            return true;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return false;
}

char *sr_walk_join(const char *a, const char *b)
{
    return *a ? sr_asprintf("%s/%s", a, b) : sr_strdup(b);
}

size_t sr_walk_depth(const char *path)
{
    size_t n = *path != '\0';
    for (; *path; path++)
        n += *path == '/';
    return n;
}
