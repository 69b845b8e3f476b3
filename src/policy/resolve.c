/* SPDX-License-Identifier: MIT */
/* From texts to a policy: parse each layer, expand what it extends, merge binding by binding. Opens
 * no file. */
#include "base/mem.h"
#include "policy/document.h"

#include <stdlib.h>
#include <string.h>

enum { PRESETS_MAX = 64 };

struct resolver {
    const struct sr_policy_options *opts;
    struct sr_policy_documents docs; /* sources first; put into order of strength at the end */
    struct sr_policy_documents
        presets;          /* in order of strength: what is extended before what extends it */
    enum sr_layer naming; /* the layer whose extends is being expanded */
    struct sr_strv open;  /* presets that are being expanded, outermost first */
    struct sr_error *err;
};

static void documents_clear(struct sr_policy_documents *docs)
{
    for (size_t i = 0; i < docs->n; i++)
        sr_policy_document_clear(&docs->d[i]);
    free(docs->d);
    *docs = (struct sr_policy_documents){ 0 };
}

static void documents_push(struct sr_policy_documents *docs, struct sr_policy_document d)
{
    docs->d = sr_reallocarray(docs->d, docs->n + 1, sizeof *docs->d);
    docs->d[docs->n++] = d;
}

static void resolver_clear(struct resolver *r)
{
    documents_clear(&r->docs);
    documents_clear(&r->presets);
    sr_strv_clear(&r->open);
}

static int refuse_extends(struct resolver *r, const struct sr_policy_document *d, size_t i,
                          const char *code, const char *what)
{
    return sr_error_set(r->err, code, "%s:%u:%u: extends: \"%s\" %s", d->path,
                        d->extends_where[i].line, d->extends_where[i].column, d->extends.v[i],
                        what);
}

static bool is_expanded(const struct resolver *r, const char *path)
{
    for (size_t i = 0; i < r->presets.n; i++)
        if (strcmp(r->presets.d[i].path, path) == 0)
            return true;
    return false;
}

static int expand(struct resolver *r, const struct sr_policy_document *d);

static int expand_preset(struct resolver *r, const char *name, const char *path, const char *text,
                         size_t len)
{
    struct sr_policy_source src = {
        .layer = SR_LAYER_PRESET, .path = path, .text = text, .len = len
    };
    struct sr_policy_document preset = { 0 };
    if (sr_policy_document_parse(&src, r->opts->home, &preset, r->err) < 0)
        return -1;
    preset.by_repository = r->naming == SR_LAYER_REPOSITORY;
    sr_strv_add(&r->open, name);
    if (expand(r, &preset) < 0) {
        sr_policy_document_clear(&preset);
        return -1;
    }
    free(r->open.v[--r->open.n]);
    r->open.v[r->open.n] = NULL;
    documents_push(&r->presets, preset);
    return 0;
}

static int expand_one(struct resolver *r, const struct sr_policy_document *d, size_t i)
{
    const char *name = d->extends.v[i];
    size_t len = 0;
    cleanup_free char *path = sr_asprintf("preset:%s", name);
    if (is_expanded(r, path))
        return 0;
    if (sr_strv_has(&r->open, name))
        return refuse_extends(r, d, i, "policy.invalid.extends_cycle",
                              "extends itself, over others or at once");
    if (r->open.n + r->presets.n >= PRESETS_MAX)
        return refuse_extends(r, d, i, "policy.invalid.range", "is one preset too many");
    bool is_floor =
        strcmp(name, "floor") == 0; /* ships beside the presets, and is below every file already */
    const char *text =
        r->opts->preset && !is_floor ? r->opts->preset(r->opts->preset_ctx, name, &len) : NULL;
    if (!text)
        return refuse_extends(r, d, i, "policy.invalid.unknown_preset",
                              "is no preset that ships with sandrun");
    return expand_preset(r, name, path, text, len);
}

static int expand(struct resolver *r, const struct sr_policy_document *d)
{
    for (size_t i = 0; i < d->extends.n; i++)
        if (expand_one(r, d, i) < 0)
            return -1;
    return 0;
}

static int parse_sources(struct resolver *r)
{
    for (size_t i = 0; i < r->opts->n_sources; i++) {
        struct sr_policy_document d = { 0 };
        if (sr_policy_document_parse(&r->opts->sources[i], r->opts->home, &d, r->err) < 0)
            return -1;
        documents_push(&r->docs, d);
    }
    for (size_t i = 0; i < r->docs.n; i++) {
        r->naming = r->docs.d[i].layer;
        if (expand(r, &r->docs.d[i]) < 0)
            return -1;
    }
    return 0;
}

/* Presets between the floor and the rest, whoever named them. */
static void put_in_order(struct resolver *r)
{
    struct sr_policy_documents all = { 0 };
    for (int layer = 0; layer < SR_LAYER_COUNT; layer++) {
        for (size_t i = 0; layer == SR_LAYER_PRESET && i < r->presets.n; i++)
            documents_push(&all, r->presets.d[i]);
        for (size_t i = 0; i < r->docs.n; i++)
            if ((int)r->docs.d[i].layer == layer)
                documents_push(&all, r->docs.d[i]);
    }
    free(r->docs.d);
    free(r->presets.d);
    r->docs = all;
    r->presets = (struct sr_policy_documents){ 0 };
}

static int resolve_binding(struct resolver *r, const char *name, struct sr_policy *p)
{
    struct sr_policy_declaration merged = { 0 };
    if (sr_policy_binding(p, name))
        return 0;
    if (sr_policy_merge(&r->docs, name, &merged, r->err) < 0)
        return -1;
    if (sr_policy_check(&r->docs, &merged, r->err) < 0) {
        sr_binding_clear(&merged.b);
        return -1;
    }
    if (merged.b.command.n ==
        0) { /* the floor's or an organisation's, and this repository has no such check */
        sr_binding_clear(&merged.b);
        return 0;
    }
    p->bindings = sr_reallocarray(p->bindings, p->n_bindings + 1, sizeof *p->bindings);
    p->bindings[p->n_bindings++] = merged.b;
    return 0;
}

static int resolve_bindings(struct resolver *r, struct sr_policy *p)
{
    for (size_t i = 0; i < r->docs.n; i++) {
        const struct sr_policy_document *d = &r->docs.d[i];
        for (size_t k = 0; k < d->n_bindings; k++)
            if (resolve_binding(r, d->bindings[k].b.name, p) < 0)
                return -1;
    }
    return 0;
}

static void name_files(struct resolver *r, struct sr_policy *p)
{
    p->files = sr_calloc(r->docs.n + 1, sizeof *p->files);
    for (size_t i = 0; i < r->docs.n; i++) {
        struct sr_policy_file *f = &p->files[p->n_files++];
        f->layer = r->docs.d[i].layer;
        f->path = steal_ptr(&r->docs.d[i].path);
        memcpy(f->digest, r->docs.d[i].digest, sizeof f->digest);
    }
}

int sr_policy_resolve(const struct sr_policy_options *opts, struct sr_policy *ret,
                      struct sr_error *err)
{
    __attribute__((cleanup(resolver_clear))) struct resolver r = { .opts = opts, .err = err };
    struct sr_policy p = { 0 };
    if (parse_sources(&r) < 0)
        return -1;
    put_in_order(&r);
    if (resolve_bindings(&r, &p) < 0) {
        sr_policy_clear(&p);
        return -1;
    }
    name_files(&r, &p);
    *ret = p;
    return 0;
}
