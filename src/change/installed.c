/* SPDX-License-Identifier: MIT */
/* Directories of any name that an installer put packages into: pip install --target. */
#include "change/installed.h"

#include "change/manifest.h"
#include "change/patterns.h"
#include "change/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * No name says what such a directory is. Each package in it does, by NAME.dist-info/INSTALLER,
 * which pip, uv and poetry write and a build does not. Sources may lie beside packages, so a change
 * counts only together with one of such a sign: what installers do always shows there.
 */
static const struct sr_environment row = { .kind = "python", .by_sign = true };
static const char installer[] = "/INSTALLER";

/* In a directory of packages every second name is a sign, so a look at these many finds one; a
 * directory of a million files must not cost a check that changed one of them. */
enum { LOOK_MAX = 1024 };

static bool is_sign(const char *name)
{
    return sr_environment_signed(name) && !strchr(name, '/');
}

/* How much of path is the directory whose package it signs; false: it signs none. */
static bool sign_of(const char *path, size_t *ret_len)
{
    size_t len = strlen(path), tail = sizeof installer - 1;
    if (len <= tail || strcmp(path + len - tail, installer) != 0)
        return false;
    cleanup_free char *info = sr_strndup(path, len - tail);
    const char *slash = strrchr(info, '/');
    *ret_len = slash ? (size_t)(slash - info) : 0;
    return is_sign(slash ? slash + 1 : info);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct sr_strv *v)
{
    if (v->n)
        qsort(v->v, v->n, sizeof *v->v, compare);
}

void sr_installed_find(const struct sr_changeset *set, struct sr_installed *ret)
{
    size_t len;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_change *c = &set->v[i];
        if (!S_ISREG(c->after.mode) || !sign_of(c->path, &len))
            continue;
        cleanup_free char *dir = sr_strndup(c->path, len);
        sr_strv_add(c->in_home ? &ret->home : &ret->tree, dir);
    }
    sort(&ret->tree);
    sort(&ret->home);
}

void sr_installed_clear(struct sr_installed *i)
{
    sr_strv_clear(&i->tree);
    sr_strv_clear(&i->home);
}

typedef mode_t look_fn(const struct sr_view *v, const char *path);

/* Is name, which was in dir, the sign of a package that look sees? */
static bool sign_seen(const struct sr_view *v, const char *dir, const char *name, look_fn *look)
{
    if (!is_sign(name))
        return false;
    cleanup_free char *info = sr_walk_join(dir, name), *path = sr_asprintf("%s%s", info, installer);
    return S_ISREG(look(v, path));
}

static bool manifest_look(const struct sr_view *v, const char *dir, look_fn *look)
{
    const struct sr_manifest *m = v->options->before;
    const struct sr_manifest_entry *e = sr_manifest_find(m, dir);
    if (!e || !S_ISDIR(e->mode))
        return false;
    for (uint32_t i = e->dir.first; i < e->dir.first + e->dir.count; i++)
        if (sign_seen(v, dir, sr_manifest_name(m, i), look))
            return true;
    return false;
}

static bool tree_look(const struct sr_view *v, const char *dir, look_fn *look)
{
    int fd = v->options->tree_fd < 0 ? -1 : sr_walk_open(v->options->tree_fd, dir, false);
    cleanup_dir DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    for (unsigned i = 0; d && i < LOOK_MAX; i++) {
        const struct dirent *e = readdir(d);
        if (!e)
            return false;
        if (sign_seen(v, dir, e->d_name, look))
            return true;
    }
    return false;
}

/* Of the packages that were there before. */
static bool any_seen(const struct sr_view *v, const char *dir, look_fn *look)
{
    if (v->in_home)
        return false;
    return v->options->before ? manifest_look(v, dir, look) : tree_look(v, dir, look);
}

/* Tools unpack packages in their caches before they install them from there. */
static bool is_cache(const struct sr_view *v, const char *dir)
{
    return sr_path_cache(dir, v->in_home);
}

const struct sr_environment *sr_installed_before(const struct sr_view *v, const char *dir)
{
    return !is_cache(v, dir) && any_seen(v, dir, sr_view_before) ? &row : NULL;
}

const struct sr_environment *sr_installed_after(const struct sr_installed *i,
                                                const struct sr_view *v, const char *dir)
{
    const struct sr_strv *came = v->in_home ? &i->home : &i->tree;
    if (is_cache(v, dir))
        return NULL;
    bool is = came->n && bsearch(&dir, came->v, came->n, sizeof *came->v, compare);
    return is || any_seen(v, dir, sr_view_after) ? &row : NULL;
}
