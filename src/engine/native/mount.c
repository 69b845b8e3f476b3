/* SPDX-License-Identifier: MIT */
/* Mounts made and attached on descriptors: no path of the host is walked twice, no option string is joined. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

int native_tmpfs(const char *what, uint64_t size, uint64_t inodes, unsigned mode, unsigned attr, int *ret_fd, struct sr_error *err)
{
    char text[32];
    cleanup_fd int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0)
        return sr_error_sys(err, "engine.unavailable.tmpfs", "cannot open a tmpfs for %s", what);
    snprintf(text, sizeof text, "%llu", (unsigned long long)size);
    int set = fsconfig(fs, FSCONFIG_SET_STRING, "size", text, 0);
    snprintf(text, sizeof text, "%llu", (unsigned long long)inodes);
    set |= fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", text, 0);
    snprintf(text, sizeof text, "%o", mode);
    set |= fsconfig(fs, FSCONFIG_SET_STRING, "mode", text, 0);
    if (set < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.tmpfs", "cannot make a tmpfs for %s", what);
    int fd = fsmount(fs, FSMOUNT_CLOEXEC, attr);
    if (fd < 0)
        return sr_error_sys(err, "engine.unavailable.tmpfs", "cannot mount a tmpfs for %s", what);
    *ret_fd = fd;
    return 0;
}

int native_clone_mount(int dirfd, const char *path, bool recursive, uint64_t attr, int idmap, int *ret_fd, struct sr_error *err)
{
    unsigned flags = recursive ? AT_RECURSIVE : 0;
    unsigned empty = path[0] ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
    cleanup_fd int fd = open_tree(dirfd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags | empty);
    if (fd < 0)
        return sr_error_sys(err, "engine.unavailable.bind_mount", "cannot take a mount of %s", path[0] ? path : "a directory");
    struct mount_attr a = { .attr_set = attr };
    if (!attr && idmap < 0) {
        *ret_fd = steal_fd(&fd);
        return 0;
    }
    if (idmap >= 0) {
        a.attr_set |= MOUNT_ATTR_IDMAP;
        a.userns_fd = (uint64_t)idmap;
    }
    if (mount_setattr(fd, "", AT_EMPTY_PATH | flags, &a, sizeof a) < 0) {
        const char *code = idmap >= 0 ? "engine.unavailable.idmapped_mount" : "engine.unavailable.mount_setattr";
        return sr_error_sys(err, code, "cannot set the attributes of a mount of %s", path[0] ? path : "a directory");
    }
    *ret_fd = steal_fd(&fd);
    return 0;
}

#define IN_ROOT (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)

/* The directory that holds path, made when missing. */
static int parent_of(int root_fd, const char *relative, const char **ret_base, struct sr_error *err)
{
    const char *slash = strrchr(relative, '/');
    *ret_base = slash ? slash + 1 : relative;
    cleanup_free char *parent = slash ? sr_strndup(relative, (size_t)(slash - relative)) : sr_strdup(".");
    int fd = sr_openat2(root_fd, parent, O_PATH | O_DIRECTORY, 0, IN_ROOT);
    if (fd < 0 && errno == ENOENT && sr_mkdir_p(root_fd, parent, 0755, err) < 0)
        return -1;
    if (fd < 0)
        fd = sr_openat2(root_fd, parent, O_PATH | O_DIRECTORY, 0, IN_ROOT);
    return fd < 0 ? sr_error_sys(err, "engine.unavailable.mount_point", "cannot open the directory of the mount point %s", relative) : fd;
}

/*
 * The mount point below the new root, made when missing. A link is never followed, neither on the way nor at the end: one in the
 * tree would lead the mount, or the directory made for it, out of the new root (CVE-2021-30465 and its kind).
 */
static int mount_point(int root_fd, const char *path, bool dir, struct sr_error *err)
{
    const char *base;
    cleanup_fd int parent = parent_of(root_fd, path + strspn(path, "/"), &base, err);
    if (parent < 0)
        return -1;
    int made = dir ? mkdirat(parent, base, 0755) : mknodat(parent, base, S_IFREG | 0644, 0);
    if (made < 0 && errno != EEXIST)
        return sr_error_sys(err, "engine.unavailable.mount_point", "cannot make the mount point %s", path);
    struct stat st;
    int fd = openat(parent, base, O_PATH | O_NOFOLLOW | O_CLOEXEC | (dir ? O_DIRECTORY : 0));
    if (fd < 0 && errno != ENOTDIR)
        return sr_error_sys(err, "engine.unavailable.mount_point", "cannot open the mount point %s", path);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) == dir && !S_ISLNK(st.st_mode))
        return fd;
    sr_closep(&fd);
    sr_error_set(err, "plan.path", "%s cannot be mounted upon: inside it is a link or a file, or a directory where a file is to stand", path);
    return sr_error_hint(err, "choose another \"target\"");
}

int native_attach(int root_fd, int mnt, const char *path, bool dir, struct sr_error *err)
{
    cleanup_fd int at = mount_point(root_fd, path, dir, err);
    if (at < 0)
        return -1;
    if (move_mount(mnt, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | NATIVE_T_EMPTY_PATH) < 0)
        return sr_error_sys(err, "engine.unavailable.move_mount", "cannot attach a mount at %s", path);
    return 0;
}

static int overlay_options(const struct native *n, int fs, const struct native_layers *l)
{
    /* relative to the scratch, which is the working directory: no byte of a tree's path can split an option */
    int set = fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", l->lower, 0);
    if (l->upper) {
        set |= fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", l->upper, 0);
        set |= fsconfig(fs, FSCONFIG_SET_STRING, "workdir", l->work, 0);
        set |= fsconfig(fs, FSCONFIG_SET_STRING, "index", "off", 0);
        set |= fsconfig(fs, FSCONFIG_SET_STRING, "metacopy", "off", 0);
        /* renaming a directory of the tree: whole with redirects, EXDEV without; an ordinary caller may not have them */
        if (n->id.privileged)
            set |= fsconfig(fs, FSCONFIG_SET_STRING, "redirect_dir", "on", 0);
    }
    if (!n->id.privileged) /* Linux 5.11: overlays in a user namespace keep their marks in user.* */
        set |= fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0);
    return set;
}

int native_overlay(struct native *n, const struct native_layers *l, int *ret_fd, struct sr_error *err)
{
    cleanup_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);
    if (fs < 0) {
        sr_error_sys(err, "engine.unavailable.overlay", "cannot open an overlay");
        return sr_error_hint(err, "load the kernel's overlay module (modprobe overlay)");
    }
    if (fchdir(n->scratch_fd) < 0)
        return sr_error_sys(err, "engine.unavailable.overlay", "cannot enter the scratch");
    if (overlay_options(n, fs, l) < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return sr_error_sys(err, "engine.unavailable.overlay", "the kernel refuses an overlay over %s", l->of);
    unsigned attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (l->upper ? 0 : MOUNT_ATTR_RDONLY);
    int fd = fsmount(fs, FSMOUNT_CLOEXEC, attr);
    if (fd < 0)
        return sr_error_sys(err, "engine.unavailable.overlay", "cannot mount an overlay over %s", l->of);
    *ret_fd = fd;
    return 0;
}

int native_view_mount(struct native *n, int source_fd, const char *source, int idmap, int *ret_fd, struct sr_error *err)
{
    /*
     * connect(2) ignores that a mount is read-only: a host daemon's socket below it would answer. An overlay gives every
     * name an inode of its own, to which no socket is bound. Two lowers, since an overlay without an upper needs two.
     */
    char name[24], lowers[32];
    cleanup_fd int clone = -1;
    uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (native_clone_mount(source_fd, "", !n->id.privileged, attr, idmap, &clone, err) < 0) {
        if (idmap < 0)
            return sr_error_wrap(err, "making a view of %s", source);
        /* a filesystem without idmapped mounts: its files stay foreign to the check, which sees less, never more */
        sr_error_clear(err);
        if (native_clone_mount(source_fd, "", false, attr, -1, &clone, err) < 0)
            return sr_error_wrap(err, "making a view of %s", source);
    }
    snprintf(name, sizeof name, "v%u", n->views++);
    snprintf(lowers, sizeof lowers, "%s:empty", name);
    if (native_attach(n->scratch_fd, clone, name, true, err) < 0)
        return -1;
    const struct native_layers layers = { .of = source, .lower = lowers };
    if (native_overlay(n, &layers, ret_fd, err) < 0)
        return sr_error_wrap(err, "making a view of %s", source);
    return 0;
}

static int attach_one_view(struct native *n, const char *source, const char *target, int idmap, struct sr_error *err)
{
    struct stat st;
    cleanup_fd int mnt = -1;
    /* sources are real paths: a link there now was put there since the plan was made */
    cleanup_fd int fd = sr_openat2(AT_FDCWD, source, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 || fstat(fd, &st) < 0)
        return sr_error_sys(err, "plan.mount", "cannot mount %s", source);
    bool dir = S_ISDIR(st.st_mode);
    if (!dir && !S_ISREG(st.st_mode))
        return sr_error_set(err, "plan.mount", "cannot mount %s: it is neither a directory nor a regular file", source);
    uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    int made = dir ? native_view_mount(n, fd, source, idmap, &mnt, err) : native_clone_mount(fd, "", false, attr, idmap, &mnt, err);
    return made < 0 ? -1 : native_attach(n->root_fd, mnt, target, dir, err);
}

int native_attach_view(struct native *n, const char *source, const char *target, int idmap, struct sr_error *err)
{
    for (size_t i = 0; i < n->mounts->points.n && !n->id.privileged; i++)
        /* in its user namespace a clone takes all or nothing (mount_namespaces(7)), and an overlay takes no lower with mounts on it */
        if (sr_path_below(n->mounts->points.v[i], source) && strcmp(n->mounts->points.v[i], source) != 0) {
            sr_error_set(err, "engine.unavailable.nested_mount", "%s cannot be shown to the check: %s is mounted below it", source, n->mounts->points.v[i]);
            return sr_error_hint(err, "name the directories beside it one by one in the binding's mounts, or run as root");
        }
    if (attach_one_view(n, source, target, idmap, err) < 0)
        return -1;
    /* an overlay shows what lies under the mounts of its lower, so each gets a view of its own on top */
    for (size_t i = 0; i < n->mounts->points.n; i++) {
        const char *below = n->mounts->points.v[i];
        if (!sr_path_below(below, source) || strcmp(below, source) == 0)
            continue;
        cleanup_free char *at = sr_asprintf("%s%s", target, below + strlen(source));
        if (attach_one_view(n, below, at, idmap, err) < 0)
            return sr_error_wrap(err, "mounting %s below %s", below, source);
    }
    return 0;
}
