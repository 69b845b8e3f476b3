/* SPDX-License-Identifier: MIT */
/* host: the fingerprint that pins the host, the table of what a check sees of it, the cache of
 * digests. */
#include "image/digest_cache.h"
#include "image/host.h"

#include "base/fs.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that is the visible root filesystem of the test, and one beside it that is not. */
struct place {
    char dir[64], seen[80], bin[96], hidden[80], tree[96];
    struct sr_host_path paths[1];
    struct host_view view;
};

static void place_make(struct place *p)
{
    snprintf(p->dir, sizeof p->dir, "/tmp/sr-host-XXXXXX");
    cr_assert_not_null(mkdtemp(p->dir));
    snprintf(p->seen, sizeof p->seen, "%s/seen", p->dir);
    snprintf(p->bin, sizeof p->bin, "%s/bin", p->seen);
    snprintf(p->hidden, sizeof p->hidden, "%s/hidden", p->dir);
    snprintf(p->tree, sizeof p->tree, "%s/tree",
             p->seen); /* a tree below what is visible: still not the host's */
    cr_assert(mkdir(p->seen, 0755) == 0 && mkdir(p->bin, 0755) == 0 &&
              mkdir(p->hidden, 0755) == 0 && mkdir(p->tree, 0755) == 0);
    p->paths[0] = (struct sr_host_path){ p->seen, SR_HOST_TREE };
    p->view = (struct host_view){ p->paths, 1 };
}

static void place_remove(struct place *p)
{
    struct sr_error err = { 0 };
    cr_assert_eq(sr_remove_at(AT_FDCWD, p->dir, &err), 0, "%s", err.text);
}

static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
    struct sr_error err = { 0 };
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    cr_assert_eq(sr_file_write_at(AT_FDCWD, path, text, strlen(text), mode, &err), 0, "%s",
                 err.text);
    cr_assert_eq(chmod(path, mode), 0);
}

static void lnk(const char *to, const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    cr_assert_eq(symlink(to, path), 0, "%s", path);
}

static struct sr_fingerprint print_of(const struct place *p, const char *name, int cache)
{
    struct sr_error err = { 0 };
    struct sr_fingerprint f = { 0 };
    cleanup_strv struct sr_strv command = { 0 };
    sr_strv_add(&command, name);
    sr_strv_add(&command, "argument");
    cr_assert_eq(host_fingerprint(&p->view, &command, p->bin, p->tree, cache, &f, &err), 0, "%s",
                 err.text);
    return f;
}

/* The name and path of tool line i (from 0), "" when there is none. */
static void assert_tool(const struct sr_fingerprint *f, size_t i, const char *expect)
{
    const char *line = f->lines.n > 4 + i ? f->lines.v[4 + i] : "";
    cr_assert_eq(strncmp(line, expect, strlen(expect)), 0, "tool %zu is '%s', not '%s'", i, line,
                 expect);
    if (!*expect)
        cr_assert_str_eq(line, "");
}

Test(host, a33_fingerprint_is_stable_and_moves_with_a_byte)
{
    struct place p;
    place_make(&p);
    put(p.bin, "tool", "\177ELF one", 0755);
    struct sr_fingerprint a = print_of(&p, "tool", -1), b = print_of(&p, "tool", -1);
    cr_assert_str_eq(a.digest, b.digest);
    cr_assert_eq(strncmp(a.digest, "sha256:", 7), 0);
    cr_assert_eq(strlen(a.digest), 71);
    cr_assert_str_eq(a.lines.v[0], "sandrun host fingerprint 1");
    cr_assert_eq(strncmp(a.lines.v[1], "arch ", 5), 0);
    cr_assert_eq(strncmp(a.lines.v[2], "os-release ", 11), 0);
    cr_assert_eq(strncmp(a.lines.v[3], "packages ", 9), 0);
    char expect[256];
    snprintf(expect, sizeof expect, "tool tool %s/tool ", p.bin);
    assert_tool(&a, 0, expect);
    put(p.bin, "tool", "\177ELF two", 0755);
    struct sr_fingerprint c = print_of(&p, "tool", -1);
    cr_assert_str_neq(a.digest, c.digest);
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(a.lines.v[i], c.lines.v[i]);
    cr_assert_str_neq(a.lines.v[4], c.lines.v[4]);
    /* The digest is over the lines, so that anyone can make it again. */
    struct sr_sha256 h;
    unsigned char d[SR_SHA256_SIZE];
    char text[SR_DIGEST_TEXT];
    sr_sha256_init(&h);
    for (size_t i = 0; i < c.lines.n; i++) {
        sr_sha256_update(&h, c.lines.v[i], strlen(c.lines.v[i]));
        sr_sha256_update(&h, "\n", 1);
    }
    sr_sha256_final(&h, d);
    sr_sha256_text(d, text);
    cr_assert_str_eq(text, c.digest);
    sr_fingerprint_clear(&a);
    sr_fingerprint_clear(&b);
    sr_fingerprint_clear(&c);
    place_remove(&p);
}

Test(host, tools_are_resolved_as_the_check_sees_them)
{
    struct place p;
    char text[256], expect[256];
    place_make(&p);
    put(p.bin, "real", "\177ELF", 0755);
    put(p.hidden, "real", "\177ELF", 0755);
    put(p.tree, "intree", "\177ELF", 0755);
    lnk("real", p.bin, "one");
    lnk("../bin/./one", p.bin, "two");
    snprintf(text, sizeof text, "%s/real", p.hidden);
    lnk(text, p.bin, "out");
    lnk("loop", p.bin, "loop");
    lnk("../tree/intree", p.bin, "to-tree");
    put(p.bin, "plain", "not executable", 0644);
    /* Through a hidden place and back: the way is not there inside. */
    lnk(p.seen, p.hidden, "back");
    snprintf(text, sizeof text, "%s/back/bin/real", p.hidden);
    lnk(text, p.bin, "detour");
    static const struct {
        const char *name, *found; /* NULL: absent; "": no line at all */
    } cases[] = { { "one", "real" }, { "two", "real" }, { "out", NULL },    { "loop", NULL },
                  { "plain", NULL }, { "none", NULL },  { "detour", NULL }, { "to-tree", "" },
                  { "./run", "" },   { "sub/run", "" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sr_fingerprint f = print_of(&p, cases[i].name, -1);
        if (!cases[i].found)
            snprintf(expect, sizeof expect, "tool %s absent", cases[i].name);
        else if (*cases[i].found)
            snprintf(expect, sizeof expect, "tool %s %s/%s ", cases[i].name, p.bin, cases[i].found);
        else
            expect[0] = '\0';
        assert_tool(&f, 0, expect);
        sr_fingerprint_clear(&f);
    }
    snprintf(text, sizeof text, "%s/intree", p.tree);
    struct sr_fingerprint f = print_of(&p, text, -1);
    assert_tool(&f, 0, "");
    sr_fingerprint_clear(&f);
    f = print_of(&p, "x\ntool y", -1);
    assert_tool(&f, 0, "tool x\\x0atool\\x20y absent");
    sr_fingerprint_clear(&f);
    place_remove(&p);
}

Test(host, interpreters_of_scripts_are_tools_too)
{
    struct place p;
    char text[512], expect[256];
    place_make(&p);
    put(p.bin, "python", "\177ELF", 0755);
    put(p.bin, "env", "\177ELF env", 0755);
    snprintf(text, sizeof text, "#! %s/python -u\nbody\n", p.bin);
    put(p.bin, "direct", text, 0755);
    snprintf(text, sizeof text, "#!%s/env -S A=b python -u\n", p.bin);
    put(p.bin, "by-env", text, 0755);
    put(p.bin, "lost", "#!/nonexistent/python\n", 0755);
    snprintf(text, sizeof text, "#!%s/self\n", p.bin);
    put(p.bin, "self", text, 0755);
    struct sr_fingerprint f = print_of(&p, "direct", -1);
    snprintf(expect, sizeof expect, "tool %s/python %s/python ", p.bin, p.bin);
    assert_tool(&f, 1, expect);
    assert_tool(&f, 2, "");
    sr_fingerprint_clear(&f);
    f = print_of(&p, "by-env", -1);
    snprintf(expect, sizeof expect, "tool %s/env %s/env ", p.bin, p.bin);
    assert_tool(&f, 1, expect);
    snprintf(expect, sizeof expect, "tool python %s/python ", p.bin);
    assert_tool(&f, 2, expect);
    sr_fingerprint_clear(&f);
    f = print_of(&p, "lost", -1);
    assert_tool(&f, 1, "tool /nonexistent/python absent");
    sr_fingerprint_clear(&f);
    f = print_of(&p, "self", -1);
    cr_assert_eq(f.lines.n, 4 + HOST_TOOLS_MAX);
    sr_fingerprint_clear(&f);
    place_remove(&p);
}

Test(host, the_real_host_has_a_fingerprint)
{
    struct sr_error err = { 0 };
    struct sr_fingerprint f = { 0 };
    cleanup_strv struct sr_strv command = { 0 };
    sr_strv_add(&command, "sh");
    cr_assert_eq(sr_host_fingerprint(&command, "/nonexistent:/usr/local/bin:/usr/bin:/bin",
                                     "/tmp/tree", -1, &f, &err),
                 0, "%s", err.text);
    cleanup_free char *real = realpath("/bin/sh", NULL);
    char expect[PATH_MAX + 16];
    snprintf(expect, sizeof expect, "tool sh %s ", real);
    assert_tool(&f, 0, expect);
    sr_fingerprint_clear(&f);
}

Test(host, what_a_check_sees_of_the_host)
{
    static const char *const seen[] = { "/usr",
                                        "/usr/bin/python3",
                                        "/bin/sh",
                                        "/etc/alternatives/x",
                                        "/etc/ssl/certs/a.pem",
                                        "/etc/os-release",
                                        "/opt/tool/bin",
                                        "/nix/store/x",
                                        "/etc/localtime" };
    static const char *const not_seen[] = { "/",
                                            "/etc",
                                            "/etc/passwd",
                                            "/etc/shadow",
                                            "/etc/ssh/ssh_host_rsa_key",
                                            "/etc/sudoers",
                                            "/etc/ssl/private/key",
                                            "/etc/ssl",
                                            "/etc/gitconfig",
                                            "/etc/npmrc",
                                            "/etc/pip.conf",
                                            "/etc/machine-id",
                                            "/etc/resolv.conf",
                                            "/etc/hosts",
                                            "/etc/pki/tls/private/k",
                                            "/root",
                                            "/home/u",
                                            "/run/docker.sock",
                                            "/var/run",
                                            "/tmp",
                                            "/usrx",
                                            "/etc/os-releasex",
                                            "/proc/1",
                                            "/sys",
                                            "/dev/kmsg",
                                            "/var/lib/dpkg/status",
                                            "/etc/environment",
                                            "/etc/krb5.keytab" };
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        cr_assert(sr_host_path_visible(seen[i]), "%s", seen[i]);
    for (size_t i = 0; i < sizeof not_seen / sizeof *not_seen; i++)
        cr_assert(!sr_host_path_visible(not_seen[i]), "%s", not_seen[i]);
    for (size_t i = 0; i < sr_host_paths_n; i++) {
        cleanup_free char *clean = sr_path_clean(sr_host_paths[i].path);
        cr_assert_str_eq(clean, sr_host_paths[i].path);
        cr_assert_eq(sr_host_paths[i].kind == SR_HOST_ETC, strncmp(clean, "/etc/", 5) == 0, "%s",
                     clean);
        for (size_t k = 0; k < i; k++)
            /* /usr/local comes again, for the views of an ordinary caller */
            cr_assert(!sr_path_below(clean, sr_host_paths[k].path) || strcmp(clean, "/usr/local") == 0, "%s is below %s already", clean,
                      sr_host_paths[k].path);
    }
}

/* One question to a cache in dirfd: what it answers, and whether it read the file. */
static unsigned ask(int dirfd, const char *path, unsigned char out[SR_SHA256_SIZE])
{
    struct sr_error err = { 0 };
    struct digest_cache c;
    digest_cache_open(&c, dirfd);
    cr_assert_eq(digest_cache_file(&c, path, out, &err), 0, "%s", err.text);
    digest_cache_save(&c);
    unsigned hashed = c.hashed;
    digest_cache_close(&c);
    return hashed;
}

static void cache_flip(int dirfd, off_t at, bool seal)
{
    unsigned char data[4096], sum[SR_SHA256_SIZE];
    int fd = openat(dirfd, "host-digests", O_RDWR | O_CLOEXEC);
    ssize_t n = read(fd, data, sizeof data);
    cr_assert(fd >= 0 && n > 64);
    data[at] ^= 1;
    if (seal) {
        sr_sha256_bytes(data, (size_t)n - 32, sum);
        memcpy(data + n - 32, sum, 32);
    }
    cr_assert_eq(pwrite(fd, data, (size_t)n, 0), n);
    close(fd);
}

Test(host_cache, a_hit_does_not_read_and_a_damaged_file_is_none)
{
    struct place p;
    unsigned char first[SR_SHA256_SIZE], again[SR_SHA256_SIZE];
    place_make(&p);
    cleanup_free char *old = realpath("/bin/sh", NULL); /* unchanged for longer than two seconds */
    cleanup_fd int dirfd = open(p.hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum { DIGEST_AT = 16 + 56 };
    cr_assert_eq(ask(dirfd, old, first), 1);
    cr_assert_eq(ask(dirfd, old, again), 0);
    cr_assert_arr_eq(first, again, sizeof first);
    /* A planted digest is believed when the file is whole: so the content was not read. */
    cache_flip(dirfd, DIGEST_AT, true);
    cr_assert_eq(ask(dirfd, old, again), 0);
    cr_assert_eq(again[0], first[0] ^ 1);
    /* And not when its checksum is not. */
    cache_flip(dirfd, DIGEST_AT + 1, false);
    cr_assert_eq(ask(dirfd, old, again), 1);
    cr_assert_arr_eq(first, again, sizeof first);
    /* Each part of the key counts: another ctime is another file. */
    for (off_t at = 16; at < DIGEST_AT; at += 8) {
        cache_flip(dirfd, at, true);
        cr_assert_eq(ask(dirfd, old, again), 1, "key byte %lld", (long long)at);
        cr_assert_arr_eq(first, again, sizeof first);
        cr_assert_eq(unlinkat(dirfd, "host-digests", 0), 0);
        cr_assert_eq(ask(dirfd, old, again), 1);
    }
    cleanup_fd int cut = openat(dirfd, "host-digests", O_WRONLY | O_CLOEXEC);
    cr_assert_eq(ftruncate(cut, 40), 0);
    cr_assert_eq(ask(dirfd, old, again), 1);
    place_remove(&p);
}

/* Written within the last two seconds: hashed each time, because the next write may have the same
 * ctime. */
Test(host_cache, a_fresh_file_is_never_kept)
{
    struct place p;
    char path[256];
    unsigned char one[SR_SHA256_SIZE], two[SR_SHA256_SIZE];
    place_make(&p);
    cleanup_fd int dirfd = open(p.hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/tool", p.bin);
    put(p.bin, "tool", "one", 0755);
    cr_assert_eq(ask(dirfd, path, one), 1);
    cr_assert_eq(ask(dirfd, path, one), 1);
    cr_assert_eq(faccessat(dirfd, "host-digests", F_OK, 0), -1);
    /* Same size, same mtime, other bytes. */
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && write(fd, "two", 3) == 3);
    cr_assert_eq(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }), 0);
    close(fd);
    cr_assert_eq(ask(dirfd, path, two), 1);
    cr_assert_neq(memcmp(one, two, sizeof one), 0);
    place_remove(&p);
}

Test(host_cache, what_cannot_be_hashed)
{
    struct place p;
    struct sr_error err = { 0 };
    char path[256];
    unsigned char out[SR_SHA256_SIZE];
    place_make(&p);
    cleanup_digest_cache struct digest_cache c;
    digest_cache_open(&c, -1);
    snprintf(path, sizeof path, "%s/fifo", p.bin);
    cr_assert_eq(mkfifo(path, 0644), 0);
    cr_assert_eq(digest_cache_file(&c, path, out, &err), -1);
    cr_assert_str_eq(err.code, "rootfs.unreadable");
    sr_error_clear(&err);
    snprintf(path, sizeof path, "%s/none", p.bin);
    cr_assert_eq(digest_cache_file(&c, path, out, &err), -1);
    cr_assert_str_eq(err.code, "rootfs.unreadable");
    place_remove(&p);
}
