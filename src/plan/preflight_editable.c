/* SPDX-License-Identifier: MIT */
/* Editable installs: packages that an environment takes from directories outside of itself. */
#include "plan/preflight.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 64, FILE_MAX = 64 * 1024, LINES_MAX = 64 };

/*
 * A line of a .pth file is a directory to import from, or a statement. Python passes over a
 * directory that does not exist without a word, so a stale line does no harm; one that exists on
 * this host and not inside is a package that the check will not find.
 */

static bool lost_inside(const struct preflight *pf, const char *path)
{
    struct stat st;
    cleanup_inside struct inside w;
    inside_walk(pf->plan, path, &w);
    return w.end == INSIDE_ABSENT && stat(path, &st) == 0;
}

static void add(struct preflight *pf, const struct venv *v, const char *dir, const char *file,
                const char *path)
{
    cleanup_free char *rest = sr_path_join(dir, file);
    char *at = venv_path(v, rest), *mount = preflight_mount_remedy(pf->plan, path);
    preflight_add(
        pf, (struct sr_finding){
                .code = "env.mismatch.moved",
                .path = at,
                .expected = sr_strdup(path),
                .found = sr_asprintf("no %s inside", path),
                .text = sr_asprintf("the environment %s has an editable install whose code is not "
                                    "in the check's root filesystem: %s names %s",
                                    v->name, at, path),
                .remedy = mount ? mount
                                : sr_asprintf("install that package into %s instead of linking it, "
                                              "or check the tree where it was made",
                                              v->name),
            });
}

static bool look_at(struct preflight *pf, const struct venv *v, int fd, const char *dir,
                    const char *name)
{
    cleanup_buf struct sr_buf b = SR_BUF(FILE_MAX);
    struct sr_error unread = { 0 };
    char *save = NULL;
    if (sr_file_read_at(fd, name, FILE_MAX, &b, &unread) < 0 || !b.len)
        return false;
    char *line = strtok_r(b.data, "\r\n", &save);
    for (size_t n = 0; line && n < LINES_MAX; line = strtok_r(NULL, "\r\n", &save), n++)
        if (line[0] == '/' && lost_inside(pf, line)) {
            add(pf, v, dir, name, line);
            return true;
        }
    return false;
}

void preflight_editable(struct preflight *pf, const struct venv *v, const char *dir)
{
    cleanup_strv struct sr_strv names = { 0 };
    size_t n = 0;
    cleanup_fd int fd =
        sr_openat2(v->fd, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (fd < 0 || !preflight_names(fd, ".", PREFLIGHT_BIN_ENTRIES, &names))
        return;
    for (size_t i = 0; i < names.n && n < FILES_MAX; i++) {
        const char *dot = strrchr(names.v[i], '.');
        if (!dot || strcmp(dot, ".pth") != 0)
            continue;
        n++;
        if (look_at(pf, v, fd, dir, names.v[i]))
            return;
    }
}
