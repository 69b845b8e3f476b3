/* SPDX-License-Identifier: MIT */
/* The shipped policies and the organisation's directory. */
#include "policy/load.h"

#include "base/fs.h"
#include "base/mem.h"
#include "policy/builtin.h"
#include "policy/document.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static char *own(struct sr_policy_loader *l, char *s)
{
    SR_GROW(l->owned, l->n_owned, l->cap_owned);
    return l->owned[l->n_owned++] = s;
}

void sr_policy_loader_add(struct sr_policy_loader *l, enum sr_layer layer, const char *path,
                          const char *text, size_t len)
{
    char *copy = own(l, sr_malloc(len + 1));
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    l->sources = sr_reallocarray(l->sources, l->n_sources + 1, sizeof *l->sources);
    l->sources[l->n_sources++] = (struct sr_policy_source){
        .layer = layer, .path = own(l, sr_strdup(path)), .text = copy, .len = len
    };
}

void sr_policy_loader_clear(struct sr_policy_loader *l)
{
    for (size_t i = 0; i < l->n_owned; i++)
        free(l->owned[i]);
    free(l->owned);
    free(l->sources);
    *l = (struct sr_policy_loader){ 0 };
}

static const char *from_directory(struct sr_policy_loader *l, const char *name, size_t *ret_len)
{
    struct sr_error err = { 0 };
    cleanup_free char *path = sr_asprintf("%s/%s.json", l->req->policy_dir, name);
    struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    if (sr_file_read_at(AT_FDCWD, path, SR_POLICY_FILE_MAX, &text, &err) < 0) {
        sr_buf_clear(&text);
        return NULL;
    }
    *ret_len = text.len;
    return own(l, sr_buf_steal(&text));
}

const char *sr_policy_shipped(void *ctx, const char *name, size_t *ret_len)
{
    struct sr_policy_loader *l = ctx;
    if (l->req->policy_dir)
        return from_directory(l, name, ret_len);
    for (size_t i = 0; i < sr_builtin_policies_n; i++) {
        if (strcmp(sr_builtin_policies[i].name, name) == 0) {
            *ret_len = sr_builtin_policies[i].len;
            return sr_builtin_policies[i].text;
        }
    }
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Hidden files are what editors and package managers leave. */
static bool is_policy_name(const char *name)
{
    size_t n = strlen(name);
    return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static int list(DIR *d, const char *dir, struct sr_strv *ret, struct sr_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e && errno)
            return sr_error_sys(err, "policy.unreadable",
                                "reading the organisation's policies in %s", dir);
        if (!e)
            break;
        if (is_policy_name(e->d_name))
            sr_strv_add(ret, e->d_name);
    }
    if (ret->n)
        qsort(ret->v, ret->n, sizeof *ret->v, compare_names);
    return 0;
}

static int read_one(struct sr_policy_loader *l, int dirfd, const char *dir, const char *name)
{
    struct sr_error inner = { 0 };
    cleanup_buf struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    cleanup_free char *path = sr_path_join(dir, name);
    if (sr_file_read_at(dirfd, name, SR_POLICY_FILE_MAX, &text, &inner) < 0)
        return sr_error_set(l->err, "policy.unreadable", "reading the organisation's policy %s: %s",
                            path, inner.text);
    sr_policy_loader_add(l, SR_LAYER_ORGANISATION, path, text.data, text.len);
    return 0;
}

int sr_policy_load_directory(struct sr_policy_loader *l, const char *dir)
{
    cleanup_dir DIR *d = opendir(dir);
    cleanup_strv struct sr_strv names = { 0 };
    if (!d && errno == ENOENT)
        return 0;
    if (!d) /* it may hold locks: without them nothing is loaded */
        return sr_error_sys(l->err, "policy.unreadable",
                            "opening the organisation's policies in %s", dir);
    if (list(d, dir, &names, l->err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (read_one(l, dirfd(d), dir, names.v[i]) < 0)
            return -1;
    return 0;
}
