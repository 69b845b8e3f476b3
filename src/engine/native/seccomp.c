/* SPDX-License-Identifier: MIT */
/* The system call filter of a run: groups, cache, installation. */
#include "engine/native/seccomp.h"

#include "base/fs.h"
#include "base/sha256.h"
#include "engine/native/seccomp_table.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A cache file: magic, the key again (a file copied to another name is not taken), SHA-256 of key
 * and program, program. The hash guards against torn and rotten files; against the caller's own uid
 * nothing here could, and the cache directory is nobody else's.
 */
struct cache_head {
    char magic[16];
    unsigned char key[SR_SHA256_SIZE];
    unsigned char sum[SR_SHA256_SIZE];
};
enum { CACHE_FILE_MAX = 64 * 1024, CACHE_NAME_MAX = SR_SHA256_HEX + 16 };
static const char cache_magic[16] = "sandrun-bpf 1\n";

static const char *const groups_known[] = { "debug", "userns", NULL };

const char *const *sr_seccomp_groups(void)
{
    return groups_known;
}

static int groups_check(const struct sr_strv *groups, struct sr_error *err)
{
    for (size_t i = 0; i < groups->n; i++) {
        const char *const *known = groups_known;
        while (*known && strcmp(*known, groups->v[i]) != 0)
            known++;
        if (*known)
            continue;
        sr_error_set(err, "seccomp.group", "there is no group \"%s\" of system calls to allow",
                     groups->v[i]);
        return sr_error_hint(err, "the groups are: debug, userns");
    }
    return 0;
}

static void hash_string(struct sr_sha256 *c, const char *s)
{
    sr_sha256_update(c, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* Field by field: padding of the structs is nobody's business. */
static void hash_row(struct sr_sha256 *c, const struct sr_syscall_row *row)
{
    hash_string(c, row->names);
    hash_string(c, row->group);
    sr_sha256_update(c, &row->error, sizeof row->error);
    sr_sha256_update(c, &row->n_when, sizeof row->n_when);
    for (size_t i = 0; i < row->n_when; i++) {
        const struct sr_syscall_test *t = &row->when[i];
        sr_sha256_update(c, &t->n, sizeof t->n);
        for (unsigned k = 0; k < t->n; k++) {
            uint64_t v[4] = { t->cmp[k].arg, (uint64_t)t->cmp[k].op, t->cmp[k].datum_a,
                              t->cmp[k].datum_b };
            sr_sha256_update(c, v, sizeof v);
        }
    }
    if (row->except) /* four members of one type: no padding */
        sr_sha256_update(c, row->except, sizeof *row->except);
}

static void cache_key(const struct sr_strv *groups, unsigned char key[SR_SHA256_SIZE])
{
    struct sr_sha256 c;
    sr_sha256_init(&c);
    hash_string(&c, SR_VERSION);
    const struct scmp_version *v = seccomp_version();
    unsigned numbers[4] = { v->major, v->minor, v->micro, seccomp_arch_native() };
    sr_sha256_update(&c, numbers, sizeof numbers);
    for (const char *const *known = groups_known; *known; known++)
        hash_string(&c, sr_strv_has(groups, *known) ? *known : NULL);
    /* Which names this libseccomp knows is its version's business: asking it for each would cost 0.15 ms a run. */
    for (size_t i = 0; i < sr_syscall_table_size; i++)
        hash_row(&c, &sr_syscall_table[i]);
    sr_sha256_final(&c, key);
}

static void cache_sum(const unsigned char key[SR_SHA256_SIZE], const void *bpf, size_t len,
                      unsigned char sum[SR_SHA256_SIZE])
{
    struct sr_sha256 c;
    sr_sha256_init(&c);
    sr_sha256_update(&c, key, SR_SHA256_SIZE);
    sr_sha256_update(&c, bpf, len);
    sr_sha256_final(&c, sum);
}

/* True when a file that verifies was there. Anything else is no error: the filter is made again. */
static bool cache_load(int cache_fd, const char *name, const unsigned char key[SR_SHA256_SIZE],
                       struct sr_buf *ret)
{
    cleanup_buf struct sr_buf file = SR_BUF(CACHE_FILE_MAX);
    struct sr_error ignored = { 0 };
    if (sr_file_read_at(cache_fd, name, CACHE_FILE_MAX, &file, &ignored) < 0)
        return false;
    struct cache_head head;
    if (file.len <= sizeof head || (file.len - sizeof head) % sizeof(struct sock_filter) != 0)
        return false;
    memcpy(&head, file.data, sizeof head);
    const char *bpf = file.data + sizeof head;
    unsigned char sum[SR_SHA256_SIZE];
    cache_sum(key, bpf, file.len - sizeof head, sum);
    if (memcmp(head.magic, cache_magic, sizeof cache_magic) != 0 ||
        memcmp(head.key, key, SR_SHA256_SIZE) != 0 || memcmp(head.sum, sum, SR_SHA256_SIZE) != 0)
        return false;
    sr_buf_reset(ret);
    sr_buf_add(ret, bpf, file.len - sizeof head);
    return !ret->overflow;
}

/* A cache that cannot be written costs 3 ms at the next run, no more. */
static void cache_store(int cache_fd, const char *name, const unsigned char key[SR_SHA256_SIZE],
                        const struct sr_buf *bpf)
{
    struct cache_head head;
    memcpy(head.magic, cache_magic, sizeof head.magic);
    memcpy(head.key, key, sizeof head.key);
    cache_sum(key, bpf->data, bpf->len, head.sum);
    cleanup_buf struct sr_buf file = SR_BUF(CACHE_FILE_MAX);
    sr_buf_add(&file, &head, sizeof head);
    sr_buf_add(&file, bpf->data, bpf->len);
    struct sr_error ignored = { 0 };
    if (file.overflow || sr_file_write_at(cache_fd, name, file.data, file.len, 0600, &ignored) < 0)
        return;
}

int sr_seccomp_filter(int cache_fd, const struct sr_strv *groups, struct sr_buf *ret,
                      struct sr_error *err)
{
    if (groups_check(groups, err) < 0)
        return -1;
    if (cache_fd < 0)
        return sr_seccomp_compile(seccomp_arch_native(), groups, ret, err);
    unsigned char key[SR_SHA256_SIZE];
    cache_key(groups, key);
    char hex[SR_SHA256_HEX], name[CACHE_NAME_MAX];
    sr_sha256_hex(key, hex);
    snprintf(name, sizeof name, "seccomp-%s", hex);
    if (cache_load(cache_fd, name, key, ret))
        return 0;
    if (sr_seccomp_compile(seccomp_arch_native(), groups, ret, err) < 0)
        return -1;
    cache_store(cache_fd, name, key, ret);
    return 0;
}

/*
 * The system call itself: libseccomp's loader would compile again, and after fork only
 * async-signal-safe calls are allowed. No flags. SPEC_ALLOW would drop the speculative-store
 * mitigation on kernels before 5.16 and changes nothing on later ones, where a filter no longer
 * turns it on. TSYNC is not needed: the child has one thread.
 */
int sr_seccomp_install(const struct sr_buf *filter)
{
    size_t n = filter->len / sizeof(struct sock_filter);
    if (n == 0 || n > BPF_MAXINSNS || filter->len % sizeof(struct sock_filter) != 0) {
        errno = EINVAL;
        return -1;
    }
    struct sock_fprog program = { .len = (unsigned short)n,
                                  .filter = (struct sock_filter *)(void *)filter->data };
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -1 : 0;
}
