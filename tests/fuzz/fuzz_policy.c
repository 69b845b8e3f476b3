/* SPDX-License-Identifier: MIT */
/* Any bytes as a repository's policy and as the command line's, over the shipped floor and an
 * organisation that locks. */
#include "base/mem.h"
#include "policy/builtin.h"
#include "sandrun/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char organisation[] =
    "{\"version\":1,\"lock\":[\"network\",\"limits\",\"uncontained\"]}";

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "fuzz policy: %s\n", what);
        abort();
    }
}

static const char *find(void *ctx, const char *name, size_t *ret_len)
{
    (void)ctx;
    for (size_t i = 0; i < sr_builtin_policies_n; i++) {
        if (strcmp(sr_builtin_policies[i].name, name) == 0) {
            *ret_len = sr_builtin_policies[i].len;
            return sr_builtin_policies[i].text;
        }
    }
    return NULL;
}

/* What the organisation locks stays at least as tight, whatever was read. */
static void judge(const struct sr_policy *p)
{
    for (size_t i = 0; i < p->n_bindings; i++) {
        const struct sr_binding *b = &p->bindings[i];
        must(b->name && b->command.n > 0 && b->command.v[0][0], "a binding without a command");
        must(b->network == SR_NETWORK_NONE && !b->uncontained, "a lock was opened");
        must(b->limits.pids >= 2 && b->limits.pids <= 512, "a limit was lost or raised");
        must(b->limits.wall_ns > 0 && b->limits.wall_ns <= 600000000000, "the time was raised");
        must(b->limits.memory_bytes >> 20 >= 16 && b->limits.memory_bytes >> 30 <= 4, "memory");
        for (size_t m = 0; m < b->n_mounts; m++)
            must(b->mounts[m].target && b->mounts[m].target[0] == '/' &&
                     (b->mounts[m].readonly || b->mounts[m].reason),
                 "a bad mount");
    }
}

/* Up to the first NUL: the repository; behind it, when there is one: the command line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_error err = { 0 };
    struct sr_policy p = { 0 };
    size_t floor_len = 0;
    const char *text = (const char *)data;
    const char *nul = size ? memchr(text, '\0', size) : NULL;
    const char *floor = find(NULL, "floor", &floor_len);
    struct sr_policy_source s[] = {
        { SR_LAYER_FLOOR, "floor", floor, floor_len },
        { SR_LAYER_ORGANISATION, "organisation", organisation, sizeof organisation - 1 },
        { SR_LAYER_REPOSITORY, "repository", text, nul ? (size_t)(nul - text) : size },
        { SR_LAYER_COMMAND_LINE, "command line", nul ? nul + 1 : "",
          nul ? size - (size_t)(nul - text) - 1 : 0 },
    };
    struct sr_policy_options o = {
        .sources = s, .n_sources = nul ? 4 : 3, .preset = find, .home = "/home/me"
    };
    if (sr_policy_resolve(&o, &p, &err) < 0) {
        must(strncmp(err.code, "policy.", 7) == 0 && strchr(err.text, ':') != NULL,
             "a refusal without code or place");
        must(!p.bindings && !p.files, "written on failure");
        return 0;
    }
    judge(&p);
    sr_policy_clear(&p);
    return 0;
}
