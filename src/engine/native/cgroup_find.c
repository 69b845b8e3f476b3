/* SPDX-License-Identifier: MIT */
/* Finding the directory below which a run's cgroup can be made: v2, v1, and hosts that have both.
 */
#include "engine/native/cgroup.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_MAX = 1024 * 1024,
    FIELDS_MAX = 64,
    NEEDED = 1 << SR_CTL_MEMORY | 1 << SR_CTL_PIDS | 1 << SR_CTL_CPU,
};

static const char *const controller_names[SR_CTL_COUNT] = { "memory", "pids", "cpu" };

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

/* \040 and its like, as the kernel writes blanks, tabs, newlines and backslashes in names; in
 * place. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
            s[3] >= '0' && s[3] <= '7') {
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
    for (char *f = strtok_r(line, " ", &save); f && n < FIELDS_MAX;
         f = strtok_r(NULL, " ", &save)) {
        if (dash < 0 && n >= 6 && strcmp(f, "-") == 0)
            dash = n;
        field[n++] = f;
    }
    if (dash < 0 || dash + 3 >= n)
        return false;
    const char *type = field[dash + 1], *super = field[dash + 3];
    if (controller ? strcmp(type, "cgroup") != 0 || !list_has(super, ",", controller)
                   : strcmp(type, "cgroup2") != 0)
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

/* The caller's path in the hierarchy, owned; NULL when no line says. Lines:
 * number:controllers:path, v2 is "0::". */
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
 * Where the caller's own group is visible. A path outside the mounted part ("/../x" from within a
 * cgroup namespace, a container's view of its host) leaves only the mount point, the uppermost
 * group that can be seen.
 */
static char *own_dir(const struct sr_cgroup_view *view, const struct mount *m,
                     const char *controller)
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

/* All in one write, which the kernel takes whole or not at all. */
static int enable(const char *dir, unsigned mask)
{
    cleanup_buf struct sr_buf text = SR_BUF(128);
    for (int c = 0; c < SR_CTL_COUNT; c++)
        if (mask & 1u << c)
            sr_buf_printf(&text, "%s+%s", text.len ? " " : "", controller_names[c]);
    cleanup_free char *path = sr_path_join(dir, "cgroup.subtree_control");
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : sr_write_all(fd, text.data, text.len);
}

/* The controllers needed that a file of names lists. */
static unsigned controllers_in(const char *dir, const char *file)
{
    cleanup_free char *text = read_file(dir, file);
    unsigned mask = 0;
    for (int c = 0; c < SR_CTL_COUNT; c++)
        if (list_has(text, " \n", controller_names[c]))
            mask |= 1u << c;
    return mask;
}

static void why_add(struct sr_buf *why, const char *dir, const char *text)
{
    sr_buf_printf(why, "%s%s %s", why->len ? ", " : "", dir, text);
}

static void why_missing(struct sr_buf *why, const char *dir, unsigned missing)
{
    for (int c = 0; c < SR_CTL_COUNT; c++)
        if (missing & 1u << c)
            sr_buf_printf(why, "%s%s has no %s controller", why->len ? ", " : "", dir,
                          controller_names[c]);
}

/*
 * Which controllers can groups made below dir have? Only a group without processes of its own may
 * hand controllers down (the root excepted, which alone has no cgroup.type), and only in a group
 * that is ours to change is it done.
 */
static unsigned usable_v2(const char *dir, bool ours, struct sr_buf *why)
{
    unsigned available = controllers_in(dir, "cgroup.controllers");
    unsigned handed = available & controllers_in(dir, "cgroup.subtree_control");
    why_missing(why, dir, NEEDED & ~available);
    if (!available)
        return 0;
    /* Moving a process needs the right to write cgroup.procs of the common ancestor too. */
    if (!writable(dir, "") || !writable(dir, "cgroup.procs")) {
        why_add(why, dir, "is not delegated to this user");
        return 0;
    }
    if (handed == available)
        return handed;
    if (!ours) {
        why_add(why, dir, "does not hand all its controllers down");
        return handed;
    }
    cleanup_free char *procs = read_file(dir, "cgroup.procs");
    errno = EBUSY;
    if ((!exists(dir, "cgroup.type") || !*procs) && enable(dir, available & ~handed) == 0)
        return available;
    why_add(why, dir,
            errno == EBUSY ? "has processes of its own and so cannot hand controllers down"
                           : "does not let its controllers be handed down");
    return handed;
}

struct choice {
    char *dir;
    unsigned have;
};

static void choice_consider(struct choice *best, const char *dir, bool ours, struct sr_buf *why)
{
    if (best->have == NEEDED)
        return;
    unsigned have = usable_v2(dir, ours, why);
    if (__builtin_popcount(have) <= __builtin_popcount(best->have))
        return;
    sr_freep(&best->dir);
    best->dir = sr_strdup(dir);
    best->have = have;
}

char *sr_cgroup_find_v2(const struct sr_cgroup_view *view, unsigned *ret_have, struct sr_buf *why)
{
    __attribute__((cleanup(mount_clear))) struct mount m = { 0 };
    *ret_have = 0;
    if (!mount_find(view->mountinfo, NULL, &m)) {
        sr_buf_puts(why, "not mounted");
        return NULL;
    }
    cleanup_free char *own = own_dir(view, &m, NULL);
    cleanup_free char *top = sr_asprintf("%s%s", view->root, m.point);
    struct choice best = { 0 };
    choice_consider(&best, own, true, why);
    if (strcmp(own, top) != 0) {
        *strrchr(own, '/') = '\0';
        if (strcmp(own, top) != 0)
            choice_consider(&best, own, false, why);
        if (view->privileged)
            choice_consider(&best, top, true, why);
    }
    *ret_have = best.have;
    return best.dir;
}

char *sr_cgroup_find_v1(const struct sr_cgroup_view *view, enum sr_controller c, struct sr_buf *why)
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
