/* SPDX-License-Identifier: MIT */
/* The filter in the kernel: calls tried from inside, each beside the same call outside; tools that
 * must work; the cache. */
#include "base/fs.h"
#include "engine/native/seccomp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER SR_BUF(64 * 1024)

static struct sr_buf filter_make(const char *group)
{
    struct sr_buf b = BUFFER;
    cleanup_strv struct sr_strv groups = { 0 };
    if (group)
        sr_strv_add(&groups, group);
    struct sr_error err = { 0 };
    cr_assert(sr_seccomp_filter(-1, &groups, &b, &err) == 0, "%s", err.text);
    return b;
}

enum { NOT_INSTALLED = 250, CRASHED = 251 };

/* errno of the call in a child, 0 when it worked. */
static int try_call(const struct sr_buf *filter, long (*call)(void))
{
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        if (filter &&
            (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || sr_seccomp_install(filter) != 0))
            _exit(NOT_INSTALLED);
        errno = 0;
        long r = call();
        _exit(r == -1 ? errno : 0);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    int r = WIFEXITED(status) ? WEXITSTATUS(status) : CRASHED;
    cr_assert_neq(r, NOT_INSTALLED);
    return r;
}

static char scratch[] = "/tmp/sandrun-seccomp-XXXXXX";
static char path_file[64], path_node[64];

static void scratch_make(void)
{
    cr_assert(mkdtemp(scratch));
    snprintf(path_file, sizeof path_file, "%s/file", scratch);
    snprintf(path_node, sizeof path_node, "%s/node", scratch);
    cleanup_fd int fd = open(path_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0);
}

static void scratch_remove(void)
{
    struct sr_error err = { 0 };
    cr_expect(sr_remove_at(AT_FDCWD, scratch, &err) == 0, "%s", err.text);
}

#define CALL(name, expr)                                                                           \
    static long call_##name(void)                                                                  \
    {                                                                                              \
        return (expr);                                                                             \
    }

static long terminal(unsigned long request, unsigned long extra)
{
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    char zero[64] = { 0 };
    if (fd < 0)
        _exit(NOT_INSTALLED);
    return syscall(SYS_ioctl, fd, request | extra, zero);
}

static long vmsplice_try(void)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC) != 0)
        _exit(NOT_INSTALLED);
    struct iovec v = { scratch, 4 };
    return syscall(SYS_vmsplice, p[1], &v, 1, 0);
}

static long vm_read_try(void)
{
    char to[4];
    struct iovec l = { to, 4 }, r = { scratch, 4 };
    return syscall(SYS_process_vm_readv, getpid(), &l, 1UL, &r, 1UL, 0UL);
}

static long perf_try(void)
{
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof a,
                                 .config = PERF_COUNT_SW_CPU_CLOCK };
    return syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static long clone_try(unsigned long flags)
{
    long r = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (r == 0)
        _exit(0);
    return r;
}

static char uring_params[256];
CALL(chmod_setuid, chmod(path_file, 04755))
CALL(mknod_device, mknod(path_node, S_IFCHR | 0600, 0))
CALL(unshare_uts, unshare(CLONE_NEWUTS))
CALL(unshare_user, unshare(CLONE_NEWUSER))
CALL(clone_user, clone_try(CLONE_NEWUSER))
CALL(clone_net, clone_try(CLONE_NEWNET))
CALL(clone3, syscall(SYS_clone3, NULL, 0))
CALL(chroot, chroot("/"))
CALL(mount, syscall(SYS_mount, "none", scratch, "tmpfs", 0x80000000, NULL) == -1 && errno == EPERM
                ? -1
                : 0)
CALL(setns, syscall(SYS_setns, -1, 0))
CALL(fsopen, syscall(SYS_fsopen, "tmpfs", 0))
CALL(open_tree, syscall(SYS_open_tree, AT_FDCWD, scratch, 0))
CALL(ptrace, ptrace(PTRACE_TRACEME, 0, 0, 0))
CALL(kcmp, syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 1))
CALL(keyctl, syscall(SYS_keyctl, 0, -3, 1))
CALL(add_key, syscall(SYS_add_key, "user", "sandrun-test", "x", 1, -2))
CALL(bpf, syscall(SYS_bpf, -1, NULL, 0))
CALL(userfaultfd, syscall(SYS_userfaultfd, O_CLOEXEC))
CALL(uring, syscall(SYS_io_uring_setup, 4, uring_params))
CALL(uring_enter, syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0UL))
CALL(by_handle, syscall(SYS_open_by_handle_at, -1, NULL, 0))
CALL(personality_aslr, syscall(SYS_personality, 0x40000))
CALL(packet, socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0))
CALL(raw, socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1))
CALL(alg, socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) == -1 && errno == EAFNOSUPPORT ? -1 : 0)
CALL(netlink_uevent, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 15))
CALL(sti, terminal(TIOCSTI, 0))
CALL(sti_high, terminal(TIOCSTI, 1UL << 40))
CALL(setd, terminal(TIOCSETD, 0))
CALL(adjtimex, syscall(SYS_adjtimex, NULL))
CALL(clock_settime, syscall(SYS_clock_settime, -1, NULL))
CALL(hostname, syscall(SYS_sethostname, NULL, -1))
CALL(syslog, syscall(SYS_syslog, 10, NULL, 0))
CALL(swapon, syscall(SYS_swapon, NULL, 0))
CALL(acct, syscall(SYS_acct, path_node))
CALL(module, syscall(SYS_finit_module, -1, "", 0))
CALL(pidfd_getfd, syscall(SYS_pidfd_getfd, -1, 0, 0))
CALL(move_pages, syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0UL))
CALL(fanotify, syscall(SYS_fanotify_init, 0, 0))
CALL(quotactl, syscall(SYS_quotactl, -1, NULL, 0, NULL))
CALL(unknown, syscall(1000))

struct attempt {
    const char *name;
    long (*call)(void);
    int error;
    bool same_outside; /* the kernel may answer the same by itself: no control */
};

#define TRY(name, error)                                                                           \
    {                                                                                              \
#name, call_##name, error, false                                                           \
    }
static const struct attempt attempts[] = {
    TRY(chmod_setuid, EPERM),
    TRY(mknod_device, EPERM),
    TRY(unshare_uts, EPERM),
    TRY(unshare_user, EPERM),
    TRY(clone_user, EPERM),
    TRY(clone_net, EPERM),
    TRY(clone3, ENOSYS),
    TRY(chroot, EPERM),
    TRY(mount, EPERM),
    TRY(setns, EPERM),
    TRY(fsopen, ENOSYS),
    TRY(open_tree, ENOSYS),
    TRY(ptrace, EPERM),
    { "process_vm_readv", vm_read_try, EPERM, false },
    TRY(kcmp, EPERM),
    TRY(keyctl, EPERM),
    TRY(add_key, EPERM),
    TRY(bpf, EPERM),
    TRY(userfaultfd, EPERM),
    { "io_uring_setup", call_uring, EPERM, true },
    { "io_uring_enter", call_uring_enter, EPERM, true },
    TRY(by_handle, EPERM),
    TRY(personality_aslr, EPERM),
    TRY(packet, EAFNOSUPPORT),
    TRY(raw, EPERM),
    { "AF_ALG", call_alg, EAFNOSUPPORT, true },
    TRY(netlink_uevent, EAFNOSUPPORT),
    { "TIOCSTI", call_sti, EPERM, false },
    { "TIOCSTI high", call_sti_high, EPERM, false },
    TRY(setd, EPERM),
    TRY(adjtimex, EPERM),
    TRY(clock_settime, EPERM),
    TRY(hostname, EPERM),
    TRY(syslog, EPERM),
    TRY(swapon, EPERM),
    { "acct", call_acct, EPERM, true },
    TRY(module, EPERM),
    TRY(pidfd_getfd, EPERM),
    TRY(move_pages, EPERM),
    TRY(fanotify, EPERM),
    TRY(quotactl, EPERM),
    { "vmsplice", vmsplice_try, EPERM, false },
    { "perf_event_open", perf_try, EPERM, true },
    { "unknown", call_unknown, ENOSYS, true },
};

Test(seccomp, a13_refused_inside_and_not_outside)
{
    scratch_make();
    struct sr_buf f = filter_make(NULL);
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        const struct attempt *a = &attempts[i];
        int inside = try_call(&f, a->call);
        cr_expect_eq(inside, a->error, "%s: %d (%s) inside", a->name, inside, strerror(inside));
        if (!a->same_outside)
            cr_expect_neq(try_call(NULL, a->call), a->error,
                          "%s: the kernel says this without a filter", a->name);
        unlink(path_node);
    }
    sr_buf_clear(&f);
    scratch_remove();
}

CALL(fifo, mknod(path_node, S_IFIFO | 0600, 0))
CALL(chmod_plain, chmod(path_file, 01777))
CALL(unshare_files, unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM))
CALL(unix_socket, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
CALL(inet, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
CALL(inet6, socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0))
CALL(route, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0))
CALL(personality_ask, syscall(SYS_personality, 0xffffffffUL))
CALL(winsize, terminal(TIOCGWINSZ, 0))
CALL(fork, clone_try(0))

static long stricter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog p = { 1, &allow };
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p);
}

Test(seccomp, what_tools_need_is_allowed)
{
    static const struct attempt allowed[] = {
        TRY(fifo, 0),
        TRY(chmod_plain, 0),
        TRY(unshare_files, 0),
        TRY(unix_socket, 0),
        TRY(inet, 0),
        TRY(inet6, 0),
        TRY(route, 0),
        TRY(personality_ask, 0),
        TRY(winsize, 0),
        TRY(fork, 0),
        { "a filter inside", stricter, 0, false },
    };
    scratch_make();
    struct sr_buf f = filter_make(NULL);
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        int inside = try_call(&f, allowed[i].call);
        cr_expect_eq(inside, 0, "%s: %s", allowed[i].name, strerror(inside));
        unlink(path_node);
    }
    sr_buf_clear(&f);
    scratch_remove();
}

Test(seccomp, groups_reach_the_kernel)
{
    struct sr_buf debug = filter_make("debug"), userns = filter_make("userns");
    cr_expect_eq(try_call(&debug, call_ptrace), 0);
    cr_expect_eq(try_call(&debug, vm_read_try), 0);
    cr_expect_eq(try_call(&debug, call_unshare_user), EPERM);
    cr_expect_eq(try_call(&userns, call_unshare_user), 0);
    cr_expect_eq(try_call(&userns, call_clone_user), 0);
    cr_expect_eq(try_call(&userns, call_ptrace), EPERM);
    sr_buf_clear(&debug);
    sr_buf_clear(&userns);
}

#ifdef __x86_64__
/* getpid of the i386 table */
static long int80(void)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
    errno = r < 0 ? (int)-r : 0;
    return r < 0 ? -1 : r;
}

CALL(x32_getpid, syscall(0x40000000 | SYS_getpid))
CALL(x32_ptrace, syscall(0x40000000 | 521, 0, 0, 0, 0)) /* ptrace in the x32 table */

Test(seccomp, a13_x32_and_int80_are_refused)
{
    struct sr_buf f = filter_make(NULL);
    int outside = try_call(NULL, int80);
    cr_expect(outside == 0 || outside == CRASHED,
              "a kernel with i386 answers, one without faults: %d", outside);
    int inside = try_call(&f, int80);
    cr_expect(outside == 0 ? inside == ENOSYS : inside == CRASHED, "int 0x80 inside: %d", inside);
    cr_expect_eq(try_call(&f, call_x32_getpid), ENOSYS);
    cr_expect_eq(try_call(&f, call_x32_ptrace), ENOSYS);
    sr_buf_clear(&f);
}
#endif

Test(seccomp, install_needs_no_new_privs_or_a_whole_program)
{
    struct sr_buf empty = BUFFER, odd = BUFFER;
    sr_buf_add(&odd, "12345", 5);
    cr_expect_eq(sr_seccomp_install(&empty), -1);
    cr_expect_eq(errno, EINVAL);
    cr_expect_eq(sr_seccomp_install(&odd), -1);
    cr_expect_eq(errno, EINVAL);
    sr_buf_clear(&odd);
}

Test(seccomp, unknown_group_is_refused_by_name)
{
    struct sr_buf b = BUFFER;
    cleanup_strv struct sr_strv groups = { 0 };
    sr_strv_add(&groups, "debug");
    sr_strv_add(&groups, "everything");
    struct sr_error err = { 0 };
    cr_assert_eq(sr_seccomp_filter(-1, &groups, &b, &err), -1);
    cr_expect_str_eq(err.code, "seccomp.group");
    cr_expect(strstr(err.text, "everything"));
    cr_expect_null(b.data);
    size_t n = 0;
    for (const char *const *g = sr_seccomp_groups(); *g; g++)
        n++;
    cr_expect_eq(n, 2);
}
