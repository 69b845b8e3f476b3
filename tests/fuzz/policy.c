/* SPDX-License-Identifier: MIT */
/* Any bytes as a repository's policy over a small floor: resolved whole or refused with a code,
 * never anything between. */
#include "sandrun/policy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char floor_text[] =
    "{\"version\":1,\"bindings\":{\"Test\":{\"executes\":true,\"limits\":{\"wall\":\"10m\","
    "\"memory\":\"2GiB\","
    "\"pids\":512,\"cpus\":2,\"output\":\"16MiB\",\"disk\":\"4GiB\",\"files\":100000}}}}";

static const char *no_preset(void *ctx, const char *name, size_t *ret_len)
{
    (void)ctx;
    if (strcmp(name, "floor2") != 0)
        return NULL;
    *ret_len = sizeof floor_text - 1;
    return floor_text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sr_policy_source sources[] = {
        { .layer = SR_LAYER_FLOOR,
          .path = "floor",
          .text = floor_text,
          .len = sizeof floor_text - 1 },
        { .layer = SR_LAYER_REPOSITORY,
          .path = "sandrun.json",
          .text = (const char *)data,
          .len = size },
    };
    const struct sr_policy_options o = {
        .sources = sources, .n_sources = 2, .preset = no_preset, .home = "/home/u"
    };
    struct sr_policy policy = { 0 };
    struct sr_error err = { 0 };
    if (sr_policy_resolve(&o, &policy, &err) < 0) {
        if (!sr_error_is_set(&err) || strncmp(err.code, "policy.", 7) != 0)
            abort();
        return 0;
    }
    for (size_t i = 0; i < policy.n_bindings; i++)
        if (sr_policy_binding(&policy, policy.bindings[i].name) != &policy.bindings[i] ||
            policy.bindings[i].limits.wall_ns == 0)
            abort();
    sr_policy_clear(&policy);
    return 0;
}
