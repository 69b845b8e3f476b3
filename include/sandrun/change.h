/* SPDX-License-Identifier: MIT */
/* What the command did to the tree: snapshots, reading an overlay's upper, comparing, classes, the repair. */
#ifndef SANDRUN_CHANGE_H
#define SANDRUN_CHANGE_H

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum sr_change_kind { SR_CHANGE_ADDED, SR_CHANGE_DELETED, SR_CHANGE_MODIFIED, SR_CHANGE_MODE, SR_CHANGE_TYPE, SR_CHANGE_KIND_COUNT };

/* Classes, first match wins (design order). The env.* ones are repairs; the git.* ones are ".git" at any depth. */
enum sr_change_class {
    SR_CLASS_ENV_DELETED,
    SR_CLASS_ENV_REBUILT,
    SR_CLASS_ENV_REPLACED,
    SR_CLASS_ENV_CREATED,
    SR_CLASS_ENV_CHANGED,
    SR_CLASS_GIT_HOOKS,    /* what git executes */
    SR_CLASS_GIT_CONFIG,   /* what tells git to execute something, or where to look */
    SR_CLASS_GIT_REFS,
    SR_CLASS_GIT_INDEX,
    SR_CLASS_GIT_OBJECTS,
    SR_CLASS_GIT_INTERNAL, /* the rest of ".git" */
    SR_CLASS_DEFERRED,
    SR_CLASS_ESCAPE,
    SR_CLASS_SOURCE_TRACKED,
    SR_CLASS_SOURCE_UNTRACKED,
    SR_CLASS_CACHE,
    SR_CLASS_COUNT
};
const char *sr_change_kind_name(enum sr_change_kind k);
const char *sr_change_class_name(enum sr_change_class c);

struct sr_entry_state {
    mode_t mode;          /* type and permission bits; 0: not there */
    uint64_t size;
    unsigned char digest[SR_SHA256_SIZE]; /* content of a regular file, target of a link; zero when not computed */
    bool has_digest;
};

struct sr_change {
    char *path; /* raw bytes, relative to its root, clean; "." is the root itself; absolute in a git directory outside the tree */
    bool in_home; /* below the private HOME instead of the tree */
    enum sr_change_kind kind;
    enum sr_change_class cls;
    struct sr_entry_state before, after;
    char *target; /* of a link that is new or points elsewhere now; NULL otherwise */
};

/* An environment that was deleted, rebuilt, replaced, created or changed. */
struct sr_repair {
    enum sr_change_class cls; /* SR_CLASS_ENV_* */
    char *path;               /* of the environment's root */
    bool in_home;
    const char *ecosystem;    /* "venv", "node_modules", ... */
    uint64_t lost, added, modified; /* files */
    struct sr_strv examples;  /* up to 8 lost paths, else added */
};

struct sr_changeset {
    struct sr_change *v; /* sorted by (in_home, path) bytewise; at most SR_CHANGES_MAX, and SR_CHANGES_RESERVE more of environments */
    size_t n;
    uint64_t total;           /* also those beyond the bound */
    uint64_t by_class[SR_CLASS_COUNT];
    struct sr_repair *repairs;
    size_t n_repairs;
    bool overflow;            /* evidence was lost: what is not told here may have happened all the same */
    char tracking[SR_ERROR_CODE_MAX]; /* why git's index could not be asked (all counted untracked); "": it could, or no git */
    /* Private to change/: evidence that no single entry shows. */
    size_t cap;
    struct sr_change_mark *marks; /* directories made anew, moved into place, or gone whole */
    size_t n_marks, cap_marks;
    size_t bytes;                 /* of all paths and targets */
};
/* Each entry counts: an environment is judged by them. So the bounds are of memory, far above what checks do, and a set that
 * reaches them says so. The reserve is for what lies in environments by its name, whatever else fills the list. */
enum { SR_CHANGES_MAX = 1 << 20, SR_CHANGES_RESERVE = 1 << 18, SR_REPAIRS_MAX = 4096 };

/* ---- snapshots: a manifest of a whole tree ---- */

struct sr_manifest; /* opaque: sorted entries {path, mode, size, digest or link target, dev/ino/mtime/ctime for the index} */

struct sr_snapshot_options {
    bool content; /* hash regular files (always wanted for a verdict); false: stat identity alone */
    int index_dirfd; /* directory of the stat-keyed digest index, -1: none */
    const char *index_name;
};

/* root_fd: directory. Fd-relative, follows nothing, bounded descriptors, opens nothing but regular files (O_NONBLOCK|O_NOFOLLOW,
 * re-checked by fstat). Codes: snapshot.read, snapshot.too_large. */
SR_CHECK int sr_snapshot(int root_fd, const struct sr_snapshot_options *o, struct sr_manifest **ret, struct sr_error *err);
void sr_manifest_free(struct sr_manifest *m);
/* SHA-256 over the sorted (path, mode, size, digest) lines; times and inodes are not part. */
void sr_manifest_root(const struct sr_manifest *m, char ret[SR_DIGEST_TEXT]);
size_t sr_manifest_count(const struct sr_manifest *m);
SR_CHECK int sr_manifest_diff(const struct sr_manifest *before, const struct sr_manifest *after, bool in_home, struct sr_changeset *ret,
                              struct sr_error *err); /* appends; unclassified */

/* ---- overlay ---- */

/* Reads an upper directory over its lower: whiteouts (char 0:0 and the xattr form), opaque directories, redirects, copy-ups
 * that changed nothing. Appends unclassified changes; deletions are expanded to the files lost. userxattr: the mount kept its
 * marks in user.overlay.*, not in trusted.overlay.*; only those of the mount's own namespace are believed, for the other one
 * the command can write itself. Ids are not compared. Directories of the upper that shut their owner out are opened up. What
 * others put into the lower after started_ns (CLOCK_REALTIME) is not counted as lost with the directory that it was put into;
 * 0: all is. */
SR_CHECK int sr_overlay_read(int lower_fd, int upper_fd, bool userxattr, int64_t started_ns, struct sr_changeset *ret,
                             struct sr_error *err);

/* The tree's root itself, told as ".": no directory names it, and to read what is below it may mean opening it up, so it comes
 * first. before: its mode when the run began; after_fd: as the command left it. */
SR_CHECK int sr_root_tell(mode_t before, int after_fd, struct sr_changeset *ret, struct sr_error *err);

/* A directory that was empty before the run (the private HOME) but for mount points: those, and the directories on the way to them,
 * are not told, what is in them is. mount_points: relative to root_fd, may be NULL. */
SR_CHECK int sr_tree_added(int root_fd, bool in_home, const struct sr_strv *mount_points, struct sr_changeset *ret, struct sr_error *err);

/* Two directories, before and after (copy mode): same size and times are not believed, content is. */
SR_CHECK int sr_tree_compare(int before_fd, int after_fd, struct sr_changeset *ret, struct sr_error *err);

/* Copy mode, beside sr_tree_compare: which directories of the copy were removed and made anew, which two trees with the same
 * bytes cannot show. fresh: a snapshot of the copy without content, taken before the command started. */
SR_CHECK int sr_tree_anew(const struct sr_manifest *fresh, int after_fd, struct sr_changeset *ret, struct sr_error *err);

/* ---- judging ---- */

struct sr_classify_options {
    int tree_fd;        /* the tree as it was (lower), to recognise environments that were there; for `direct`: -1 with before */
    int after_fd;       /* a view of the tree as the command left it, or -1; overlay: the upper */
    const struct sr_manifest *before; /* for `direct` and uncontained runs */
    const char *tree;   /* absolute path, for git's index; NULL: nothing is tracked */
};

/* Sorts, assigns classes, finds repairs. Harmless writes inside an environment (bytecode, tool caches) stay SR_CLASS_CACHE. */
SR_CHECK int sr_changes_classify(struct sr_changeset *set, const struct sr_classify_options *o, struct sr_error *err);
/* The git directory of a linked worktree or a submodule, read like the tree (git: unclassified, and emptied here), put into a
 * classified set: classes git.*, no repairs, paths below dir, which is absolute. before_fd, after_fd: of that directory. */
SR_CHECK int sr_changes_add_git(struct sr_changeset *set, struct sr_changeset *git, const char *dir, int before_fd, int after_fd,
                                struct sr_error *err);
void sr_changeset_clear(struct sr_changeset *set);
cJSON *sr_changeset_json(const struct sr_changeset *set);

/* The environment table, for preflight and for the classifier: is the directory name (a path, "." for itself) beneath dirfd
 * an environment, and of which kind? Returns its name ("venv", "node_modules", "tox", ...) or NULL. */
const char *sr_environment_kind(int dirfd, const char *name);

#endif
