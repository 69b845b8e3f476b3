/* SPDX-License-Identifier: MIT */
/* The fingerprint of the host: what pins it when it is the root filesystem of a check. */
#include "image/host.h"

#include "base/fs.h"
#include "base/text.h"
#include "image/digest_cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * It does not hash /usr: that is tens of gigabytes on a developer's machine. The package database
 * changes with every installed, removed or upgraded package, and the tools themselves are hashed
 * because they also come from elsewhere
 * (/usr/local, /opt). What it cannot see is a library changed by hand behind the package manager.
 */

/* The first that exists is meant. A directory (pacman) stands for the sorted names in it,
 * "name-version" each. */
static const struct {
    const char *manager, *path;
} databases[] = {
    { "dpkg", "/var/lib/dpkg/status" },
    { "rpm", "/usr/lib/sysimage/rpm/rpmdb.sqlite" },
    { "rpm", "/usr/lib/sysimage/rpm/Packages.db" },
    { "rpm", "/var/lib/rpm/rpmdb.sqlite" },
    { "rpm", "/var/lib/rpm/Packages.db" },
    { "rpm", "/var/lib/rpm/Packages" },
    { "apk", "/usr/lib/apk/db/installed" },
    { "apk", "/lib/apk/db/installed" },
    { "pacman", "/var/lib/pacman/local" },
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_digest(const char *path, unsigned char out[SR_SHA256_SIZE], struct sr_error *err)
{
    cleanup_dir DIR *d = opendir(path);
    if (!d)
        return sr_error_sys(err, "rootfs.unreadable", "cannot list %s", path);
    cleanup_strv struct sr_strv names = { 0 };
    for (struct dirent *e; (errno = 0, e = readdir(d));)
        sr_strv_add(&names, e->d_name);
    if (errno)
        return sr_error_sys(err, "rootfs.unreadable", "cannot list %s", path);
    qsort(names.v, names.n, sizeof *names.v, by_name);
    struct sr_sha256 c;
    sr_sha256_init(&c);
    for (size_t i = 0; i < names.n; i++)
        sr_sha256_update(&c, names.v[i], strlen(names.v[i]) + 1);
    sr_sha256_final(&c, out);
    return 0;
}

static void line_add(struct sr_fingerprint *f, const char *what,
                     const unsigned char digest[SR_SHA256_SIZE])
{
    char hex[SR_SHA256_HEX];
    sr_sha256_hex(digest, hex);
    sr_strv_take(&f->lines, sr_asprintf("%s %s", what, hex));
}

static int system_lines(struct sr_fingerprint *f, struct digest_cache *c, struct sr_error *err)
{
    struct utsname u;
    unsigned char digest[SR_SHA256_SIZE];
    if (uname(&u) < 0)
        return sr_error_sys(err, "rootfs.unreadable",
                            "cannot ask for the architecture of this machine");
    sr_strv_add(&f->lines, "sandrun host fingerprint 1");
    sr_strv_take(&f->lines, sr_asprintf("arch %s", u.machine));
    /* The host's own file, by the host's own links; absent on a system built by hand. */
    cleanup_free char *os_release = realpath("/etc/os-release", NULL);
    if (!os_release) {
        sr_strv_add(&f->lines, "os-release absent");
        return 0;
    }
    if (digest_cache_file(c, os_release, digest, err) < 0)
        return -1;
    line_add(f, "os-release", digest);
    return 0;
}

static int packages_line(struct sr_fingerprint *f, struct digest_cache *c, struct sr_error *err)
{
    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
        struct stat st;
        unsigned char digest[SR_SHA256_SIZE];
        if (lstat(databases[i].path, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            continue;
        int rc = S_ISDIR(st.st_mode) ? names_digest(databases[i].path, digest, err)
                                     : digest_cache_file(c, databases[i].path, digest, err);
        if (rc < 0)
            return -1;
        char what[32];
        snprintf(what, sizeof what, "packages %s", databases[i].manager);
        line_add(f, what, digest);
        return 0;
    }
    sr_strv_add(&f->lines, "packages none");
    return 0;
}

/* Names are made printable: a newline in one must not make a line of its own. Blanks become \x20
 * for the same reason. */
static char *spelled(const char *s)
{
    cleanup_buf struct sr_buf b = SR_BUF(64 * 1024);
    for (const char *p = s; *p;) {
        size_t n = strcspn(p, " ");
        sr_text_printable(&b, p, n);
        p += n;
        for (; *p == ' '; p++)
            sr_buf_puts(&b, "\\x20");
    }
    return sr_buf_steal(&b);
}

static int tool_lines(const struct host_tools *tools, struct sr_fingerprint *f,
                      struct digest_cache *c, struct sr_error *err)
{
    for (size_t i = 0; i < tools->n; i++) {
        const struct host_tool *t = &tools->v[i];
        cleanup_free char *name = spelled(t->name);
        if (!t->path) {
            sr_strv_take(&f->lines, sr_asprintf("tool %s absent", name));
            continue;
        }
        unsigned char digest[SR_SHA256_SIZE];
        if (digest_cache_file(c, t->path, digest, err) < 0)
            return -1;
        cleanup_free char *path = spelled(t->path);
        cleanup_free char *what = sr_asprintf("tool %s %s", name, path);
        line_add(f, what, digest);
    }
    return 0;
}

static void lines_digest(struct sr_fingerprint *f)
{
    struct sr_sha256 c;
    unsigned char digest[SR_SHA256_SIZE];
    sr_sha256_init(&c);
    for (size_t i = 0; i < f->lines.n; i++) {
        sr_sha256_update(&c, f->lines.v[i], strlen(f->lines.v[i]));
        sr_sha256_update(&c, "\n", 1);
    }
    sr_sha256_final(&c, digest);
    sr_sha256_text(digest, f->digest);
}

int host_fingerprint(const struct host_view *v, const struct sr_strv *command, const char *path,
                     const char *tree, int cache_dirfd, struct sr_fingerprint *ret,
                     struct sr_error *err)
{
    cleanup_tools struct host_tools tools = { 0 };
    if (command->n && host_tools_find(v, command->v[0], path, tree, &tools, err) < 0)
        return -1;
    cleanup_digest_cache struct digest_cache cache;
    digest_cache_open(&cache, cache_dirfd);
    struct sr_fingerprint f = { 0 };
    if (system_lines(&f, &cache, err) < 0 || packages_line(&f, &cache, err) < 0 ||
        tool_lines(&tools, &f, &cache, err) < 0) {
        sr_fingerprint_clear(&f);
        return -1;
    }
    digest_cache_save(&cache);
    lines_digest(&f);
    *ret = f;
    return 0;
}

int sr_host_fingerprint(const struct sr_strv *command, const char *path, const char *tree,
                        int cache_dirfd, struct sr_fingerprint *ret, struct sr_error *err)
{
    return host_fingerprint(&host_view_real, command, path, tree, cache_dirfd, ret, err);
}

void sr_fingerprint_clear(struct sr_fingerprint *f)
{
    sr_strv_clear(&f->lines);
    f->digest[0] = '\0';
}
