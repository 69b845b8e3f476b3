/* SPDX-License-Identifier: MIT */
/* The run's own control groups: made, entered, read, removed. */
#include "engine/native/cgroup.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    FILE_MAX = 64 * 1024,
    PROCS_MAX = 1024 * 1024,
    PERIOD_US = 100000,  /* the kernel's default period of the CPU quota */
    QUOTA_MIN_US = 1000, /* below it the kernel says EINVAL */
    KILL_MS = 2000,
    KILL_ROUND_MS = 2,
};

static int write_at(int dirfd, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Async-signal-safe as far as snprintf of integers and plain strings is in glibc and musl. */
static int write_at(int dirfd, const char *name, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return sr_write_all(fd, text, (size_t)n);
}

/* ---- limits into files ---- */

/*
 * memory.memsw is there only with swap accounting, and may not be below memory's own limit: so it
 * comes second. Without it swap would be a way around the limit, unless nothing is ever swapped.
 */
static int memory_v1(int fd, uint64_t bytes, const char **file)
{
    *file = "memory.limit_in_bytes";
    if (write_at(fd, *file, "%llu", (unsigned long long)bytes) < 0)
        return -1;
    *file = "memory.memsw.limit_in_bytes";
    if (write_at(fd, *file, "%llu", (unsigned long long)bytes) == 0)
        return 0;
    if (errno != ENOENT && errno != EOPNOTSUPP)
        return -1;
    *file = "memory.swappiness";
    return write_at(fd, *file, "0");
}

/*
 * oom.group: half a test run that lost one process to the killer tells nobody anything, so where a
 * reached limit is an error the whole ends at once. Where it is only reported, the rest goes on, as
 * it does on v1, which knows no such thing.
 */
static int memory_v2(int fd, uint64_t bytes, bool whole, const char **file)
{
    *file = "memory.max";
    if (write_at(fd, *file, "%llu", (unsigned long long)bytes) < 0)
        return -1;
    *file = "memory.swap.max";
    if (write_at(fd, *file, "0") < 0 && errno != ENOENT)
        return -1;
    *file = "memory.oom.group";
    return write_at(fd, *file, "%d", whole) < 0 && errno != ENOENT ? -1 : 0;
}

static int cpu_any(int fd, bool v2, uint64_t milli, const char **file)
{
    unsigned long long quota = milli * (PERIOD_US / 1000);
    if (quota < QUOTA_MIN_US)
        quota = QUOTA_MIN_US;
    *file = v2 ? "cpu.max" : "cpu.cfs_period_us";
    if (v2)
        return write_at(fd, *file, "%llu %d", quota, PERIOD_US);
    if (write_at(fd, *file, "%d", PERIOD_US) < 0)
        return -1;
    *file = "cpu.cfs_quota_us";
    return write_at(fd, *file, "%llu", quota);
}

static uint64_t limit_of(enum sr_controller c, const struct sr_limits *l)
{
    const uint64_t v[SR_CTL_COUNT] = { l->memory_bytes, l->pids, l->cpus_milli };
    return v[c];
}

int sr_cgroup_configure(int dirfd, enum sr_controller c, bool v2, const struct sr_limits *limits,
                        const char **ret_file)
{
    uint64_t v = limit_of(c, limits);
    *ret_file = "";
    if (v == 0)
        return 0;
    if (c == SR_CTL_MEMORY)
        return v2 ? memory_v2(dirfd, v, limits->on_reached == SR_ON_REACHED_ERROR, ret_file)
                  : memory_v1(dirfd, v, ret_file);
    if (c == SR_CTL_CPU)
        return cpu_any(dirfd, v2, v, ret_file);
    *ret_file = "pids.max";
    return write_at(dirfd, *ret_file, "%llu", (unsigned long long)v);
}

/* ---- making ---- */

struct maker {
    struct sr_run_dir *run;
    const struct sr_limits *limits;
    struct sr_cgroup_view view;
    struct sr_cgroup *cg;
    const char *parent2; /* NULL: nothing to be had on v2 */
    unsigned have2;      /* controllers there */
    const char *why2;    /* what v2 lacks */
};

/* The index of the group below parent: an existing one of this run, or made now. -1: not made
 * (why). -2: inventory (err). */
static int group_make(struct maker *m, const char *parent, bool v2, struct sr_buf *why,
                      struct sr_error *err)
{
    cleanup_free char *path =
        sr_asprintf("%s/sandrun-%s", strcmp(parent, "/") == 0 ? "" : parent, m->run->id);
    struct sr_cgroup *cg = m->cg;
    for (size_t i = 0; i < cg->n; i++)
        if (strcmp(cg->dirs[i], path) == 0)
            return (int)i;
    if (cg->n == SR_CGROUP_DIRS_MAX) {
        sr_buf_puts(why, "more hierarchies than expected");
        return -1;
    }
    if (sr_run_dir_note(m->run, SR_RESOURCE_CGROUP, path, err) < 0)
        return -2;
    /* EEXIST is a failure: what this run did not make, it neither uses nor removes. */
    cleanup_fd int fd = -1;
    if (mkdir(path, 0755) == 0) {
        fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            rmdir(path);
    }
    if (fd < 0) {
        sr_buf_printf(why, "%s cannot be made (%s)", path, strerror(errno));
        sr_run_dir_gone(m->run, SR_RESOURCE_CGROUP, path, NULL);
        return -1;
    }
    cg->dirs[cg->n] = steal_ptr(&path);
    cg->fds[cg->n] = steal_fd(&fd);
    cg->v2[cg->n] = v2;
    return (int)cg->n++;
}

/* One controller in one version: index, -1 with why, -2 with err. */
static int controller_try(struct maker *m, enum sr_controller c, bool v2, struct sr_buf *why,
                          struct sr_error *err)
{
    cleanup_free char *parent = NULL;
    if (!v2)
        parent = sr_cgroup_find_v1(&m->view, c, why);
    else if (m->have2 & 1u << c)
        parent = sr_strdup(m->parent2);
    else
        sr_buf_puts(why, m->why2);
    if (!parent)
        return -1;
    int i = group_make(m, parent, v2, why, err);
    const char *file;
    if (i >= 0 && sr_cgroup_configure(m->cg->fds[i], c, v2, m->limits, &file) < 0) {
        sr_buf_printf(why, "%s/%s cannot be written (%s)", m->cg->dirs[i], file, strerror(errno));
        return -1;
    }
    return i;
}

static void weaker_add(struct sr_cgroup *cg, enum sr_controller c, const char *why2,
                       const char *why1)
{
    static const char *const instead[] = { "RLIMIT_DATA bounds each process alone instead",
                                           "RLIMIT_NPROC counts all processes of the user instead",
                                           "nothing holds it" };
    size_t len = strlen(cg->weaker);
    snprintf(cg->weaker + len, sizeof cg->weaker - len,
             "%s%s: no cgroup holds it (v2: %s; v1: %s); %s", len ? ". " : "",
             sr_controller_name(c), why2, why1, instead[c]);
}

static int controller_place(struct maker *m, enum sr_controller c, int *ret_index,
                            enum sr_holder *ret_by, struct sr_error *err)
{
    cleanup_buf struct sr_buf why2 = SR_BUF(256), why1 = SR_BUF(256);
    int i = controller_try(m, c, true, &why2, err);
    if (i == -1)
        i = controller_try(m, c, false, &why1, err);
    if (i == -2)
        return -1;
    *ret_index = i;
    if (i >= 0) {
        *ret_by = m->cg->v2[i] ? SR_BY_CGROUP2 : SR_BY_CGROUP1;
        return 0;
    }
    *ret_by = c == SR_CTL_CPU ? SR_BY_NONE : SR_BY_RLIMIT;
    weaker_add(m->cg, c, why2.data ? why2.data : "refused", why1.data ? why1.data : "refused");
    return 0;
}

/* A limit of as many processors as this process may use is held by there being no more: a group for it would only cost. */
static bool held_by_machine(uint64_t milli)
{
    cpu_set_t set;
    return milli == 0 || (sched_getaffinity(0, sizeof set, &set) == 0 && milli >= (uint64_t)CPU_COUNT(&set) * 1000);
}

static int cpu_place(struct maker *m, struct sr_error *err)
{
    struct sr_cgroup *cg = m->cg;
    if (!held_by_machine(m->limits->cpus_milli))
        return controller_place(m, SR_CTL_CPU, &cg->cpu, &cg->by_cpus, err);
    cg->by_cpus = SR_BY_MACHINE;
    return 0;
}

static int all_place(struct maker *m, struct sr_error *err)
{
    struct sr_cgroup *cg = m->cg;
    cleanup_buf struct sr_buf why2 = SR_BUF(256);
    cleanup_free char *parent2 = sr_cgroup_find_v2(&m->view, &m->have2, &why2);
    m->parent2 = parent2;
    m->why2 = why2.data ? why2.data : "refused";
    if (controller_place(m, SR_CTL_MEMORY, &cg->memory, &cg->by_memory, err) < 0 ||
        controller_place(m, SR_CTL_PIDS, &cg->pids, &cg->by_pids, err) < 0)
        return -1;
    return cpu_place(m, err);
}

int sr_cgroup_create(struct sr_run_dir *run, const struct sr_limits *limits, const char *mountinfo,
                     struct sr_cgroup *ret, struct sr_error *err)
{
    cleanup_buf struct sr_buf self = SR_BUF(PROCS_MAX);
    cleanup_fd int self_fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    struct sr_error ignored = { 0 };
    /* Unreadable (a kernel without cgroups) is "not mounted". */
    if (self_fd < 0 ||
        sr_file_read_fd(self_fd, "/proc/self/cgroup", PROCS_MAX, &self, &ignored) < 0)
        mountinfo = "";
    struct sr_cgroup cg = { .memory = -1, .pids = -1, .cpu = -1 };
    struct maker m = {
        .run = run,
        .limits = limits,
        .view = { "", self.data ? self.data : "", mountinfo, geteuid() == 0 },
        .cg = &cg,
    };
    if (all_place(&m, err) < 0) {
        sr_cgroup_destroy(&cg, run);
        return -1;
    }
    *ret = cg;
    return 0;
}

/* ---- members ---- */

int sr_cgroup_attach(const struct sr_cgroup *cg, pid_t pid, struct sr_error *err)
{
    for (size_t i = 0; i < cg->n; i++)
        if (write_at(cg->fds[i], "cgroup.procs", "%d", (int)pid) < 0)
            return sr_error_sys(err, "engine.cgroup", "moving process %d into the cgroup %s",
                                (int)pid, cg->dirs[i]);
    return 0;
}

int sr_cgroup_clone_fd(const struct sr_cgroup *cg)
{
    for (size_t i = 0; i < cg->n; i++)
        if (cg->v2[i])
            return cg->fds[i];
    return -1;
}

int sr_cgroup_enter(const struct sr_cgroup *cg, int cloned_fd)
{
    for (size_t i = 0; i < cg->n; i++) {
        if (cg->fds[i] == cloned_fd)
            continue;
        if (write_at(cg->fds[i], cg->v2[i] ? "cgroup.procs" : "tasks", "0") < 0)
            return -1;
    }
    return 0;
}

/* The process may end and its number go to another between the list and the signal: the descriptor
 * names one process, and the list, read again, says whether that one is a member. */
static bool still_listed(int dirfd, pid_t pid)
{
    cleanup_buf struct sr_buf procs = SR_BUF(PROCS_MAX);
    struct sr_error ignored = { 0 };
    if (sr_file_read_at(dirfd, "cgroup.procs", PROCS_MAX, &procs, &ignored) < 0 || !procs.data)
        return false;
    cleanup_free char *want = sr_asprintf("\n%d\n", (int)pid);
    cleanup_free char *all = sr_asprintf("\n%s", procs.data);
    return strstr(all, want) != NULL;
}

/* One round. Returns how many members were listed. */
static size_t kill_listed(int dirfd)
{
    cleanup_buf struct sr_buf procs = SR_BUF(PROCS_MAX);
    struct sr_error ignored = { 0 };
    if (sr_file_read_at(dirfd, "cgroup.procs", PROCS_MAX, &procs, &ignored) < 0 || !procs.data)
        return 0;
    size_t n = 0;
    char *save = NULL;
    for (char *w = strtok_r(procs.data, "\n", &save); w; w = strtok_r(NULL, "\n", &save)) {
        uint64_t pid;
        struct sr_error bad = { 0 };
        if (sr_text_u64(w, 1, INT32_MAX, &pid, &bad) < 0 ||
            (pid_t)pid == getpid()) /* 0: of another pid namespace */
            continue;
        n++;
        cleanup_fd int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
        if (fd >= 0 && still_listed(dirfd, (pid_t)pid))
            syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    }
    return n;
}

void sr_cgroup_kill(const struct sr_cgroup *cg)
{
    for (size_t i = 0; i < cg->n; i++)
        if (cg->v2[i] &&
            write_at(cg->fds[i], "cgroup.kill", "1") == 0) /* Linux 5.14; no fork outruns it */
            return;
    for (size_t i = 0; i < cg->n;
         i++) /* all have the same members, unless entering failed half way */
        for (int ms = 0; ms < KILL_MS && kill_listed(cg->fds[i]) > 0; ms += KILL_ROUND_MS)
            nanosleep(&(struct timespec){ .tv_nsec = KILL_ROUND_MS * 1000000L }, NULL);
}

/* ---- counters ---- */

/* The number after `key ` at the start of a line; key NULL: the file is one number. False, and
 * nothing written, when the kernel does not tell. */
static bool counter(const struct sr_cgroup *cg, int index, const char *name, const char *key,
                    uint64_t *ret)
{
    cleanup_buf struct sr_buf b = SR_BUF(FILE_MAX);
    struct sr_error ignored = { 0 };
    if (index < 0 || sr_file_read_at(cg->fds[index], name, FILE_MAX, &b, &ignored) < 0 || !b.data)
        return false;
    char *save = NULL;
    for (char *line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        size_t n = key ? strlen(key) : 0;
        if (key && (strncmp(line, key, n) != 0 || line[n] != ' '))
            continue;
        uint64_t v;
        bool told = sr_text_u64(line + n + (key != NULL), 0, UINT64_MAX, &v, &ignored) == 0;
        if (told)
            *ret = v;
        return told;
    }
    return false;
}

static bool memory_is_v2(const struct sr_cgroup *cg)
{
    return cg->memory >= 0 && cg->v2[cg->memory];
}

void sr_cgroup_read_events(const struct sr_cgroup *cg, struct sr_cgroup_usage *ret)
{
    bool v2 = memory_is_v2(cg);
    *ret = (struct sr_cgroup_usage){ 0 };
    ret->oom_told = counter(cg, cg->memory, v2 ? "memory.events" : "memory.oom_control", "oom_kill",
                            &ret->oom_kills);
    if (v2)
        counter(cg, cg->memory, "memory.events", "oom", &ret->ooms);
    ret->pids_told = counter(cg, cg->pids, "pids.events", "max", &ret->pids_refused);
}

static void read_v2(const struct sr_cgroup *cg, struct sr_cgroup_usage *ret)
{
    ret->at_bound_told = counter(cg, cg->memory, "memory.events", "max", &ret->at_bound);
    counter(cg, cg->memory, "memory.peak", NULL, &ret->memory_peak);
}

/*
 * Memory with swap has counters of its own, and is charged first: where its limit is the same, the
 * failures are its, and memory's own counter stays at 0. Linux 6.15 and newer count none of them
 * (seen on 6.18), so there 0 says nothing.
 */
static void read_v1(const struct sr_cgroup *cg, struct sr_cgroup_usage *ret)
{
    uint64_t with_swap = 0, peak = 0;
    bool told = counter(cg, cg->memory, "memory.failcnt", NULL, &ret->at_bound);
    bool swap = counter(cg, cg->memory, "memory.memsw.failcnt", NULL, &with_swap);
    ret->at_bound += with_swap;
    ret->at_bound_told = told && (!swap || ret->at_bound > 0);
    counter(cg, cg->memory, "memory.max_usage_in_bytes", NULL, &ret->memory_peak);
    if (counter(cg, cg->memory, "memory.memsw.max_usage_in_bytes", NULL, &peak) && peak > ret->memory_peak)
        ret->memory_peak = peak;
}

void sr_cgroup_read(const struct sr_cgroup *cg, struct sr_cgroup_usage *ret)
{
    sr_cgroup_read_events(cg, ret);
    if (memory_is_v2(cg))
        read_v2(cg, ret);
    else
        read_v1(cg, ret);
    counter(cg, cg->pids, "pids.peak", NULL, &ret->pids_peak);
}

/* ---- the end ---- */

void sr_cgroup_destroy(struct sr_cgroup *cg, struct sr_run_dir *run)
{
    while (cg->n > 0) {
        size_t i = --cg->n;
        struct sr_error err = { 0 };
        int r = sr_cgroup_remove(cg->dirs[i], &err);
        sr_run_dir_gone(run, SR_RESOURCE_CGROUP, cg->dirs[i], r < 0 ? err.text : NULL);
        sr_closep(&cg->fds[i]);
        cg->fds[i] = -1;
        sr_freep(&cg->dirs[i]);
        cg->dirs[i] = NULL;
    }
    cg->memory = cg->pids = cg->cpu = -1;
}
