/* SPDX-License-Identifier: MIT */
/* The filter as a function: every architecture's program is run here, instruction by instruction,
 * over calls of all shapes. */
#include "engine/native/seccomp_table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct machine {
    uint32_t arch, audit;
    struct sr_buf program;
};

static const uint32_t arches[][2] = {
    { SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64 },
    { SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64 },
};
enum { ARCHES = 2 };

static struct machine machine_make(unsigned i, const char *group)
{
    struct machine m = { arches[i][0], arches[i][1], SR_BUF(64 * 1024) };
    cleanup_strv struct sr_strv groups = { 0 };
    if (group)
        sr_strv_add(&groups, group);
    struct sr_error err = { 0 };
    cr_assert(sr_seccomp_compile(m.arch, &groups, &m.program, &err) == 0, "%s", err.text);
    return m;
}

/* Classic BPF, the part of it that a filter uses; anything else fails the test. */
static uint32_t machine_run(const struct machine *m, const struct seccomp_data *data)
{
    const struct sock_filter *f = (const struct sock_filter *)(const void *)m->program.data;
    size_t n = m->program.len / sizeof *f;
    uint32_t a = 0;
    for (size_t pc = 0; pc < n; pc++) {
        uint32_t k = f[pc].k;
        bool yes = false;
        switch (f[pc].code) {
        case BPF_LD | BPF_W | BPF_ABS:
            cr_assert_leq(k + 4, sizeof *data);
            memcpy(&a, (const char *)data + k, 4);
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= k;
            continue;
        case BPF_JMP | BPF_JA:
            pc += k;
            continue;
        case BPF_RET | BPF_K:
            return k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            yes = a == k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            yes = a >= k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            yes = a > k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            yes = (a & k) != 0;
            break;
        default:
            cr_assert_fail("instruction %zu: code 0x%x", pc, f[pc].code);
        }
        pc += yes ? f[pc].jt : f[pc].jf;
    }
    cr_assert_fail("ran off the end");
    return 0;
}

/* 0: allowed, else the errno. */
static int answer_nr(const struct machine *m, uint32_t audit, int nr, uint64_t a0, uint64_t a1,
                     uint64_t a2)
{
    struct seccomp_data data = { .nr = nr, .arch = audit, .args = { a0, a1, a2, 7, 7, 7 } };
    uint32_t r = machine_run(m, &data);
    if (r == SECCOMP_RET_ALLOW)
        return 0;
    cr_assert_eq(r & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO, "call %d: action 0x%x", nr, r);
    return (int)(r & SECCOMP_RET_DATA);
}

static int answer(const struct machine *m, const char *name, uint64_t a0, uint64_t a1, uint64_t a2)
{
    int nr = seccomp_syscall_resolve_name_arch(m->arch, name);
    cr_assert_geq(nr, 0, "%s", name);
    return answer_nr(m, m->audit, nr, a0, a1, a2);
}

struct expected {
    const char *name;
    uint64_t a0, a1, a2;
    int error;
};

#define HIGH UINT64_C(0x100000000)
static const struct expected expectations[] = {
    { "read", 0, 0, 0, 0 },
    { "clone3", 0, 0, 0, ENOSYS },
    { "clone", SIGCHLD, 0, 0, 0 },
    { "clone", CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS, 0,
      0, 0 },
    { "clone", CLONE_NEWUSER | SIGCHLD, 0, 0, EPERM },
    { "clone", CLONE_NEWNS, 0, 0, EPERM },
    { "clone", CLONE_NEWNET | HIGH, 0, 0, EPERM },
    { "clone", CLONE_NEWPID, 0, 0, EPERM },
    { "clone", CLONE_NEWIPC, 0, 0, EPERM },
    { "clone", CLONE_NEWUTS, 0, 0, EPERM },
    { "clone", CLONE_NEWCGROUP, 0, 0, EPERM },
    { "unshare", CLONE_FILES | CLONE_FS | CLONE_SYSVSEM, 0, 0, 0 },
    { "unshare", CLONE_NEWUSER, 0, 0, EPERM },
    { "unshare", CLONE_NEWTIME, 0, 0, EPERM },
    { "socket", AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0 },
    { "socket", AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0 },
    { "socket", AF_INET, SOCK_STREAM, 6, 0 },
    { "socket", AF_INET6, SOCK_DGRAM, 17, 0 },
    { "socket", AF_INET, SOCK_DGRAM, 1, 0 },
    { "socket", AF_INET, SOCK_RAW, 1, EPERM },
    { "socket", AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58, EPERM },
    { "socket", AF_INET, SOCK_STREAM, 132, EPERM },
    { "socket", AF_INET, SOCK_STREAM, 262, EPERM },
    { "socket", AF_INET, SOCK_SEQPACKET, 0, EPERM },
    { "socket", AF_INET, SOCK_DGRAM, 115, EPERM },
    { "socket", AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0, 0 },
    { "socket", AF_NETLINK, SOCK_DGRAM, 0, 0 },
    { "socket", AF_NETLINK, SOCK_RAW, 6, EAFNOSUPPORT },
    { "socket", AF_NETLINK, SOCK_RAW, 9, EAFNOSUPPORT },
    { "socket", AF_NETLINK, SOCK_RAW, 15 | HIGH, EAFNOSUPPORT },
    { "socket", AF_UNSPEC, SOCK_STREAM, 0, EAFNOSUPPORT },
    { "socket", AF_PACKET, SOCK_RAW, 768, EAFNOSUPPORT },
    { "socket", AF_PACKET, SOCK_DGRAM, 0, EAFNOSUPPORT },
    { "socket", AF_KEY, SOCK_RAW, 2, EAFNOSUPPORT },
    { "socket", AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT },
    { "socket", AF_ALG | HIGH, SOCK_SEQPACKET, 0, EAFNOSUPPORT },
    { "socket", AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT },
    { "socket", AF_RXRPC, SOCK_DGRAM, 2, EAFNOSUPPORT },
    { "socketpair", AF_UNIX, SOCK_STREAM, 0, 0 },
    { "socketpair", AF_TIPC, SOCK_STREAM, 0, EAFNOSUPPORT },
    { "ioctl", 0, 0x5401, 0, 0 },
    { "ioctl", 0, 0x5412, 0, EPERM },
    { "ioctl", 0, 0x5412 | HIGH, 0, EPERM },
    { "ioctl", 0, 0x5412 | UINT64_C(0xffffffff00000000), 0, EPERM },
    { "ioctl", 0, 0x541C, 0, EPERM },
    { "ioctl", 0, 0x541C | HIGH, 0, EPERM },
    { "ioctl", 0, 0x5423, 0, EPERM },
    { "ioctl", 0, 0x5423 | HIGH, 0, EPERM },
    { "ioctl", 0, 0x5413, 0, 0 },
    { "ioctl", 0, 0x80045430, 0, 0 },
    { "personality", 0, 0, 0, 0 },
    { "personality", 8, 0, 0, 0 },
    { "personality", 0x20000, 0, 0, 0 },
    { "personality", 0x20008, 0, 0, 0 },
    { "personality", 0xffffffff, 0, 0, 0 },
    { "personality", UINT64_MAX, 0, 0, 0 },
    { "personality", 0x40000, 0, 0, EPERM },
    { "personality", 0x400000, 0, 0, EPERM },
    { "fchmod", 0, 0777, 0, 0 },
    { "fchmod", 0, 04755, 0, EPERM },
    { "fchmod", 0, 02755, 0, 0 },
    { "fchmod", 0, 06000 | HIGH, 0, EPERM },
    { "fchmod", 0, 01777, 0, 0 },
    { "fchmodat", 0, 0, 0644, 0 },
    { "fchmodat", 0, 0, 04755, EPERM },
    { "mknodat", 0, 0, 0644, 0 },
    { "mknodat", 0, 0, S_IFIFO | 0644, 0 },
    { "mknodat", 0, 0, S_IFSOCK | 0644, 0 },
    { "mknodat", 0, 0, S_IFREG | 0644, 0 },
    { "mknodat", 0, 0, S_IFREG | 04755, EPERM },
    { "mknodat", 0, 0, S_IFCHR | 0644, EPERM },
    { "mknodat", 0, 0, S_IFBLK | 0644, EPERM },
    { "ptrace", 0, 0, 0, EPERM },
    { "process_vm_readv", 0, 0, 0, EPERM },
    { "process_vm_writev", 0, 0, 0, EPERM },
    { "kcmp", 0, 0, 0, EPERM },
    { "pidfd_getfd", 0, 0, 0, EPERM },
    { "process_madvise", 0, 0, 0, EPERM },
    { "io_uring_setup", 0, 0, 0, EPERM },
    { "io_uring_enter", 0, 0, 0, EPERM },
    { "io_uring_register", 0, 0, 0, EPERM },
    { "userfaultfd", 0, 0, 0, EPERM },
    { "vmsplice", 0, 0, 0, EPERM },
    { "bpf", 0, 0, 0, EPERM },
    { "perf_event_open", 0, 0, 0, EPERM },
    { "add_key", 0, 0, 0, EPERM },
    { "request_key", 0, 0, 0, EPERM },
    { "keyctl", 0, 0, 0, EPERM },
    { "mount", 0, 0, 0, EPERM },
    { "umount2", 0, 0, 0, EPERM },
    { "pivot_root", 0, 0, 0, EPERM },
    { "chroot", 0, 0, 0, EPERM },
    { "setns", 0, 0, 0, EPERM },
    { "open_tree", 0, 0, 0, ENOSYS },
    { "move_mount", 0, 0, 0, ENOSYS },
    { "fsopen", 0, 0, 0, ENOSYS },
    { "mount_setattr", 0, 0, 0, ENOSYS },
    { "open_by_handle_at", 0, 0, 0, EPERM },
    { "name_to_handle_at", 0, 0, 0, 0 },
    { "quotactl", 0, 0, 0, EPERM },
    { "swapon", 0, 0, 0, EPERM },
    { "reboot", 0, 0, 0, EPERM },
    { "init_module", 0, 0, 0, EPERM },
    { "finit_module", 0, 0, 0, EPERM },
    { "kexec_load", 0, 0, 0, EPERM },
    { "clock_settime", 0, 0, 0, EPERM },
    { "settimeofday", 0, 0, 0, EPERM },
    { "adjtimex", 0, 0, 0, EPERM },
    { "acct", 0, 0, 0, EPERM },
    { "syslog", 0, 0, 0, EPERM },
    { "sethostname", 0, 0, 0, EPERM },
    { "mbind", 0, 0, 0, ENOSYS },
    { "move_pages", 0, 0, 0, EPERM },
    { "memfd_secret", 0, 0, 0, ENOSYS },
    { "fanotify_init", 0, 0, 0, EPERM },
    { "seccomp", 0, 0, 0, 0 },
    { "landlock_restrict_self", 0, 0, 0, 0 },
    { "prctl", 0, 0, 0, 0 },
};
enum { EXPECTATIONS = sizeof expectations / sizeof expectations[0] };

Test(seccomp_table, a13_each_call_gets_its_answer_on_both_architectures)
{
    for (unsigned i = 0; i < ARCHES; i++) {
        struct machine m = machine_make(i, NULL);
        for (size_t k = 0; k < EXPECTATIONS; k++) {
            const struct expected *e = &expectations[k];
            cr_expect_eq(answer(&m, e->name, e->a0, e->a1, e->a2), e->error,
                         "arch %u: %s(0x%lx, 0x%lx, 0x%lx): got %d", i, e->name, e->a0, e->a1,
                         e->a2, answer(&m, e->name, e->a0, e->a1, e->a2));
        }
        sr_buf_clear(&m.program);
    }
}

/* All 2^16 requests below one high half, and all families: against the sentences of the contract,
 * not the table. */
Test(seccomp_table, a13_ioctl_and_families_exhaustively)
{
    struct machine m = machine_make(0, NULL);
    for (uint64_t r = 0; r < 0x10000; r++) {
        int want = r == 0x5412 || r == 0x541C || r == 0x5423 ? EPERM : 0;
        cr_assert_eq(answer(&m, "ioctl", 0, r, 0), want, "0x%lx", r);
        cr_assert_eq(answer(&m, "ioctl", 0, r | HIGH << 7, 0), want, "0x%lx", r);
    }
    for (uint64_t f = 0; f < 256; f++) {
        bool known = f == AF_UNIX || f == AF_INET || f == AF_INET6 || f == AF_NETLINK;
        cr_assert_eq(answer(&m, "socket", f, SOCK_DGRAM, 0), known ? 0 : EAFNOSUPPORT, "family %lu",
                     f);
        cr_assert_eq(answer(&m, "socket", f | HIGH, SOCK_DGRAM, 0), EAFNOSUPPORT, "family %lu", f);
    }
    for (uint64_t bit = 1; bit <= 0x80000000; bit <<= 1) {
        bool ns = bit & 0x7e020000;
        cr_assert_eq(answer(&m, "clone", bit, 0, 0), ns ? EPERM : 0, "0x%lx", bit);
    }
    sr_buf_clear(&m.program);
}

Test(seccomp_table, a13_foreign_architectures_and_x32_are_refused)
{
    for (unsigned i = 0; i < ARCHES; i++) {
        struct machine m = machine_make(i, NULL);
        static const uint32_t foreign[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64,
                                            0 };
        for (int nr = 0; nr < 512; nr++)
            for (unsigned k = 0; k < 4; k++)
                cr_assert_eq(answer_nr(&m, foreign[k], nr, 0, 0, 0), ENOSYS, "%d of 0x%x", nr,
                             foreign[k]);
        cr_assert_eq(answer_nr(&m, arches[1 - i][1], 0, 0, 0, 0), ENOSYS);
        sr_buf_clear(&m.program);
    }
    struct machine m = machine_make(0, NULL);
    for (int nr = 0; nr < 600; nr++)
        cr_assert_neq(answer_nr(&m, AUDIT_ARCH_X86_64, nr | 0x40000000, 0, 0, 0), 0, "x32 %d", nr);
    sr_buf_clear(&m.program);
}

/* A number that nobody listed is ENOSYS, and every number libseccomp can name is listed: the table
 * is complete. */
Test(seccomp_table, a13_unknown_calls_are_enosys_and_known_ones_are_listed)
{
    for (unsigned i = 0; i < ARCHES; i++) {
        struct machine m = machine_make(i, NULL);
        for (int nr = 0; nr < 2000; nr++) {
            char *name = seccomp_syscall_resolve_num_arch(m.arch, nr);
            if (!name) {
                cr_assert_eq(answer_nr(&m, m.audit, nr, 0, 0, 0), ENOSYS, "unknown call %d", nr);
                continue;
            }
            bool listed = false;
            for (size_t k = 0; k < sr_syscall_table_size && !listed; k++) {
                char *copy = strdup(sr_syscall_table[k].names), *save = NULL;
                for (char *at = strtok_r(copy, " ", &save); at && !listed;
                     at = strtok_r(NULL, " ", &save))
                    listed = strcmp(at, name) == 0;
                free(copy);
            }
            cr_expect(listed, "%s (%d) has no row", name, nr);
            free(name);
        }
        sr_buf_clear(&m.program);
    }
}

Test(seccomp_table, rows_have_reasons_and_names_are_said_once)
{
    for (size_t i = 0; i < sr_syscall_table_size; i++) {
        const struct sr_syscall_row *row = &sr_syscall_table[i];
        cr_expect(row->reason && *row->reason, "row %zu (%s) has no reason", i, row->names);
        for (size_t k = 0; k < row->n_when; k++)
            cr_expect(row->when[k].n >= 1 && row->when[k].n <= SR_SYSCALL_CMP_MAX);
        cr_expect(strstr(row->names, "  ") == NULL && row->names[0] != ' ', "blanks in \"%s\"",
                  row->names);
    }
}

Test(seccomp_table, groups_open_what_they_are_named_for_and_nothing_else)
{
    for (unsigned i = 0; i < ARCHES; i++) {
        struct machine debug = machine_make(i, "debug"), userns = machine_make(i, "userns");
        cr_expect_eq(answer(&debug, "ptrace", 0, 0, 0), 0);
        cr_expect_eq(answer(&debug, "process_vm_writev", 0, 0, 0), 0);
        cr_expect_eq(answer(&debug, "personality", 0x40000, 0, 0), 0);
        cr_expect_eq(answer(&debug, "personality", 0x400000, 0, 0), EPERM);
        cr_expect_eq(answer(&debug, "clone", CLONE_NEWUSER, 0, 0), EPERM);
        cr_expect_eq(answer(&userns, "clone", CLONE_NEWUSER | CLONE_NEWPID, 0, 0), 0);
        cr_expect_eq(answer(&userns, "unshare", CLONE_NEWUSER, 0, 0), 0);
        cr_expect_eq(answer(&userns, "chroot", 0, 0, 0), 0);
        cr_expect_eq(answer(&userns, "clone3", 0, 0, 0), ENOSYS);
        cr_expect_eq(answer(&userns, "mount", 0, 0, 0), EPERM);
        cr_expect_eq(answer(&userns, "ptrace", 0, 0, 0), EPERM);
        sr_buf_clear(&debug.program);
        sr_buf_clear(&userns.program);
    }
}
