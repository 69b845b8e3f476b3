/* SPDX-License-Identifier: MIT */
/* Verification from inside, before exec: what was promised is tried, and only what was seen to hold is reported as enforced. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Each returns whether the control holds and says in detail what was seen. */
typedef bool check(const struct native *n, char detail[96]);

/* A write that a read-only mount must refuse. Its failure is the control; a success is undone and reported. */
static bool refuses_writes(const char *dir, char detail[96])
{
    char path[4200];
    snprintf(path, sizeof path, "%s/.sandrun-probe", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = errno;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    snprintf(detail, 96, "creating a file: %s", fd >= 0 ? "succeeded" : strerror(error));
    struct statvfs vfs;
    return fd < 0 && (error == EROFS || error == EACCES) && statvfs(dir, &vfs) == 0 && (vfs.f_flag & ST_RDONLY);
}

static bool root_readonly(const struct native *n, char detail[96])
{
    (void)n;
    return refuses_writes("/", detail) && refuses_writes("/usr", detail) && refuses_writes("/etc", detail);
}

static bool mounts_readonly(const struct native *n, char detail[96])
{
    unsigned seen = 0, shut = 0;
    for (size_t i = 0; i < n->plan->n_mounts; i++) {
        struct statvfs vfs;
        if (!n->plan->mounts[i].readonly)
            continue;
        if (statvfs(n->plan->mounts[i].target, &vfs) < 0 || !(vfs.f_flag & ST_RDONLY)) {
            snprintf(detail, 96, "%.70s is not read-only", n->plan->mounts[i].target);
            return false;
        }
        seen++;
    }
    for (size_t i = 0; i < n->plan->protect.n; i++) {
        const char *path = n->plan->protect.v[i];
        struct statvfs vfs;
        cleanup_fd int fd = sr_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (fd < 0) /* not there, or reached through a link: nothing that could have been shut */
            continue;
        if (fstatvfs(fd, &vfs) < 0 || !(vfs.f_flag & ST_RDONLY)) {
            snprintf(detail, 96, "%.60s is protected and not read-only", path);
            return false;
        }
        shut++;
    }
    snprintf(detail, 96, "%u mounts, %u protected paths", seen, shut);
    return true;
}

/* Of a directory that is held: on files of the run's own, and open for writing. */
static bool is_held(const char *dir, enum sr_tree_mode mode)
{
    struct statfs fs;
    struct statvfs vfs;
    if (statfs(dir, &fs) < 0 || statvfs(dir, &vfs) < 0 || (vfs.f_flag & ST_RDONLY))
        return false;
    return fs.f_type == (mode == SR_TREE_COPY ? TMPFS_MAGIC : OVERLAYFS_SUPER_MAGIC);
}

/* The git directory outside the tree. */
static bool git_held(const struct native *n, char detail[96])
{
    const char *dir = n->plan->git_common_dir;
    struct statvfs vfs;
    bool held = !dir || (sr_plan_git_held(n->plan) ? is_held(dir, n->git_mode) : statvfs(dir, &vfs) == 0 && (vfs.f_flag & ST_RDONLY));
    if (!held)
        snprintf(detail, 96, "the git directory %.60s is not", dir);
    return held;
}

static bool tree_held(const struct native *n, char detail[96])
{
    snprintf(detail, 96, "%s", sr_tree_mode_name(n->tree_mode));
    if (!git_held(n, detail))
        return false;
    switch (n->tree_mode) {
    case SR_TREE_OVERLAY:
    case SR_TREE_COPY:
        return is_held(".", n->tree_mode);
    case SR_TREE_READONLY:
        return refuses_writes(".", detail);
    default:
        return n->plan->writes == SR_WRITES_DIRECT;
    }
}

/* /proc/net/dev: two lines of heading, then "  NAME: ..." each. */
static bool lo_alone(void)
{
    char text[4096];
    cleanup_fd int fd = open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0 || len == sizeof text - 1)
        return false;
    text[len] = '\0';
    char *save = NULL;
    unsigned line = 0, others = 0, lo = 0;
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save), line++) {
        at += strspn(at, " ");
        lo += line >= 2 && strncmp(at, "lo:", 3) == 0;
        others += line >= 2 && strncmp(at, "lo:", 3) != 0;
    }
    return lo == 1 && others == 0;
}

static bool network_lo_only(const struct native *n, char detail[96])
{
    if (n->plan->network == SR_NETWORK_HOST) {
        snprintf(detail, 96, "not asked for: the policy names the host's network");
        return true;
    }
    bool only = lo_alone();
    struct ifreq ifr = { .ifr_name = "lo" };
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &ifr) == 0 && (ifr.ifr_flags & IFF_UP);
    snprintf(detail, 96, "%s, lo %s", only ? "lo alone" : "other interfaces", up ? "up" : "down");
    return only && up;
}

/* A field of /proc/self/status, which is read once: nothing between the controls changes it. */
static bool status_field(const char *name, char value[64])
{
    static char text[8192];
    if (!text[0]) {
        cleanup_fd int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? -1 : read(fd, text + 1, sizeof text - 2);
        if (len <= 0)
            return false;
        text[0] = '\n';
        text[len + 1] = '\0';
    }
    char key[32];
    snprintf(key, sizeof key, "\n%s:", name);
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " \t");
    snprintf(value, 64, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static bool capabilities_none(const struct native *n, char detail[96])
{
    static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
    char value[64];
    (void)n;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!status_field(sets[i], value) || strspn(value, "0") != strlen(value)) {
            snprintf(detail, 96, "%s is %s", sets[i], value);
            return false;
        }
    snprintf(detail, 96, "all five sets are empty");
    return true;
}

static bool no_new_privs(const struct native *n, char detail[96])
{
    char value[64] = "?";
    (void)n;
    bool held = status_field("NoNewPrivs", value) && strcmp(value, "1") == 0;
    snprintf(detail, 96, "NoNewPrivs %s", value);
    return held;
}

static bool filter_active(const struct native *n, char detail[96])
{
    char value[64] = "?";
    bool mode = status_field("Seccomp", value) && strcmp(value, "2") == 0;
    /* and it answers: adding a key needs no privilege, so nothing but the filter refuses it with these */
    long key = syscall(SYS_add_key, "user", "sandrun", "x", (size_t)1, -3);
    int error = errno;
    (void)n;
    snprintf(detail, 96, "Seccomp %s, add_key: %s", value, key >= 0 ? "succeeded" : strerror(error));
    return mode && key < 0 && (error == EPERM || error == ENOSYS);
}

static bool map_line(char *line, uint64_t v[3])
{
    char *save = NULL, *field = strtok_r(line, " \n", &save);
    struct sr_error bad = { 0 };
    for (int i = 0; i < 3; i++, field = strtok_r(NULL, " \n", &save))
        if (!field || sr_text_u64(field, 0, UINT32_MAX, &v[i], &bad) < 0)
            return false;
    return true;
}

static bool not_host_root(const struct native *n, char detail[96])
{
    cleanup_file FILE *f = fopen("/proc/self/uid_map", "re");
    char line[128];
    bool mapped = false;
    uid_t me = getuid();
    while (f && fgets(line, sizeof line, f)) {
        uint64_t v[3] = { 0 }; /* inside, outside, count */
        if (!map_line(line, v) || v[1] == 0) {
            snprintf(detail, 96, "the id map reaches the host's uid 0");
            return false;
        }
        mapped |= me >= v[0] && me - v[0] < v[2];
    }
    snprintf(detail, 96, "uid %u inside, %u on the host", me, n->id.host_uid);
    return mapped && me == n->id.uid && geteuid() == me && n->id.host_uid != 0;
}

static bool pid_namespace(const struct native *n, char detail[96])
{
    (void)n;
    snprintf(detail, 96, "pid %d, parent %d", getpid(), getppid());
    return getppid() == 1 && getpid() > 1;
}

static bool proc_masked(const struct native *n, char detail[96])
{
    static const char *const shut[] = { "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/kcore" };
    (void)n;
    for (size_t i = 0; i < sizeof shut / sizeof *shut; i++) {
        cleanup_fd int fd = open(shut[i], O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
            snprintf(detail, 96, "%s can be written", shut[i]);
            return false;
        }
    }
    struct stat st;
    if (stat("/proc/kcore", &st) == 0 && st.st_size > 0) {
        snprintf(detail, 96, "/proc/kcore is not masked");
        return false;
    }
    snprintf(detail, 96, "core_pattern, sysrq-trigger and kcore are shut");
    return true;
}

static bool descriptors_closed(const struct native *n, char detail[96])
{
    cleanup_dir DIR *dir = opendir("/proc/self/fd");
    (void)n;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        uint64_t fd;
        struct sr_error dots = { 0 }; /* "." and ".." */
        if (sr_text_u64(e->d_name, 0, INT32_MAX, &fd, &dots) < 0 || fd <= 2 || (int)fd == dirfd(dir))
            continue;
        int flags = fcntl((int)fd, F_GETFD);
        if (flags < 0 || !(flags & FD_CLOEXEC)) {
            snprintf(detail, 96, "descriptor %d would pass exec", (int)fd);
            return false;
        }
    }
    snprintf(detail, 96, "0, 1 and 2 alone pass exec");
    return dir != NULL;
}

static bool home_private(const struct native *n, char detail[96])
{
    struct stat st;
    struct statfs fs;
    cleanup_dir DIR *dir = opendir(SR_INSIDE_HOME);
    unsigned entries = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        entries += e->d_name[0] != '.' || (e->d_name[1] && strcmp(e->d_name, "..") != 0);
    snprintf(detail, 96, "%s: %u entries", SR_INSIDE_HOME, entries);
    /* a tree or mount that stands below HOME is an entry of it, and the policy's business */
    bool below = sr_path_below(n->plan->tree_target, SR_INSIDE_HOME);
    for (size_t i = 0; i < n->plan->n_mounts; i++)
        below |= sr_path_below(n->plan->mounts[i].target, SR_INSIDE_HOME);
    return dir && stat(SR_INSIDE_HOME, &st) == 0 && st.st_uid == getuid() && statfs(SR_INSIDE_HOME, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
           (below || entries == 0);
}

static bool cwd_inside(const struct native *n, char detail[96])
{
    char cwd[4096] = "";
    long len = syscall(SYS_getcwd, cwd, sizeof cwd);
    snprintf(detail, 96, "%.90s", len < 0 ? strerror(errno) : cwd);
    /* the kernel writes "(unreachable)" before a directory outside the root (CVE-2024-21626) */
    return len > 0 && strcmp(cwd, n->plan->tree_target) == 0;
}

static bool user_namespace_closed(const struct native *n, char detail[96])
{
    if (sr_strv_has(&n->plan->seccomp_allow, "userns")) {
        snprintf(detail, 96, "not asked for: the policy allows user namespaces");
        return true;
    }
    pid_t pid = (pid_t)syscall(SYS_unshare, CLONE_NEWUSER);
    snprintf(detail, 96, "unshare: %s", pid == 0 ? "succeeded" : strerror(errno));
    return pid != 0 && errno == EPERM;
}

static const struct {
    const char *name;
    check *holds;
} controls[] = {
    { "root_readonly", root_readonly },
    { "mounts_readonly", mounts_readonly },
    { "tree_held", tree_held },
    { "network_lo_only", network_lo_only },
    { "capabilities_none", capabilities_none },
    { "no_new_privs", no_new_privs },
    { "filter_active", filter_active },
    { "user_namespace_closed", user_namespace_closed },
    { "not_host_root", not_host_root },
    { "pid_namespace", pid_namespace },
    { "proc_masked", proc_masked },
    { "descriptors_closed", descriptors_closed },
    { "home_private", home_private },
    { "cwd_inside", cwd_inside },
};
_Static_assert(sizeof controls / sizeof *controls <= NATIVE_CONTROLS_MAX, "a message holds every control");

size_t native_controls(void)
{
    return sizeof controls / sizeof *controls;
}

const char *native_control_name(unsigned i)
{
    return i < native_controls() ? controls[i].name : "unknown";
}

void native_verify(const struct native *n, struct native_msg *ret)
{
    ret->observed.n = (unsigned)native_controls();
    for (unsigned i = 0; i < ret->observed.n; i++)
        ret->observed.v[i].held = controls[i].holds(n, ret->observed.v[i].detail);
}
