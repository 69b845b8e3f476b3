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
#include <sys/stat.h>
#include <unistd.h>

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

/*
 * What anyone else could have written is no organisation's word, and may be a lock taken away. As
 * sshd does for its keys, every directory up to the root counts: who can write one can put another
 * in the place of what it holds, unless it is sticky and the holder's is not theirs.
 */
static int safe_check(const struct sr_policy_loader *l, int fd, const char *path)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return sr_error_sys(l->err, "policy.unreadable", "looking at %s", path);
    bool shared = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX);
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        sr_error_set(l->err, "policy.unsafe",
                     "the organisation's policy is not taken from here: %s belongs to user %u, who "
                     "could change it",
                     path, (unsigned)st.st_uid);
        return sr_error_hint(l->err, "chown root %s", path);
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !shared) {
        sr_error_set(l->err, "policy.unsafe",
                     "the organisation's policy is not taken from here: others than its owner can "
                     "write %s (mode %03o)",
                     path, (unsigned)(st.st_mode & 0777));
        return sr_error_hint(l->err, "chmod go-w %s", path);
    }
    return 0;
}

static int is_link(const struct sr_policy_loader *l, const char *path)
{
    sr_error_set(l->err, "policy.unsafe",
                 "the organisation's policy is not taken from here: %s is a symbolic link", path);
    return sr_error_hint(l->err, "put what it leads to in its place");
}

/* The directory's, and of those above it as they are, whatever links the path went through. */
static int directories_check(const struct sr_policy_loader *l, int dirfd, const char *dir)
{
    cleanup_fd int at = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
    cleanup_free char *path = realpath(dir, NULL);
    while (at >= 0 && path) {
        if (safe_check(l, at, *path ? path : "/") < 0)
            return -1;
        char *slash = strrchr(path, '/');
        if (!slash)
            return 0;
        *slash = '\0';
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        sr_closep(&at);
        at = up;
    }
    return sr_error_sys(l->err, "policy.unreadable",
                        "looking at the directories above the organisation's policies in %s", dir);
}

static int read_one(struct sr_policy_loader *l, int dirfd, const char *dir, const char *name)
{
    struct sr_error inner = { 0 };
    cleanup_buf struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    cleanup_free char *path = sr_path_join(dir, name);
    cleanup_fd int fd =
        openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return is_link(l, path);
    if (fd < 0)
        return sr_error_sys(l->err, "policy.unreadable", "opening the organisation's policy %s",
                            path);
    if (safe_check(l, fd, path) < 0)
        return -1;
    if (sr_file_read_fd(fd, path, SR_POLICY_FILE_MAX, &text, &inner) < 0)
        return sr_error_set(l->err, "policy.unreadable", "reading the organisation's policy %s: %s",
                            path, inner.text);
    sr_policy_loader_add(l, SR_LAYER_ORGANISATION, path, text.data, text.len);
    return 0;
}

int sr_policy_load_directory(struct sr_policy_loader *l, const char *dir)
{
    cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_strv struct sr_strv names = { 0 };
    struct stat st;
    if (fd < 0 && errno == ENOENT)
        return 0;
    /* O_DIRECTORY with O_NOFOLLOW says ENOTDIR of a link (open(2)) */
    if (fd < 0 && lstat(dir, &st) == 0 && S_ISLNK(st.st_mode))
        return is_link(l, dir);
    cleanup_fd int listed = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cleanup_dir DIR *d = listed < 0 ? NULL : fdopendir(listed);
    if (!d) /* it may hold locks: without them nothing is loaded */
        return sr_error_sys(l->err, "policy.unreadable",
                            "opening the organisation's policies in %s", dir);
    steal_fd(&listed);
    if (list(d, dir, &names, l->err) < 0)
        return -1;
    /* an empty one too: its locks may have been taken out of it */
    if (directories_check(l, fd, dir) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (read_one(l, fd, dir, names.v[i]) < 0)
            return -1;
    return 0;
}
