/* SPDX-License-Identifier: MIT */
/* The state root: where it stands, and the proof that nobody but the caller can write to it. */
#include "sandrun/state.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(struct sr_error *err, const char *what, const char *path)
{
    bool full = errno == ENOSPC || errno == EDQUOT;
    sr_error_sys(err, full ? "state.no_space" : "state.unusable", "%s %s", what, path);
    return full ? sr_error_hint(err, "free some space there, or run `sandrun clean`")
                : sr_error_hint(err, "set XDG_STATE_HOME to a directory you own and can write to");
}

/* The directory that holds ours. The XDG specification says that a relative value is to be ignored. */
static char *base_path(void)
{
    const char *xdg = getenv("XDG_STATE_HOME");
    if (xdg && xdg[0] == '/')
        return sr_strdup(xdg);
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return sr_path_join(home, ".local/state");
    const struct passwd *pw = getpwuid(geteuid());
    if (pw && pw->pw_dir && pw->pw_dir[0] == '/')
        return sr_path_join(pw->pw_dir, ".local/state");
    return NULL;
}

/*
 * mkdir -p for the part above our directory. Links are followed here, unlike in sr_mkdir_p: people keep ~/.local behind
 * a link, and what makes the state root safe is the check of the root itself and the descriptors held from then on.
 */
static void make_parents(const char *path)
{
    cleanup_free char *p = sr_strdup(path);
    for (char *slash = strchr(p + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(p, 0700); /* a failure shows when the last one is opened */
        *slash = '/';
    }
}

/* Opens the directory name beneath dirfd, making it when it is not there; shown is its path, for messages. */
static int open_private(int dirfd, const char *name, const char *shown, struct sr_error *err)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    cleanup_fd int fd = openat(dirfd, name, flags);
    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
            return fail(err, "making the state directory", shown);
        fd = openat(dirfd, name, flags);
    }
    if (fd < 0)
        return fail(err, "opening the state directory", shown);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail(err, "looking at the state directory", shown);
    if (st.st_uid != geteuid()) {
        sr_error_set(err, "state.unsafe", "the state directory %s belongs to uid %u, not to uid %u", shown,
                     (unsigned)st.st_uid, (unsigned)geteuid());
        return sr_error_hint(err, "set XDG_STATE_HOME to a directory of your own, or `chown` this one");
    }
    if ((st.st_mode & 0777) != 0700) {
        sr_error_set(err, "state.unsafe", "the state directory %s has mode %04o; it must be 0700", shown,
                     (unsigned)(st.st_mode & 0777));
        return sr_error_hint(err, "chmod 700 '%s'", shown);
    }
    return steal_fd(&fd);
}

static int open_root(const char *root, struct sr_error *err)
{
    struct stat st;
    if (lstat(root, &st) < 0 && errno == ENOENT)
        make_parents(root);
    return open_private(AT_FDCWD, root, root, err);
}

static int open_below(const struct sr_state *s, const char *name, struct sr_error *err)
{
    cleanup_free char *shown = sr_path_join(s->root, name);
    return open_private(s->root_fd, name, shown, err);
}

static void restore_umask(const mode_t *mask)
{
    umask(*mask);
}
#define cleanup_umask __attribute__((cleanup(restore_umask)))

/* The real path of what is there of path: what is to be made below it is not there yet. NULL: not even the root can be resolved. */
static char *real_part(const char *path)
{
    cleanup_free char *p = sr_strdup(path);
    for (;;) {
        char *real = realpath(p, NULL);
        char *slash = strrchr(p, '/');
        if (real || !slash || !p[1])
            return real;
        slash[slash == p] = '\0';
    }
}

int sr_state_open_outside(const char *tree, struct sr_state *ret, struct sr_error *err)
{
    cleanup_free char *base = base_path();
    cleanup_free char *there = base ? real_part(base) : NULL;
    if (there && sr_path_below(there, tree)) {
        sr_error_set(err, "state.in_tree", "the state directory %s/sandrun lies in the tree %s: sandrun writes nothing there, and would "
                     "have to believe records and caches that a check's author could write", base, tree);
        return sr_error_hint(err, "set XDG_STATE_HOME to a directory outside the tree");
    }
    return sr_state_open(ret, err);
}

int sr_state_open(struct sr_state *ret, struct sr_error *err)
{
    cleanup_state struct sr_state s = { .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1 };
    cleanup_free char *base = base_path();
    if (!base) {
        sr_error_set(err, "state.unusable", "finding the state directory: neither XDG_STATE_HOME nor HOME is an "
                     "absolute path, and uid %u has no home", (unsigned)geteuid());
        return sr_error_hint(err, "set XDG_STATE_HOME to a directory you own and can write to");
    }
    s.root = sr_path_join(base, "sandrun");
    /* a caller's umask such as 0177 would make directories that their own owner cannot enter */
    cleanup_umask __attribute__((unused)) mode_t caller = umask(077);
    if ((s.root_fd = open_root(s.root, err)) < 0 || (s.runs_fd = open_below(&s, "runs", err)) < 0 ||
        (s.live_fd = open_below(&s, "live", err)) < 0 || (s.cache_fd = open_below(&s, "cache", err)) < 0)
        return -1;
    *ret = s;
    s = (struct sr_state){ .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1 };
    return 0;
}

void sr_state_close(struct sr_state *s)
{
    /* A zeroed struct was never opened: its 0s are not descriptors of ours. */
    if (!s->root)
        return;
    sr_closep(&s->cache_fd);
    sr_closep(&s->live_fd);
    sr_closep(&s->runs_fd);
    sr_closep(&s->root_fd);
    free(s->root);
    *s = (struct sr_state){ .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1 };
}
