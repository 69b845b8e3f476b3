/* SPDX-License-Identifier: MIT */
/* Object stores: the repository's own and those it borrows from, and the one place where an object
 * is believed. */
#include "base/fs.h"
#include "git/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * objects/info/alternates may name any directory of the host. That reaches nothing a reader could
 * not be given otherwise: below such a directory only names of the form xx/<hex> and
 * pack/pack-*.{idx,pack} are opened, and bytes leave this file only when they hash to the name that
 * was asked for. What does not is git.corrupt, without a byte of it in the message.
 */
void git_object_clear(struct git_object *o)
{
    free(o->data);
    *o = (struct git_object){ 0 };
}

int git_spend(struct sr_git *g, uint64_t bytes, struct sr_error *err)
{
    if (bytes > GIT_WORK_MAX || g->work > GIT_WORK_MAX - bytes)
        return sr_error_set(err, "git.too_large",
                            "the repository takes more than %llu MiB of unpacking for one object",
                            (unsigned long long)(GIT_WORK_MAX >> 20));
    g->work += bytes;
    return 0;
}

static bool store_known(const struct sr_git *g, const struct stat *st)
{
    for (size_t i = 0; i < g->n_stores; i++)
        if (g->stores[i].dev == st->st_dev && g->stores[i].ino == st->st_ino)
            return true;
    return false;
}

/* Where a name is seen from. */
struct base {
    int fd;
    const char *path;
};

static int store_add(struct sr_git *g, struct base base, const char *path, int depth,
                     struct sr_error *err);

static int alternates_read(struct sr_git *g, struct base base, int depth, struct sr_error *err)
{
    cleanup_buf struct sr_buf text = SR_BUF(GIT_SMALL_FILE_MAX);
    int rc = git_read_file(base.fd, "info/alternates", GIT_SMALL_FILE_MAX, &text, err);
    if (rc <= 0)
        return rc;
    if (depth == GIT_ALTERNATE_DEPTH_MAX)
        return sr_error_set(err, "git.unsupported",
                            "alternate object stores are nested deeper than %d", depth);
    char *save = NULL;
    for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (line[0] == '#')
            continue;
        if (line[0] == '"')
            return sr_error_set(err, "git.unsupported",
                                "objects/info/alternates holds a quoted name");
        if (store_add(g, base, line, depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

/* An alternate that is not there is left out, as git does: what it held is git.object_missing when
 * it is asked for. */
static int store_add(struct sr_git *g, struct base base, const char *path, int depth,
                     struct sr_error *err)
{
    struct stat st;
    cleanup_fd int fd = openat(base.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && depth && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return sr_error_sys(err, depth ? "git.corrupt" : "git.none", "opening the object store %s",
                            path);
    if (store_known(g, &st))
        return 0;
    if (g->n_stores == GIT_STORES_MAX)
        return sr_error_set(err, "git.unsupported",
                            "the repository borrows from more than %d object stores",
                            GIT_STORES_MAX - 1);
    SR_GROW(g->stores, g->n_stores, g->cap_stores);
    char *full = sr_path_join(base.path, path);
    struct base within = { fd, full };
    g->stores[g->n_stores++] =
        (struct git_store){ .fd = steal_fd(&fd), .path = full, .dev = st.st_dev, .ino = st.st_ino };
    return alternates_read(g, within, depth, err);
}

/* At the first object only: a reader of HEAD alone opens no store. */
int git_stores_open(struct sr_git *g, struct sr_error *err)
{
    if (g->n_stores)
        return 0;
    if (store_add(g, (struct base){ g->common_fd, g->common_dir }, "objects", 0, err) < 0) {
        git_stores_close(g);
        return -1;
    }
    return 0;
}

int sr_git_alternates(struct sr_git *g, struct sr_strv *ret, struct sr_error *err)
{
    if (git_stores_open(g, err) < 0)
        return -1;
    for (size_t i = 1; i < g->n_stores; i++)
        sr_strv_add(ret, g->stores[i].path);
    return 0;
}

void git_stores_close(struct sr_git *g)
{
    for (size_t i = 0; i < g->n_stores; i++) {
        git_packs_close(&g->stores[i]);
        sr_closep(&g->stores[i].fd);
        free(g->stores[i].path);
    }
    free(g->stores);
    g->stores = NULL;
    g->n_stores = g->cap_stores = 0;
}

static int object_find(struct sr_git *g, const struct git_oid *oid, size_t max,
                       struct git_object *ret, struct sr_error *err)
{
    for (size_t i = 0; i < g->n_stores; i++) {
        int rc = git_loose_read(g, &g->stores[i], oid, max, ret, err);
        if (rc == 0)
            rc = git_packed_read(g, &g->stores[i], oid, max, ret, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* A repack in between moves objects to packs that were not there when we listed them: look again,
 * once. */
static int object_find_again(struct sr_git *g, const struct git_oid *oid, size_t max,
                             struct git_object *ret, struct sr_error *err)
{
    int rc = object_find(g, oid, max, ret, err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < g->n_stores; i++) {
        git_packs_close(&g->stores[i]);
        g->stores[i].packs_listed = false;
    }
    return object_find(g, oid, max, ret, err);
}

int git_object_read(struct sr_git *g, const struct git_oid *oid, enum git_type want, size_t max,
                    struct git_object *ret, struct sr_error *err)
{
    char hex[SR_GIT_HEX_MAX];
    git_oid_hex(oid, g->hash_len, hex);
    if (max > GIT_OBJECT_MAX)
        max = GIT_OBJECT_MAX;
    if (git_stores_open(g, err) < 0)
        return -1;
    cleanup_object struct git_object o = { 0 };
    int rc = object_find_again(g, oid, max, &o, err);
    if (rc < 0)
        return sr_error_wrap(err, "reading object %s", hex);
    if (rc == 0) {
        sr_error_set(err, "git.object_missing", "object %s is not in the repository", hex);
        return sr_error_hint(err, "a shallow or partial clone lacks objects: fetch them, or name a "
                                  "revision that is there");
    }
    struct git_oid is;
    git_object_name(g->sha256, o.type, o.data, o.size, &is);
    if (memcmp(is.b, oid->b, g->hash_len) != 0)
        return sr_error_set(err, "git.corrupt", "object %s has other content than its name says",
                            hex);
    if (want != GIT_ANY && o.type != want)
        return sr_error_set(err, "git.type", "object %s is a %s, not a %s", hex,
                            git_type_name(o.type), git_type_name(want));
    *ret = o;
    o.data = NULL;
    return 0;
}

bool git_prefix_matches(const struct git_prefix *p, const unsigned char *oid)
{
    if (memcmp(p->b, oid, p->digits / 2) != 0)
        return false;
    return p->digits % 2 == 0 || (oid[p->digits / 2] & 0xf0) == p->b[p->digits / 2];
}

void git_prefix_add(struct git_prefix *p, const unsigned char *oid, size_t hash_len)
{
    for (unsigned i = 0; i < p->n; i++)
        if (memcmp(p->found[i].b, oid, hash_len) == 0)
            return;
    if (p->n == GIT_CANDIDATES_MAX) {
        p->more = true;
        return;
    }
    p->found[p->n] = (struct git_oid){ { 0 } };
    memcpy(p->found[p->n++].b, oid, hash_len);
}

int git_prefix_search(struct sr_git *g, struct git_prefix *p, struct sr_error *err)
{
    if (git_stores_open(g, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n_stores; i++) {
        struct git_store *s = &g->stores[i];
        if (git_loose_prefix(g, s, p, err) < 0 || git_packs_list(s, err) < 0)
            return -1;
        for (size_t k = 0; k < s->n_packs; k++) {
            int rc = git_pack_prefix(g, s, &s->packs[k], p, err);
            git_pack_rest(s, &s->packs[k]);
            if (rc < 0)
                return -1;
        }
    }
    return 0;
}
