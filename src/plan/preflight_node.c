/* SPDX-License-Identifier: MIT */
/* node_modules: is it filled, and were its compiled packages installed for this machine and libc?
 */
#include "plan/preflight.h"

#include "base/fs.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKAGE_JSON_MAX = 4 * 1024 * 1024 };

/*
 * An offline `npm ci` empties a good node_modules and then fails, and leaves the directory: that it
 * exists proves nothing. Packages that ship binaries of many machines side by side (prebuilds/) are
 * right to: only what node-gyp built here (build/Release) and what an optional package holds for
 * one platform is asked for its machine.
 */

static bool needs_packages(int tree_fd)
{
    static const char *const keys[] = { "dependencies", "devDependencies" };
    cleanup_buf struct sr_buf b = SR_BUF(PACKAGE_JSON_MAX);
    cleanup_json_doc struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    if (sr_file_read_at(tree_fd, "package.json", PACKAGE_JSON_MAX, &b, &err) < 0 || !b.len)
        return false;
    if (sr_json_parse("package.json", b.data, b.len, PACKAGE_JSON_MAX, SR_JSON_STRICT, &doc, &err) <
        0)
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (cJSON_GetArraySize(sr_json_get(doc.root, keys[i])) > 0)
            return true;
    return false;
}

static void add_empty(struct preflight *pf)
{
    preflight_add(pf,
                  (struct sr_finding){
                      .code = "env.mismatch.incomplete",
                      .path = sr_strdup("node_modules"),
                      .expected = sr_strdup("the packages that package.json names"),
                      .found = sr_strdup("an empty directory"),
                      .text = sr_strdup("node_modules is empty and package.json has dependencies, "
                                        "as an install that failed after emptying it leaves it"),
                      .remedy = sr_strdup("install again outside of a check (npm ci, with the "
                                          "network), or remove the empty node_modules"),
                  });
}

static bool is_empty(const struct sr_strv *names)
{
    for (size_t i = 0; i < names->n; i++)
        /* .package-lock.json, .cache: left over, no packages */
        if (names->v[i][0] != '.')
            return false;
    return true;
}

/* node-gyp's output of one package. */
static void built_here(struct preflight *pf, int modules, const char *package)
{
    cleanup_free char *dir = sr_asprintf("%s/build/Release", package);
    preflight_libraries(pf, "node_modules", modules, dir, ".node");
}

/* A scope holds packages one level further down. */
static void look_into_scope(struct preflight *pf, int modules, const char *scope, size_t *left)
{
    cleanup_strv struct sr_strv names = { 0 };
    if (!preflight_names(modules, scope, *left, &names))
        return;
    *left -= names.n;
    preflight_platforms(pf, scope, &names);
    for (size_t i = 0, before = pf->found.n; i < names.n && pf->found.n == before; i++) {
        cleanup_free char *package = sr_path_join(scope, names.v[i]);
        built_here(pf, modules, package);
    }
}

/* A link is common: one install shared by several working trees. */
static int open_modules(struct preflight *pf)
{
    char target[2];
    if (readlinkat(pf->tree_fd, "node_modules", target, sizeof target) >= 0)
        return preflight_open_linked(pf, "node_modules", "env.mismatch.incomplete");
    return openat(pf->tree_fd, "node_modules", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void preflight_node(struct preflight *pf)
{
    cleanup_strv struct sr_strv names = { 0 };
    size_t left = PREFLIGHT_LIBRARY_ENTRIES;
    cleanup_fd int fd = open_modules(pf);
    if (fd < 0 || !preflight_names(fd, ".", left, &names))
        return;
    if (is_empty(&names)) {
        if (needs_packages(pf->tree_fd))
            add_empty(pf);
        return;
    }
    preflight_pnpm(pf, fd);
    preflight_platforms(pf, NULL, &names);
    /* one finding says it: the others come from the same install */
    for (size_t i = 0, before = pf->found.n; i < names.n && pf->found.n == before; i++)
        if (names.v[i][0] == '@')
            look_into_scope(pf, fd, names.v[i], &left);
        else if (names.v[i][0] != '.')
            built_here(pf, fd, names.v[i]);
}
