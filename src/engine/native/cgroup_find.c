/* SPDX-License-Identifier: MIT */
/* Finding the directory below which a run's cgroup can be made: v2, v1, and hosts that have both. */
#include "engine/native/cgroup.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 1024 * 1024, FIELDS_MAX = 64 };

static const char *const controller_names[SR_CTL_COUNT] = { "memory", "pids", "cpu", "cpuacct" };

const char *sr_controller_name(enum sr_controller c)
{
    return controller_names[c];
}

/* Is item one of the list's? Separators: any of seps. */
static bool list_has(const char *list, const char *seps, const char *item)
{
    size_t want = strlen(item);
    while (*list) {
        size_t n = strcspn(list, seps);
        if (n == want && strncmp(list, item, n) == 0)
            return true;
        list += n;
        list += strspn(list, seps);
    }
    return false;
}

/* \040 and its like, as the kernel writes blanks, tabs, newlines and backslashes in names; in place. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
            *to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

struct mount {
    char *root, *point; /* owned: which directory of the hierarchy is mounted, and where */
};

static void mount_clear(struct mount *m)
{
    sr_freep(&m->root);
    sr_freep(&m->point);
}

/* One line: id parent dev ROOT POINT options [optional...] - TYPE source SUPER. */
static bool mount_match(char *line, const char *controller, struct mount *ret)
{
    char *field[FIELDS_MAX], *save = NULL;
    int n = 0, dash = -1;
    for (char *f = strtok_r(line, " ", &save); f && n < FIELDS_MAX; f = strtok_r(NULL, " ", &save)) {
        if (dash < 0 && n >= 6 && strcmp(f, "-") == 0)
            dash = n;
        field[n++] = f;
    }
    if (dash < 0 || dash + 3 >= n)
        return false;
    const char *type = field[dash + 1], *super = field[dash + 3];
    if (controller ? strcmp(type, "cgroup") != 0 || !list_has(super, ",", controller) : strcmp(type, "cgroup2") != 0)
        return false;
    unescape(field[3]);
    unescape(field[4]);
    ret->root = sr_strdup(field[3]);
    ret->point = sr_strdup(field[4]);
    return true;
}

/* controller NULL: the v2 hierarchy. */
static bool mount_find(const char *mountinfo, const char *controller, struct mount *ret)
{
    cleanup_free char *text = sr_strdup(mountinfo);
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (mount_match(line, controller, ret))
            return true;
    return false;
}

/* The caller's path in the hierarchy, owned; NULL when no line says. Lines: number:controllers:path, v2 is "0::". */
static char *self_path(const char *self, const char *controller)
{
    cleanup_free char *text = sr_strdup(self);
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *list++ = *path++ = '\0';
        if (controller ? list_has(list, ",", controller) : strcmp(line, "0") == 0 && *list == '\0')
            return sr_strdup(path);
    }
    return NULL;
}

/*
 * Where the caller's own group is visible. A path outside the mounted part ("/../x" from within a cgroup namespace, a
 * container's view of its host) leaves only the mount point, the uppermost group that can be seen.
 */
static char *own_dir(const struct sr_cgroup_view *view, const struct mount *m, const char *controller)
{
    cleanup_free char *path = self_path(view->self, controller);
    const char *below = "";
    if (path && path[0] == '/' && strncmp(path, "/..", 3) != 0) {
        size_t n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
        if (strncmp(path, m->root, n) == 0 && (path[n] == '/' || path[n] == '\0'))
            below = strcmp(path + n, "/") == 0 ? "" : path + n;
    }
    return sr_asprintf("%s%s%s", view->root, m->point, below);
}

/* Content of dir/name, owned; "" when it cannot be read. */
static char *read_file(const char *dir, const char *name)
{
    cleanup_buf struct sr_buf b = SR_BUF(FILE_MAX);
    struct sr_error ignored = { 0 };
    cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || sr_file_read_at(fd, name, FILE_MAX, &b, &ignored) < 0)
        return sr_strdup("");
    return sr_buf_steal(&b);
}

static bool writable(const char *dir, const char *name)
{
    cleanup_free char *path = sr_path_join(dir, name);
    return access(path, W_OK) == 0;
}

static bool exists(const char *dir, const char *name)
{
    cleanup_free char *path = sr_path_join(dir, name);
    return access(path, F_OK) == 0;
}

static int enable(const char *dir, const char *controller)
{
    cleanup_free char *path = sr_path_join(dir, "cgroup.subtree_control");
    cleanup_free char *text = sr_asprintf("+%s", controller);
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : sr_write_all(fd, text, strlen(text));
}

/*
 * Can groups with the controller be made below dir? Only a group without processes of its own may hand controllers down
 * (the root excepted, which alone has no cgroup.type), and only in a group that is ours to change is it done.
 */
static bool usable_v2(const char *dir, const char *controller, bool ours, struct sr_buf *why)
{
    cleanup_free char *available = read_file(dir, "cgroup.controllers");
    cleanup_free char *handed = read_file(dir, "cgroup.subtree_control");
    cleanup_free char *procs = read_file(dir, "cgroup.procs");
    if (!list_has(available, " \n", controller)) {
        sr_buf_printf(why, "%s%s has no %s controller", why->len ? ", " : "", dir, controller);
        return false;
    }
    /* Moving a process needs the right to write cgroup.procs of the common ancestor too. */
    if (!writable(dir, "") || !writable(dir, "cgroup.procs")) {
        sr_buf_printf(why, "%s%s is not delegated to this user", why->len ? ", " : "", dir);
        return false;
    }
    if (list_has(handed, " \n", controller))
        return true;
    if (!ours) {
        sr_buf_printf(why, "%s%s does not hand %s down", why->len ? ", " : "", dir, controller);
        return false;
    }
    bool inner = exists(dir, "cgroup.type");
    errno = EBUSY;
    if ((!inner || !*procs) && enable(dir, controller) == 0)
        return true;
    if (errno == EBUSY)
        sr_buf_printf(why, "%s%s has processes of its own and so cannot hand %s down", why->len ? ", " : "", dir,
                      controller);
    else
        sr_buf_printf(why, "%s%s does not let %s be handed down (%s)", why->len ? ", " : "", dir, controller,
                      strerror(errno));
    return false;
}

static char *find_v2(const struct sr_cgroup_view *view, enum sr_controller c, struct sr_buf *why)
{
    __attribute__((cleanup(mount_clear))) struct mount m = { 0 };
    if (c == SR_CTL_CPUACCT || !mount_find(view->mountinfo, NULL, &m)) {
        sr_buf_puts(why, "not mounted");
        return NULL;
    }
    cleanup_free char *own = own_dir(view, &m, NULL);
    cleanup_free char *top = sr_asprintf("%s%s", view->root, m.point);
    if (usable_v2(own, controller_names[c], true, why))
        return steal_ptr(&own);
    if (strcmp(own, top) == 0)
        return NULL;
    char *slash = strrchr(own, '/');
    *slash = '\0';
    if (strcmp(own, top) != 0 && usable_v2(own, controller_names[c], false, why))
        return steal_ptr(&own);
    if (view->privileged && usable_v2(top, controller_names[c], true, why))
        return steal_ptr(&top);
    return NULL;
}

static char *find_v1(const struct sr_cgroup_view *view, enum sr_controller c, struct sr_buf *why)
{
    __attribute__((cleanup(mount_clear))) struct mount m = { 0 };
    if (!mount_find(view->mountinfo, controller_names[c], &m)) {
        sr_buf_puts(why, "not mounted");
        return NULL;
    }
    cleanup_free char *own = own_dir(view, &m, controller_names[c]);
    if (writable(own, ""))
        return steal_ptr(&own);
    sr_buf_printf(why, "%s cannot be written (%s)", own, strerror(errno));
    return NULL;
}

char *sr_cgroup_find(const struct sr_cgroup_view *view, enum sr_controller c, bool v2, struct sr_buf *why)
{
    return v2 ? find_v2(view, c, why) : find_v1(view, c, why);
}
