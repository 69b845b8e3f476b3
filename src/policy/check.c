/* SPDX-License-Identifier: MIT */
/* What only shows once the layers are merged. */
#include "base/fs.h"
#include "base/mem.h"
#include "policy/document.h"
#include "sandrun/git.h"

#include <string.h>

static bool has(const struct sr_binding *b, enum sr_field f)
{
    return b->present & (UINT64_C(1) << f);
}

static int refuse(const struct sr_policy_documents *docs, const struct sr_policy_declaration *m,
                  enum sr_field f, const char *code, const char *what, const char *name,
                  struct sr_error *err)
{
    return sr_error_set(err, code, "%s:%u:%u: bindings.%s.%s: %s%s%s", docs->d[m->b.set_by[f]].path,
                        m->where[f].line, m->where[f].column, m->b.name, sr_field_path(f), what,
                        *name ? ": " : "", name);
}

static bool is_declared_secret(const struct sr_binding *b, const char *name)
{
    for (size_t i = 0; i < b->n_pass_secret; i++)
        if (strcmp(b->pass_secret[i].name, name) == 0)
            return true;
    return false;
}

static int check_secrets(const struct sr_policy_documents *docs,
                         const struct sr_policy_declaration *m, struct sr_error *err)
{
    for (size_t i = 0; i < m->b.env_pass.n; i++) {
        const char *name = m->b.env_pass.v[i];
        if (!sr_policy_secret_name(name) || is_declared_secret(&m->b, name))
            continue;
        refuse(docs, m, SR_FIELD_ENV_PASS, "policy.invalid.secret_name",
               "the name looks like a secret's", name, err);
        return sr_error_hint(err, "\"pass_secret\": {\"%s\": \"why the check needs it\"}", name);
    }
    return 0;
}

static int check_keep(const struct sr_policy_documents *docs, const struct sr_policy_declaration *m,
                      struct sr_error *err)
{
    const struct sr_binding *b = &m->b;
    if (b->writes == SR_WRITES_KEEP && b->keep.n == 0)
        return refuse(docs, m, SR_FIELD_TREE_WRITES, "policy.invalid.missing",
                      "keep needs the paths in tree.keep", "", err);
    for (size_t i = 0; i < b->keep.n; i++) {
        if (sr_git_below(b->keep.v[i]))
            return refuse(docs, m, SR_FIELD_TREE_KEEP, "policy.invalid.path",
                          "what is in .git never comes back to the tree", b->keep.v[i], err);
        for (size_t k = 0; k < b->protect.n; k++)
            if (sr_path_below(b->keep.v[i], b->protect.v[k]))
                return refuse(docs, m, SR_FIELD_TREE_KEEP, "policy.invalid.path",
                              "tree.protect forbids what is to be kept", b->keep.v[i], err);
    }
    return 0;
}

static bool is_named_in(const struct sr_policy_document *d, const char *binding)
{
    for (size_t i = 0; i < d->n_bindings; i++)
        if (strcmp(d->bindings[i].b.name, binding) == 0)
            return true;
    return false;
}

/* Only where a person would look for it: an organisation may bound a Test that this repository does
 * not have. */
static int check_command(const struct sr_policy_documents *docs,
                         const struct sr_policy_declaration *m, struct sr_error *err)
{
    if (m->b.command.n)
        return 0;
    for (size_t i = 0; i < docs->n; i++) {
        const struct sr_policy_document *d = &docs->d[i];
        if (d->layer < SR_LAYER_REPOSITORY || !is_named_in(d, m->b.name))
            continue;
        sr_error_set(err, "policy.invalid.missing",
                     "%s:%u:%u: bindings.%s: no layer gives this binding a \"command\"", d->path,
                     m->name_where.line, m->name_where.column, m->b.name);
        return sr_error_hint(
            err, "\"command\": [\"make\", \"test\"], or a preset that has one, in \"extends\"");
    }
    return 0;
}

/* The plan reads names to pass in one place. */
static void pass_declared_secrets(struct sr_policy_declaration *m)
{
    struct sr_binding one = { 0 };
    const struct sr_policy_field *row = &sr_policy_fields[SR_FIELD_ENV_PASS];
    if (!has(&m->b, SR_FIELD_ENV_PASS_SECRET))
        return;
    for (size_t i = 0; i < m->b.n_pass_secret; i++)
        sr_strv_add(&one.env_pass, m->b.pass_secret[i].name);
    row->type->merge(row, &m->b, &one);
    sr_binding_clear(&one);
    if (!has(&m->b, SR_FIELD_ENV_PASS)) {
        m->b.present |= UINT64_C(1) << SR_FIELD_ENV_PASS;
        m->b.set_by[SR_FIELD_ENV_PASS] = m->b.set_by[SR_FIELD_ENV_PASS_SECRET];
    }
}

int sr_policy_check(const struct sr_policy_documents *docs, struct sr_policy_declaration *merged,
                    struct sr_error *err)
{
    if (check_command(docs, merged, err) < 0 || check_secrets(docs, merged, err) < 0 ||
        check_keep(docs, merged, err) < 0)
        return -1;
    pass_declared_secrets(merged);
    return 0;
}
