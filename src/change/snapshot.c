/* SPDX-License-Identifier: MIT */
/* A manifest of a whole tree: stat everything, hash what the index does not know. */
#include "change/index.h"
#include "change/manifest.h"
#include "change/subtree.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct snapshot {
    int root_fd;
    const struct sr_snapshot_options *options;
    struct sr_manifest *m;
    struct sr_todo todo;
    struct sr_walk_cursor cursor;
    uint32_t *dirs; /* entry of each item of todo, side by side */
    size_t n_dirs, cap_dirs;
    struct sr_index index;
    struct sr_index_record *records;
    size_t n_records, cap_records;
    size_t fresh; /* records that the old index has not */
    struct timespec
        racy; /* what changed since may change again within the same tick of the clock */
};

/*
 * A file written in the same tick in which it was hashed can be written again without any of its
 * times moving. So an entry younger than the snapshot's start, less the coarsest clock of common
 * file systems (2 s), is hashed again next time.
 */
enum { RACY_SECONDS = 2 };

static bool older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static bool trusted(const struct snapshot *s, const struct stat *st)
{
    return older(&st->st_mtim, &s->racy) && older(&st->st_ctim, &s->racy);
}

static void record_add(struct snapshot *s, const unsigned char *key, const unsigned char *digest)
{
    SR_GROW(s->records, s->n_records, s->cap_records);
    struct sr_index_record *r = &s->records[s->n_records++];
    memcpy(r->key, key, SR_INDEX_KEY);
    memcpy(r->digest, digest, SR_SHA256_SIZE);
}

static void digest_set(struct snapshot *s, uint32_t at, const unsigned char *digest)
{
    memcpy(s->m->v[at].digest, digest, SR_SHA256_SIZE);
    s->m->v[at].mode |= SR_ENTRY_DIGEST;
}

/* Without content: the inode's identity stands for it, and shows in no digest. */
static void identity_set(struct snapshot *s, uint32_t at, const struct stat *st)
{
    sr_index_key(st, s->m->v[at].digest);
}

static bool still(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && memcmp(&a->st_mtim, &b->st_mtim, sizeof a->st_mtim) == 0 &&
           memcmp(&a->st_ctim, &b->st_ctim, sizeof a->st_ctim) == 0;
}

static int content_read(struct snapshot *s, int dirfd, const char *name, const struct stat *st,
                        uint32_t at, struct sr_error *err)
{
    unsigned char key[SR_INDEX_KEY];
    bool indexed = S_ISREG(st->st_mode) && s->options->index_dirfd >= 0 && trusted(s, st);
    if (indexed) {
        sr_index_key(st, key);
        const unsigned char *known = sr_index_find(&s->index, key);
        if (known) {
            digest_set(s, at, known);
            record_add(s, key, known);
            return 0;
        }
    }
    struct sr_entry_state state;
    if (sr_walk_digest(dirfd, name, false, st, &state, err) < 0) {
        /* Gone meanwhile, replaced meanwhile, or not the caller's to read: mode and size are all
         * there is to know. */
        if (err->sys != EACCES && err->sys != ENOENT && err->sys != ESTALE && err->sys != ELOOP &&
            err->sys != ENXIO)
            return -1;
        sr_error_clear(err);
        identity_set(s, at, st);
        return 0;
    }
    if (state.has_digest)
        digest_set(s, at, state.digest);
    struct stat now;
    if (indexed && fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && still(st, &now)) {
        record_add(s, key, state.digest);
        s->fresh++;
    }
    return 0;
}

static int name_take(struct snapshot *s, int dirfd, const char *path, const char *name,
                     struct sr_error *err)
{
    struct stat st;
    uint32_t at;
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return 0;
        return sr_error_sys(err, "snapshot.read", "cannot look at %s/%s", path, name);
    }
    if (sr_manifest_add(s->m, name, &st, &at, err) < 0)
        return -1;
    if (S_ISDIR(st.st_mode)) {
        SR_GROW(s->dirs, s->n_dirs, s->cap_dirs);
        s->dirs[s->n_dirs++] = at;
        return sr_todo_push(&s->todo, sr_walk_join(path, name), NULL, 0, err);
    }
    if (s->options->content || S_ISLNK(st.st_mode))
        return content_read(s, dirfd, name, &st, at, err);
    identity_set(s, at, &st);
    return 0;
}

/* Inode numbers come back at once after a removal; with the time of birth they do not. */
static uint64_t directory_identity(int fd)
{
    struct statx sx;
    unsigned char digest[SR_SHA256_SIZE];
    uint64_t id = 0;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &sx) < 0)
        return 0;
    uint64_t f[5] = { sx.stx_dev_major, sx.stx_dev_minor, sx.stx_ino, 0, 0 };
    if (sx.stx_mask & STATX_BTIME) {
        f[3] = (uint64_t)sx.stx_btime.tv_sec;
        f[4] = sx.stx_btime.tv_nsec;
    }
    sr_sha256_bytes(f, sizeof f, digest);
    memcpy(&id, digest, sizeof id);
    return id;
}

static int directory_take(struct snapshot *s, const char *path, uint32_t at, struct sr_error *err)
{
    cleanup_names struct sr_walk_names names = { 0 };
    int fd = sr_walk_step(&s->cursor, s->root_fd, path, false);
    s->m->v[at].dir.first = (uint32_t)s->m->n;
    if (fd < 0 && at != 0 &&
        (errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0; /* shut to the caller, or gone meanwhile */
    if (fd < 0)
        return sr_error_sys(err, "snapshot.read", "cannot open the directory %s",
                            *path ? path : ".");
    s->m->v[at].dir.identity = directory_identity(fd);
    if (sr_walk_list(fd, path, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (name_take(s, fd, path, sr_walk_name(&names, i), err) < 0)
            return -1;
    s->m->v[at].dir.count = (uint32_t)s->m->n - s->m->v[at].dir.first;
    return 0;
}

static int tree_take(struct snapshot *s, struct sr_error *err)
{
    struct stat st;
    uint32_t root;
    if (fstat(s->root_fd, &st) < 0)
        return sr_error_sys(err, "snapshot.read", "cannot look at the root of the tree");
    if (sr_manifest_add(s->m, "", &st, &root, err) < 0 || directory_take(s, "", root, err) < 0)
        return -1;
    for (;;) {
        cleanup_todo_item struct sr_todo_item item = { 0 };
        if (!sr_todo_pop(&s->todo, &item))
            return 0;
        if (directory_take(s, item.path, s->dirs[--s->n_dirs], err) < 0)
            return -1;
    }
}

/* The index is a cache: failing to write it costs the next snapshot time, and nothing else. */
static void index_save(struct snapshot *s)
{
    struct sr_error ignored = { 0 };
    if (s->options->index_dirfd < 0 || (s->fresh == 0 && s->n_records == s->index.n))
        return;
    if (sr_index_write(s->options->index_dirfd, s->options->index_name, s->records, s->n_records,
                       &ignored) < 0)
        sr_error_clear(&ignored);
}

int sr_snapshot(int root_fd, const struct sr_snapshot_options *o, struct sr_manifest **ret,
                struct sr_error *err)
{
    struct snapshot s = {
        .root_fd = root_fd, .options = o, .m = sr_calloc(1, sizeof *s.m), .cursor = SR_WALK_CURSOR
    };
    clock_gettime(CLOCK_REALTIME, &s.racy);
    s.racy.tv_sec -= RACY_SECONDS;
    if (o->index_dirfd >= 0)
        sr_index_open(o->index_dirfd, o->index_name, &s.index);
    int r = tree_take(&s, err);
    if (r == 0) {
        index_save(&s);
        *ret = steal_ptr(&s.m);
    }
    sr_index_close(&s.index);
    sr_todo_clear(&s.todo);
    sr_walk_cursor_clear(&s.cursor);
    free(s.dirs);
    free(s.records);
    sr_manifest_free(s.m);
    return r;
}
