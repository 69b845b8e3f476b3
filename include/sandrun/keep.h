/* SPDX-License-Identifier: MIT */
/* writes: keep - the listed paths come back to the tree after the run, and nothing else does. */
#ifndef SANDRUN_KEEP_H
#define SANDRUN_KEEP_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/change.h"

/*
 * What a command wrote is untrusted, and the tree is the host's. A file comes back only when all of these hold; else it is listed
 * as refused, with the reason, and the rest goes on:
 *   - it is a regular file or a directory that the run added or changed, at or below a path of the list;
 *   - no component on either side is a link (openat2 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS): output collection that follows links
 *     is how judges have leaked host files;
 *   - no component is ".git", nor one that a filesystem may take for it (".GIT", "git~1"), whatever the list says;
 *   - its class is none of env.*, git.*, deferred, escape: what runs later on the host is never written by a check;
 *   - the host's own file is still as it was before the run (content and mode): a person's edit wins.
 * Written to a temporary file beside the target, fsynced, renamed; mode 0644 or 0755, never setuid, owner of the tree.
 * Deletions do not come back.
 */
struct sr_kept {
    char *path;
    char *refused; /* why not; NULL: it is there */
};

struct sr_kept_list {
    struct sr_kept *v;
    size_t n;
};

/* tree_fd: the host's tree; after_fd: where the run's files stand (overlay upper or copy). Codes: keep.write, keep.no_space. */
SR_CHECK int sr_changes_keep(const struct sr_changeset *set, const struct sr_strv *keep, int tree_fd, int after_fd, struct sr_kept_list *ret,
                             struct sr_error *err);
void sr_kept_list_clear(struct sr_kept_list *l);
cJSON *sr_kept_list_json(const struct sr_kept_list *l); /* array of {path, kept, refused} */

#endif
