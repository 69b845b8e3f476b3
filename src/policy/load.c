/* SPDX-License-Identifier: MIT */
/* Which files make up the policy of a tree, and which of them can be trusted with what a model
 * wrote. */
#include "base/fs.h"
#include "base/mem.h"
#include "policy/document.h"
#include "policy/load.h"
#include "sandrun/git.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLICY_NAME "sandrun.json"

static int load_floor(struct sr_policy_loader *l)
{
    size_t len = 0;
    const char *text = sr_policy_shipped(l, "floor", &len);
    if (!text)
        return sr_error_set(
            l->err, "policy.unreadable", "the shipped policy \"floor\" cannot be read%s%s",
            l->req->policy_dir ? " from " : "", l->req->policy_dir ? l->req->policy_dir : "");
    sr_policy_loader_add(l, SR_LAYER_FLOOR, "floor", text, len);
    return 0;
}

static int unreadable(struct sr_error *err, const struct sr_error *inner)
{
    return sr_error_set(err, "policy.unreadable", "%s", inner->text);
}

static int missing(struct sr_error *err, const char *where)
{
    sr_error_set(err, "policy.missing", "%s has no " POLICY_NAME, where);
    return sr_error_hint(err, "`sandrun init` writes one");
}

static int no_source(struct sr_error *err, const char *why)
{
    sr_error_set(
        err, "policy.untrusted",
        "a staged run takes its policy from a commit, not from the tree that was edited: %s", why);
    return sr_error_hint(err,
                         "commit " POLICY_NAME
                         " (--policy-ref HEAD), or name a file outside the tree: --policy FILE");
}

/* The tree's own file, of which a person says that it is what they mean. */
static int load_tree_file(struct sr_policy_loader *l)
{
    struct sr_error inner = { 0 };
    cleanup_buf struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    cleanup_fd int dir = open(l->req->tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sr_error_sys(l->err, "policy.unreadable", "opening the tree %s", l->req->tree);
    if (sr_file_read_at(dir, POLICY_NAME, SR_POLICY_FILE_MAX, &text, &inner) < 0)
        return strcmp(inner.code, "file.missing") == 0 ? missing(l->err, l->req->tree)
                                                       : unreadable(l->err, &inner);
    sr_policy_loader_add(l, SR_LAYER_REPOSITORY, POLICY_NAME, text.data, text.len);
    return 0;
}

/*
 * --policy FILE. It is outside the tree when no link leads to it and its path does not lead through
 * the tree: a link can be one that the tree holds, or one into the tree, and where it leads may
 * change while we look.
 */
static int open_file(struct sr_policy_loader *l, const char *path, bool *ret_outside)
{
    cleanup_free char *tree = realpath(l->req->tree, NULL);
    cleanup_free char *cwd = getcwd(NULL, 0), *joined = sr_path_join(cwd ? cwd : "/", path),
                      *clean = sr_path_clean(joined);
    int fd = clean && cwd && tree ? sr_openat2(AT_FDCWD, clean, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
                                               RESOLVE_NO_SYMLINKS)
                                  : -1;
    if (fd >= 0) {
        *ret_outside = !sr_path_below(clean, tree);
        return fd;
    }
    *ret_outside = false;
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int load_file(struct sr_policy_loader *l, struct sr_policy_loaded *ret)
{
    struct sr_error inner = { 0 };
    const char *path = l->req->file;
    cleanup_buf struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    bool outside = false;
    cleanup_fd int fd = open_file(l, path, &outside);
    if (fd < 0 && errno == ENOENT)
        return sr_error_set(l->err, "policy.missing", "the policy file %s does not exist", path);
    if (fd < 0)
        return sr_error_sys(l->err, "policy.unreadable", "opening the policy file %s", path);
    if (l->req->staged && !outside)
        return no_source(
            l->err, "the file given with --policy is in the tree, or a symbolic link leads to it");
    if (sr_file_read_fd(fd, path, SR_POLICY_FILE_MAX, &text, &inner) < 0)
        return unreadable(l->err, &inner);
    ret->trusted = outside;
    sr_policy_loader_add(l, SR_LAYER_REPOSITORY, path, text.data, text.len);
    return 0;
}

/* Whatever is there instead of the committed bytes is an edit: gone, a link, a directory, too
 * large. */
static bool is_edited(const char *tree, const struct sr_buf *committed)
{
    struct sr_error err = { 0 };
    cleanup_buf struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    cleanup_fd int dir = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || sr_file_read_at(dir, POLICY_NAME, SR_POLICY_FILE_MAX, &text, &err) < 0)
        return true;
    return text.len != committed->len ||
           (text.len && memcmp(text.data, committed->data, text.len) != 0);
}

/* No repository, or none that has a commit yet: for a staged run that is a refusal with a way out,
 * not a git error. */
static int no_commit(struct sr_policy_loader *l, const struct sr_error *inner)
{
    bool unborn = strcmp(inner->code, "git.ref_missing") == 0 && strcmp(l->req->ref, "HEAD") == 0;
    if (l->req->staged && (unborn || strcmp(inner->code, "git.none") == 0))
        return no_source(l->err, inner->text);
    *l->err = *inner;
    return -1;
}

/*
 * TREE/.git itself, or one outside of the tree (a linked worktree, a submodule). A link or a gitfile that leads to another place in
 * the tree leads to a repository with commits of the model's own.
 */
static bool is_repository_of(const struct sr_git *git, const char *tree)
{
    cleanup_free char *own = sr_path_join(tree, ".git");
    const char *dirs[] = { sr_git_dir(git), sr_git_common_dir(git) };
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (sr_path_below(dirs[i], tree) && strcmp(dirs[i], own) != 0)
            return false;
    return true;
}

static int load_commit(struct sr_policy_loader *l, struct sr_policy_loaded *ret)
{
    struct sr_error inner = { 0 };
    char commit[SR_GIT_HEX_MAX];
    cleanup_git struct sr_git *git = NULL;
    cleanup_buf struct sr_buf text = SR_BUF(SR_POLICY_FILE_MAX);
    cleanup_free char *path = sr_asprintf("%s:" POLICY_NAME, l->req->ref);
    if (sr_git_open(l->req->tree, &git, &inner) < 0 ||
        sr_git_resolve(git, l->req->ref, commit, &inner) < 0)
        return no_commit(l, &inner);
    if (l->req->staged && !is_repository_of(git, l->req->tree))
        return no_source(l->err, "the repository that .git leads to lies in the tree itself, where "
                                 "whoever wrote the tree could have made it");
    if (sr_git_blob(git, commit, POLICY_NAME, SR_POLICY_FILE_MAX, &text, &inner) < 0) {
        if (strcmp(inner.code, "git.object_missing") == 0) {
            missing(l->err, path);
            return sr_error_hint(l->err, "`sandrun init` writes one; commit it, or name a file "
                                         "outside the tree: --policy FILE");
        }
        *l->err = inner;
        return -1;
    }
    memcpy(ret->commit, commit, sizeof ret->commit);
    ret->edited = is_edited(l->req->tree, &text);
    ret->trusted = true;
    sr_policy_loader_add(l, SR_LAYER_REPOSITORY, path, text.data, text.len);
    return 0;
}

static int load_repository(struct sr_policy_loader *l, struct sr_policy_loaded *ret)
{
    if (l->req->file)
        return load_file(l, ret);
    if (l->req->ref)
        return load_commit(l, ret);
    if (l->req->staged)
        return no_source(l->err, "no commit is named");
    return load_tree_file(l);
}

static int load_all(struct sr_policy_loader *l, struct sr_policy_loaded *ret)
{
    const char *organisation =
        l->req->organisation_dir ? l->req->organisation_dir : "/etc/sandrun/policy.d";
    if (load_floor(l) < 0 || sr_policy_load_directory(l, organisation) < 0 ||
        load_repository(l, ret) < 0)
        return -1;
    if (l->req->overrides)
        sr_policy_loader_add(l, SR_LAYER_COMMAND_LINE, "command line", l->req->overrides,
                             strlen(l->req->overrides));
    struct sr_policy_options opts = {
        .sources = l->sources,
        .n_sources = l->n_sources,
        .preset = sr_policy_shipped,
        .preset_ctx = l,
        .home = getenv("HOME"),
    };
    return sr_policy_resolve(&opts, &ret->policy, l->err);
}

int sr_policy_load(const struct sr_policy_request *req, struct sr_policy_loaded *ret,
                   struct sr_error *err)
{
    struct sr_policy_loader l = { .req = req, .err = err };
    struct sr_policy_loaded loaded = { 0 };
    int r = load_all(&l, &loaded);
    sr_policy_loader_clear(&l);
    if (r < 0) {
        sr_policy_loaded_clear(&loaded);
        return -1;
    }
    *ret = loaded;
    return 0;
}

void sr_policy_loaded_clear(struct sr_policy_loaded *p)
{
    sr_policy_clear(&p->policy);
    *p = (struct sr_policy_loaded){ 0 };
}
