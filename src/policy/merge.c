/* SPDX-License-Identifier: MIT */
/* Layers laid over each other, field by field; locked fields and the command line may only tighten.
 */
#include "base/mem.h"
#include "base/text.h"
#include "policy/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const struct sr_binding *b, int f)
{
    return b->present & (UINT64_C(1) << f);
}

/* The i-th entry of a field whose entries have names; NULL: no more, or no such field. */
static const char *entry_name(const struct sr_binding *b, int f, size_t i)
{
    if (f == SR_FIELD_MOUNTS)
        return i < b->n_mounts ? b->mounts[i].target : NULL;
    if (f == SR_FIELD_ENV_SET)
        return i < b->n_env_set ? b->env_set[i].name : NULL;
    if (f == SR_FIELD_ENV_PASS)
        return i < b->env_pass.n ? b->env_pass.v[i] : NULL;
    if (f == SR_FIELD_ENV_PASS_SECRET)
        return i < b->n_pass_secret ? b->pass_secret[i].name : NULL;
    return NULL;
}

static struct sr_entry_source *entry_at(struct sr_binding *b, int f, const char *name)
{
    for (size_t i = 0; i < b->n_entries; i++)
        if ((int)b->entries[i].field == f && strcmp(b->entries[i].name, name) == 0)
            return &b->entries[i];
    b->entries = sr_reallocarray(b->entries, b->n_entries + 1, sizeof *b->entries);
    b->entries[b->n_entries] =
        (struct sr_entry_source){ .field = (enum sr_field)f, .name = sr_strdup(name) };
    return &b->entries[b->n_entries++];
}

static void merge_field(struct sr_policy_declaration *dst, const struct sr_policy_declaration *src,
                        int f, uint16_t file)
{
    sr_policy_fields[f].type->merge(&sr_policy_fields[f], &dst->b, &src->b);
    dst->b.present |= UINT64_C(1) << f;
    dst->b.set_by[f] = file;
    const char *name;
    for (size_t i = 0; (name = entry_name(&src->b, f, i)); i++)
        entry_at(&dst->b, f, name)->file = file;
    dst->where[f] = src->where[f];
}

void sr_policy_declaration_merge(struct sr_policy_declaration *dst,
                                 const struct sr_policy_declaration *src, uint16_t file)
{
    for (int f = 0; f < SR_FIELD_COUNT; f++)
        if (has(&src->b, f))
            merge_field(dst, src, f, file);
}

static const struct sr_policy_document *locked_by(const struct sr_policy_documents *docs,
                                                  const char *binding, int f)
{
    for (size_t i = 0; i < docs->n; i++) {
        const struct sr_policy_document *d = &docs->d[i];
        for (size_t k = 0; k < d->n_locks; k++) {
            const struct sr_policy_lock *l = &d->locks[k];
            if ((l->fields & (UINT64_C(1) << f)) &&
                (!l->binding || strcmp(l->binding, binding) == 0))
                return d;
        }
    }
    return NULL;
}

/* A limit's value in words, "" for other fields: those say by themselves what they open. */
static void limit_text(const struct sr_policy_field *row, const struct sr_binding *b, char out[32])
{
    uint64_t v;
    memcpy(&v, (const char *)b + row->offset, sizeof v);
    out[0] = '\0';
    if (row->type == &sr_type_duration)
        sr_text_format_duration(v, out);
    else if (row->type == &sr_type_size)
        sr_text_format_size(v, out);
    else if (row->type == &sr_type_count)
        snprintf(out, 32, "%" PRIu64, v);
    else if (row->type == &sr_type_cpus)
        snprintf(out, 32, "%" PRIu64 ".%" PRIu64, v / 1000, v % 1000 / 100);
}

/* "20m is more than the 10m that sandrun.json says; ", "" where values do not say it. */
static char *both_values(const struct sr_policy_documents *docs, const struct sr_policy_declaration *dst,
                         const struct sr_policy_declaration *src, int f)
{
    char above[32], below[32];
    limit_text(&sr_policy_fields[f], &src->b, above);
    if (!above[0] || !has(&dst->b, f))
        return sr_strdup("");
    limit_text(&sr_policy_fields[f], &dst->b, below);
    return sr_asprintf("%s is more than the %s of %s; ", above, below,
                       docs->d[dst->b.set_by[f]].path);
}

static int refuse_loosening(const struct sr_policy_documents *docs, size_t file,
                            const struct sr_policy_document *locker,
                            const struct sr_policy_declaration *dst,
                            const struct sr_policy_declaration *src, int f, struct sr_error *err)
{
    const struct sr_policy_field *row = &sr_policy_fields[f];
    const struct sr_policy_document *d = &docs->d[file];
    struct sr_json_where w = src->where[f];
    cleanup_free char *values = both_values(docs, dst, src, f);
    if (locker)
        sr_error_set(err, "policy.locked", "%s:%u:%u: bindings.%s.%s: %sthe field is locked by %s",
                     d->path, w.line, w.column, dst->b.name, row->path, values, locker->path);
    else
        sr_error_set(err, "policy.loosens",
                     "%s:%u:%u: bindings.%s.%s: %sthe command line can only tighten what the "
                     "policy files declare",
                     d->path, w.line, w.column, dst->b.name, row->path, values);
    return sr_error_hint(err, "what can be done to %s here: %s", row->path, row->tighter);
}

static bool would_tighten(const struct sr_policy_declaration *dst,
                          const struct sr_policy_declaration *src, int f)
{
    const struct sr_policy_field *row = &sr_policy_fields[f];
    struct sr_binding below = { 0 }, above = { 0 };
    if (has(&dst->b, f)) {
        row->type->merge(row, &below, &dst->b);
        row->type->merge(row, &above, &dst->b);
    }
    row->type->merge(row, &above, &src->b);
    bool tightens = row->type->tightens(row, &below, &above);
    sr_binding_clear(&below);
    sr_binding_clear(&above);
    return tightens;
}

/*
 * One field of a file that the repository or the command line brought. A preset is not refused for
 * what it says of a locked field, as nobody wrote that against this organisation: the lock holds,
 * and the provenance shows it.
 */
static int merge_bound(const struct sr_policy_documents *docs, size_t file,
                       const struct sr_policy_declaration *src, int f,
                       struct sr_policy_declaration *dst, struct sr_error *err)
{
    const struct sr_policy_document *d = &docs->d[file];
    const struct sr_policy_document *locker = locked_by(docs, dst->b.name, f);
    bool free_to_set = d->layer != SR_LAYER_COMMAND_LINE && !locker;
    if (free_to_set || would_tighten(dst, src, f))
        merge_field(dst, src, f, (uint16_t)file);
    else if (d->layer != SR_LAYER_PRESET)
        return refuse_loosening(docs, file, locker, dst, src, f, err);
    return 0;
}

static int merge_document(const struct sr_policy_documents *docs, size_t file,
                          const struct sr_policy_declaration *src,
                          struct sr_policy_declaration *dst, struct sr_error *err)
{
    bool bound = docs->d[file].layer >= SR_LAYER_REPOSITORY || docs->d[file].by_repository;
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        if (!has(&src->b, f))
            continue;
        if (!bound)
            merge_field(dst, src, f, (uint16_t)file);
        else if (merge_bound(docs, file, src, f, dst, err) < 0)
            return -1;
    }
    return 0;
}

static const struct sr_policy_declaration *declared(const struct sr_policy_document *d,
                                                    const char *binding)
{
    for (size_t i = 0; i < d->n_bindings; i++)
        if (strcmp(d->bindings[i].b.name, binding) == 0)
            return &d->bindings[i];
    return NULL;
}

int sr_policy_merge(const struct sr_policy_documents *docs, const char *binding,
                    struct sr_policy_declaration *ret, struct sr_error *err)
{
    struct sr_policy_declaration merged = { .b.name = sr_strdup(binding) };
    int r = 0;
    for (size_t i = 0; i < docs->n && r == 0; i++) {
        /* A file's defaults and its binding are one declaration: the file is judged by what it says
         * in the end. */
        struct sr_policy_declaration one = { 0 };
        const struct sr_policy_declaration *own = declared(&docs->d[i], binding);
        sr_policy_declaration_merge(&one, &docs->d[i].defaults, (uint16_t)i);
        if (own) {
            sr_policy_declaration_merge(&one, own, (uint16_t)i);
            merged.name_where = own->name_where;
        }
        r = merge_document(docs, i, &one, &merged, err);
        sr_binding_clear(&one.b);
    }
    if (r < 0) {
        sr_binding_clear(&merged.b);
        return -1;
    }
    *ret = merged;
    return 0;
}
