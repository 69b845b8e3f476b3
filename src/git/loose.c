/* SPDX-License-Identifier: MIT */
/* Loose objects: one zlib file each, "<type> <size>\0<content>". */
#include "git/inflate.h"
#include "git/private.h"

#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_MAX = 32 };

static bool header_parse(const char *head, size_t len, enum git_type *ret_type, uint64_t *ret_size)
{
    const char *space = memchr(head, ' ', len);
    if (!space)
        return false;
    *ret_type = git_type_parse(head, (size_t)(space - head));
    const char *p = space + 1, *end = head + len;
    if (*ret_type == GIT_ANY || p == end || (*p == '0' && p + 1 != end))
        return false;
    uint64_t v = 0;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9' || v > UINT64_MAX / 10 - 9)
            return false;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    *ret_size = v;
    return true;
}

/* The header, byte by byte up to its NUL: 32 calls at most, and nothing of the content is taken
 * with it. */
static int header_read(struct git_inflate *s, enum git_type *ret_type, uint64_t *ret_size,
                       struct sr_error *err)
{
    char head[HEADER_MAX];
    for (size_t n = 0; n < sizeof head; n++) {
        if (git_inflate_exact(s, head + n, 1, err) < 0)
            return -1;
        if (head[n] != '\0')
            continue;
        if (header_parse(head, n, ret_type, ret_size))
            return 0;
        break;
    }
    return sr_error_set(err, "git.corrupt", "%s of the repository has no object header", s->name);
}

int git_loose_read(struct sr_git *g, struct git_store *s, const struct git_oid *oid, size_t max,
                   struct git_object *ret, struct sr_error *err)
{
    char hex[SR_GIT_HEX_MAX], path[SR_GIT_HEX_MAX + 2];
    git_oid_hex(oid, g->hash_len, hex);
    snprintf(path, sizeof path, "%.2s/%s", hex, hex + 2);
    off_t file_size;
    cleanup_fd int fd = git_open_file(s->fd, path, &file_size, err);
    if (fd < 0)
        return fd == -1 ? 0 : -1;
    cleanup_inflate struct git_inflate in = { 0 };
    enum git_type type = GIT_ANY;
    uint64_t size = 0;
    if (git_inflate_open(&in, g, fd, 0, file_size, path, err) < 0 ||
        header_read(&in, &type, &size, err) < 0)
        return -1;
    if (size > max)
        return sr_error_set(err, "git.too_large", "object %s is larger than %zu bytes", hex, max);
    cleanup_free char *data = sr_malloc((size_t)size + 1);
    if (git_inflate_exact(&in, data, (size_t)size, err) < 0 || git_inflate_end(&in, err) < 0)
        return -1;
    data[size] = '\0';
    *ret = (struct git_object){ type, steal_ptr(&data), (size_t)size };
    return 1;
}

static void prefix_entry(struct sr_git *g, unsigned first, const char *name, struct git_prefix *p)
{
    char hex[SR_GIT_HEX_MAX + 2];
    struct git_oid oid;
    if (strlen(name) != 2 * g->hash_len - 2)
        return;
    snprintf(hex, sizeof hex, "%02x%.*s", first, (int)(2 * g->hash_len - 2), name);
    if (git_oid_parse(hex, g->hash_len, &oid) && git_prefix_matches(p, oid.b))
        git_prefix_add(p, oid.b, g->hash_len);
}

int git_loose_prefix(struct sr_git *g, struct git_store *s, struct git_prefix *p,
                     struct sr_error *err)
{
    char sub[3];
    snprintf(sub, sizeof sub, "%02x", p->b[0]); /* a prefix has four digits at least */
    cleanup_fd int fd =
        sr_openat2(s->fd, sub, O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : sr_error_sys(err, "git.corrupt", "opening objects/%s of the repository", sub);
    cleanup_dir DIR *d = fdopendir(fd);
    if (!d)
        return sr_error_sys(err, "git.corrupt", "listing objects/%s of the repository", sub);
    fd = -1; /* the stream owns it */
    for (struct dirent *e; (e = readdir(d));)
        prefix_entry(g, p->b[0], e->d_name, p);
    return 0;
}
