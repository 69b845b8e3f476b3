/* SPDX-License-Identifier: MIT */
/* What each system call gets, and why. Pure data. */
#include "engine/native/seccomp_table.h"

#include <errno.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define LOW32 UINT64_C(0xffffffff)

/* clang-format off: it takes the braces for blocks */
#define EQ(arg, v)      { arg, SCMP_CMP_EQ, v, 0 }
#define NE(arg, v)      { arg, SCMP_CMP_NE, v, 0 }
#define LT(arg, v)      { arg, SCMP_CMP_LT, v, 0 }
#define GT(arg, v)      { arg, SCMP_CMP_GT, v, 0 }
#define BITS(arg, m, v) { arg, SCMP_CMP_MASKED_EQ, m, v }
#define ONE(a)          { { a }, 1 }
#define TWO(a, b)       { { a, b }, 2 }
#define THREE(a, b, c)  { { a, b, c }, 3 }

#define ALLOW(calls, why)                     { .names = calls, .reason = why }
#define ALLOW_WHEN(calls, tests, why)         { .names = calls, WHEN(tests), .reason = why }
#define ALLOW_GROUP(grp, calls, why)          { .names = calls, .group = grp, .reason = why }
#define REFUSE(calls, code, why)              { .names = calls, .error = code, .reason = why }
#define REFUSE_WHEN(calls, tests, code, why)  { .names = calls, WHEN(tests), .error = code, .reason = why }
/* clang-format on */
#define WHEN(tests) .when = (tests), .n_when = sizeof(tests) / sizeof((tests)[0])

/*
 * The families are compared in all 64 bits although the kernel looks at 32: what is allowed must be
 * spelled plainly, and a family hidden below set high bits is "greater than 16" and refused. INET
 * protocols are named because asking for another one loads its module (SCTP, DCCP, L2TP, SMC) for
 * anybody; Go and friends fall back from MPTCP.
 */
#define TYPE(v) BITS(1, 0xf, v)
static const struct sr_syscall_test socket_allowed[] = {
    TWO(EQ(0, AF_UNIX), TYPE(SOCK_STREAM)),
    TWO(EQ(0, AF_UNIX), TYPE(SOCK_DGRAM)),
    TWO(EQ(0, AF_UNIX), TYPE(SOCK_SEQPACKET)),
    THREE(EQ(0, AF_INET), TYPE(SOCK_STREAM), EQ(2, 0)),
    THREE(EQ(0, AF_INET), TYPE(SOCK_STREAM), EQ(2, IPPROTO_TCP)),
    THREE(EQ(0, AF_INET), TYPE(SOCK_DGRAM), EQ(2, 0)),
    THREE(EQ(0, AF_INET), TYPE(SOCK_DGRAM), EQ(2, IPPROTO_UDP)),
    THREE(EQ(0, AF_INET), TYPE(SOCK_DGRAM), EQ(2, IPPROTO_ICMP)),
    THREE(EQ(0, AF_INET6), TYPE(SOCK_STREAM), EQ(2, 0)),
    THREE(EQ(0, AF_INET6), TYPE(SOCK_STREAM), EQ(2, IPPROTO_TCP)),
    THREE(EQ(0, AF_INET6), TYPE(SOCK_DGRAM), EQ(2, 0)),
    THREE(EQ(0, AF_INET6), TYPE(SOCK_DGRAM), EQ(2, IPPROTO_UDP)),
    THREE(EQ(0, AF_INET6), TYPE(SOCK_DGRAM), EQ(2, IPPROTO_ICMPV6)),
    TWO(EQ(0, AF_NETLINK), EQ(2, 0)), /* NETLINK_ROUTE: getifaddrs */
};
/* Netlink beyond ROUTE answers as a kernel without it: shadow's tools give up on EPERM, but go on
 * without audit on this. */
static const struct sr_syscall_test socket_families[] = {
    ONE(LT(0, AF_UNIX)), ONE(EQ(0, 3)),          ONE(EQ(0, 4)),
    ONE(EQ(0, 5)),       ONE(EQ(0, 6)),          ONE(EQ(0, 7)),
    ONE(EQ(0, 8)),       ONE(EQ(0, 9)),          ONE(EQ(0, 11)),
    ONE(EQ(0, 12)),      ONE(EQ(0, 13)),         ONE(EQ(0, 14)),
    ONE(EQ(0, 15)),      ONE(GT(0, AF_NETLINK)), TWO(EQ(0, AF_NETLINK), NE(2, 0)),
};
static const struct sr_syscall_test pair_allowed[] = { ONE(EQ(0, AF_UNIX)) };
static const struct sr_syscall_test pair_families[] = { ONE(NE(0, AF_UNIX)) };

#define NEW_ANY                                                                                    \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
/* CLONE_NEWTIME is a bit of the exit signal in clone(2), a namespace in unshare(2). */
static const struct sr_syscall_test clone_no_namespace[] = { ONE(BITS(0, NEW_ANY, 0)) };
static const struct sr_syscall_test unshare_no_namespace[] = { ONE(
    BITS(0, NEW_ANY | CLONE_NEWTIME, 0)) };

#define PERSONALITY(v) ONE(BITS(0, LOW32, v))
#define NO_RANDOMIZE   0x0040000
static const struct sr_syscall_test personality_plain[] = {
    PERSONALITY(0), PERSONALITY(8), PERSONALITY(0x20000), PERSONALITY(0x20008), PERSONALITY(LOW32),
};
static const struct sr_syscall_test personality_debug[] = {
    PERSONALITY(0),       PERSONALITY(8),     PERSONALITY(0x20000),
    PERSONALITY(0x20008), PERSONALITY(LOW32), PERSONALITY(NO_RANDOMIZE),
};

/* Not S_ISGID: trees in setgid directories are common on shared machines, and copying one (cp -p, shutil.copytree) sets the bit
 * again. Neither bit does anything here, every mount is nosuid; S_ISUID is refused since no build has a use for it. */
#define PRIVILEGED S_ISUID
static const struct sr_syscall_test mode_plain_1[] = { ONE(BITS(1, PRIVILEGED, 0)) };
static const struct sr_syscall_test mode_plain_2[] = { ONE(BITS(2, PRIVILEGED, 0)) };
#define NODE(arg, type) ONE(BITS(arg, S_IFMT | PRIVILEGED, type))
static const struct sr_syscall_test node_plain_1[] = { NODE(1, 0), NODE(1, S_IFREG),
                                                       NODE(1, S_IFIFO), NODE(1, S_IFSOCK) };
static const struct sr_syscall_test node_plain_2[] = { NODE(2, 0), NODE(2, S_IFREG),
                                                       NODE(2, S_IFIFO), NODE(2, S_IFSOCK) };

/*
 * TIOCSTI, TIOCLINUX, TIOCSETD. The kernel takes the request as 32 bits, so a 64-bit comparison is
 * passed by setting a high bit (CVE-2019-10063). 16 bits are compared: it refuses these requests
 * with any size field too, which nothing uses, in half the comparisons.
 */
static const struct sr_syscall_except ioctl_terminal = { 1, 16, 3, { 0x5412, 0x541C, 0x5423 } };

const struct sr_syscall_row sr_syscall_table[] = {
    /* ---- files ---- */
    ALLOW("read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close "
          "close_range",
          "data"),
    ALLOW("open openat openat2 creat",
          "files. A mode with S_ISUID is possible here: openat2 hides it from any filter, "
          "so mounts are nosuid and what comes back loses it"),
    ALLOW("dup dup2 dup3 fcntl flock pipe pipe2 memfd_create", "descriptors and locks"),
    ALLOW("stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink "
          "readlinkat cachestat",
          "file attributes"),
    ALLOW("getdents getdents64 getcwd chdir fchdir umask", "directories"),
    ALLOW("rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat symlink "
          "symlinkat",
          "names"),
    ALLOW("truncate ftruncate fallocate fsync fdatasync sync syncfs sync_file_range fadvise64 "
          "readahead",
          "contents"),
    ALLOW("chown fchown lchown fchownat", "owners: the run's own ids only, it has no capability"),
    ALLOW("utime utimes futimesat utimensat", "times of files"),
    ALLOW("setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr "
          "flistxattr removexattr lremovexattr fremovexattr setxattrat getxattrat listxattrat "
          "removexattrat file_getattr file_setattr",
          "attributes: privileged ones need capabilities"),
    ALLOW("sendfile splice tee copy_file_range", "copying inside the kernel: coreutils, runtimes"),
    ALLOW("name_to_handle_at", "a handle opens nothing without open_by_handle_at"),
    ALLOW("statmount listmount", "what /proc/self/mountinfo tells too"),
    ALLOW("inotify_init inotify_init1 inotify_add_watch inotify_rm_watch", "watchers"),
    ALLOW_WHEN("chmod fchmod", mode_plain_1, "no setuid or setgid file is made"),
    ALLOW_WHEN("fchmodat fchmodat2", mode_plain_2, "no setuid or setgid file is made"),
    ALLOW_WHEN("mknod", node_plain_1,
               "files, FIFOs and sockets, no devices (nor overlay's char 0:0)"),
    ALLOW_WHEN("mknodat", node_plain_2,
               "files, FIFOs and sockets, no devices (nor overlay's char 0:0)"),
    { .names = "ioctl",
      .except = &ioctl_terminal,
      .reason = "all but typing into a terminal and line disciplines" },

    /* ---- memory ---- */
    ALLOW("mmap mprotect munmap mremap brk msync mincore madvise remap_file_pages mlock mlock2 "
          "munlock mlockall munlockall mseal map_shadow_stack pkey_mprotect pkey_alloc pkey_free "
          "membarrier",
          "own memory, below the run's limit"),
    ALLOW("shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl",
          "own IPC namespace"),
    ALLOW("mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
          "own IPC namespace"),

    /* ---- processes ---- */
    ALLOW(
        "fork vfork execve execveat exit exit_group wait4 waitid restart_syscall process_mrelease",
        "processes"),
    ALLOW_WHEN("clone", clone_no_namespace,
               "threads and processes; no namespace, where the kernel's escapes start"),
    ALLOW_WHEN("unshare", unshare_no_namespace, "files, cwd and System V adjustments only"),
    ALLOW("getpid getppid gettid getpgid getpgrp getsid setpgid setsid kill tkill tgkill "
          "pidfd_open pidfd_send_signal",
          "own pid namespace"),
    ALLOW("getuid geteuid getgid getegid getgroups getresuid getresgid setuid setgid setreuid "
          "setregid setresuid setresgid setfsuid setfsgid setgroups capget capset",
          "identity: without capabilities nothing is gained"),
    ALLOW("sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler "
          "sched_setattr sched_getattr sched_get_priority_max sched_get_priority_min "
          "sched_rr_get_interval sched_setaffinity sched_getaffinity getcpu getpriority "
          "setpriority ioprio_set ioprio_get",
          "scheduling of own processes"),
    ALLOW("getrlimit setrlimit prlimit64 getrusage times sysinfo uname",
          "resources; hard limits only sink"),
    ALLOW("prctl arch_prctl set_thread_area get_thread_area set_tid_address set_robust_list "
          "get_robust_list rseq",
          "own state. PR_SET_MM stays: what it can do without CAP_SYS_RESOURCE, a write to the own "
          "stack does too"),
    ALLOW_WHEN("personality", personality_plain, "Linux in its spellings, and asking"),
    ALLOW("seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
          "a stricter sandbox inside"),
    ALLOW("getrandom", "randomness"),

    /* ---- signals, waiting, time ---- */
    ALLOW("rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo "
          "rt_tgsigqueueinfo rt_sigsuspend sigaltstack pause signalfd signalfd4",
          "signals"),
    ALLOW("poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
          "epoll_pwait2 eventfd eventfd2",
          "waiting"),
    ALLOW("futex futex_waitv futex_wake futex_wait futex_requeue", "locks"),
    ALLOW("nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time alarm getitimer "
          "setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete "
          "timerfd_create timerfd_settime timerfd_gettime",
          "time and timers"),
    ALLOW("io_setup io_destroy io_getevents io_pgetevents io_submit io_cancel",
          "old asynchronous I/O: databases; reads and writes of open files only, unlike io_uring"),

    /* ---- sockets ---- */
    ALLOW_WHEN("socket", socket_allowed, "unix, inet, inet6, rtnetlink; no raw socket"),
    REFUSE_WHEN("socket", socket_families, EAFNOSUPPORT,
                "ALG, VSOCK, PACKET, RXRPC, XFRM and the rest: ways to the kernel "
                "or the VM's host that a network namespace does not close"),
    ALLOW_WHEN("socketpair", pair_allowed, "unix"),
    REFUSE_WHEN("socketpair", pair_families, EAFNOSUPPORT, "as socket"),
    ALLOW("connect accept accept4 bind listen getsockname getpeername sendto sendmsg sendmmsg "
          "recvfrom recvmsg recvmmsg shutdown setsockopt getsockopt",
          "the network namespace decides what is reached"),

    /* ---- opt-outs ---- */
    ALLOW_GROUP("debug", "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd",
                "debuggers, LeakSanitizer"),
    { .names = "personality",
      .group = "debug",
      WHEN(personality_debug),
      .reason = "gdb, ThreadSanitizer: no ASLR" },
    ALLOW_GROUP("userns", "clone unshare chroot", "browsers build their own sandbox of these"),

    /* ---- known and refused: EPERM is what no row says, these say why ---- */
    REFUSE("ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise", EPERM,
           "reaching into other processes; group debug"),
    REFUSE("chroot pivot_root mount umount2 setns", EPERM, "the file system view is fixed"),
    REFUSE("open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr",
           ENOSYS, "as mount; libmount falls back on ENOSYS only"),
    REFUSE("clone3", ENOSYS,
           "its flags are in memory, out of a filter's sight; libc falls back to clone"),
    REFUSE("io_uring_setup io_uring_enter io_uring_register", EPERM,
           "does socket(2) and more past any filter; the answer of io_uring_disabled"),
    REFUSE("userfaultfd", EPERM, "holds the kernel still at will: the tool of races"),
    REFUSE("vmsplice", EPERM,
           "user pages in pipes by reference: page-cache attacks; callers fall back to write"),
    REFUSE("memfd_secret", ENOSYS,
           "memory nobody can look into; off in most kernels, with this answer"),
    REFUSE("bpf perf_event_open", EPERM, "the widest attack surfaces of the kernel"),
    REFUSE("add_key request_key keyctl", EPERM, "keyrings are not of any namespace"),
    REFUSE("open_by_handle_at", EPERM, "opens past the mount namespace"),
    REFUSE("fanotify_init fanotify_mark", EPERM, "watches beyond the tree; inotify is there"),
    REFUSE("get_mempolicy set_mempolicy mbind set_mempolicy_home_node", ENOSYS,
           "kernel without NUMA: libnuma, OpenBLAS and the JVM take it quietly, where EPERM makes "
           "them print"),
    REFUSE("migrate_pages move_pages", EPERM, "placement of other processes' memory"),
    REFUSE("modify_ldt", EPERM, "16-bit segments; wine only"),
    REFUSE("iopl ioperm", EPERM, "ports"),
    REFUSE("settimeofday clock_settime clock_adjtime adjtimex", EPERM, "the machine's clock"),
    REFUSE("sethostname setdomainname", EPERM, "set before the command starts"),
    REFUSE("init_module finit_module delete_module kexec_load kexec_file_load reboot", EPERM,
           "the machine"),
    REFUSE("acct swapon swapoff quotactl quotactl_fd syslog vhangup", EPERM, "the machine"),
    REFUSE("lsm_get_self_attr lsm_set_self_attr lsm_list_modules", ENOSYS,
           "new; callers use /proc/self/attr"),
    REFUSE("uretprobe uprobe", ENOSYS, "trampolines of probes, not for programs"),
    REFUSE("uselib ustat sysfs _sysctl create_module get_kernel_syms query_module nfsservctl "
           "getpmsg putpmsg afs_syscall tuxcall security vserver epoll_ctl_old epoll_wait_old "
           "lookup_dcookie",
           ENOSYS, "gone from kernels, or never there"),
};
const size_t sr_syscall_table_size = sizeof sr_syscall_table / sizeof sr_syscall_table[0];
