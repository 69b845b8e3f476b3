/* SPDX-License-Identifier: MIT */
/* Objects that the tree's repository borrows from others (git clone --shared, --reference): will
 * git find them inside? */
#include "base/fs.h"
#include "plan/internal.h"
#include "plan/preflight.h"
#include "sandrun/git.h"

#include <stdlib.h>

/*
 * The plan of a run that is not staged has mounts for them already (alternates.c). What is left here
 * is a staged run's, where only a policy can say that the check may see it, and what is no object
 * store at the path that git will look for.
 */
static const char list[] = ".git/objects/info/alternates";

static void add_borrowed(struct preflight *pf, const char *store, const struct inside *w)
{
    /* as git names the list, which is elsewhere for a linked worktree */
    static const char repack[] = "copy the objects: git repack -a -d && rm \"$(git rev-parse "
                                 "--git-path objects/info/alternates)\"";
    char *mount = preflight_mount_remedy(pf->plan, store);
    preflight_add(
        pf, (struct sr_finding){
                .code = "env.mismatch.git_alternates",
                .path = sr_strdup(list),
                .expected = sr_asprintf("the object store %s", store),
                .found = w->absent ? sr_asprintf("no %s inside", w->absent)
                                   : sr_strdup("a loop of links"),
                .text = sr_asprintf("the repository borrows objects from %s, which the check's "
                                    "root filesystem does not have: git would fail in it",
                                    store),
                .remedy =
                    mount ? sr_asprintf("%s; or mount them: %s", repack, mount) : sr_strdup(repack),
            });
    free(mount);
}

static void add_unread(struct preflight *pf, const struct sr_error *why)
{
    preflight_add(
        pf, (struct sr_finding){
                .code = "env.mismatch.git_alternates",
                .path = sr_strdup(list),
                .expected = sr_strdup("names of object stores"),
                .found = sr_strdup(why->text),
                .text = sr_asprintf("cannot tell where the repository borrows objects from: %s",
                                    why->text),
                .remedy = sr_strdup("git fsck names what is wrong with it"),
            });
}

void preflight_git(struct preflight *pf)
{
    cleanup_git struct sr_git *g = NULL;
    cleanup_strv struct sr_strv stores = { 0 };
    struct sr_error err = { 0 };
    /* most trees borrow nothing, and that is one look: the repository is not opened */
    if (!sr_plan_may_borrow(pf->tree_fd) || sr_git_open(pf->plan->tree, &g, &err) < 0)
        return;
    if (sr_git_alternates(g, &stores, &err) < 0)
        add_unread(pf, &err);
    for (size_t i = 0; i < stores.n; i++) {
        cleanup_inside struct inside w;
        inside_walk(pf->plan, stores.v[i], &w);
        if (w.end != INSIDE_THERE)
            add_borrowed(pf, stores.v[i], &w);
    }
}
