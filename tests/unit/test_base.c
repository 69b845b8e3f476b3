/* SPDX-License-Identifier: MIT */
/* base: buffer, text, paths, files, removal. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(buf, a_ceiling_drops_whole_appends_and_sticks)
{
    cleanup_buf struct sr_buf b = SR_BUF(5);
    sr_buf_puts(&b, "abc");
    sr_buf_puts(&b, "def");
    cr_assert(b.overflow);
    cr_assert_str_eq(b.data, "abc");
    sr_buf_puts(&b, "x");
    cr_assert_eq(b.len, 3);
}

Test(text, durations)
{
    static const struct {
        const char *s;
        uint64_t ns;
    } good[] = { { "90s", 90000000000u }, { "1h30m", 5400000000000u }, { "250ms", 250000000u }, { "2d", 172800000000000u } };
    static const char *const bad[] = { "", "10", "s", "1.5s", "-1s", " 1s", "1s ", "30m1h", "1s1s", "99999999999999999999s", "300000000d" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct sr_error err = { 0 };
        uint64_t v = 0;
        cr_assert_eq(sr_text_duration(good[i].s, &v, &err), 0, "%s", good[i].s);
        cr_assert_eq(v, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sr_error err = { 0 };
        uint64_t v = 7;
        cr_assert_eq(sr_text_duration(bad[i], &v, &err), -1, "%s", bad[i]);
        cr_assert_str_eq(err.code, "value.duration");
        cr_assert_eq(v, 7);
    }
}

Test(text, sizes_and_their_spelling)
{
    struct sr_error err = { 0 };
    uint64_t v;
    char out[32];
    cr_assert_eq(sr_text_size("2GiB", &v, &err), 0);
    sr_text_format_size(v, out);
    cr_assert_str_eq(out, "2GiB");
    cr_assert_eq(sr_text_size("1.5GiB", &v, &err), -1);
    cr_assert_str_eq(err.code, "value.size");
    sr_error_clear(&err);
    cr_assert_eq(sr_text_size("99999999TiB", &v, &err), -1);
    sr_text_format_duration(600000000000u, out);
    cr_assert_str_eq(out, "10m");
}

Test(text, a10_names_cannot_steer_a_terminal)
{
    static const char raw[] = "a\x1b[31m\n\xff\xc2\x9b\\\xe2\x80\xae\xc3\xa9";
    cleanup_buf struct sr_buf b = SR_BUF(256);
    sr_text_printable(&b, raw, sizeof raw - 1);
    cr_assert_str_eq(b.data, "a\\x1b[31m\\x0a\\xff\\xc2\\x9b\\\\\\xe2\\x80\\xae\xc3\xa9");
}

Test(text, what_does_not_fit_is_called_too_large_and_not_misspelt)
{
    static const char *const long_ones[] = { "99999999999999999999s", "99999999999999999999ns", "300000000d" };
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++) {
        struct sr_error err = { 0 };
        uint64_t v;
        cr_assert_eq(sr_text_duration(long_ones[i], &v, &err), -1);
        cr_expect_not_null(strstr(err.text, "too long"), "%s", err.text);
    }
    struct sr_error size = { 0 }, number = { 0 };
    uint64_t v;
    cr_assert_eq(sr_text_size("99999999999999999999", &v, &size), -1);
    cr_expect_not_null(strstr(size.text, "too large"), "%s", size.text);
    cr_assert_eq(sr_text_u64("99999999999999999999", 0, UINT64_MAX, &v, &number), -1);
    cr_expect_not_null(strstr(number.text, "outside"), "%s", number.text);
}

Test(text, a_spelling_leads_back_to_the_bytes)
{
    static const struct {
        const char *raw;
        size_t len;
    } names[] = { { "/a b/c", 6 }, { "/\xff\xfe/x", 5 }, { "/back\\slash\\x41", 15 }, { "\x1b[2J\x7f\n", 6 }, { "/\xc3\xa4\xc2\x9b", 5 }, { "", 0 } };
    static const char *const none[] = { "\\", "a\\b", "\\x", "\\x4", "\\xg0", "\\x4G", "\\XFF" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_buf struct sr_buf spelled = SR_BUF(256), back = SR_BUF(256);
        sr_text_printable(&spelled, names[i].raw, names[i].len);
        cr_assert_eq(sr_text_unprintable(&back, spelled.data ? spelled.data : ""), 0, "%zu", i);
        cr_assert_eq(back.len, names[i].len, "%zu", i);
        cr_expect(names[i].len == 0 || memcmp(back.data, names[i].raw, names[i].len) == 0, "%zu", i);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        cleanup_buf struct sr_buf out = SR_BUF(256);
        cr_expect_eq(sr_text_unprintable(&out, none[i]), -1, "%s", none[i]);
    }
}

Test(text, distance)
{
    cr_assert_eq(sr_text_distance("Test", "Tets"), 2);
    cr_assert_eq(sr_text_distance("Lint", "Lint"), 0);
    cr_assert_eq(sr_text_distance("", "abc"), 3);
}

Test(path, clean_and_below)
{
    static const struct {
        const char *in, *out;
    } t[] = { { "/a//b/./c/", "/a/b/c" }, { "a/../b", "b" }, { "/..", NULL }, { "a/../../b", NULL }, { "/", "/" }, { ".", "." }, { "a/..", "." }, { "/a/b/../..", "/" } };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        cleanup_free char *c = sr_path_clean(t[i].in);
        if (t[i].out)
            cr_assert_str_eq(c, t[i].out);
        else
            cr_assert_null(c);
    }
    cr_assert(sr_path_below("/a/b", "/a"));
    cr_assert(sr_path_below("/a", "/a"));
    cr_assert_not(sr_path_below("/ab", "/a"));
    cr_assert(sr_path_below("/ab", "/"));
}

static int scratch(char path[64])
{
    strcpy(path, "/tmp/sr-base-XXXXXX");
    cr_assert_not_null(mkdtemp(path));
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void scratch_end(int fd, const char *path)
{
    struct sr_error err = { 0 };
    close(fd);
    cr_assert_eq(sr_remove_at(AT_FDCWD, path, &err), 0, "%s", err.text);
    cr_assert_eq(access(path, F_OK), -1);
}

Test(file, reading_never_hangs_and_never_follows)
{
    char path[64];
    int fd = scratch(path);
    cleanup_buf struct sr_buf b = SR_BUF(0);
    struct sr_error err = { 0 };
    cr_assert_eq(mkfifoat(fd, "fifo", 0600), 0);
    cr_assert_eq(sr_file_read_at(fd, "fifo", 10, &b, &err), -1);
    cr_assert_str_eq(err.code, "file.type");
    sr_error_clear(&err);
    cr_assert_eq(symlinkat("/etc/passwd", fd, "link"), 0);
    cr_assert_eq(sr_file_read_at(fd, "link", 10000, &b, &err), -1);
    cr_assert_str_eq(err.code, "file.type");
    sr_error_clear(&err);
    cr_assert_eq(sr_file_write_at(fd, "f", "hello", 5, 0600, &err), 0);
    cr_assert_eq(sr_file_read_at(fd, "f", 4, &b, &err), -1);
    cr_assert_str_eq(err.code, "file.too_large");
    sr_error_clear(&err);
    cr_assert_eq(sr_file_read_at(fd, "f", 5, &b, &err), 0);
    cr_assert_str_eq(b.data, "hello");
    cr_assert_eq(sr_file_read_at(fd, "none", 5, &b, &err), -1);
    cr_assert_str_eq(err.code, "file.missing");
    scratch_end(fd, path);
}

Test(file, a24_removal_of_a_tree_deeper_than_path_max_and_of_closed_directories)
{
    char path[64];
    int top = scratch(path), at = dup(top);
    for (int i = 0; i < 3000; i++) {
        cr_assert_eq(mkdirat(at, "dddd", 0755), 0);
        int next = openat(at, "dddd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
        cr_assert_geq(at, 0);
    }
    close(at);
    cr_assert_eq(mkdirat(top, "closed", 0755), 0);
    cr_assert_eq(mkdirat(top, "closed/in", 0755), 0);
    cr_assert_eq(fchmodat(top, "closed", 0, 0), 0);
    scratch_end(top, path);
}

Test(file, a24_removal_does_not_follow_links)
{
    char path[64], other[64];
    int top = scratch(path), keep = scratch(other);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_file_write_at(keep, "precious", "x", 1, 0600, &err), 0);
    cr_assert_eq(symlinkat(other, top, "link"), 0);
    scratch_end(top, path);
    cr_assert_eq(faccessat(keep, "precious", F_OK, 0), 0);
    scratch_end(keep, other);
}

Test(file, mkdir_p_refuses_links_in_the_way)
{
    char path[64];
    int top = scratch(path);
    struct sr_error err = { 0 };
    cr_assert_eq(sr_mkdir_p(top, "a/b/c", 0755, &err), 0);
    cr_assert_eq(symlinkat("/tmp", top, "l"), 0);
    cr_assert_eq(sr_mkdir_p(top, "l/x", 0755, &err), -1);
    cr_assert_str_eq(err.code, "file.mkdir");
    scratch_end(top, path);
}
