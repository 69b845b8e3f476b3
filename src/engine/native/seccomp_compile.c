/* SPDX-License-Identifier: MIT */
/* From the table to BPF: libseccomp for the rules, a short prelude for the numbers nobody listed.
 */
#include "engine/native/seccomp_table.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Two answers have to be told apart that libseccomp's one default action cannot: a listed call that
 * no test lets through (EPERM) and a call nobody has heard of (ENOSYS, so that libraries fall
 * back). The default is EPERM; in front of libseccomp's program goes a prelude that answers ENOSYS
 * for the gaps between the listed numbers, the one after the last of them included, as runc does
 * for the latter. Doing it the other way round, with ENOSYS as the default, needs the complement of
 * every test as a rule of its own.
 */
enum {
    NUMBER_MAX = 1024, /* past any number of both architectures by two decades of growth */
    GAPS_MAX = 32,     /* x86_64: 2, aarch64: 3; jumps stay below 128 instructions */
    X32_BIT = 0x40000000,
    BPF_BYTES_MAX = 4096 * sizeof(struct sock_filter), /* BPF_MAXINSNS */
    NAME_MAX_BYTES = 64,
};

struct compiler {
    uint32_t arch;
    const struct sr_strv *groups;
    scmp_filter_ctx ctx;
    unsigned char listed[NUMBER_MAX]; /* some row names the number */
    unsigned char taken[NUMBER_MAX];  /* a row of an active group speaks for it */
};

static void release_ctx(scmp_filter_ctx *ctx)
{
    if (*ctx)
        seccomp_release(*ctx);
}

/* Copies the next name of a row, or returns NULL. */
static const char *name_next(const char *at, char name[NAME_MAX_BYTES])
{
    at += strspn(at, " ");
    size_t n = strcspn(at, " ");
    if (n == 0 || n >= NAME_MAX_BYTES)
        return NULL;
    memcpy(name, at, n);
    name[n] = '\0';
    return at + n;
}

/* The number on the architecture, or -1: libseccomp gives negative ones to calls that others have.
 */
static int number_of(uint32_t arch, const char *name)
{
    int nr = seccomp_syscall_resolve_name_arch(arch, name);
    return nr >= 0 && nr < NUMBER_MAX ? nr : -1;
}

static int rule_add(struct compiler *c, int nr, const struct sr_syscall_row *row,
                    const struct scmp_arg_cmp *cmp, unsigned n)
{
    uint32_t action = row->error ? SCMP_ACT_ERRNO((uint16_t)row->error) : SCMP_ACT_ALLOW;
    return seccomp_rule_add_exact_array(c->ctx, action, nr, n, cmp);
}

/* One rule for each subtree of the bits that holds none of the values: at most width * n rules. */
static int except_add(struct compiler *c, int nr, const struct sr_syscall_row *row, unsigned depth,
                      uint32_t prefix)
{
    const struct sr_syscall_except *e = row->except;
    uint32_t all = e->width == 32 ? UINT32_MAX : (UINT32_C(1) << e->width) - 1;
    uint32_t mask = depth ? all & ~(all >> depth) : 0;
    bool holds = false;
    for (unsigned i = 0; i < e->n; i++)
        holds = holds || (e->value[i] & mask) == prefix;
    if (!holds) {
        struct scmp_arg_cmp cmp = { e->arg, SCMP_CMP_MASKED_EQ, mask, prefix };
        return rule_add(c, nr, row, &cmp, 1);
    }
    if (depth == e->width)
        return 0;
    uint32_t bit = UINT32_C(1) << (e->width - 1 - depth);
    int r = except_add(c, nr, row, depth + 1, prefix);
    return r < 0 ? r : except_add(c, nr, row, depth + 1, prefix | bit);
}

static int call_add(struct compiler *c, int nr, const struct sr_syscall_row *row)
{
    if (row->error == EPERM) /* the default; libseccomp refuses to hear it again */
        return 0;
    if (row->except)
        return except_add(c, nr, row, 0, 0);
    if (row->n_when == 0)
        return rule_add(c, nr, row, NULL, 0);
    for (size_t i = 0; i < row->n_when; i++) {
        int r = rule_add(c, nr, row, row->when[i].cmp, row->when[i].n);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool row_active(const struct compiler *c, const struct sr_syscall_row *row)
{
    return row->group && sr_strv_has(c->groups, row->group);
}

/* First what is listed and what groups speak for: rows of no group give way to those. */
static void rows_mark(struct compiler *c)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < sr_syscall_table_size; i++) {
        const struct sr_syscall_row *row = &sr_syscall_table[i];
        for (const char *at = row->names; (at = name_next(at, name));) {
            int nr = number_of(c->arch, name);
            if (nr < 0)
                continue;
            c->listed[nr] = 1;
            if (row_active(c, row))
                c->taken[nr] = 1;
        }
    }
}

static int rows_add(struct compiler *c, struct sr_error *err)
{
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < sr_syscall_table_size; i++) {
        const struct sr_syscall_row *row = &sr_syscall_table[i];
        if (row->group && !row_active(c, row))
            continue;
        for (const char *at = row->names; (at = name_next(at, name));) {
            int nr = number_of(c->arch, name);
            if (nr < 0 || (!row->group && c->taken[nr]))
                continue;
            /* Rules are spoken in the native architecture's numbers, negative ones included, and
             * translated. */
            int r = call_add(c, seccomp_syscall_resolve_name(name), row);
            if (r < 0)
                return sr_error_set(err, "seccomp.compile",
                                    "adding the rule for %s to the system call filter: %s", name,
                                    strerror(-r));
        }
    }
    return 0;
}

static int ctx_prepare(struct compiler *c, struct sr_error *err)
{
    c->ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!c->ctx)
        return sr_error_set(err, "seccomp.compile",
                            "starting a system call filter: libseccomp refused");
    int r = 0;
    if (c->arch != seccomp_arch_native()) {
        r = seccomp_arch_remove(c->ctx, seccomp_arch_native());
        if (r == 0)
            r = seccomp_arch_add(c->ctx, c->arch);
    }
    /* ENOSYS is what a kernel without the other architecture (or x32) answers. Killing would lose
     * the message. */
    if (r == 0)
        r = seccomp_attr_set(c->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    if (r == 0)
        r = seccomp_attr_set(c->ctx, SCMP_FLTATR_CTL_OPTIMIZE,
                             2); /* a binary tree over the numbers */
    if (r < 0)
        return sr_error_set(err, "seccomp.compile",
                            "preparing a system call filter for architecture 0x%x: %s", c->arch,
                            strerror(-r));
    return 0;
}

/*
 * ld arch; other: to the body, which refuses it. ld nr; x32 (and -1, a tracer's "skip"): to the
 * body. Per gap lo..hi, ascending: below lo: to the body; up to hi: ENOSYS; else the next.
 */
static int prelude_add(const struct compiler *c, struct sr_buf *out)
{
    struct {
        uint32_t lo, hi;
    } gap[GAPS_MAX];
    unsigned n = 0;
    for (uint32_t nr = 0; nr < NUMBER_MAX; nr++) {
        if (c->listed[nr])
            continue;
        if (n > 0 && gap[n - 1].hi + 1 == nr) {
            gap[n - 1].hi = nr;
        } else {
            if (n == GAPS_MAX)
                return -1;
            gap[n].lo = gap[n].hi = nr;
            n++;
        }
    }
    if (n == 0 || gap[n - 1].hi != NUMBER_MAX - 1)
        return -1;
    gap[n - 1].hi = X32_BIT - 1;

    uint8_t body = (uint8_t)(2 + 3 * n); /* instructions between the first jump and the body */
    struct sock_filter head[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->arch, 0, body),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, (uint8_t)(body - 2), 0),
    };
    sr_buf_add(out, head, sizeof head);
    for (unsigned i = 0; i < n; i++) {
        struct sock_filter one[] = {
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, gap[i].lo, 0, (uint8_t)(3 * (n - i) - 1)),
            BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, gap[i].hi, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        };
        sr_buf_add(out, one, sizeof one);
    }
    return 0;
}

/* libseccomp before 2.6 writes to descriptors only. */
static int body_add(const struct compiler *c, struct sr_buf *out, struct sr_error *err)
{
    cleanup_fd int fd = memfd_create("sandrun-seccomp", MFD_CLOEXEC);
    if (fd < 0)
        return sr_error_sys(err, "seccomp.compile",
                            "making a memory file for the system call filter");
    int r = seccomp_export_bpf(c->ctx, fd);
    if (r < 0)
        return sr_error_set(err, "seccomp.compile", "generating the system call filter: %s",
                            strerror(-r));
    char part[4096];
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(fd, part, sizeof part, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sr_error_sys(err, "seccomp.compile", "reading the generated system call filter");
        if (n == 0)
            return 0;
        sr_buf_add(out, part, (size_t)n);
        at += n;
    }
}

int sr_seccomp_compile(uint32_t arch, const struct sr_strv *groups, struct sr_buf *ret,
                       struct sr_error *err)
{
    struct compiler c = { .arch = arch, .groups = groups };
    rows_mark(&c);
    __attribute__((cleanup(release_ctx))) scmp_filter_ctx ctx = NULL;
    int r = ctx_prepare(&c, err);
    ctx = c.ctx;
    if (r < 0 || rows_add(&c, err) < 0)
        return -1;
    cleanup_buf struct sr_buf out = SR_BUF(BPF_BYTES_MAX);
    if (prelude_add(&c, &out) < 0)
        return sr_error_set(err, "seccomp.compile",
                            "the numbers of the system calls have more gaps than expected");
    if (body_add(&c, &out, err) < 0)
        return -1;
    if (out.overflow || out.len % sizeof(struct sock_filter) != 0)
        return sr_error_set(err, "seccomp.compile",
                            "the system call filter is larger than the kernel takes");
    sr_buf_reset(ret);
    sr_buf_add(ret, out.data, out.len);
    if (ret->overflow)
        return sr_error_set(err, "seccomp.compile",
                            "the system call filter (%zu bytes) does not fit its buffer", out.len);
    return 0;
}
