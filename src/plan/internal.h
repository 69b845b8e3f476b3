/* SPDX-License-Identifier: MIT */
/* What the files of plan/ share. */
#ifndef SR_PLAN_INTERNAL_H
#define SR_PLAN_INTERNAL_H

#include "sandrun/plan.h"

#include <stddef.h>

struct sr_binding;

/* A variable that every check sees. value NULL: the tree's path inside. */
struct sr_env_builtin {
    const char *name;
    const char *value;
    bool fixed; /* neither env.set nor env.pass changes it */
};
extern const struct sr_env_builtin sr_env_builtins[];
extern const size_t sr_env_builtins_n;

/* Fills env, env_pass and pass_secret; tree_target is set already. */
void sr_plan_env_build(const struct sr_binding *b, char *const *environ_in, struct sr_plan *p);
/* NULL when the command will not have it. */
const char *sr_plan_env_get(const struct sr_plan *p, const char *name);

/* Is path one of the directories a system is made of, or above one? caller_home may be NULL. */
bool sr_path_covers_system(const char *path, const char *caller_home);

/* The tree itself: fills tree_uid and tree_gid. Code: plan.tree. */
SR_CHECK int sr_plan_tree_check(const char *tree, const char *caller_home, struct sr_plan *p, struct sr_error *err);
/* Parents before children. */
void sr_plan_mounts_sort(struct sr_plan *p);
/* Targets, after tree, tree_target, rootfs and mounts are set; sorts the mounts. Codes: plan.path, plan.tree. */
SR_CHECK int sr_plan_paths_check(struct sr_plan *p, struct sr_error *err);
/* The repository of a linked worktree or submodule, when it lies outside the tree; else NULL. Code: plan.tree. */
SR_CHECK int sr_plan_git_common(const char *tree, bool staged, char **ret, struct sr_error *err);
/* Adds the tree's repository to what is protected when writes go to the real tree, whatever the policy says: its hooks and
 * configuration are used on the host later. */
void sr_plan_git_protect(struct sr_plan *p);

/* Whether the tree's repository may borrow objects: one look, without opening it. */
bool sr_plan_may_borrow(int tree_fd);
/* Adds the object stores it borrows from to the mounts, when the run is not staged: after all else of the plan but the seal. */
void sr_plan_git_alternates(struct sr_plan *p, const char *caller_home);

#endif
