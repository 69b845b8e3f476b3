/* SPDX-License-Identifier: MIT */
/* A resolved policy: look-up, suggestions, release. */
#include "sandrun/policy.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sr_binding_clear(struct sr_binding *b)
{
    free(b->name);
    sr_strv_clear(&b->command);
    free(b->rootfs_pin);
    free(b->uncontained);
    free(b->tree_target);
    sr_strv_clear(&b->keep);
    sr_strv_clear(&b->protect);
    for (size_t i = 0; i < b->n_mounts; i++)
        sr_mount_clear(&b->mounts[i]);
    free(b->mounts);
    sr_strv_clear(&b->network_allow);
    free(b->network_reason);
    for (size_t i = 0; i < b->n_env_set; i++) {
        free(b->env_set[i].name);
        free(b->env_set[i].value);
    }
    free(b->env_set);
    sr_strv_clear(&b->env_pass);
    for (size_t i = 0; i < b->n_pass_secret; i++) {
        free(b->pass_secret[i].name);
        free(b->pass_secret[i].reason);
    }
    free(b->pass_secret);
    sr_strv_clear(&b->seccomp_allow);
    free(b->seccomp_reason);
    for (size_t i = 0; i < b->n_entries; i++)
        free(b->entries[i].name);
    free(b->entries);
    *b = (struct sr_binding){ 0 };
}

void sr_policy_clear(struct sr_policy *p)
{
    for (size_t i = 0; i < p->n_bindings; i++)
        sr_binding_clear(&p->bindings[i]);
    free(p->bindings);
    for (size_t i = 0; i < p->n_files; i++)
        free(p->files[i].path);
    free(p->files);
    *p = (struct sr_policy){ 0 };
}

const struct sr_binding *sr_policy_binding(const struct sr_policy *p, const char *name)
{
    for (size_t i = 0; i < p->n_bindings; i++)
        if (strcmp(p->bindings[i].name, name) == 0)
            return &p->bindings[i];
    return NULL;
}

/* 0: the same but for case; more than 2 changes are another name. */
static unsigned distance(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0 ? 0 : sr_text_distance(a, b);
}

char *sr_policy_near(const struct sr_policy *p, const char *name)
{
    enum { NEAR = 2, NEAR_NAMES = 3 };
    cleanup_buf struct sr_buf b = SR_BUF(4096);
    unsigned found = 0;
    for (unsigned want = 0; want <= NEAR; want++) {
        for (size_t i = 0; i < p->n_bindings && found < NEAR_NAMES; i++) {
            if (distance(name, p->bindings[i].name) != want ||
                want * 2 > strlen(p->bindings[i].name)) /* "CI" is not nearly "Go" */
                continue;
            sr_buf_printf(&b, "%s%s", found++ ? ", " : "", p->bindings[i].name);
        }
    }
    return sr_buf_steal(&b);
}
