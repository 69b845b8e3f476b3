/* SPDX-License-Identifier: MIT */
/* pnpm's store: pnpm removes a node_modules that was linked from a store at another path. */
#include "plan/preflight.h"

#include "base/buf.h"
#include "base/fs.h"

#include <stdlib.h>
#include <string.h>

enum { MODULES_YAML_MAX = 4 * 1024 * 1024 };

/* The value of storeDir in .modules.yaml, which is YAML of one level or, from newer versions, JSON.
 * NULL: not absolute. */
static char *store_dir(int modules_fd)
{
    cleanup_buf struct sr_buf b = SR_BUF(MODULES_YAML_MAX);
    struct sr_error unread = { 0 };
    if (sr_file_read_at(modules_fd, ".modules.yaml", MODULES_YAML_MAX, &b, &unread) < 0 || !b.len)
        return NULL;
    const char *at = strstr(b.data, "storeDir");
    if (!at)
        return NULL;
    at += strlen("storeDir");
    at += strspn(at, "\"': \t");
    return *at == '/' ? sr_strndup(at, strcspn(at, "\"'\r\n")) : NULL;
}

/* Other commands work in such a node_modules: only pnpm itself looks at the store. */
static bool is_pnpm(const struct sr_plan *p)
{
    const char *name = p->command.n ? p->command.v[0] : "";
    const char *slash = strrchr(name, '/');
    return strcmp(slash ? slash + 1 : name, "pnpm") == 0;
}

void preflight_pnpm(struct preflight *pf, int modules_fd)
{
    cleanup_free char *store = is_pnpm(pf->plan) ? store_dir(modules_fd) : NULL;
    cleanup_inside struct inside w = { 0 };
    if (store)
        inside_walk(pf->plan, store, &w);
    if (!store || w.end == INSIDE_THERE)
        return;
    char *mount = preflight_mount_remedy(pf->plan, store);
    preflight_add(pf,
                  (struct sr_finding){
                      .code = "env.mismatch.moved",
                      .path = sr_strdup("node_modules/.modules.yaml"),
                      .expected = sr_asprintf("%s (storeDir)", store),
                      .found = sr_asprintf("no %s inside", store),
                      .text = sr_asprintf("node_modules was linked from pnpm's store %s, which the "
                                          "check's root filesystem does not have: pnpm would "
                                          "remove node_modules and fail to install it again",
                                          store),
                      .remedy = mount ? mount
                                      : sr_strdup("install with a store inside the tree (store-dir "
                                                  "in .npmrc), or run the tool of "
                                                  "node_modules/.bin itself instead of pnpm"),
                  });
}
