/* SPDX-License-Identifier: MIT */
/* Which paths are git's own, what class each has, and that none of them comes back to the tree. */
#include "change/git_class.h"
#include "change/set.h"
#include "sandrun/git.h"
#include "sandrun/keep.h"
#include "change_rig.h"

#include "base/fs.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(git_class, names_that_lead_to_a_repository)
{
    static const struct {
        const char *path, *below;
    } rows[] = {
        { ".git", "" },
        { ".git/config", "config" },
        { "a/b/.git/hooks/x", "hooks/x" },
        { ".git/modules/a/.git/config", "modules/a/.git/config" },
        /* what other filesystems take for it */
        { ".GIT/config", "config" },
        { "a/.Git", "" },
        { "git~1/hooks", "hooks" },
        { "GIT~1", "" },
        { ".git./config", "config" },
        { ".git . /config", "config" },
        { ".git::$INDEX_ALLOCATION/config", "config" },
        { ".g\xe2\x80\x8cit/config", "config" },
        { "\xef\xbb\xbf.git/config", "config" },
        /* and what nobody does */
        { "", NULL },
        { "git", NULL },
        { ".gitignore", NULL },
        { ".github/x", NULL },
        { "x.git/config", NULL },
        { ".git2", NULL },
        { ".gi", NULL },
        { "a.git", NULL },
        { "git~2", NULL },
        { "..git", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *below = sr_git_below(rows[i].path);
        cr_expect(rows[i].below ? below && strcmp(below, rows[i].below) == 0 : !below, "%s: %s", rows[i].path,
                  below ? below : "none");
    }
}

static const struct {
    const char *path;
    mode_t mode;
    enum sr_change_class want;
} classes[] = {
    { ".git", S_IFDIR, SR_CLASS_GIT_INTERNAL },
    { ".git", S_IFREG, SR_CLASS_GIT_CONFIG },
    { "sub/.git", S_IFLNK, SR_CLASS_GIT_CONFIG },
    { ".git/hooks", S_IFDIR, SR_CLASS_GIT_HOOKS },
    { ".git/hooks/pre-commit", S_IFREG, SR_CLASS_GIT_HOOKS },
    { ".git/rebase-merge/git-rebase-todo", S_IFREG, SR_CLASS_GIT_HOOKS },
    { ".git/rebase-merge/git-rebase-todo.backup", S_IFREG, SR_CLASS_GIT_HOOKS },
    { ".git/rebase-merge/done", S_IFREG, SR_CLASS_GIT_INTERNAL },
    { ".git/config", S_IFREG, SR_CLASS_GIT_CONFIG },
    { ".git/config.worktree", S_IFREG, SR_CLASS_GIT_CONFIG },
    { ".git/config.lock", S_IFREG, SR_CLASS_GIT_INTERNAL },
    { ".git/info/attributes", S_IFREG, SR_CLASS_GIT_CONFIG },
    { ".git/info/refs", S_IFREG, SR_CLASS_GIT_INTERNAL },
    { ".git/refs/heads/hooks/x", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/packed-refs", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/HEAD", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/ORIG_HEAD", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/logs/refs/stash", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/reftable/tables.list", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/index", S_IFREG, SR_CLASS_GIT_INDEX },
    { ".git/sharedindex.0123", S_IFREG, SR_CLASS_GIT_INDEX },
    { ".git/index.lock", S_IFREG, SR_CLASS_GIT_INTERNAL },
    { ".git/objects/00/11", S_IFREG, SR_CLASS_GIT_OBJECTS },
    { ".git/objects/info/alternates", S_IFREG, SR_CLASS_GIT_OBJECTS },
    { ".git/gc.pid", S_IFREG, SR_CLASS_GIT_INTERNAL },
    { ".git/lfs/objects/x", S_IFREG, SR_CLASS_GIT_INTERNAL },
    /* linked worktrees and submodules */
    { ".git/worktrees", S_IFDIR, SR_CLASS_GIT_INTERNAL },
    { ".git/worktrees/wt", S_IFDIR, SR_CLASS_GIT_INTERNAL },
    { ".git/worktrees/wt/HEAD", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/worktrees/wt/index", S_IFREG, SR_CLASS_GIT_INDEX },
    { ".git/worktrees/wt/commondir", S_IFREG, SR_CLASS_GIT_CONFIG },
    { ".git/worktrees/config", S_IFDIR, SR_CLASS_GIT_INTERNAL },
    { ".git/worktrees/config/logs/HEAD", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/modules/sub/config", S_IFREG, SR_CLASS_GIT_CONFIG },
    { ".git/modules/a/b/c/hooks/post-checkout", S_IFREG, SR_CLASS_GIT_HOOKS },
    { ".git/modules/a/modules/b/config", S_IFREG, SR_CLASS_GIT_CONFIG },
    { ".git/modules/a/worktrees/w/refs/bisect/bad", S_IFREG, SR_CLASS_GIT_REFS },
    { ".git/modules/config/objects/00/11", S_IFREG, SR_CLASS_GIT_OBJECTS },
    { "vendor/x/.git/modules/y/info/attributes", S_IFREG, SR_CLASS_GIT_CONFIG },
    /* one below another: what tells most */
    { ".git/objects/.git/hooks/x", S_IFREG, SR_CLASS_GIT_HOOKS },
    { ".git/hooks/.git/objects/x", S_IFREG, SR_CLASS_GIT_HOOKS },
};

Test(git_class, one_table)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s", classes[i].path);
        struct sr_change c = { .path = path, .after = { .mode = classes[i].mode } };
        enum sr_change_class cls = SR_CLASS_COUNT;
        cr_expect(sr_git_class(&c, &cls), "%s", path);
        cr_expect_eq(cls, classes[i].want, "%s: %s", path, sr_change_class_name(cls));
        /* the same when it goes */
        c.before = c.after;
        c.after.mode = 0;
        cr_expect(sr_git_class(&c, &cls) && cls == classes[i].want, "%s deleted", path);
    }
    struct sr_change source = { .path = (char[]){ "src/git/config" } };
    enum sr_change_class cls;
    cr_expect_not(sr_git_class(&source, &cls));
}

Test(git_class, names_without_end_end)
{
    enum { LEVELS = 2000 };
    cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
    for (int i = 0; i < LEVELS; i++)
        sr_buf_puts(&b, "modules/m/");
    sr_buf_puts(&b, "x");
    cr_expect_eq(sr_git_class_below(b.data), SR_CLASS_GIT_INTERNAL);
}

/* ---- nothing of it comes back ---- */

struct kept_rig {
    char dir[64];
    int tree_fd, after_fd;
    struct sr_changeset set;
};

static void add(struct kept_rig *r, const char *path, enum sr_change_class cls)
{
    struct sr_error err = { 0 };
    cleanup_free char *parent = sr_strdup(path);
    char *slash = strrchr(parent, '/');
    if (slash) {
        *slash = '\0';
        cr_assert_eq(sr_mkdir_p(r->after_fd, parent, 0755, &err), 0, "%s", err.text);
    }
    cr_assert_eq(sr_file_write_at(r->after_fd, path, "x", 1, 0644, &err), 0, "%s", err.text);
    const struct sr_entry_state after = { .mode = S_IFREG | 0644, .size = 1 };
    sr_set_add(&r->set, sr_strdup(path), false, NULL, &after, NULL);
    r->set.v[r->set.n - 1].cls = cls;
}

static struct kept_rig kept_make(void)
{
    struct kept_rig r = { .dir = "/tmp/sandrun-keep-XXXXXX" };
    cr_assert_not_null(mkdtemp(r.dir));
    int top = open(r.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(mkdirat(top, "tree", 0755), 0);
    cr_assert_eq(mkdirat(top, "after", 0755), 0);
    r.tree_fd = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r.after_fd = openat(top, "after", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(top);
    return r;
}

static void kept_drop(struct kept_rig *r)
{
    struct sr_error err = { 0 };
    sr_changeset_clear(&r->set);
    close(r->tree_fd);
    close(r->after_fd);
    cr_assert_eq(sr_remove_at(AT_FDCWD, r->dir, &err), 0, "%s", err.text);
}

/* Whatever class they were given, and whatever the list says. */
Test(git_class, nothing_of_git_is_kept)
{
    static const char *const own[] = { "out/.git/config", "out/.git/index", "out/.GIT/hooks/x", "out/a/.git", "out/git~1/x" };
    struct kept_rig r = kept_make();
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add(&r, own[i], i % 2 ? SR_CLASS_CACHE : SR_CLASS_SOURCE_UNTRACKED);
    add(&r, "out/report.xml", SR_CLASS_SOURCE_UNTRACKED);
    struct sr_strv list = { 0 };
    struct sr_kept_list kept = { 0 };
    struct sr_error err = { 0 };
    sr_strv_add(&list, "out");
    sr_strv_add(&list, "out/.git");
    cr_assert_eq(sr_changes_keep(&r.set, &list, r.tree_fd, r.after_fd, &kept, &err), 0, "%s", err.text);
    cr_assert_eq(kept.n, r.set.n);
    for (size_t i = 0; i < kept.n; i++) {
        bool report = strcmp(kept.v[i].path, "out/report.xml") == 0;
        cr_expect_eq(kept.v[i].refused == NULL, report, "%s: %s", kept.v[i].path, kept.v[i].refused ? kept.v[i].refused : "kept");
        cr_expect_eq(faccessat(r.tree_fd, kept.v[i].path, F_OK, AT_SYMLINK_NOFOLLOW) == 0, report, "%s", kept.v[i].path);
    }
    cr_expect_eq(faccessat(r.tree_fd, "out/.git", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    sr_kept_list_clear(&kept);
    sr_strv_clear(&list);
    kept_drop(&r);
}

/* Each class that later runs on the host is refused; the plain ones come back. */
Test(git_class, classes_that_are_kept)
{
    struct kept_rig r = kept_make();
    for (int c = 0; c < SR_CLASS_COUNT; c++) {
        cleanup_free char *path = sr_asprintf("f%d", c);
        add(&r, path, (enum sr_change_class)c);
    }
    struct sr_strv list = { 0 };
    struct sr_kept_list kept = { 0 };
    struct sr_error err = { 0 };
    for (size_t i = 0; i < r.set.n; i++)
        sr_strv_add(&list, r.set.v[i].path);
    cr_assert_eq(sr_changes_keep(&r.set, &list, r.tree_fd, r.after_fd, &kept, &err), 0, "%s", err.text);
    for (size_t i = 0; i < kept.n; i++) {
        enum sr_change_class cls = r.set.v[i].cls;
        bool plain = cls == SR_CLASS_SOURCE_TRACKED || cls == SR_CLASS_SOURCE_UNTRACKED || cls == SR_CLASS_CACHE;
        cr_expect_eq(kept.v[i].refused == NULL, plain, "%s", sr_change_class_name(cls));
    }
    sr_kept_list_clear(&kept);
    sr_strv_clear(&list);
    kept_drop(&r);
}

/* ---- a git directory outside of the tree ---- */

/* The set of a tree, and beside it what happened in a git directory that has no ".git" in its path. */
Test(git_class, a_repository_outside_the_tree)
{
    static const struct {
        const char *path;
        enum sr_change_class want;
    } rows[] = {
        { "/srv/repo/hooks/post-checkout", SR_CLASS_GIT_HOOKS },
        { "/srv/repo/worktrees/wt/index", SR_CLASS_GIT_INDEX },
        { "/srv/repo/refs/heads/node_modules", SR_CLASS_GIT_REFS },
        { "/srv/repo/config", SR_CLASS_GIT_CONFIG },
        { "/srv/repo/objects/00/11", SR_CLASS_GIT_OBJECTS },
        { "/srv/repo/x", SR_CLASS_GIT_INTERNAL },
    };
    struct rig r = rig_case("git init -q --bare . && mkdir worktrees worktrees/wt && echo i > worktrees/wt/index && rm -rf hooks", "",
                            "mkdir hooks; echo x > hooks/post-checkout; echo j > worktrees/wt/index; echo c >> config; "
                            "mkdir objects/00; echo o > objects/00/11; mkdir refs/heads/node_modules; echo x > x");
    struct sr_changeset set = { 0 }, git = r.set;
    const struct sr_entry_state after = { .mode = S_IFREG | 0644, .size = 1 };
    uint64_t total = git.total;
    sr_set_add(&set, sr_strdup("a"), false, NULL, &after, NULL);
    set.by_class[SR_CLASS_SOURCE_UNTRACKED] = 1;
    r.set = (struct sr_changeset){ 0 };
    cr_assert_eq(sr_changes_add_git(&set, &git, "/srv/repo", r.lower_fd, r.upper_fd, &r.err), 0, "%s", r.err.text);
    cr_expect_eq(set.total, total + 1);
    cr_expect_eq(git.n, 0);
    cr_expect_eq(set.n_repairs, 0);
    cr_expect_str_eq(set.v[set.n - 1].path, "a", "sorted");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sr_change *c = change_at(&set, rows[i].path);
        cr_assert_not_null(c, "%s", rows[i].path);
        cr_expect_eq(c->cls, rows[i].want, "%s: %s", rows[i].path, sr_change_class_name(c->cls));
    }
    uint64_t counted = 0;
    for (int c = 0; c < SR_CLASS_COUNT; c++)
        counted += set.by_class[c];
    cr_expect_eq(counted, set.n);
    cleanup_json cJSON *json = sr_changeset_json(&set);
    const cJSON *list = sr_json_get(json, "list");
    cr_expect_str_eq(sr_json_string(cJSON_GetArrayItem(list, 0), "where"), "git");
    cr_expect_str_eq(sr_json_string(cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1), "where"), "tree");
    cr_expect_eq(sr_changes_add_git(&set, &git, "relative", r.lower_fd, r.upper_fd, &r.err), -1);
    sr_changeset_clear(&set);
    rig_down(&r);
}
