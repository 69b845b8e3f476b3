/* SPDX-License-Identifier: MIT */
/* Which mounts would make a path of this host exist inside. */
#include "plan/preflight.h"

#include "base/buf.h"
#include "base/fs.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * A chain may leave what is visible more than once: .../cpython-3.14 -> cpython-3.14.5, each a
 * directory of its own to the check. Mounting where the chain ends leaves out its middle. So a
 * mount is proposed for the hop that is missing, with the hop's own path as target, and the chain
 * is walked again with it, until it resolves or no mount helps.
 */
enum { MOUNTS_MAX = 4, REMEDY_MAX = 4096 };

/* What to mount for path: the interpreter's whole prefix, or as much less as keeps homes and
 * systems out. */
static char *prefix_of(const char *path)
{
    cleanup_free char *at = sr_strdup(path);
    char *slash = strrchr(at, '/');
    if (slash == at)
        return NULL;
    *slash = '\0';
    char *bin = strrchr(at, '/');
    if (bin > at && strcmp(bin, "/bin") == 0) {
        cleanup_free char *prefix = sr_strndup(at, (size_t)(bin - at));
        if (!sr_path_covers_system(prefix, getenv("HOME")))
            return steal_ptr(&prefix);
    }
    return sr_path_covers_system(at, getenv("HOME")) ? NULL : steal_ptr(&at);
}

/* The next mount that the walk of path needs; false: none would help. */
static bool next_mount(const struct sr_plan *p, const char *path, struct sr_mount *ret)
{
    cleanup_inside struct inside w;
    struct stat st;
    inside_walk(p, path, &w);
    if (w.end != INSIDE_ABSENT || stat(w.path, &st) < 0)
        return false;
    char *target = S_ISDIR(st.st_mode) && !sr_path_covers_system(w.path, getenv("HOME"))
                       ? sr_strdup(w.path)
                       : prefix_of(w.path);
    /* the source with its links resolved, since the sandbox follows none there; the target as the
     * chain spells it */
    char *source = target ? realpath(target, NULL) : NULL;
    bool helps = source && !sr_path_covers_system(source, getenv("HOME")) &&
                 !sr_path_below(p->tree_target, target);
    *ret = (struct sr_mount){ .source = source, .target = target, .readonly = true };
    return helps;
}

static void spell(struct sr_buf *out, const struct sr_mount *m)
{
    cleanup_json cJSON *o = sr_json_object();
    sr_json_add_string(o, "source", m->source);
    if (strcmp(m->source, m->target) != 0)
        sr_json_add_string(o, "target", m->target);
    sr_json_add_bool(o, "readonly", true);
    cleanup_free char *text = sr_json_compact(o);
    sr_buf_printf(out, "%s%s", out->len ? ", " : "", text);
}

static bool resolves(const struct sr_plan *p, const char *path)
{
    cleanup_inside struct inside w;
    inside_walk(p, path, &w);
    return w.end == INSIDE_THERE;
}

char *preflight_mount_remedy(const struct sr_plan *plan, const char *path)
{
    struct sr_plan with = *plan;
    cleanup_buf struct sr_buf lines = SR_BUF(REMEDY_MAX);
    size_t added = 0;
    with.mounts = sr_calloc(plan->n_mounts + MOUNTS_MAX, sizeof *with.mounts);
    if (plan->n_mounts)
        memcpy(with.mounts, plan->mounts, plan->n_mounts * sizeof *with.mounts);
    for (bool more = true; more && added < MOUNTS_MAX;) {
        struct sr_mount *m = &with.mounts[with.n_mounts];
        more = next_mount(&with, path, m);
        added++;
        with.n_mounts += more;
        if (more)
            spell(&lines, m);
        else
            sr_mount_clear(m);
    }
    bool helps = with.n_mounts > plan->n_mounts && resolves(&with, path);
    for (size_t i = plan->n_mounts; i < with.n_mounts; i++)
        sr_mount_clear(&with.mounts[i]);
    free(with.mounts);
    return helps ? sr_asprintf("it exists on this host and is not part of the check's root "
                               "filesystem; if the check may see it, add to the "
                               "binding: \"mounts\": [%s]",
                               lines.data)
                 : NULL;
}
