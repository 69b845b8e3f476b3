/* SPDX-License-Identifier: MIT */
/* A private file system with a tree in it, a real overlay over the tree, and scripts that do what
 * tools do. */
#ifndef CHANGE_RIG_H
#define CHANGE_RIG_H

#include "base/mem.h"
#include "sandrun/change.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Criterion runs each test in a process of its own, so the mounts end with the test. */
struct rig {
    char dir[64];
    int root_fd, lower_fd, upper_fd;
    bool userxattr;
    int64_t started_ns; /* 0: not asked */
    struct sr_changeset set;
    struct sr_error err;
};

__attribute__((unused)) static void rig_sh(const struct rig *r, const char *where,
                                           const char *script)
{
    cleanup_free char *line = sr_asprintf("cd '%s/%s' && { %s\n}", r->dir, where, script);
    int rc = system(line);
    cr_assert_eq(rc, 0, "script failed (%d): %s", rc, script);
}

__attribute__((unused)) static struct rig rig_make(const char *tree_script)
{
    struct rig r = {
        .dir = "/tmp/sandrun-change-XXXXXX", .root_fd = -1, .lower_fd = -1, .upper_fd = -1
    };
    cr_assert_not_null(mkdtemp(r.dir));
    cr_assert_eq(unshare(CLONE_NEWNS), 0, "needs root: %s", strerror(errno));
    cr_assert_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    cr_assert_eq(mount("tmpfs", r.dir, "tmpfs", 0, "mode=0755"), 0, "%s", strerror(errno));
    r.root_fd = open(r.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rig_sh(&r, ".", "mkdir lower upper work merged");
    rig_sh(&r, "lower", tree_script);
    r.lower_fd = openat(r.root_fd, "lower", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r.upper_fd = openat(r.root_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert(r.lower_fd >= 0 && r.upper_fd >= 0);
    return r;
}

/* Mounts with the options, runs the script in the merged tree, unmounts. */
__attribute__((unused)) static void rig_run(struct rig *r, const char *options, const char *script)
{
    r->userxattr = strstr(options, "userxattr") != NULL;
    cleanup_free char *o = sr_asprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work%s%s",
                                       r->dir, r->dir, r->dir, *options ? "," : "", options);
    cleanup_free char *merged = sr_asprintf("%s/merged", r->dir);
    cr_assert_eq(mount("overlay", merged, "overlay", 0, o), 0, "%s: %s", o, strerror(errno));
    rig_sh(r, "merged", script);
    cr_assert_eq(umount(merged), 0, "%s", strerror(errno));
}

__attribute__((unused)) static void rig_read(struct rig *r)
{
    cr_assert_eq(sr_overlay_read(r->lower_fd, r->upper_fd, r->userxattr, r->started_ns, &r->set, &r->err), 0,
                 "%s %s", r->err.code, r->err.text);
}

__attribute__((unused)) static void rig_classify(struct rig *r)
{
    cleanup_free char *tree = sr_asprintf("%s/lower", r->dir);
    struct sr_classify_options o = { .tree_fd = r->lower_fd,
                                     .after_fd = r->upper_fd,
                                     .tree = tree };
    cr_assert_eq(sr_changes_classify(&r->set, &o, &r->err), 0, "%s %s", r->err.code, r->err.text);
}

/* The rig of one case: tree, command, everything read and classified. */
__attribute__((unused)) static struct rig rig_case(const char *tree, const char *options,
                                                   const char *command)
{
    struct rig r = rig_make(tree);
    rig_run(&r, options, command);
    rig_read(&r);
    rig_classify(&r);
    return r;
}

__attribute__((unused)) static void rig_down(struct rig *r)
{
    sr_changeset_clear(&r->set);
    close(r->root_fd);
    close(r->lower_fd);
    close(r->upper_fd);
    cr_assert_eq(umount2(r->dir, MNT_DETACH), 0);
    cr_assert_eq(rmdir(r->dir), 0, "%s: %s", r->dir, strerror(errno));
}

__attribute__((unused)) static const struct sr_change *change_at(const struct sr_changeset *set,
                                                                 const char *path)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->v[i].path, path) == 0)
            return &set->v[i];
    return NULL;
}

/* "+a -b ~c %d !e" (added, deleted, modified, mode, type), in the set's order: easy to compare
 * whole. */
__attribute__((unused)) static char *set_text(const struct sr_changeset *set)
{
    static const char signs[] = "+-~%!";
    char *text = sr_strdup("");
    for (size_t i = 0; i < set->n; i++) {
        char *more =
            sr_asprintf("%s%s%c%s", text, i ? " " : "", signs[set->v[i].kind], set->v[i].path);
        free(text);
        text = more;
    }
    return text;
}

/* "env.deleted:.venv:venv ..." */
__attribute__((unused)) static char *repairs_text(const struct sr_changeset *set)
{
    char *text = sr_strdup("");
    for (size_t i = 0; i < set->n_repairs; i++) {
        const struct sr_repair *r = &set->repairs[i];
        char *more = sr_asprintf("%s%s%s:%s%s:%s", text, i ? " " : "", sr_change_class_name(r->cls),
                                 r->in_home ? "~/" : "", r->path, r->ecosystem);
        free(text);
        text = more;
    }
    return text;
}

#endif
