/* SPDX-License-Identifier: MIT */
/* The copy of a record that --record asks for. */
#include "cli/record_file.h"
#include "base/fs.h"
#include "base/mem.h"
#include "sandrun/record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A record, or the answer of a run that came to none; empty: what mktemp makes. */
static bool is_ours(const char *text, size_t len)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    struct sr_error ignored = { 0 };
    if (len == 0)
        return true;
    if (sr_json_parse("record", text, len, SR_RECORD_MAX, SR_JSON_STRICT, &doc, &ignored) < 0)
        return false;
    const char *schema = sr_json_string(doc.root, "schema");
    if (schema)
        return strncmp(schema, "sandrun.record/", strlen("sandrun.record/")) == 0;
    return sr_json_string(doc.root, "status") && sr_json_string(doc.root, "reason") &&
           sr_json_get(doc.root, "decided") && sr_json_get(doc.root, "error");
}

/*
 * What stands there goes before anything runs: a run that is refused, or killed, must not leave the
 * last one's "passed" where this one's answer is looked for. `--record sandrun.json` is a slip that
 * may not cost the policy, so nothing but a record goes.
 */
static int previous_remove(int dir_fd, const char *name, const char *path, struct sr_error *err)
{
    cleanup_buf struct sr_buf text = SR_BUF(SR_RECORD_MAX);
    struct sr_error inner = { 0 };
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? 0
                   : sr_error_sys(err, "record.path", "looking at the record %s", path);
    if (!S_ISREG(st.st_mode))
        return sr_error_set(err, "record.path",
                            "the record %s: what stands there is not a regular file", path);
    if (sr_file_read_at(dir_fd, name, SR_RECORD_MAX, &text, &inner) < 0)
        return sr_error_set(err, "record.path", "the record %s: %s", path, inner.text);
    if (!is_ours(text.data ? text.data : "", text.len)) {
        sr_error_set(err, "record.path", "the file %s is no record, so none is written over it",
                     path);
        return sr_error_hint(err, "name another file, or remove this one first");
    }
    if (unlinkat(dir_fd, name, 0) < 0)
        return sr_error_sys(err, "record.path", "removing the last run's record %s", path);
    return 0;
}

/* The tree may hold what a model wrote: `reports -> /etc/cron.d` must not lead the record out, so
 * no component of the directory may be a link, and what stands at FILE is replaced only when it is
 * a regular file. */
int cli_record_file_open(const char *path, struct cli_record_file *ret, struct sr_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    cleanup_free char *dir = slash ? sr_strndup(path, (size_t)(slash - path) + 1) : sr_strdup(".");
    cleanup_fd int fd = -1;
    *ret = (struct cli_record_file){ .dir_fd = -1, .path = path, .name = slash ? slash + 1 : path };
    if (!path)
        return 0;
    fd = sr_openat2(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
    if (fd < 0) {
        int linked = errno == ELOOP;
        sr_error_sys(err, "record.path", "opening the directory of the record %s", path);
        return linked ? sr_error_hint(err, "a part of it is a link: name the real directory") : -1;
    }
    if (ret->name[0] == '\0' || strcmp(ret->name, ".") == 0 || strcmp(ret->name, "..") == 0)
        return sr_error_set(err, "record.path", "the record %s is a directory's name", path);
    if (previous_remove(fd, ret->name, path, err) < 0)
        return -1;
    ret->dir_fd = steal_fd(&fd);
    return 0;
}

int cli_record_file_write(const struct cli_record_file *f, const cJSON *record,
                          struct sr_error *err)
{
    cleanup_free char *text = NULL;
    if (f->dir_fd < 0)
        return 0;
    text = sr_json_pretty(record);
    if (sr_file_write_at(f->dir_fd, f->name, text, strlen(text), 0644, err) < 0)
        return sr_error_wrap(err, "writing the record %s", f->path);
    return 0;
}

void cli_record_file_close(struct cli_record_file *f)
{
    if (f->dir_fd >= 0)
        close(f->dir_fd);
    f->dir_fd = -1;
}
