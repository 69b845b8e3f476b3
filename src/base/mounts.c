/* SPDX-License-Identifier: MIT */
/* What is mounted where this process is. */
#include "base/mounts.h"

#include "base/fs.h"

#include <fcntl.h>
#include <string.h>

/* mountinfo spells blanks and backslashes of a path as \ooo (proc(5)). */
static void unescape(char *path)
{
    char *to = path;
    for (const char *from = path; *from; to++)
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    *to = '\0';
}

int sr_mounts_read(struct sr_mounts *m, struct sr_error *err)
{
    enum { MOUNT_POINT_FIELD = 4, TEXT_MAX = 16 * 1024 * 1024 };
    if (m->text.data)
        return 0;
    cleanup_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sr_error_sys(err, "engine.unavailable.proc", "cannot read /proc/self/mountinfo");
    if (sr_file_read_fd(fd, "/proc/self/mountinfo", TEXT_MAX, &m->text, err) < 0)
        return -1;
    cleanup_free char *copy = sr_strdup(m->text.data ? m->text.data : "");
    char *lines = NULL, *fields = NULL;
    for (char *line = strtok_r(copy, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        char *field = strtok_r(line, " ", &fields);
        for (int i = 0; field && i < MOUNT_POINT_FIELD; i++)
            field = strtok_r(NULL, " ", &fields);
        if (!field)
            continue;
        unescape(field);
        if (!sr_strv_has(&m->points, field)) /* one upon the other: the path is what counts */
            sr_strv_add(&m->points, field);
    }
    return 0;
}

void sr_mounts_clear(struct sr_mounts *m)
{
    sr_buf_clear(&m->text);
    sr_strv_clear(&m->points);
}
