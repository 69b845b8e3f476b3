/* SPDX-License-Identifier: MIT */
/* What the files of src/git share: the repository, its stores, and the limits of the reader. */
#ifndef SR_GIT_PRIVATE_H
#define SR_GIT_PRIVATE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandrun/git.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 *   repo.c      finds the directories, reads the format, owns everything
 *   refs.c      a name -> an object name            revision.c   what a person writes -> a commit
 *   store.c     an object name -> verified bytes, over  loose.c  and  pack.c (index: packidx.c,
 * deltas: delta.c) tree.c      a path in a commit -> a blob        index.c      is this path
 * tracked
 *
 * All limits of the reader, in one place. The repository is written by whoever wrote the tree: each
 * number below is what stands between a made-up header and our memory or time. Real repositories
 * stay far below (git itself stops delta chains at 4095, alternates at 5 levels, symbolic
 * references at 5).
 */
#define GIT_OBJECT_MAX ((size_t)128 << 20) /* any object, any delta base */
#define GIT_META_MAX   ((size_t)32 << 20)  /* a commit, a tag, a tree */
#define GIT_INDEX_MAX  ((size_t)512 << 20) /* the index file; also all its paths together */
/* Version 4 shortens each path by what the one before has: real indexes grow by half, made-up ones
 * sixtyfold. */
#define GIT_NAMES_MAX(file_size) (((size_t)16 << 20) + 8 * (file_size))
#define GIT_WORK_MAX             ((uint64_t)1 << 30) /* bytes inflated and built for one question */
#define GIT_PACKED_REFS_MAX      ((off_t)256 << 20)
enum {
    GIT_OID_MAX = 32,
    GIT_SMALL_FILE_MAX = 64 * 1024, /* a reference, a pointer, alternates */
    GIT_CONFIG_MAX = 1024 * 1024,
    GIT_PATH_MAX = 4096,
    GIT_CHAIN_MAX = 4096, /* deltas on deltas */
    GIT_STORES_MAX = 32,
    GIT_ALTERNATE_DEPTH_MAX = 5,
    GIT_PACKS_MAX = 8192, /* in one store */
    GIT_PACKS_KEPT_OPEN =
        32, /* descriptors we hold; the packs after these are opened for each look */
    GIT_SYMREF_DEPTH_MAX = 5,
    GIT_TAG_DEPTH_MAX = 16,
    GIT_STEPS_MAX = 100000, /* commits walked for one revision */
    GIT_ABBREV_MIN = 4,
    GIT_CANDIDATES_MAX = 64,
};

enum git_type { GIT_ANY = 0, GIT_COMMIT = 1, GIT_TREE = 2, GIT_BLOB = 3, GIT_TAG = 4 };

struct git_oid {
    unsigned char b[GIT_OID_MAX]; /* the first sr_git.hash_len count */
};

struct git_object {
    enum git_type type;
    char *data; /* NUL after size, not counted */
    size_t size;
};
#define cleanup_object __attribute__((cleanup(git_object_clear)))
void git_object_clear(struct git_object *o);

struct git_pack {
    char *base; /* file name in pack/ without ".idx" */
    int idx_fd, pack_fd;
    off_t idx_size, pack_size;
    uint32_t n;
    uint32_t *fanout; /* 256; NULL until first used */
};

/* One objects directory. */
struct git_store {
    int fd;
    char *path; /* absolute, as it was spelled: links and ".." are still in it */
    dev_t dev;
    ino_t ino;
    bool packs_listed;
    struct git_pack *packs;
    size_t n_packs, cap_packs;
};

struct git_index; /* index.h */

struct sr_git {
    char *dir, *common_dir; /* absolute */
    int dir_fd, common_fd;
    bool sha256;
    size_t hash_len;
    bool reftable; /* references cannot be read; objects and index can */
    struct git_store *stores;
    size_t n_stores, cap_stores;
    uint64_t work; /* spent on the present question; see GIT_WORK_MAX */
    struct git_index *index;
};

/* files.c: everything is opened beneath a directory, no link followed, non-blocking, and must be a
 * regular file. Descriptor; -1 missing with *err clean; -2 failed with *err set. */
SR_CHECK int git_open_file(int dirfd, const char *path, off_t *ret_size, struct sr_error *err);
/* 1 read, 0 missing, -1 failed. */
SR_CHECK int git_read_file(int dirfd, const char *path, size_t max, struct sr_buf *ret,
                           struct sr_error *err);
/* Exactly len bytes at off; a short file is git.corrupt. */
SR_CHECK int git_pread(int fd, void *out, size_t len, off_t off, const char *name,
                       struct sr_error *err);
/* Drops trailing newlines and carriage returns. */
void git_chomp(struct sr_buf *b);

/* config.c: the format of the repository, from its own config alone (no includes, as git does it).
 */
struct git_format {
    unsigned version;
    bool sha256;
    bool unsupported_refs;
    char unknown_extension[64];
};
SR_CHECK int git_format_parse(const char *text, size_t len, struct git_format *ret,
                              struct sr_error *err);

/* oid.c */
bool git_oid_parse(const char *hex, size_t hash_len,
                   struct git_oid *ret); /* exactly 2*hash_len digits, then anything */
void git_oid_hex(const struct git_oid *o, size_t hash_len, char out[SR_GIT_HEX_MAX]);
int git_hex_digit(char c); /* -1 */
/* The name of an object of this type and content. */
void git_object_name(bool sha256, enum git_type type, const void *data, size_t size,
                     struct git_oid *ret);
const char *git_type_name(enum git_type t);
enum git_type git_type_parse(const char *s, size_t len); /* GIT_ANY: none of the four */

/* store.c */
SR_CHECK int git_stores_open(struct sr_git *g, struct sr_error *err);
void git_stores_close(struct sr_git *g);
/* The object, verified against its name. want: GIT_ANY or the only type accepted (git.type). max:
 * bytes (git.too_large). */
SR_CHECK int git_object_read(struct sr_git *g, const struct git_oid *oid, enum git_type want,
                             size_t max, struct git_object *ret, struct sr_error *err);
/* Spends from the budget of the present question. */
SR_CHECK int git_spend(struct sr_git *g, uint64_t bytes, struct sr_error *err);

/* A set of object names that share a prefix. */
struct git_prefix {
    unsigned char b[GIT_OID_MAX];
    unsigned digits;
    struct git_oid found[GIT_CANDIDATES_MAX];
    unsigned n;
    bool more;
};
bool git_prefix_matches(const struct git_prefix *p, const unsigned char *oid);
void git_prefix_add(struct git_prefix *p, const unsigned char *oid, size_t hash_len);
SR_CHECK int git_prefix_search(struct sr_git *g, struct git_prefix *p, struct sr_error *err);

/* loose.c: 1 found, 0 not here, -1 failed. */
SR_CHECK int git_loose_read(struct sr_git *g, struct git_store *s, const struct git_oid *oid,
                            size_t max, struct git_object *ret, struct sr_error *err);
SR_CHECK int git_loose_prefix(struct sr_git *g, struct git_store *s, struct git_prefix *p,
                              struct sr_error *err);

/* packidx.c */
SR_CHECK int git_packs_list(struct git_store *s, struct sr_error *err);
void git_packs_close(struct git_store *s);
/* 1 and the offset, 0 not in this pack, -1 failed. */
SR_CHECK int git_pack_find(struct sr_git *g, struct git_store *s, struct git_pack *p,
                           const struct git_oid *oid, uint64_t *ret_offset, struct sr_error *err);
SR_CHECK int git_pack_prefix(struct sr_git *g, struct git_store *s, struct git_pack *p,
                             struct git_prefix *prefix, struct sr_error *err);
/* Opens the pack file and checks it against its index: 1, 0 when there is no pack file, -1. */
SR_CHECK int git_pack_open(struct sr_git *g, struct git_store *s, struct git_pack *p,
                           struct sr_error *err);
/* Closes what is beyond the descriptors we keep. */
void git_pack_rest(struct git_store *s, struct git_pack *p);

/* pack.c: 1 found, 0 not here, -1 failed. */
SR_CHECK int git_packed_read(struct sr_git *g, struct git_store *s, const struct git_oid *oid,
                             size_t max, struct git_object *ret, struct sr_error *err);

/* delta.c */
SR_CHECK int git_delta_sizes(const unsigned char *delta, size_t len, uint64_t *ret_base,
                             uint64_t *ret_result, struct sr_error *err);
/* result_max: git.too_large beyond. ret_data is malloc'ed, with a NUL behind it. */
SR_CHECK int git_delta_apply(const unsigned char *base, size_t base_len, const unsigned char *delta,
                             size_t len, size_t result_max, char **ret_data, size_t *ret_len,
                             struct sr_error *err);

/* refs.c: name is a full reference ("HEAD", "refs/heads/main"): 1 found, 0 there is none, -1
 * failed. */
SR_CHECK int git_ref_read(struct sr_git *g, const char *name, struct git_oid *ret,
                          struct sr_error *err);
bool git_ref_name_ok(const char *name);

/* tree.c: parts of commit, tag and tree objects; each refuses what is not whole. */
SR_CHECK int git_commit_tree(const char *data, size_t len, size_t hash_len, struct git_oid *ret,
                             struct sr_error *err);
/* The nth parent, from 1: 1 found, 0 the commit has fewer. */
SR_CHECK int git_commit_parent(const char *data, size_t len, size_t hash_len, unsigned nth,
                               struct git_oid *ret, struct sr_error *err);
SR_CHECK int git_tag_target(const char *data, size_t len, size_t hash_len, struct git_oid *ret,
                            enum git_type *ret_type, struct sr_error *err);
/* 1 found, 0 no such entry, -1 malformed. */
SR_CHECK int git_tree_find(const char *data, size_t len, size_t hash_len, const char *name,
                           size_t name_len, unsigned *ret_mode, struct git_oid *ret,
                           struct sr_error *err);

#endif
