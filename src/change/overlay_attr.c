/* SPDX-License-Identifier: MIT */
/* Extended attributes of an overlay's upper. */
#include "change/overlay_attr.h"

#include "base/fs.h"
#include "base/mem.h"
#include "change/walk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

/*
 * A mount uses one of the two namespaces. In a trusted.* mount the command can write user.overlay.*
 * itself, so those mean nothing there; in a userxattr mount the kernel keeps the command's own
 * user.overlay.* away from the upper, and trusted.* needs a capability that it does not have.
 * Metacopy is there in a trusted.* mount alone.
 */
enum mark { OPAQUE, REDIRECT, WHITEOUT };
static const char *const names[][2] = {
    [OPAQUE] = { "trusted.overlay.opaque", "user.overlay.opaque" },
    [REDIRECT] = { "trusted.overlay.redirect", "user.overlay.redirect" },
    [WHITEOUT] = { "trusted.overlay.whiteout", "user.overlay.whiteout" },
};

enum { REDIRECT_MAX = PATH_MAX };

static bool absent(int e)
{
    return e == ENODATA || e == ENOTSUP || e == EPERM;
}

/* Length, 0 when absent, -1. */
static ssize_t mark_read(int fd, enum mark mark, bool userxattr, char *value, size_t size)
{
    ssize_t n = fgetxattr(fd, names[mark][userxattr], value, size);
    return n < 0 && absent(errno) ? 0 : n;
}

int sr_overlay_attr_read(int fd, const char *path, bool userxattr, struct sr_overlay_attr *ret,
                         struct sr_error *err)
{
    char opaque[8], redirect[REDIRECT_MAX + 1];
    ssize_t n = mark_read(fd, OPAQUE, userxattr, opaque, sizeof opaque);
    if (n < 0)
        return sr_error_sys(err, "snapshot.read", "cannot read whether the directory %s is opaque",
                            path);
    ssize_t len = mark_read(fd, REDIRECT, userxattr, redirect, REDIRECT_MAX);
    if (len < 0)
        return sr_error_sys(err, "snapshot.read",
                            "cannot read where the directory %s was moved from", path);
    /* "x" only announces that whiteouts in attribute form may follow. */
    ret->opaque = n == 1 && opaque[0] == 'y';
    ret->redirect = len > 0 ? sr_strndup(redirect, (size_t)len) : NULL;
    return 0;
}

void sr_overlay_attr_clear(struct sr_overlay_attr *a)
{
    free(a->redirect);
    *a = (struct sr_overlay_attr){ 0 };
}

/* lgetxattr through the directory's descriptor: opening each empty file only to ask would cost
 * more. */
static bool has_attr(int dirfd, const char *name, const char *attr)
{
    char path[64 + NAME_MAX + 1];
    int n = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dirfd, name);
    return n > 0 && (size_t)n < sizeof path && lgetxattr(path, attr, NULL, 0) >= 0;
}

bool sr_overlay_whiteout(int dirfd, const char *name, bool userxattr, const struct stat *st)
{
    if (S_ISCHR(st->st_mode))
        return st->st_rdev == 0;
    if (!S_ISREG(st->st_mode) || st->st_size != 0)
        return false;
    return has_attr(dirfd, name, names[WHITEOUT][userxattr]);
}

bool sr_overlay_metacopy(int dirfd, const char *name, bool userxattr, const struct stat *st)
{
    return !userxattr && S_ISREG(st->st_mode) && has_attr(dirfd, name, "trusted.overlay.metacopy");
}

char *sr_overlay_redirect(const char *redirect, const char *parent)
{
    if (redirect[0] == '/') {
        char *clean = sr_path_clean(redirect);
        if (!clean || clean[0] != '/' || clean[1] == '\0') {
            free(clean);
            return NULL;
        }
        memmove(clean, clean + 1, strlen(clean));
        return clean;
    }
    if (!parent || !*redirect || strchr(redirect, '/') || strcmp(redirect, ".") == 0 ||
        strcmp(redirect, "..") == 0)
        return NULL;
    return sr_walk_join(parent, redirect);
}
