/* SPDX-License-Identifier: MIT */
/* A reader for git's object store, references and index, in this process: no program of the tree's choosing runs. */
#ifndef SANDRUN_GIT_H
#define SANDRUN_GIT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Running git over a tree that a model edited executes what the tree says (core.fsmonitor, filter.*.clean, hooks), so
 * sandrun reads the store itself: loose objects and packs (v2 index, ofs/ref deltas), alternates inside the repository's
 * reach, packed-refs, symbolic references, linked worktrees and submodules (".git" files, commondir). SHA-1 repositories
 * and SHA-256 ones (extensions.objectFormat). Every object read is hashed again and must match its name.
 * The reader trusts nothing: sizes, offsets, delta chains and nesting are bounded, and so is the work for one question.
 *
 * A ".git" file, commondir and alternates may lead anywhere on the host, as in git. What comes out is still only what hashes
 * to the name asked for, or a reference that has the form of one; the bytes of other files never do, not even in messages.
 * Files below the directories found are opened without following links: a HEAD that is a link is git.unsupported.
 * refs/replace and grafts are ignored: an object is what its name says. The environment (GIT_DIR, ...) is not looked at.
 *
 * Codes: git.none (no repository), git.ref_missing (also: an abbreviation of several commits), git.object_missing,
 * git.corrupt, git.unsupported (reftable, split index, unknown extensions, reflog and path expressions), git.too_large,
 * git.type.
 */
enum { SR_GIT_HEX_MAX = 65 };

struct sr_git; /* opaque */

/* tree: path of the working tree; finds TREE/.git (directory or file). Does not look above TREE. */
SR_CHECK int sr_git_open(const char *tree, struct sr_git **ret, struct sr_error *err);
void sr_git_close(struct sr_git *g);
void sr_git_closep(struct sr_git **g);
#define cleanup_git __attribute__((cleanup(sr_git_closep)))

/* A revision: full or abbreviated object name, "HEAD", branch, tag, refs/..., with ~N and ^ suffixes. Peeled to a commit. */
SR_CHECK int sr_git_resolve(struct sr_git *g, const char *rev, char ret_hex[SR_GIT_HEX_MAX], struct sr_error *err);
/* The blob at path in that commit's tree, at most max bytes (never more than 128 MiB). Replaces what ret holds; its ceiling
 * becomes max. git.object_missing when the path is not there; git.type when a link, directory or submodule. */
SR_CHECK int sr_git_blob(struct sr_git *g, const char *commit_hex, const char *path, size_t max, struct sr_buf *ret, struct sr_error *err);

/* Whether path (relative, clean) is tracked: in the index. The index is read at the first call, paths kept sorted. In a
 * sparse index everything below a directory that is one entry counts. No index: nothing is tracked. */
SR_CHECK int sr_git_tracked(struct sr_git *g, const char *path, bool *ret, struct sr_error *err);
/* The index's trailing checksum in hex (O(1), no full read); "" when there is no index, or one that git wrote without a
 * checksum (index.skipHash): then nothing short of reading it tells two of them apart. */
SR_CHECK int sr_git_index_checksum(struct sr_git *g, char ret_hex[SR_GIT_HEX_MAX], struct sr_error *err);

/* The directory (absolute) that holds this working tree's HEAD and index, and the one with objects and refs. Both are the
 * same except in linked worktrees; either may be outside the tree. Borrowed. */
const char *sr_git_dir(const struct sr_git *g);
const char *sr_git_common_dir(const struct sr_git *g);
/* The object directories it borrows from and that exist, theirs too: absolute, as git would spell them, so with links and
 * ".." still in them. Appends to ret. Whoever writes the repository names them: they are no reason to show them to anyone. */
SR_CHECK int sr_git_alternates(struct sr_git *g, struct sr_strv *ret, struct sr_error *err);

/* What of path comes after its first component ".git", "" for that one itself; NULL when there is none. Also for spellings that a
 * filesystem which folds case or knows short names takes for it: ".GIT", "git~1". */
const char *sr_git_below(const char *path);

#endif
