/* SPDX-License-Identifier: MIT */
/* Objects that the tree's repository borrows from others (git clone --shared, --reference): will
 * git find them inside? */
#include "base/fs.h"
#include "plan/preflight.h"
#include "sandrun/git.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * They are not mounted of our own accord, as the repository of a linked worktree is: nothing names
 * back here. An object directory does not know who borrows from it, so its being one, and whose it
 * is, cannot tell a mirror made for this from a private repository whose path a hostile tree has
 * guessed. Only a policy can say that the check may see it.
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

/* Most trees borrow nothing, and that is one look: the repository is not opened. */
static bool may_borrow(int tree_fd)
{
    struct stat st;
    return faccessat(tree_fd, list, F_OK, 0) == 0 ||
           (fstatat(tree_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode));
}

void preflight_git(struct preflight *pf)
{
    cleanup_git struct sr_git *g = NULL;
    cleanup_strv struct sr_strv stores = { 0 };
    struct sr_error err = { 0 };
    if (!may_borrow(pf->tree_fd) || sr_git_open(pf->plan->tree, &g, &err) < 0)
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
