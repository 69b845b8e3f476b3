/* SPDX-License-Identifier: MIT */
/* A policy file from its bytes: the frame around the fields, and the walk that finds each field's
 * row. */
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SR_POLICY_VERSION = 1 };

static int find_field(const char *path)
{
    for (int f = 0; f < SR_FIELD_COUNT; f++)
        if (strcmp(sr_policy_fields[f].path, path) == 0)
            return f;
    return -1;
}

/* "limits" of "limits.wall" */
static bool is_group(const char *path)
{
    size_t n = strlen(path);
    for (int f = 0; f < SR_FIELD_COUNT; f++)
        if (strncmp(sr_policy_fields[f].path, path, n) == 0 && sr_policy_fields[f].path[n] == '.')
            return true;
    return false;
}

/* The known spelling nearest to PATH, or NULL. */
static const char *near_field(const char *path)
{
    const char *best = NULL;
    unsigned least = 3;
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        unsigned d = sr_text_distance(path, sr_policy_fields[f].path);
        if (d < least) {
            least = d;
            best = sr_policy_fields[f].path;
        }
    }
    return best;
}

static int unknown_field(struct sr_policy_reader *r, const cJSON *item, const char *path)
{
    sr_policy_refuse_key(r, item, "policy.invalid.unknown_key", "\"%s\" is no field of a binding",
                         path);
    const char *near = near_field(path);
    return near ? sr_error_hint(r->err, "did you mean \"%s\"?", near) : -1;
}

static int parse_fields(struct sr_policy_reader *r, const cJSON *object, const char *prefix,
                        struct sr_policy_declaration *ret);

static int parse_field(struct sr_policy_reader *r, const cJSON *item, const char *prefix,
                       struct sr_policy_declaration *ret)
{
    cleanup_free char *path = sr_asprintf("%s%s%s", prefix, *prefix ? "." : "", item->string);
    r->field = NULL;
    if (!*prefix && is_group(path))
        return parse_fields(r, item, path, ret);
    /* A key with a dot would spell another field's path. */
    int f = strchr(item->string, '.') ? -1 : find_field(path);
    if (f < 0)
        return unknown_field(r, item, path);
    const struct sr_policy_field *row = &sr_policy_fields[f];
    r->field = row->path;
    if (row->type->parse(r, row, item, &ret->b) < 0)
        return -1;
    r->field = NULL;
    ret->b.present |= UINT64_C(1) << f;
    ret->where[f] = sr_json_where_key(r->doc, item);
    return 0;
}

static int parse_fields(struct sr_policy_reader *r, const cJSON *object, const char *prefix,
                        struct sr_policy_declaration *ret)
{
    if (!cJSON_IsObject(object)) {
        r->field = *prefix ? prefix : NULL;
        return sr_policy_refuse(r, object, "policy.invalid.type", "an object is expected");
    }
    for (const cJSON *m = object->child; m; m = m->next)
        if (parse_field(r, m, prefix, ret) < 0)
            return -1;
    return 0;
}

static int parse_defaults(struct sr_policy_reader *r, const cJSON *item,
                          struct sr_policy_document *d)
{
    r->scope = "defaults";
    if (parse_fields(r, item, "", &d->defaults) < 0)
        return -1;
    const cJSON *command = sr_json_get(item, "command");
    if (command)
        return sr_policy_refuse_key(r, command, "policy.invalid.unsupported_value",
                                    "a command belongs to one binding");
    return 0;
}

static int parse_binding(struct sr_policy_reader *r, const cJSON *item,
                         struct sr_policy_document *d)
{
    if (!sr_policy_binding_name_ok(item->string)) {
        r->scope = "bindings";
        sr_policy_refuse_key(r, item, "policy.invalid.name", "\"%s\" cannot name a binding",
                             item->string);
        return sr_error_hint(r->err,
                             "a letter, then letters, digits, '.', '_' and '-', at most 64");
    }
    cleanup_free char *scope = sr_asprintf("bindings.%s", item->string);
    d->bindings = sr_reallocarray(d->bindings, d->n_bindings + 1, sizeof *d->bindings);
    struct sr_policy_declaration *decl = &d->bindings[d->n_bindings++];
    *decl = (struct sr_policy_declaration){ .b.name = sr_strdup(item->string),
                                            .name_where = sr_json_where_key(r->doc, item) };
    r->scope = scope;
    int res = parse_fields(r, item, "", decl);
    r->scope = NULL;
    return res;
}

static int parse_bindings(struct sr_policy_reader *r, const cJSON *item,
                          struct sr_policy_document *d)
{
    enum { BINDINGS_MAX = 256 };
    r->scope = "bindings";
    if (!cJSON_IsObject(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "an object is expected");
    if (cJSON_GetArraySize(item) > BINDINGS_MAX)
        return sr_policy_refuse(r, item, "policy.invalid.range", "more than %d bindings",
                                BINDINGS_MAX);
    for (const cJSON *m = item->child; m; m = m->next)
        if (parse_binding(r, m, d) < 0)
            return -1;
    return 0;
}

static int parse_extends(struct sr_policy_reader *r, const cJSON *item,
                         struct sr_policy_document *d)
{
    r->scope = "extends";
    if (!cJSON_IsArray(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "a list of presets is expected");
    if (d->layer == SR_LAYER_COMMAND_LINE && item->child)
        return sr_policy_refuse(
            r, item, "policy.loosens",
            "the command line can only tighten, and a preset brings its own values");
    for (const cJSON *m = item->child; m; m = m->next) {
        const char *name = sr_policy_read_string(r, m);
        if (!name)
            return -1;
        if (!sr_policy_preset_name_ok(name))
            return sr_policy_refuse(r, m, "policy.invalid.name", "\"%s\" cannot name a preset",
                                    name);
        sr_strv_add(&d->extends, name);
        d->extends_where =
            sr_reallocarray(d->extends_where, d->extends.n, sizeof *d->extends_where);
        d->extends_where[d->extends.n - 1] = sr_json_where_value(r->doc, m);
    }
    return 0;
}

/* A field, or a group of them. */
static uint64_t fields_named(const char *path)
{
    uint64_t mask = 0;
    size_t n = strlen(path);
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        const char *p = sr_policy_fields[f].path;
        if (strncmp(p, path, n) == 0 && (p[n] == '\0' || p[n] == '.'))
            mask |= UINT64_C(1) << f;
    }
    return n ? mask : 0;
}

/* "limits.wall", "limits", "Test.network"; a binding's name may itself hold dots. */
static int parse_lock(struct sr_policy_reader *r, const cJSON *item, struct sr_policy_document *d)
{
    const char *s = sr_policy_read_string(r, item);
    if (!s)
        return -1;
    struct sr_policy_lock lock = { .fields = fields_named(s) };
    for (const char *dot = strchr(s, '.'); !lock.fields && dot; dot = strchr(dot + 1, '.')) {
        cleanup_free char *name = sr_strndup(s, (size_t)(dot - s));
        lock.fields = sr_policy_binding_name_ok(name) ? fields_named(dot + 1) : 0;
        if (lock.fields)
            lock.binding = steal_ptr(&name);
    }
    if (!lock.fields)
        return sr_policy_refuse(r, item, "policy.invalid.unsupported_value",
                                "\"%s\" is no field, group of fields or BINDING.FIELD", s);
    d->locks = sr_reallocarray(d->locks, d->n_locks + 1, sizeof *d->locks);
    d->locks[d->n_locks++] = lock;
    return 0;
}

static int parse_locks(struct sr_policy_reader *r, const cJSON *item, struct sr_policy_document *d)
{
    r->scope = "lock";
    if (d->layer != SR_LAYER_ORGANISATION)
        return sr_policy_refuse_key(r, item, "policy.invalid.unsupported_value",
                                    "only the organisation's layer can lock fields");
    if (!cJSON_IsArray(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "a list of fields is expected");
    for (const cJSON *m = item->child; m; m = m->next)
        if (parse_lock(r, m, d) < 0)
            return -1;
    return 0;
}

/* First of all: a later version may mean other things by its other keys. */
static int check_version(struct sr_policy_reader *r, const cJSON *root, enum sr_layer layer)
{
    const cJSON *v = sr_json_get(root, "version");
    if (!v && layer == SR_LAYER_COMMAND_LINE)
        return 0;
    if (!v) {
        sr_policy_refuse(r, root, "policy.invalid.missing", "\"version\" is missing");
        return sr_error_hint(r->err, "\"version\": %d", SR_POLICY_VERSION);
    }
    if (!cJSON_IsNumber(v))
        return sr_policy_refuse(r, v, "policy.invalid.type", "version: a number is expected");
    if (v->valuedouble != SR_POLICY_VERSION)
        return sr_policy_refuse(r, v, "policy.invalid.version",
                                "version %g is not known; this sandrun reads version %d",
                                v->valuedouble, SR_POLICY_VERSION);
    return 0;
}

static int parse_ignored(struct sr_policy_reader *r, const cJSON *item,
                         struct sr_policy_document *d)
{
    (void)d;
    return strcmp(item->string, "$schema") != 0 || sr_policy_read_string(r, item) ? 0 : -1;
}

static const struct top_key {
    const char *name;
    int (*parse)(struct sr_policy_reader *r, const cJSON *item, struct sr_policy_document *d);
} top_keys[] = {
    { "$schema", parse_ignored }, /* for editors */
    { "version", parse_ignored }, /* checked before */
    { "extends", parse_extends },   { "defaults", parse_defaults },
    { "bindings", parse_bindings }, { "lock", parse_locks },
};

static int parse_top(struct sr_policy_reader *r, const cJSON *item, struct sr_policy_document *d)
{
    r->scope = r->field = NULL;
    for (size_t i = 0; i < sizeof top_keys / sizeof *top_keys; i++)
        if (strcmp(top_keys[i].name, item->string) == 0)
            return top_keys[i].parse(r, item, d);
    sr_policy_refuse_key(r, item, "policy.invalid.unknown_key", "the key \"%s\" is not known here",
                         item->string);
    return sr_error_hint(
        r->err,
        "known are $schema, version, extends, defaults, bindings and, for an organisation, lock");
}

static int parse_document(struct sr_policy_reader *r, const cJSON *root,
                          struct sr_policy_document *d)
{
    if (!cJSON_IsObject(root))
        return sr_policy_refuse(r, root, "policy.invalid.type", "an object is expected");
    if (check_version(r, root, d->layer) < 0)
        return -1;
    for (const cJSON *m = root->child; m; m = m->next)
        if (parse_top(r, m, d) < 0)
            return -1;
    return 0;
}

/* json.X becomes policy.invalid.json.X; a key given twice has a code of its own beside the unknown
 * one. */
static int json_refused(const struct sr_error *inner, struct sr_error *err)
{
    char code[SR_ERROR_CODE_MAX];
    bool twice = strcmp(inner->code, "json.duplicate_key") == 0;
    snprintf(code, sizeof code, "policy.invalid.%.40s",
             inner->code + (twice ? strlen("json.") : 0));
    return sr_error_set(err, code, "%s", inner->text);
}

static void document_clearp(struct sr_policy_document *d)
{
    sr_policy_document_clear(d);
}

int sr_policy_document_parse(const struct sr_policy_source *src, const char *home,
                             struct sr_policy_document *ret, struct sr_error *err)
{
    unsigned char digest[SR_SHA256_SIZE];
    struct sr_error inner = { 0 };
    cleanup_json_doc struct sr_json doc = { 0 };
    if (sr_json_parse(src->path, src->text, src->len, SR_POLICY_FILE_MAX, SR_JSON_COMMENTS, &doc,
                      &inner) < 0)
        return json_refused(&inner, err);
    __attribute__((cleanup(document_clearp))) struct sr_policy_document d = {
        .layer = src->layer, .path = sr_strdup(src->path)
    };
    sr_sha256_bytes(src->text, src->len, digest);
    sr_sha256_text(digest, d.digest);
    struct sr_policy_reader r = { .doc = &doc, .layer = src->layer, .home = home, .err = err };
    if (parse_document(&r, doc.root, &d) < 0)
        return -1;
    *ret = d;
    d = (struct sr_policy_document){ 0 };
    return 0;
}

void sr_policy_document_clear(struct sr_policy_document *d)
{
    free(d->path);
    sr_strv_clear(&d->extends);
    free(d->extends_where);
    sr_binding_clear(&d->defaults.b);
    for (size_t i = 0; i < d->n_bindings; i++)
        sr_binding_clear(&d->bindings[i].b);
    free(d->bindings);
    for (size_t i = 0; i < d->n_locks; i++)
        free(d->locks[i].binding);
    free(d->locks);
    *d = (struct sr_policy_document){ 0 };
}
