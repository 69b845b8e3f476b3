/* SPDX-License-Identifier: MIT */
/* Root filesystems and their pins. Here: the host as root filesystem, pinned by a fingerprint. */
#ifndef SANDRUN_IMAGE_H
#define SANDRUN_IMAGE_H

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"

/*
 * The host fingerprint is SHA-256 over a list of lines, one per part, in this order:
 *     sandrun host fingerprint 1
 *     arch <uname machine>
 *     os-release <sha256 of /etc/os-release, links followed>          ("os-release absent")
 *     packages <dpkg|rpm|apk|pacman> <sha256 of the package database file; pacman: of its sorted names>   ("packages none")
 *     tool <name as the binding spells it> <resolved path inside the root filesystem> <sha256 of its content>
 * A tool is command[0] when it names something of the root filesystem (not a path into the tree), and, when that is a
 * script, the interpreter of its first line, and so on (at most 4); behind an interpreter called env also the program it is
 * to look up. Entries of PATH inside the tree are passed over, and what leads into the tree is no tool: a pin must not move
 * with the tree. Blanks and control characters of names are escaped. Digests of unchanged files come from a cache keyed by
 * (dev, inode, size, mtime, ctime in ns), so that verifying costs a few stats a run.
 */
struct sr_fingerprint {
    char digest[SR_DIGEST_TEXT];
    struct sr_strv lines; /* the parts, for the message that names what moved */
};

/* command: argv of the binding. path: the PATH the command will see. tree: absolute path of the tree. cache_dirfd: where the
 * digest cache file stands, -1 for none. A tool that is not found is a line "tool NAME absent": the pin says so too.
 * Codes: rootfs.unreadable. */
SR_CHECK int sr_host_fingerprint(const struct sr_strv *command, const char *path, const char *tree, int cache_dirfd,
                                 struct sr_fingerprint *ret, struct sr_error *err);
void sr_fingerprint_clear(struct sr_fingerprint *f);

/* The host paths that make up the root filesystem of a check, read-only: what a toolchain needs, no home, no /run, no sockets.
 * One table for the engine (mounts), the fingerprint (what is visible) and preflight (does this path exist inside). */
enum sr_host_kind {
    SR_HOST_TREE, /* bind the directory (or recreate the link, when the host has one: /bin -> usr/bin) */
    SR_HOST_ETC,  /* one entry of /etc */
    SR_HOST_OPT,  /* as TREE, but may hold sockets of services: an ordinary caller gets a view through which none is reached */
};
struct sr_host_path {
    const char *path;
    enum sr_host_kind kind;
};
extern const struct sr_host_path sr_host_paths[];
extern const size_t sr_host_paths_n;
/* True when the absolute, clean path lies inside one of them (links not followed). */
int sr_host_path_visible(const char *path);

#endif
