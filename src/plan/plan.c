/* SPDX-License-Identifier: MIT */
/* A plan's end, its digest, and the names of the tree's modes. */
#include "sandrun/plan.h"

#include <stdlib.h>
#include <string.h>

static const char *const tree_mode_names[] = { "overlay", "copy", "readonly", "direct" };
_Static_assert(sizeof tree_mode_names / sizeof *tree_mode_names == SR_TREE_MODE_COUNT, "names");

const char *sr_tree_mode_name(enum sr_tree_mode m)
{
    return tree_mode_names[m];
}

static void clear_arrays(struct sr_plan *p)
{
    for (size_t i = 0; i < p->n_mounts; i++)
        sr_mount_clear(&p->mounts[i]);
    free(p->mounts);
    for (size_t i = 0; i < p->n_env; i++) {
        free(p->env[i].name);
        free(p->env[i].value);
    }
    free(p->env);
    for (size_t i = 0; i < p->n_pass_secret; i++) {
        free(p->pass_secret[i].name);
        free(p->pass_secret[i].reason);
    }
    free(p->pass_secret);
    for (size_t i = 0; i < p->n_policy_files; i++) {
        free(p->policy_files[i].layer);
        free(p->policy_files[i].path);
        free(p->policy_files[i].digest);
    }
    free(p->policy_files);
    for (size_t i = 0; i < p->n_provenance; i++) {
        free(p->provenance[i].field);
        free(p->provenance[i].layer);
        free(p->provenance[i].file);
    }
    free(p->provenance);
}

void sr_plan_clear(struct sr_plan *p)
{
    char *const strings[] = { p->binding,     p->uncontained,   p->pin,
                              p->pin_observed, p->tree,          p->tree_target,
                              p->git_common_dir, p->network_reason, p->seccomp_reason,
                              p->policy_commit };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        free(strings[i]);
    struct sr_strv *const vectors[] = { &p->command, &p->pin_lines,     &p->keep,         &p->protect,
                                        &p->env_pass, &p->network_allow, &p->seccomp_allow };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        sr_strv_clear(vectors[i]);
    clear_arrays(p);
    *p = (struct sr_plan){ 0 };
}

bool sr_plan_git_held(const struct sr_plan *p)
{
    bool held = p->writes == SR_WRITES_HOLD || p->writes == SR_WRITES_KEEP;
    return p->git_common_dir && held && !sr_strv_has(&p->protect, ".git");
}

void sr_plan_seal(struct sr_plan *p)
{
    cleanup_json cJSON *json = sr_plan_json(p, SR_PLAN_DIGEST);
    cleanup_free char *text = sr_json_compact(json);
    unsigned char digest[SR_SHA256_SIZE];
    sr_sha256_bytes(text, strlen(text), digest);
    sr_sha256_text(digest, p->digest);
}
