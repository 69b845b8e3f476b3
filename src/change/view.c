/* SPDX-License-Identifier: MIT */
/* What stood at a path before the command, and what stands there now. */
#include "change/view.h"

#include "base/fs.h"
#include "base/mem.h"
#include "change/manifest.h"
#include "change/walk.h"

#include <string.h>

mode_t sr_view_before(const struct sr_view *v, const char *path)
{
    struct stat st;
    if (v->in_home)
        return 0;
    if (v->options->before) {
        const struct sr_manifest_entry *e = sr_manifest_find(v->options->before, path);
        return e ? e->mode & 0177777 : 0;
    }
    if (v->options->tree_fd < 0 || sr_walk_stat(v->options->tree_fd, path, &st) < 0)
        return 0;
    return st.st_mode;
}

mode_t sr_view_after(const struct sr_view *v, const char *path)
{
    const struct sr_change *c = sr_set_find(v->set, path, v->in_home);
    return c ? c->after.mode : sr_view_before(v, path);
}

bool sr_view_read(const struct sr_view *v, const char *path, bool after, size_t max,
                  struct sr_buf *ret)
{
    struct sr_error err = { 0 };
    int root = after ? v->options->after_fd : v->options->before ? -1 : v->options->tree_fd;
    if (root < 0 || v->in_home)
        return false;
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir = sr_strndup(path, slash ? (size_t)(slash - path) : 0);
    cleanup_fd int fd = sr_walk_open(root, dir, after);
    return fd >= 0 && sr_file_read_at(fd, slash ? slash + 1 : path, max, ret, &err) == 0;
}
