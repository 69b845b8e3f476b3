/* SPDX-License-Identifier: MIT */
/* The copy of a record that --record asks for. */
#include "cli/record_file.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tree may hold what a model wrote: `reports -> /etc/cron.d` must not lead the record out, so
 * no component of the directory may be a link, and what stands at FILE is replaced by rename only
 * when it is a regular file. */
int cli_record_file_open(const char *path, struct cli_record_file *ret, struct sr_error *err)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    cleanup_free char *dir = slash ? sr_strndup(path, (size_t)(slash - path) + 1) : sr_strdup(".");
    cleanup_fd int fd = -1;
    struct stat st;
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
    if (fstatat(fd, ret->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
        return sr_error_set(err, "record.path",
                            "the record %s: what stands there is not a regular file", path);
    ret->dir_fd = steal_fd(&fd);
    return 0;
}

int cli_record_file_write(const struct cli_record_file *f, const cJSON *record,
                          struct sr_error *err)
{
    cleanup_free char *text = NULL;
    if (f->dir_fd < 0)
        return 0;
    if (!record)
        return sr_error_set(err, "record.none", "writing %s: there is no record of this run",
                            f->path);
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
