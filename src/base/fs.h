/* SPDX-License-Identifier: MIT */
/* Files, relative to descriptors: nothing here follows a link it was not told to follow. */
#ifndef SR_BASE_FS_H
#define SR_BASE_FS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* openat2(2), Linux 5.6. resolve: RESOLVE_* of <linux/openat2.h>. Returns a descriptor (O_CLOEXEC added) or -1 with errno. */
int sr_openat2(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);

/* Whole file beneath dirfd, at most max bytes, regular files only (opened O_NONBLOCK, so a FIFO cannot hang us),
 * no link followed in the last component. Codes: file.missing file.type file.too_large file.read. */
SR_CHECK int sr_file_read_at(int dirfd, const char *path, size_t max, struct sr_buf *ret, struct sr_error *err);
/* From an open descriptor, from its current offset. */
SR_CHECK int sr_file_read_fd(int fd, const char *name, size_t max, struct sr_buf *ret, struct sr_error *err);

/* Temp file in the same directory, write, fsync, rename. A reader sees the old or the new file whole, also after a power cut.
 * Codes: file.write, file.no_space (ENOSPC, EDQUOT). */
SR_CHECK int sr_file_write_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode, struct sr_error *err);

/* All of it, EINTR and short writes handled. 0 or -1 with errno. */
int sr_write_all(int fd, const void *data, size_t len);

/* mkdir -p beneath dirfd (AT_FDCWD for an absolute path); existing directories are fine, links in the way are not. Code: file.mkdir. */
SR_CHECK int sr_mkdir_p(int dirfd, const char *path, mode_t mode, struct sr_error *err);

/* Removes what name is beneath dirfd, whole trees of any depth with a bounded number of descriptors; makes 0555 and 0000
 * directories passable on the way; never follows links, never crosses into another mount. ENOENT is success. Code: file.remove. */
SR_CHECK int sr_remove_at(int dirfd, const char *name, struct sr_error *err);

/* a/b joined and owned by the caller; b absolute wins. */
char *sr_path_join(const char *a, const char *b);
/* Lexical: no "." ".." or empty components left, no trailing slash. Returns NULL when ".." leads above the start. Caller frees. */
char *sr_path_clean(const char *path);
/* True when path is dir or below it; both clean and absolute or both clean and relative. */
bool sr_path_below(const char *path, const char *dir);

#endif
