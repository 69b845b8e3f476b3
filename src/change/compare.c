/* SPDX-License-Identifier: MIT */
/* Two directories, before and after; and one that was empty before. */
#include "change/subtree.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct compare {
    int before_fd, after_fd;
    struct sr_changeset *set;
    struct sr_todo todo;
};

/* 1 there, 0 not, -1 error. */
static int look(int dirfd, const char *name, const char *dir, struct stat *ret,
                struct sr_error *err)
{
    if (fstatat(dirfd, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    return sr_error_sys(err, "snapshot.read", "cannot look at %s/%s", dir, name);
}

static int side_tell(struct compare *c, const char *path, bool added, struct sr_error *err)
{
    struct sr_subtree s = { .root_fd = added ? c->after_fd : c->before_fd,
                            .from = path,
                            .to = path,
                            .added = added,
                            .digest = added,
                            .force = added };
    return sr_subtree_tell(&s, c->set, err);
}

static int name_compare(struct compare *c, int before, int after, const char *dir, const char *name,
                        struct sr_error *err)
{
    struct stat b, a;
    int was = look(before, name, dir, &b, err), is = was < 0 ? -1 : look(after, name, dir, &a, err);
    if (is < 0)
        return -1;
    cleanup_free char *path = sr_walk_join(dir, name);
    struct sr_entry e = { .before_fd = before,
                          .after_fd = after,
                          .name = name,
                          .before = was ? &b : NULL,
                          .after = is ? &a : NULL,
                          .force = true,
                          .content = true };
    if ((was || is) && sr_entry_tell(&e, path, false, c->set, NULL, err) < 0)
        return -1;
    bool was_dir = was && S_ISDIR(b.st_mode), is_dir = is && S_ISDIR(a.st_mode);
    if (was_dir && is_dir)
        return sr_todo_push(&c->todo, steal_ptr(&path), NULL, 0, err);
    if (was_dir) {
        sr_set_mark(c->set, path, false, SR_MARK_GONE);
        return side_tell(c, path, false, err);
    }
    return is_dir ? side_tell(c, path, true, err) : 0;
}

static int directory_compare(struct compare *c, const char *path, struct sr_error *err)
{
    cleanup_names struct sr_walk_names was = { 0 }, is = { 0 };
    cleanup_fd int before = sr_walk_open(c->before_fd, path, false);
    if (before < 0 && errno == EACCES)
        return 0; /* not the caller's to read, so not copied either */
    if (before < 0)
        return sr_error_sys(err, "snapshot.read", "cannot open the directory %s of the tree", path);
    cleanup_fd int after = sr_walk_open(c->after_fd, path, true);
    if (after < 0)
        return sr_error_sys(err, "snapshot.read", "cannot open the directory %s of the copy", path);
    if (sr_walk_list(before, path, &was, err) < 0 || sr_walk_list(after, path, &is, err) < 0)
        return -1;
    for (size_t i = 0; i < was.n; i++)
        if (name_compare(c, before, after, path, sr_walk_name(&was, i), err) < 0)
            return -1;
    for (size_t i = 0; i < is.n; i++)
        if (!sr_walk_has(&was, sr_walk_name(&is, i)) &&
            name_compare(c, before, after, path, sr_walk_name(&is, i), err) < 0)
            return -1;
    return 0;
}

int sr_tree_compare(int before_fd, int after_fd, struct sr_changeset *ret, struct sr_error *err)
{
    struct compare c = { before_fd, after_fd, ret, { 0 } };
    int r = sr_todo_push(&c.todo, sr_strdup(""), NULL, 0, err);
    while (r == 0) {
        cleanup_todo_item struct sr_todo_item dir = { 0 };
        if (!sr_todo_pop(&c.todo, &dir))
            break;
        r = directory_compare(&c, dir.path, err);
    }
    sr_todo_clear(&c.todo);
    return r;
}

int sr_tree_added(int root_fd, bool in_home, const struct sr_strv *mount_points, struct sr_changeset *ret, struct sr_error *err)
{
    struct sr_subtree s = { .root_fd = root_fd,
                            .from = "",
                            .to = "",
                            .in_home = in_home,
                            .mount_points = mount_points,
                            .added = true,
                            .digest = true,
                            .force = true };
    return sr_subtree_tell(&s, ret, err);
}
