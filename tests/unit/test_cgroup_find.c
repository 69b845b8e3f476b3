/* SPDX-License-Identifier: MIT */
/*
 * Layouts that the host of the tests need not have, as directories with plain files: a stand-in for
 * the kernel's tree in what is searched and written, not in what the kernel answers (EBUSY of "no
 * internal processes" is predicted from cgroup.procs).
 */
#include "base/fs.h"
#include "engine/native/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[] = "/tmp/sandrun-cgfind-XXXXXX";

static void setup(void)
{
    cr_assert(mkdtemp(root));
}

static void teardown(void)
{
    struct sr_error err = { 0 };
    cr_expect(sr_remove_at(AT_FDCWD, root, &err) == 0, "%s", err.text);
}

TestSuite(cgroup_find, .init = setup, .fini = teardown);

static void put(const char *path, const char *text)
{
    cleanup_free char *full = sr_asprintf("%s%s", root, path);
    cleanup_free char *dir = sr_strndup(full, (size_t)(strrchr(full, '/') - full));
    struct sr_error err = { 0 };
    cr_assert(sr_mkdir_p(AT_FDCWD, dir, 0755, &err) == 0, "%s", err.text);
    cleanup_fd int fd = open(full, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    cr_assert(fd >= 0 && sr_write_all(fd, text, strlen(text)) == 0, "%s", full);
}

static char *get(const char *path)
{
    cleanup_free char *full = sr_asprintf("%s%s", root, path);
    cleanup_buf struct sr_buf b = SR_BUF(4096);
    struct sr_error err = { 0 };
    cr_assert(sr_file_read_at(AT_FDCWD, full, 4096, &b, &err) == 0, "%s", err.text);
    return sr_buf_steal(&b);
}

/* A v2 group. type NULL: the root of the hierarchy. */
static void group(const char *dir, const char *type, const char *controllers, const char *handed,
                  const char *procs)
{
    const struct {
        const char *name, *text;
    } files[] = {
        { "cgroup.type", type },
        { "cgroup.controllers", controllers },
        { "cgroup.subtree_control", handed },
        { "cgroup.procs", procs },
    };
    for (size_t i = 0; i < 4; i++) {
        cleanup_free char *path = sr_asprintf("%s/%s", dir, files[i].name);
        if (files[i].text)
            put(path, files[i].text);
    }
}

#define V2_MOUNT                                                                                   \
    "24 20 0:21 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n"

static char *find(const char *self, const char *mounts, enum sr_controller c, bool v2,
                  bool privileged, struct sr_buf *why)
{
    struct sr_cgroup_view view = { root, self, mounts, privileged };
    unsigned have;
    cleanup_free char *path =
        v2 ? sr_cgroup_find_v2(&view, &have, why) : sr_cgroup_find_v1(&view, c, why);
    cr_assert(!path || strncmp(path, root, strlen(root)) == 0);
    cr_assert(!v2 || (path != NULL) == (have != 0));
    return v2 && !(have & 1u << c) ? NULL : steal_ptr(&path);
}

static void expect(const char *self, const char *mounts, enum sr_controller c, bool v2,
                   bool privileged, const char *want)
{
    cleanup_buf struct sr_buf why = SR_BUF(1024);
    cleanup_free char *path = find(self, mounts, c, v2, privileged, &why);
    cr_assert(path, "%s", why.data ? why.data : "no reason");
    cr_expect_str_eq(path + strlen(root), want);
}

static void expect_why(const char *self, const char *mounts, enum sr_controller c, bool v2,
                       bool privileged, const char *part)
{
    cleanup_buf struct sr_buf why = SR_BUF(1024);
    cleanup_free char *path = find(self, mounts, c, v2, privileged, &why);
    cr_assert_null(path, "%s", path);
    cr_assert(why.data && strstr(why.data, part), "\"%s\" in \"%s\"", part,
              why.data ? why.data : "");
}

Test(cgroup_find, v2_delegated_and_empty_own_group_hands_down)
{
    group("/sys/fs/cgroup", NULL, "cpu memory pids\n", "memory pids\n", "");
    group("/sys/fs/cgroup/box", "domain\n", "memory pids\n", "", "");
    expect("0::/box\n", V2_MOUNT, SR_CTL_MEMORY, true, false, "/sys/fs/cgroup/box");
    cleanup_free char *written = get("/sys/fs/cgroup/box/cgroup.subtree_control");
    cr_expect_str_eq(written, "+memory +pids");
}

Test(cgroup_find, v2_processes_in_the_way_go_beside)
{
    group("/sys/fs/cgroup", NULL, "cpu memory pids\n", "memory pids\n", "1\n");
    group("/sys/fs/cgroup/user/app", "domain\n", "memory pids\n", "memory pids\n", "");
    group("/sys/fs/cgroup/user/app/shell.scope", "domain\n", "memory pids\n", "", "42\n");
    expect("0::/user/app/shell.scope\n", V2_MOUNT, SR_CTL_PIDS, true, false,
           "/sys/fs/cgroup/user/app");
    cleanup_free char *untouched = get("/sys/fs/cgroup/user/app/cgroup.subtree_control");
    cr_expect_str_eq(untouched, "memory pids\n");
}

Test(cgroup_find, v2_parent_that_hands_nothing_down_is_not_changed)
{
    group("/sys/fs/cgroup", NULL, "cpu memory pids\n", "", "1\n");
    group("/sys/fs/cgroup/a", "domain\n", "memory pids\n", "", "");
    group("/sys/fs/cgroup/a/b", "domain\n", "memory pids\n", "", "42\n");
    expect_why("0::/a/b\n", V2_MOUNT, SR_CTL_PIDS, true, false,
               "/sys/fs/cgroup/a does not hand all its controllers down");
    cleanup_free char *untouched = get("/sys/fs/cgroup/a/cgroup.subtree_control");
    cr_expect_str_eq(untouched, "");
    cleanup_free char *top = get("/sys/fs/cgroup/cgroup.subtree_control");
    cr_expect_str_eq(top, "");
}

Test(cgroup_find, v2_root_user_falls_to_the_root_of_the_hierarchy)
{
    group("/sys/fs/cgroup", NULL, "cpu memory pids\n", "", "1\n2\n");
    group("/sys/fs/cgroup/a", "domain\n", "", "", "");
    group("/sys/fs/cgroup/a/b", "domain\n", "", "", "42\n");
    expect("0::/a/b\n", V2_MOUNT, SR_CTL_CPU, true, true, "/sys/fs/cgroup");
    cleanup_free char *written = get("/sys/fs/cgroup/cgroup.subtree_control");
    cr_expect_str_eq(written, "+memory +pids +cpu");
}

/* One process, one v2 group: a nearer directory with some of the controllers gives way to a farther
 * one with all. */
Test(cgroup_find, v2_all_controllers_are_in_one_directory)
{
    group("/sys/fs/cgroup", NULL, "cpu memory pids\n", "cpu memory pids\n", "1\n");
    group("/sys/fs/cgroup/a", "domain\n", "memory pids\n", "memory pids\n", "");
    group("/sys/fs/cgroup/a/b", "domain\n", "memory pids\n", "", "42\n");
    expect("0::/a/b\n", V2_MOUNT, SR_CTL_CPU, true, true, "/sys/fs/cgroup");
    expect("0::/a/b\n", V2_MOUNT, SR_CTL_MEMORY, true, true, "/sys/fs/cgroup");
    /* Who may not go there has what is near, and no more. */
    expect("0::/a/b\n", V2_MOUNT, SR_CTL_MEMORY, true, false, "/sys/fs/cgroup/a");
    expect_why("0::/a/b\n", V2_MOUNT, SR_CTL_CPU, true, false, "has no cpu controller");
}

/* A cgroup namespace: the mount point is the caller's own group, not the real root, and has its
 * processes. */
Test(cgroup_find, v2_container_root_with_processes_says_so)
{
    group("/sys/fs/cgroup", "domain\n", "cpu memory pids\n", "", "1\n");
    expect_why("0::/\n", V2_MOUNT, SR_CTL_MEMORY, true, true, "has processes of its own");
}

Test(cgroup_find, v2_missing_delegation_and_missing_controller_are_told_apart)
{
    group("/sys/fs/cgroup", NULL, "cpu pids\n", "pids\n", "");
    expect_why("0::/\n", V2_MOUNT, SR_CTL_MEMORY, true, true, "has no memory controller");
    /* As an ordinary user, for root may write anywhere. */
    cr_assert_eq(chmod(root, 0755), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
            _exit(1);
        cleanup_buf struct sr_buf why = SR_BUF(1024);
        struct sr_cgroup_view view = { root, "0::/\n", V2_MOUNT, false };
        unsigned have;
        char *path = sr_cgroup_find_v2(&view, &have, &why);
        _exit(!path && why.data && strstr(why.data, "is not delegated") ? 0 : 2);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
}

Test(cgroup_find, v1_paths_under_the_mounted_part)
{
    const char *mounts =
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/abc /sys/fs/cgroup/mem\\040ory rw shared:9 - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const char *self = "5:memory:/docker/abc/inner\n1:cpu,cpuacct:/slice\n0::/\n";
    put("/sys/fs/cgroup/cpu,cpuacct/slice/tasks", "");
    put("/sys/fs/cgroup/mem ory/inner/tasks", "");
    group("/sys/fs/cgroup/unified", NULL, "", "", "1\n");
    expect(self, mounts, SR_CTL_MEMORY, false, true, "/sys/fs/cgroup/mem ory/inner");
    expect(self, mounts, SR_CTL_CPU, false, true, "/sys/fs/cgroup/cpu,cpuacct/slice");
    expect_why(self, mounts, SR_CTL_PIDS, false, true, "not mounted");
    expect_why(self, mounts, SR_CTL_MEMORY, true, true, "has no memory controller");
}

/* "cpu" is neither "cpuset" nor "cpuacct"; a path outside the mounted part is not followed out of
 * it. */
Test(cgroup_find, names_are_compared_whole_and_paths_stay_inside)
{
    const char *mounts = "1 1 0:1 / /c/cpuset rw - cgroup cgroup rw,cpuset\n"
                         "2 1 0:2 /k8s/pod /c/pids rw - cgroup cgroup rw,pids\n"
                         "3 1 0:3 / /tmp/- rw - tmpfs tmpfs rw,cpu\n";
    put("/c/cpuset/tasks", "");
    put("/c/pids/tasks", "");
    expect_why("1:cpuset:/\n2:pids:/\n", mounts, SR_CTL_CPU, false, true, "not mounted");
    expect("2:pids:/k8s/podium/x\n", mounts, SR_CTL_PIDS, false, true, "/c/pids");
    expect("2:pids:/../../etc\n", mounts, SR_CTL_PIDS, false, true, "/c/pids");
}

Test(cgroup_find, hostile_or_empty_texts_find_nothing)
{
    static const char *const texts[] = {
        "", "\n\n", "- - -", ":::", "0::", "1 2 3 4 5 6 -\n", "1 2 3 4 5 6 - cgroup2\n"
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            expect_why(texts[i], texts[k], SR_CTL_MEMORY, true, true, "not mounted");
            expect_why(texts[i], texts[k], SR_CTL_MEMORY, false, true, "not mounted");
        }
}

static int configure(enum sr_controller c, bool v2, const struct sr_limits *l, const char **file)
{
    cleanup_free char *dir = sr_asprintf("%s/g", root);
    cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    return sr_cgroup_configure(fd, c, v2, l, file);
}

static void expect_file(const char *name, const char *want)
{
    cleanup_free char *path = sr_asprintf("/g/%s", name);
    cleanup_free char *text = get(path);
    cr_expect_str_eq(text, want, "%s: \"%s\"", name, text);
}

Test(cgroup_find, limits_are_written_in_each_versions_words)
{
    static const char *const files[] = { "memory.max",
                                         "memory.swap.max",
                                         "memory.oom.group",
                                         "pids.max",
                                         "cpu.max",
                                         "memory.limit_in_bytes",
                                         "memory.memsw.limit_in_bytes",
                                         "memory.swappiness",
                                         "cpu.cfs_period_us",
                                         "cpu.cfs_quota_us" };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        cleanup_free char *path = sr_asprintf("/g/%s", files[i]);
        put(path, "");
    }
    struct sr_limits l = { .memory_bytes = 1048576, .pids = 77, .cpus_milli = 1500 };
    const char *file;
    for (int v2 = 0; v2 < 2; v2++)
        for (int c = 0; c < SR_CTL_COUNT; c++)
            cr_assert_eq(configure((enum sr_controller)c, v2, &l, &file), 0, "%s", file);
    expect_file("memory.max", "1048576");
    expect_file("memory.swap.max", "0");
    expect_file("memory.oom.group", "1");
    l.on_reached = SR_ON_REACHED_REPORT;
    cr_assert_eq(configure(SR_CTL_MEMORY, true, &l, &file), 0);
    expect_file("memory.oom.group", "0");
    expect_file("pids.max", "77");
    expect_file("cpu.max", "150000 100000");
    expect_file("memory.limit_in_bytes", "1048576");
    expect_file("memory.memsw.limit_in_bytes", "1048576");
    expect_file("memory.swappiness", "");
    expect_file("cpu.cfs_quota_us", "150000");
    /* No swap accounting: nothing may be swapped. */
    cleanup_free char *memsw = sr_asprintf("%s/g/memory.memsw.limit_in_bytes", root);
    cr_assert_eq(unlink(memsw), 0);
    cr_assert_eq(configure(SR_CTL_MEMORY, false, &l, &file), 0);
    expect_file("memory.swappiness", "0");
    cleanup_free char *pids = sr_asprintf("%s/g/pids.max", root);
    cr_assert_eq(unlink(pids), 0);
    cr_expect_eq(configure(SR_CTL_PIDS, true, &l, &file), -1);
    cr_expect_eq(errno, ENOENT);
    cr_expect_str_eq(file, "pids.max");
}

/* The reading side, from files with the kernel's texts. */
static struct sr_cgroup opened(bool v2)
{
    cleanup_free char *dir = sr_asprintf("%s/g", root);
    struct sr_cgroup cg = { .fds = { open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) }, .n = 1, .v2 = { v2 } };
    cr_assert_geq(cg.fds[0], 0);
    return cg;
}

Test(cgroup_find, v2_counters)
{
    put("/g/memory.events", "low 0\nhigh 0\nmax 5\noom 2\noom_kill 3\noom_group_kill 1\n");
    put("/g/pids.events", "max 9\n");
    put("/g/memory.peak", "4096\n");
    put("/g/cpu.stat", "usage_usec 30\nuser_usec 10\nsystem_usec 20\n");
    struct sr_cgroup cg = opened(true);
    struct sr_cgroup_usage u;
    sr_cgroup_read(&cg, &u);
    cr_expect_eq(u.oom_kills, 3);
    cr_expect_eq(u.ooms, 2);
    cr_expect_eq(u.at_bound, 5);
    cr_expect_eq(u.pids_refused, 9);
    cr_expect(u.oom_told && u.pids_told && u.at_bound_told);
    cr_expect_eq(u.memory_peak, 4096);
    cr_expect_eq(u.pids_peak, 0, "not told");
    cr_expect_eq(sr_cgroup_clone_fd(&cg), cg.fds[0]);
    sr_cgroup_read_events(&cg, &u);
    cr_expect_eq(u.oom_kills, 3);
    cr_expect_eq(u.pids_refused, 9);
    close(cg.fds[0]);
}

/* Where memory with swap has the same limit, it is the counter that grows. */
Test(cgroup_find, v1_counters)
{
    put("/g/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 6\n");
    put("/g/memory.failcnt", "0\n");
    put("/g/memory.memsw.failcnt", "70\n");
    put("/g/memory.max_usage_in_bytes", "8192\n");
    put("/g/pids.events", "max 2\n");
    struct sr_cgroup cg = opened(false);
    struct sr_cgroup_usage u;
    sr_cgroup_read(&cg, &u);
    cr_expect_eq(u.oom_kills, 6);
    cr_expect_eq(u.ooms, 0);
    cr_expect_eq(u.at_bound, 70);
    cr_expect_eq(u.pids_refused, 2);
    cr_expect(u.oom_told && u.pids_told && u.at_bound_told);
    cr_expect_eq(u.memory_peak, 8192);
    put("/g/memory.memsw.failcnt", "0\n");
    put("/g/memory.memsw.max_usage_in_bytes", "9000\n");
    sr_cgroup_read(&cg, &u);
    cr_expect_eq(u.memory_peak, 9000);
    cr_expect_not(u.at_bound_told, "a kernel that counts none and one that saw none write the same");
    close(cg.fds[0]);
}

/* A kernel without them: not told is not the same as never. */
Test(cgroup_find, counters_that_are_not_there_are_not_zero)
{
    put("/g/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
    for (int v2 = 0; v2 < 2; v2++) {
        struct sr_cgroup cg = opened(v2);
        struct sr_cgroup_usage u;
        sr_cgroup_read(&cg, &u);
        cr_expect_not(u.oom_told || u.pids_told || u.at_bound_told);
        cr_expect_eq(u.oom_kills + u.pids_refused + u.at_bound, 0);
        close(cg.fds[0]);
    }
}
