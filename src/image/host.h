/* SPDX-License-Identifier: MIT */
/* The host as root filesystem, inside this folder: what is visible, and where a name leads in it.
 */
#ifndef SR_IMAGE_HOST_H
#define SR_IMAGE_HOST_H

#include "sandrun/image.h"

#include <stdbool.h>
#include <stddef.h>

enum { HOST_TOOLS_MAX = 4, HOST_LINKS_MAX = 40 /* as the kernel */ };

/* A set of visible paths: the real table, or what a test shows. */
struct host_view {
    const struct sr_host_path *paths;
    size_t n;
};
extern const struct host_view host_view_real;

bool host_view_visible(const struct host_view *v, const char *path);
/* Visible, or a directory on the way to something that is. */
bool host_view_passable(const struct host_view *v, const char *path);

/* path (absolute) as it resolves inside, link by link, each looked at only where it is visible.
 * NULL: it leads to no regular file in the root filesystem. Caller frees. */
char *host_resolve(const struct host_view *v, const char *path);

/* The tools of a command: command[0] and the interpreters behind it. */
struct host_tool {
    char *name; /* as spelled by the binding or by the script's first line */
    char *path; /* resolved; NULL: absent */
};
struct host_tools {
    struct host_tool v[HOST_TOOLS_MAX];
    size_t n;
};
#define cleanup_tools __attribute__((cleanup(host_tools_clear)))
void host_tools_clear(struct host_tools *t);
SR_CHECK int host_tools_find(const struct host_view *v, const char *name, const char *path,
                             const char *tree, struct host_tools *ret, struct sr_error *err);

SR_CHECK int host_fingerprint(const struct host_view *v, const struct sr_strv *command,
                              const char *path, const char *tree, int cache_dirfd,
                              struct sr_fingerprint *ret, struct sr_error *err);

#endif
