/* SPDX-License-Identifier: MIT */
/* The classes of what lies in a git directory: one table. */
#include "change/git_class.h"

#include "change/environments.h"
#include "change/git_refresh.h"
#include "sandrun/git.h"

#include "base/mem.h"

#include <string.h>
#include <sys/stat.h>

enum { GIT_INDEX_MAX = 64 << 20 };

/*
 * Paths as git itself lays them out (gitrepository-layout(5)), and all that is below them; first
 * match wins. A rebase's list of what is still to do may hold "exec" lines, which `git rebase
 * --continue` runs. Attributes choose the filters that the configuration names; "commondir" says
 * whose configuration counts.
 */
static const struct {
    const char *pattern;
    enum sr_change_class cls;
} rows[] = {
    { "hooks", SR_CLASS_GIT_HOOKS },
    { "rebase-merge/git-rebase-todo*", SR_CLASS_GIT_HOOKS },
    { "sequencer/todo", SR_CLASS_GIT_HOOKS },
    { "config", SR_CLASS_GIT_CONFIG },
    { "config.worktree", SR_CLASS_GIT_CONFIG },
    { "commondir", SR_CLASS_GIT_CONFIG },
    { "gitdir", SR_CLASS_GIT_CONFIG },
    { "info/attributes", SR_CLASS_GIT_CONFIG },
    { "info/exclude", SR_CLASS_GIT_CONFIG },
    { "info/sparse-checkout", SR_CLASS_GIT_CONFIG },
    { "remotes", SR_CLASS_GIT_CONFIG },
    { "branches", SR_CLASS_GIT_CONFIG },
    { "refs", SR_CLASS_GIT_REFS },
    { "packed-refs", SR_CLASS_GIT_REFS },
    { "reftable", SR_CLASS_GIT_REFS },
    { "logs", SR_CLASS_GIT_REFS },
    { "HEAD", SR_CLASS_GIT_REFS },
    { "*_HEAD", SR_CLASS_GIT_REFS },
    { "shallow", SR_CLASS_GIT_REFS },
    { "info/grafts", SR_CLASS_GIT_REFS },
    { "index", SR_CLASS_GIT_INDEX },
    { "sharedindex.*", SR_CLASS_GIT_INDEX },
    { "objects", SR_CLASS_GIT_OBJECTS },
};

static bool row_find(const char *below, enum sr_change_class *ret)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (sr_pattern_leads(rows[i].pattern, below)) {
            *ret = rows[i].cls;
            return true;
        }
    return false;
}

/* A git directory within this one: of a linked worktree, of a submodule, whose name may have
 * slashes. The first place that reads like one is taken, so the name costs one step, not a guess at
 * each depth. */
static bool holds_others(const char *below)
{
    return sr_pattern_leads("worktrees", below) || sr_pattern_leads("modules", below);
}

enum sr_change_class sr_git_class_below(const char *below)
{
    enum sr_change_class cls;
    if (row_find(below, &cls))
        return cls;
    if (!holds_others(below))
        return SR_CLASS_GIT_INTERNAL;
    const char *p = strchr(below, '/'); /* before the name */
    while (p && (p = strchr(p + 1, '/')))
        if (row_find(p + 1, &cls))
            return cls;
    return SR_CLASS_GIT_INTERNAL;
}

bool sr_git_class(const struct sr_change *change, enum sr_change_class *ret)
{
    const char *below = sr_git_below(change->path);
    if (!below)
        return false;
    mode_t mode = change->after.mode ? change->after.mode : change->before.mode;
    *ret = SR_CLASS_GIT_INTERNAL;
    /* one ".git" below another: the class that tells most */
    for (; below; below = sr_git_below(below)) {
        /* a file or link of that name says where the repository is, and so whose hooks count */
        bool pointer = *below == '\0' && !S_ISDIR(mode);
        enum sr_change_class cls = pointer ? SR_CLASS_GIT_CONFIG : sr_git_class_below(below);
        *ret = cls < *ret ? cls : *ret;
    }
    return true;
}

bool sr_git_refreshed(const struct sr_view *v, const struct sr_change *change)
{
    const char *slash = strrchr(change->path, '/');
    if (change->kind != SR_CHANGE_MODIFIED || strcmp(slash ? slash + 1 : change->path, "index") != 0 ||
        !S_ISREG(change->after.mode))
        return false;
    cleanup_buf struct sr_buf before = SR_BUF(GIT_INDEX_MAX), after = SR_BUF(GIT_INDEX_MAX);
    return sr_view_read(v, change->path, false, GIT_INDEX_MAX, &before) &&
           sr_view_read(v, change->path, true, GIT_INDEX_MAX, &after) &&
           sr_git_index_same(before.data, before.len, after.data, after.len);
}
