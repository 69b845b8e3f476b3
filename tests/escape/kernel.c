/* SPDX-License-Identifier: MIT */
/* Calls that a check has no business making: new namespaces, mounts, keys, rings, tracers, odd sockets, privileges. */
#include "probe.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <pty.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Most calls carry arguments that fail after the permission check, so that the control outside does no harm. */
#define CALL(id, ...)                                                                              \
    static enum answer attempt_##id(const char *unused)                                            \
    {                                                                                              \
        (void)unused;                                                                              \
        return by_refusal(__VA_ARGS__);                                                            \
    }

static char zeroes[256];
static const char nowhere[] = "/nonexistent/probe";

CALL(keyctl, syscall(SYS_keyctl, 0, -3, 0))
CALL(add_key, syscall(SYS_add_key, "user", "probe", "x", 1, -2))
CALL(request_key, syscall(SYS_request_key, "user", "probe", NULL, 0))
CALL(io_uring_setup, syscall(SYS_io_uring_setup, 1, zeroes))
CALL(io_uring_enter, syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0))
CALL(io_uring_register, syscall(SYS_io_uring_register, -1, 0, NULL, 0))
CALL(bpf, syscall(SYS_bpf, 0, zeroes, 72))
CALL(perf_event_open, syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0))
CALL(userfaultfd, syscall(SYS_userfaultfd, O_CLOEXEC))
CALL(finit_module, syscall(SYS_finit_module, -1, "", 0))
CALL(delete_module, syscall(SYS_delete_module, "sandrun_no_such_module", O_NONBLOCK))
CALL(kexec_load, syscall(SYS_kexec_load, 0, 0, NULL, 0xffffUL))
CALL(reboot, syscall(SYS_reboot, 0, 0, 0, NULL))
CALL(swapon, syscall(SYS_swapon, nowhere, 0))
CALL(acct, syscall(SYS_acct, nowhere))
CALL(syslog, syscall(SYS_syslog, 10, NULL, 0))
CALL(sethostname, syscall(SYS_sethostname, NULL, 1))
CALL(settimeofday, syscall(SYS_settimeofday, NULL, NULL))
CALL(clock_settime, syscall(SYS_clock_settime, 0, NULL))
CALL(open_by_handle_at, syscall(SYS_open_by_handle_at, -1, zeroes, 0))
CALL(fanotify_init, syscall(SYS_fanotify_init, 4, O_RDONLY))
CALL(kcmp, syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0))
CALL(ptrace_traceme, ptrace(PTRACE_TRACEME, 0, NULL, NULL))
CALL(unshare_user, syscall(SYS_unshare, CLONE_NEWUSER))
CALL(unshare_mount, syscall(SYS_unshare, CLONE_NEWNS))
CALL(unshare_net, syscall(SYS_unshare, CLONE_NEWNET))
CALL(unshare_pid, syscall(SYS_unshare, CLONE_NEWPID))
CALL(setns, syscall(SYS_setns, open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC), 0))
CALL(umount, syscall(SYS_umount2, nowhere, 0))
CALL(pivot_root, syscall(SYS_pivot_root, nowhere, nowhere))
CALL(chroot, syscall(SYS_chroot, "."))
CALL(fsopen, syscall(SYS_fsopen, "tmpfs", 0))
CALL(fsconfig, syscall(SYS_fsconfig, -1, 0, NULL, NULL, 0))
CALL(fsmount, syscall(SYS_fsmount, -1, 0, 0))
CALL(fspick, syscall(SYS_fspick, -1, "", 0))
CALL(open_tree, syscall(SYS_open_tree, -100, ".", 1))
CALL(move_mount, syscall(SYS_move_mount, -1, "", -1, "", 0x44))
CALL(mount_setattr, syscall(SYS_mount_setattr, -1, "", 0x1000, zeroes, 32))
CALL(quotactl, syscall(SYS_quotactl, 0x800001 << 8, NULL, 0, NULL))
CALL(setgroups, syscall(SYS_setgroups, 0, NULL))
CALL(setpriority, setpriority(PRIO_PROCESS, 0, -5))
CALL(raw_socket, socket(AF_INET, SOCK_RAW, 1))
CALL(packet_socket, socket(17, SOCK_RAW, 0))
CALL(alg_socket, socket(38, SOCK_SEQPACKET, 0))
CALL(vsock_socket, socket(40, SOCK_STREAM, 0))
CALL(key_socket, socket(15, SOCK_RAW, 2))
CALL(rxrpc_socket, socket(33, SOCK_DGRAM, 2))
CALL(tipc_socket, socket(30, SOCK_STREAM, 0))
CALL(rds_socket, socket(21, SOCK_SEQPACKET, 0))
CALL(kcm_socket, socket(41, SOCK_DGRAM, 0))
CALL(xdp_socket, socket(44, SOCK_RAW, 0))
CALL(bluetooth_socket, socket(31, SOCK_RAW, 1))
CALL(netlink_xfrm, socket(AF_NETLINK, SOCK_RAW, 6))
CALL(netlink_audit, socket(AF_NETLINK, SOCK_RAW, 9))
CALL(personality, syscall(SYS_personality, 0x0040000))

static enum answer attempt_clone_user(const char *unused)
{
    (void)unused;
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0UL);
    if (pid == 0)
        _exit(0);
    return by_refusal(pid);
}

static enum answer attempt_clone3_user(const char *unused)
{
    (void)unused;
    struct clone_args a = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
    long pid = syscall(SYS_clone3, &a, sizeof a);
    if (pid == 0)
        _exit(0);
    return by_refusal(pid);
}

/* Outside in a mount namespace of its own, so that the control leaves no mount. */
static enum answer attempt_mount(const char *unused)
{
    (void)unused;
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return by_refusal(mount("none", "/tmp", "tmpfs", 0, NULL));
}

/* Typing into the terminal of whoever started us. The number is masked to 32 bits by the kernel, and only there. */
static enum answer terminal(unsigned long request)
{
    int master, slave;
    char c = 'x';
    if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
        return by_success(-1);
    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    return by_refusal(syscall(SYS_ioctl, slave, request, &c));
}

static enum answer attempt_tiocsti(const char *unused)
{
    (void)unused;
    return terminal(TIOCSTI);
}

static enum answer attempt_tiocsti_wide(const char *unused)
{
    (void)unused;
    return terminal(TIOCSTI | 1UL << 32);
}

static enum answer attempt_tioclinux(const char *unused)
{
    (void)unused;
    return terminal(TIOCLINUX);
}

#ifdef __x86_64__
CALL(iopl, syscall(SYS_iopl, 3))
CALL(x32, syscall(0x40000000L | SYS_getppid))

/* A kernel without 32-bit emulation has no gate for user code at 0x80: the instruction itself faults, and it touches no memory. */
static void no_gate(int signal)
{
    (void)signal;
    _exit(say(HELD, "ENOSYS, no gate") == HELD ? 0 : 1);
}

static enum answer attempt_int80(const char *unused)
{
    (void)unused;
    long r;
    signal(SIGSEGV, no_gate);
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(64L) : "memory", "r8", "r9", "r10", "r11");
    errno = r < 0 ? (int)-r : 0;
    return by_refusal(r < 0 ? -1 : r);
}
#endif

/* ---- what we are ---- */

static bool status_line(const char *key, char value[64])
{
    char line[256];
    bool found = false;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && !found && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
            snprintf(value, 64, "%s", line + strlen(key) + 2);
            value[strcspn(value, "\n")] = '\0';
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

static enum answer attempt_capabilities(const char *unused)
{
    (void)unused;
    static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char v[64];
        if (!status_line(sets[i], v) || strspn(v, "0") != strlen(v))
            return say(OPEN, "%s %s", sets[i], v);
    }
    return say(HELD, "all five sets empty");
}

static enum answer attempt_new_privileges(const char *unused)
{
    (void)unused;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? say(HELD, "no_new_privs 1") : say(OPEN, "no_new_privs 0");
}

static enum answer attempt_unfiltered(const char *unused)
{
    (void)unused;
    char v[64] = "?";
    status_line("Seccomp", v);
    return strcmp(v, "2") == 0 ? say(HELD, "Seccomp 2") : say(OPEN, "Seccomp %s", v);
}

static enum answer attempt_securebits(const char *unused)
{
    (void)unused;
    enum { NOROOT_AND_LOCKED = 3 };
    int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    return (bits & NOROOT_AND_LOCKED) == NOROOT_AND_LOCKED ? say(HELD, "%#x", bits) : say(OPEN, "%#x", bits);
}

#define ROW(id) { #id, attempt_##id }
static const struct probe probes[] = {
    ROW(keyctl), ROW(add_key), ROW(request_key), ROW(io_uring_setup), ROW(io_uring_enter), ROW(io_uring_register),
    ROW(bpf), ROW(perf_event_open), ROW(userfaultfd), ROW(finit_module), ROW(delete_module), ROW(kexec_load),
    ROW(reboot), ROW(swapon), ROW(acct), ROW(syslog), ROW(sethostname), ROW(settimeofday), ROW(clock_settime),
    ROW(open_by_handle_at), ROW(fanotify_init), ROW(kcmp), ROW(ptrace_traceme), ROW(unshare_user), ROW(unshare_mount),
    ROW(unshare_net), ROW(unshare_pid), ROW(setns), ROW(umount), ROW(pivot_root), ROW(chroot), ROW(fsopen),
    ROW(fsconfig), ROW(fsmount), ROW(fspick), ROW(open_tree), ROW(move_mount), ROW(mount_setattr), ROW(quotactl),
    ROW(setgroups), ROW(setpriority), ROW(raw_socket), ROW(packet_socket), ROW(alg_socket), ROW(vsock_socket),
    ROW(key_socket), ROW(rxrpc_socket), ROW(tipc_socket), ROW(rds_socket), ROW(kcm_socket), ROW(xdp_socket),
    ROW(bluetooth_socket), ROW(netlink_xfrm), ROW(netlink_audit), ROW(personality), ROW(clone_user), ROW(clone3_user),
    ROW(mount), ROW(tiocsti), ROW(tiocsti_wide), ROW(tioclinux),
#ifdef __x86_64__
    ROW(iopl), ROW(x32), ROW(int80),
#endif
    ROW(capabilities), ROW(new_privileges), ROW(unfiltered), ROW(securebits),
};
PROBE_MAIN(probes)
