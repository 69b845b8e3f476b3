/* SPDX-License-Identifier: MIT */
/* Where the tree and the mounts may stand. */
#include "base/fs.h"
#include "plan/inside.h"
#include "plan/internal.h"
#include "sandrun/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A tree that is one of these, or holds one, is no tree of a repository: the check would see the system or every home in
 * it. A mount there would hide what the sandbox puts in that place. */
static const char *const system_dirs[] = {
    "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/etc",  "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/dev", "/proc",
    "/sys", "/run",  "/boot", "/var", "/var/tmp", "/var/run", "/home", "/root", "/tmp", "/dev/shm", SR_INSIDE_HOME,
};
/* What the kernel makes up: nothing in them is a file of a repository. The one place in them that users keep files in is a tmpfs. */
static const char *const kernel_dirs[] = { "/proc", "/sys", "/dev" };
static const char shared_memory[] = "/dev/shm";

static bool same_or_above(const char *path, const char *other)
{
    return strcmp(path, "/") == 0 || sr_path_below(other, path);
}

bool sr_path_covers_system(const char *path, const char *caller_home)
{
    for (size_t i = 0; i < sizeof system_dirs / sizeof *system_dirs; i++)
        if (same_or_above(path, system_dirs[i]))
            return true;
    return caller_home && caller_home[0] == '/' && same_or_above(path, caller_home);
}

static bool in_kernel_dir(const char *path)
{
    if (sr_path_below(path, shared_memory))
        return false;
    for (size_t i = 0; i < sizeof kernel_dirs / sizeof *kernel_dirs; i++)
        if (sr_path_below(path, kernel_dirs[i]))
            return true;
    return false;
}

static bool is_clean(const char *path)
{
    cleanup_free char *clean = path[0] == '/' ? sr_path_clean(path) : NULL;
    return clean && strcmp(clean, path) == 0;
}

static int tree_error(struct sr_error *err, const char *tree, const char *why)
{
    sr_error_set(err, "plan.tree", "the tree %s cannot be checked: %s", tree, why);
    return sr_error_hint(err, "name the root directory of the repository with --tree");
}

int sr_plan_tree_check(const char *tree, const char *caller_home, struct sr_plan *p, struct sr_error *err)
{
    if (!is_clean(tree))
        return tree_error(err, tree, "its path is not absolute, or holds empty, \".\" or \"..\" components");
    cleanup_fd int fd = sr_openat2(AT_FDCWD, tree, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    struct stat st;
    if (fd < 0 && errno == ENOTDIR)
        return tree_error(err, tree, "it is not a directory");
    if (fd < 0 && errno == ELOOP)
        return tree_error(err, tree, "its path leads through a link, and the path inside has to be the one outside");
    if (fd < 0 || fstat(fd, &st) < 0)
        return tree_error(err, tree, strerror(errno));
    if (in_kernel_dir(tree))
        return tree_error(err, tree, "it lies in a filesystem that the sandbox replaces (/proc, /sys, /dev but for /dev/shm)");
    if (sr_path_covers_system(tree, caller_home))
        return tree_error(err, tree, "it is a directory of the system or a home, or holds one, so the check would see "
                                     "far more than a repository");
    p->tree_uid = st.st_uid;
    p->tree_gid = st.st_gid;
    return 0;
}

static int path_error(struct sr_error *err, const char *what, const char *path, const char *why, const char *hint)
{
    sr_error_set(err, "plan.path", "%s %s cannot be used: %s", what, path, why);
    return sr_error_hint(err, "%s", hint);
}

/* Whether a mount target below the tree is there already: making it would put something into the host's tree. */
static bool exists_in_tree(const struct sr_plan *p, const char *target)
{
    cleanup_fd int tree = open(p->tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *rest = target + strlen(p->tree_target) + 1;
    cleanup_fd int fd = tree < 0 ? -1 : sr_openat2(tree, rest, O_PATH, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    return fd >= 0;
}

/* A link of the root filesystem, such as /lib, is not followed when mount points are made: what stands behind it is to be named itself. */
static int no_link_inside(const struct sr_plan *p, const char *what, const char *target, struct sr_error *err)
{
    cleanup_inside struct inside w;
    inside_walk(p, target, &w);
    if (strcmp(w.path, target) == 0)
        return 0;
    cleanup_free char *hint = sr_asprintf("write %s", w.path);
    return path_error(err, what, target, "inside, its path leads through a link", hint);
}

static int target_check(const struct sr_plan *p, const char *what, const char *target, struct sr_error *err)
{
    if (!is_clean(target))
        return path_error(err, what, target, "it is not absolute, or holds empty, \".\" or \"..\" components",
                          "write the whole path");
    if (sr_path_covers_system(target, NULL) || in_kernel_dir(target))
        return path_error(err, what, target, "it would stand over a directory that the sandbox itself provides",
                          "choose a target below one of your own, such as /mnt/NAME or " SR_INSIDE_HOME "/NAME");
    if (no_link_inside(p, what, target, err) < 0)
        return -1;
    struct stat st;
    if (p->rootfs == SR_ROOTFS_HOST && sr_host_path_visible(target) && lstat(target, &st) < 0)
        return path_error(err, what, target, "it does not exist in the root filesystem, which is the host's and is "
                                             "never written to",
                          "choose a target outside the system's directories, or make it on the host first");
    return 0;
}

/*
 * The source as it really is, links followed now and never again: the plan shows what will be seen. A source that stands in the tree, or
 * is reached through it, is the model's to choose in a staged run: a link to / there would show the whole host.
 */
static int source_resolve(const struct sr_plan *p, struct sr_mount *m, struct sr_error *err)
{
    cleanup_free char *real = realpath(m->source, NULL);
    if (!real)
        return path_error(err, "the mount source", m->source, strerror(errno),
                          "make it, or take the mount out of the binding's \"mounts\"");
    if (p->staged && (sr_path_below(m->source, p->tree) || sr_path_below(real, p->tree)))
        return path_error(err, "the mount source", m->source, "it lies in the tree, and a model wrote what is there",
                          "the check sees the tree anyway: take the mount out, or name a directory outside of it");
    free(m->source);
    m->source = steal_ptr(&real);
    return 0;
}

static int mount_check(const struct sr_plan *p, struct sr_mount *m, struct sr_error *err)
{
    if (target_check(p, "the mount target", m->target, err) < 0)
        return -1;
    if (!is_clean(m->source))
        return path_error(err, "the mount source", m->source, "it is not absolute and clean", "write the whole path");
    if (source_resolve(p, m, err) < 0)
        return -1;
    if (sr_path_below(p->tree_target, m->target))
        return path_error(err, "the mount target", m->target, "it is the tree's own place or above it",
                          "choose another \"target\"");
    if (sr_path_below(m->target, p->tree_target) && !exists_in_tree(p, m->target))
        return path_error(err, "the mount target", m->target,
                          "it lies in the tree and does not exist there (or is reached through a link), so making it "
                          "would change the tree",
                          "make it in the tree first, or choose a \"target\" outside the tree");
    return 0;
}

/*
 * Below the host's own paths (/usr, /opt) the way is the host's, seen by nobody of it: a directory that is not open to others ends it,
 * whoever calls. An ordinary caller's check keeps the caller's uid, and goes where the caller may go.
 */
static int way_open(const struct sr_plan *p, const char *code, const char *what, const char *place, struct sr_error *err)
{
    cleanup_free char *way = sr_strdup(place);
    struct stat st;
    if (p->rootfs != SR_ROOTFS_HOST || geteuid() != 0)
        return 0;
    for (char *slash = strchr(way + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (sr_host_path_visible(way) && stat(way, &st) == 0 && !(st.st_mode & S_IXOTH)) {
            sr_error_set(err, code, "%s %s cannot be used: the way to it leads through %s, which is not open to others (mode %04o), and a check "
                         "is nobody of this host", what, place, way, (unsigned)st.st_mode & 07777);
            return sr_error_hint(err, "chmod o+x '%s', or choose a place outside of it", way);
        }
        *slash = '/';
    }
    return 0;
}

static int by_target(const void *a, const void *b)
{
    return strcmp(((const struct sr_mount *)a)->target, ((const struct sr_mount *)b)->target);
}

/* Bytewise order puts a parent before what is below it. */
void sr_plan_mounts_sort(struct sr_plan *p)
{
    if (p->n_mounts)
        qsort(p->mounts, p->n_mounts, sizeof *p->mounts, by_target);
}

int sr_plan_paths_check(struct sr_plan *p, struct sr_error *err)
{
    if (strcmp(p->tree, p->tree_target) != 0 && target_check(p, "tree.target", p->tree_target, err) < 0)
        return -1;
    if (way_open(p, "plan.tree", "the tree", p->tree_target, err) < 0)
        return -1;
    sr_plan_mounts_sort(p);
    for (size_t i = 0; i < p->n_mounts; i++) {
        if (mount_check(p, &p->mounts[i], err) < 0 || way_open(p, "plan.path", "the mount target", p->mounts[i].target, err) < 0)
            return -1;
        for (size_t j = 0; j < i; j++)
            if (sr_path_below(p->mounts[i].target, p->mounts[j].target))
                return path_error(err, "the mount target", p->mounts[i].target,
                                  "another mount of the binding stands there or above it",
                                  "give each mount a \"target\" of its own, none below another");
    }
    return 0;
}
