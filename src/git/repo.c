/* SPDX-License-Identifier: MIT */
/* Finding a repository from its working tree, and what it is made of. */
#include "git/index.h"
#include "git/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Links and pointers are followed in four places and nowhere else: TREE/.git when it is a link to a
 * directory, the line of a ".git" file, "commondir", and the objects directory with its alternates.
 * Each leads to a directory that must look like what it is used as. A tree can thereby name another
 * repository of the host as its own (git lets it, too): what can be learnt from that one are
 * objects and references, the answers this reader gives, never other files.
 */
static int dir_open(int base, const char *path, struct sr_error *err)
{
    int fd = openat(base, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return sr_error_set(err, "git.none",
                            "the repository points to %s, which is not a directory", path);
    if (fd < 0)
        return sr_error_sys(err, "git.none", "opening the directory %s of the repository", path);
    return fd;
}

/* The name of the directory we hold, not of the one the path would lead to by now. */
static char *fd_path(int fd, struct sr_error *err)
{
    char link[64], out[GIT_PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, sizeof out);
    if (n < 0 || (size_t)n == sizeof out) {
        sr_error_sys(err, "git.none", "asking for the name of the repository's directory (%s)",
                     link);
        return NULL;
    }
    return sr_strndup(out, (size_t)n);
}

/* ".git" is a file: "gitdir: PATH", relative to the tree. */
static int gitfile_open(int tree_fd, struct sr_error *err)
{
    static const char key[] = "gitdir: ";
    cleanup_buf struct sr_buf line = SR_BUF(GIT_SMALL_FILE_MAX);
    int rc = git_read_file(tree_fd, ".git", GIT_SMALL_FILE_MAX, &line, err);
    if (rc < 0)
        return -1;
    git_chomp(&line);
    size_t n = sizeof key - 1;
    if (rc == 0 || line.len <= n || memcmp(line.data, key, n) != 0 || strlen(line.data) != line.len)
        return sr_error_set(
            err, "git.none",
            ".git is a file, but not one that names a repository (\"gitdir: PATH\")");
    return dir_open(tree_fd, line.data + n, err);
}

static int gitdir_open(const char *tree, struct sr_error *err)
{
    cleanup_fd int tree_fd = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tree_fd < 0)
        return sr_error_sys(err, "git.none", "opening the tree %s", tree);
    int fd = openat(tree_fd, ".git", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT) {
        sr_error_set(err, "git.none", "%s is not the top of a git working tree: it has no .git",
                     tree);
        return sr_error_hint(err,
                             "name the top directory of the repository, or run git init in it");
    }
    if (errno != ENOTDIR)
        return sr_error_sys(err, "git.none", "opening %s/.git", tree);
    return gitfile_open(tree_fd, err);
}

static int common_open(int dir_fd, struct sr_error *err)
{
    cleanup_buf struct sr_buf line = SR_BUF(GIT_SMALL_FILE_MAX);
    int rc = git_read_file(dir_fd, "commondir", GIT_SMALL_FILE_MAX, &line, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return dir_open(dir_fd, ".", err);
    git_chomp(&line);
    if (line.len == 0 || strlen(line.data) != line.len)
        return sr_error_set(err, "git.corrupt", "commondir of the repository names no directory");
    return dir_open(dir_fd, line.data, err);
}

static bool is_dir(int fd, const char *name)
{
    struct stat st;
    return fstatat(fd, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int looks_check(const struct sr_git *g, struct sr_error *err)
{
    struct stat st;
    if (fstatat(g->dir_fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !is_dir(g->common_fd, "objects") || !is_dir(g->common_fd, "refs"))
        return sr_error_set(err, "git.none",
                            "%s is not a git repository: it lacks HEAD, objects or refs", g->dir);
    return 0;
}

static int format_read(struct sr_git *g, struct sr_error *err)
{
    cleanup_buf struct sr_buf text = SR_BUF(GIT_CONFIG_MAX);
    struct git_format f = { 0 };
    int rc = git_read_file(g->common_fd, "config", GIT_CONFIG_MAX, &text, err);
    if (rc < 0 || (rc == 1 && git_format_parse(text.data, text.len, &f, err) < 0))
        return -1;
    if (f.version > 1)
        return sr_error_set(err, "git.unsupported", "the repository has format version %u",
                            f.version);
    /* git, too, refuses an extension it does not know: the store may mean something else by it. */
    if (f.version == 1 && f.unknown_extension[0])
        return sr_error_set(err, "git.unsupported", "the repository uses the extension %s",
                            f.unknown_extension);
    g->sha256 = f.sha256;
    g->hash_len = f.sha256 ? 32 : 20;
    g->reftable = f.unsupported_refs;
    return 0;
}

int sr_git_open(const char *tree, struct sr_git **ret, struct sr_error *err)
{
    cleanup_git struct sr_git *g = sr_calloc(1, sizeof *g);
    g->dir_fd = g->common_fd = -1;
    g->dir_fd = gitdir_open(tree, err);
    if (g->dir_fd < 0)
        return -1;
    g->common_fd = common_open(g->dir_fd, err);
    if (g->common_fd < 0)
        return -1;
    g->dir = fd_path(g->dir_fd, err);
    if (!g->dir)
        return -1;
    g->common_dir = fd_path(g->common_fd, err);
    if (!g->common_dir || looks_check(g, err) < 0 || format_read(g, err) < 0)
        return -1;
    *ret = steal_ptr(&g);
    return 0;
}

void sr_git_close(struct sr_git *g)
{
    if (!g)
        return;
    git_stores_close(g);
    git_index_free(g->index);
    sr_closep(&g->dir_fd);
    sr_closep(&g->common_fd);
    free(g->dir);
    free(g->common_dir);
    free(g);
}

void sr_git_closep(struct sr_git **g)
{
    sr_git_close(*g);
}

const char *sr_git_dir(const struct sr_git *g)
{
    return g->dir;
}

const char *sr_git_common_dir(const struct sr_git *g)
{
    return g->common_dir;
}
