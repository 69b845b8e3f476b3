/* SPDX-License-Identifier: MIT */
/* What the command line prints and writes: harmless text, records' copies, and the look at a tree's
 * times. */
#include "base/fs.h"
#include "cli/drift.h"
#include "cli/print.h"
#include "cli/record_file.h"
#include "cli/record_view.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char dir[64];
static int dir_fd;

static void setup(void)
{
    snprintf(dir, sizeof dir, "/tmp/sr-cli-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(dir_fd, 0);
}

static void teardown(void)
{
    struct sr_error err = { 0 };
    close(dir_fd);
    cr_assert_eq(sr_remove_at(AT_FDCWD, dir, &err), 0);
}

static void touch(const char *name)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0);
    close(fd);
}

Test(cli_print, names_cannot_forge_lines_or_reach_the_terminal)
{
    cleanup_page struct cli_page p = { .buf = SR_BUF(4096), .fd = -1 };
    cli_line(&p, CLI_BAD, "sandrun: %s failed", "a\033[2J\nsandrun: b passed\xff");
    cr_assert_str_eq(p.buf.data, "sandrun: a\\x1b[2J\\x0asandrun: b passed\\xff failed\n");
}

Test(cli_print, a_hints_lines_are_indented_behind_its_lead)
{
    cleanup_page struct cli_page p = { .buf = SR_BUF(4096), .fd = -1 };
    cli_lines(&p, CLI_PLAIN, "  do: ", "one\ntwo");
    cr_assert_str_eq(p.buf.data, "  do: one\n      two\n");
}

Test(cli_print, colour_is_only_around_the_line)
{
    cleanup_page struct cli_page p = { .buf = SR_BUF(4096), .fd = -1, .colour = true };
    cli_line(&p, CLI_GOOD, "x");
    cli_line(&p, CLI_PLAIN, "y");
    cr_assert_str_eq(p.buf.data, "\033[32mx\033[0m\ny\n");
}

static int copy(const char *path, struct sr_error *err)
{
    struct cli_record_file f;
    cleanup_json cJSON *record = sr_json_object();
    int r;
    sr_json_add_string(record, "id", "x");
    if (cli_record_file_open(path, &f, err) < 0)
        return -1;
    r = cli_record_file_write(&f, record, err);
    cli_record_file_close(&f);
    return r;
}

static void put(const char *name, const char *text)
{
    struct sr_error err = { 0 };
    cr_assert_eq(sr_file_write_at(dir_fd, name, text, strlen(text), 0644, &err), 0, "%s", err.text);
}

Test(cli_record, a_copy_is_whole_and_replaces_a_record, .init = setup, .fini = teardown)
{
    static const char *const former[] = {
        "", "{\"schema\": \"sandrun.record/1\", \"status\": \"passed\"}\n",
        "{\"status\": \"errored\", \"reason\": \"x\", \"decided\": false, \"exit\": 125, \"error\": {}}",
    };
    cleanup_free char *path = sr_asprintf("%s/r.json", dir);
    for (size_t i = 0; i < sizeof former / sizeof *former; i++) {
        cleanup_buf struct sr_buf text = SR_BUF(4096);
        struct sr_error err = { 0 };
        put("r.json", former[i]);
        cr_assert_eq(copy(path, &err), 0, "%s", err.text);
        cr_assert_eq(sr_file_read_at(dir_fd, "r.json", 4096, &text, &err), 0);
        cr_assert_not_null(strstr(text.data, "\"id\""));
    }
}

Test(cli_record, a_former_record_is_gone_before_anything_runs, .init = setup, .fini = teardown)
{
    cleanup_free char *path = sr_asprintf("%s/r.json", dir);
    struct cli_record_file f;
    struct sr_error err = { 0 };
    struct stat st;
    put("r.json", "{\"schema\": \"sandrun.record/1\", \"status\": \"passed\"}\n");
    cr_assert_eq(cli_record_file_open(path, &f, &err), 0, "%s", err.text);
    cr_expect_neq(fstatat(dir_fd, "r.json", &st, 0), 0);
    cli_record_file_close(&f);
}

Test(cli_record, what_is_no_record_is_never_replaced, .init = setup, .fini = teardown)
{
    static const char *const other[] = { "{\"version\": 1, \"bindings\": {}}", "text\n", "[]",
                                         "{\"schema\": \"other/1\"}", "{\"status\": \"x\"}" };
    cleanup_free char *path = sr_asprintf("%s/r.json", dir);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        cleanup_buf struct sr_buf text = SR_BUF(4096);
        struct sr_error err = { 0 }, read = { 0 };
        put("r.json", other[i]);
        cr_expect_eq(copy(path, &err), -1);
        cr_expect_str_eq(err.code, "record.path");
        cr_assert_eq(sr_file_read_at(dir_fd, "r.json", 4096, &text, &read), 0);
        cr_expect_str_eq(text.data, other[i]);
    }
}

Test(cli_record, a_copy_never_goes_through_a_link, .init = setup, .fini = teardown)
{
    cleanup_free char *through = sr_asprintf("%s/link/r.json", dir),
                      *at = sr_asprintf("%s/r.json", dir);
    struct sr_error err = { 0 };
    struct stat st;
    cr_assert_eq(mkdirat(dir_fd, "real", 0755), 0);
    cr_assert_eq(symlinkat("real", dir_fd, "link"), 0);
    touch("victim");
    cr_assert_eq(symlinkat("victim", dir_fd, "r.json"), 0);
    cr_assert_eq(copy(through, &err), -1);
    cr_assert_str_eq(err.code, "record.path");
    cr_assert_neq(fstatat(dir_fd, "real/r.json", &st, 0), 0);
    sr_error_clear(&err);
    cr_assert_eq(copy(at, &err), -1);
    cr_assert_str_eq(err.code, "record.path");
    cr_assert_eq(fstatat(dir_fd, "victim", &st, 0), 0);
    cr_assert_eq(st.st_size, 0);
}

Test(cli_record, a_directory_or_a_missing_one_is_refused_before_anything_runs, .init = setup,
     .fini = teardown)
{
    cleanup_free char *is_dir = sr_asprintf("%s/", dir),
                      *missing = sr_asprintf("%s/none/r.json", dir);
    struct sr_error err = { 0 };
    cr_assert_eq(copy(is_dir, &err), -1);
    sr_error_clear(&err);
    cr_assert_eq(copy(missing, &err), -1);
    cr_assert_str_eq(err.code, "record.path");
}

Test(cli_record, dotted_names_find_members_and_tolerate_others)
{
    cleanup_json cJSON *o = sr_json_object();
    cJSON *in = sr_json_object();
    sr_json_add_u64(in, "small", 7);
    sr_json_add_u64(in, "large", 18446744073709551615u);
    sr_json_add_string(in, "s", "t");
    sr_json_add(o, "in", in);
    cr_assert_eq(cli_u64_at(o, "in.small"), 7);
    cr_assert_eq(cli_u64_at(o, "in.large"), 18446744073709551615u);
    cr_assert_eq(cli_u64_at(o, "in.s"), 0);
    cr_assert_str_eq(cli_string_at(o, "in.s"), "t");
    cr_assert_null(cli_string_at(o, "in.s.deeper"));
    cr_assert_null(cli_string_at(NULL, "in"));
}

static int64_t ctime_of(const char *name)
{
    struct stat st;
    cr_assert_eq(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

/* The kernel's file times move in ticks: wait until one has passed. */
static void tick(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
}

Test(cli_drift, a39_a_changed_file_is_named_and_gits_inside_is_not, .init = setup, .fini = teardown)
{
    cleanup_strv struct sr_strv changed = { 0 }, nothing = { 0 };
    struct sr_error err = { 0 };
    int64_t then;
    cr_assert_eq(mkdirat(dir_fd, "sub", 0755), 0);
    cr_assert_eq(mkdirat(dir_fd, ".git", 0755), 0);
    touch("sub/file");
    touch("old");
    cr_assert_eq(symlinkat("/etc", dir_fd, "sub/out"), 0);
    then = ctime_of("sub/out");
    cr_assert_eq(cli_tree_changed_since(dir, ctime_of("sub"), &nothing, &err), 0, "%s", err.text);
    cr_assert_eq(nothing.n, 0, "%s", nothing.n ? nothing.v[0] : "");
    tick();
    touch(".git/index");
    cr_assert_eq(fchmodat(dir_fd, "sub/file", 0600, 0), 0);
    cr_assert_eq(utimensat(dir_fd, "sub/file", (struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0), 0);
    cr_assert_eq(cli_tree_changed_since(dir, then, &changed, &err), 0, "%s", err.text);
    cr_assert_eq(changed.n, 1);
    cr_assert_str_eq(changed.v[0], "sub/file");
}

Test(cli_drift, a39_a_removed_file_shows_in_its_directory, .init = setup, .fini = teardown)
{
    cleanup_strv struct sr_strv changed = { 0 };
    struct sr_error err = { 0 };
    int64_t then;
    cr_assert_eq(mkdirat(dir_fd, "sub", 0755), 0);
    touch("sub/file");
    then = ctime_of("sub");
    tick();
    cr_assert_eq(unlinkat(dir_fd, "sub/file", 0), 0);
    cr_assert_eq(cli_tree_changed_since(dir, then, &changed, &err), 0);
    cr_assert_eq(changed.n, 1);
    cr_assert_str_eq(changed.v[0], "sub");
}
