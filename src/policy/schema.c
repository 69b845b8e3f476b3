/* SPDX-License-Identifier: MIT */
/* The field table, printed: as JSON Schema for editors and as the README's table. */
#include "base/buf.h"
#include "base/mem.h"
#include "policy/builtin.h"
#include "policy/document.h"

#include <assert.h>
#include <string.h>

/* A fragment of our own tables: one that does not parse is a bug, and a test reads every one. */
static cJSON *fragment(const char *text)
{
    struct sr_error err = { 0 };
    cleanup_json_doc struct sr_json doc = { 0 };
    int r = sr_json_parse("field table", text, strlen(text), SR_POLICY_FILE_MAX, SR_JSON_STRICT,
                          &doc, &err);
    assert(r == 0);
    (void)r;
    return steal_ptr(&doc.root);
}

/* The shipped floor's value of a field, or NULL. Belongs to floor. */
static const cJSON *floor_value(const struct sr_json *floor, const char *path)
{
    const cJSON *at = sr_json_get(floor->root, "defaults");
    const char *dot = strchr(path, '.');
    if (dot) {
        cleanup_free char *group = sr_strndup(path, (size_t)(dot - path));
        at = sr_json_get(at, group);
    }
    return sr_json_get(at, dot ? dot + 1 : path);
}

static void read_floor(struct sr_json *ret)
{
    struct sr_error err = { 0 };
    for (size_t i = 0; i < sr_builtin_policies_n; i++) {
        const struct sr_builtin_policy *p = &sr_builtin_policies[i];
        if (strcmp(p->name, "floor") == 0 &&
            sr_json_parse(p->name, p->text, p->len, SR_POLICY_FILE_MAX, SR_JSON_COMMENTS, ret,
                          &err) < 0)
            return;
    }
}

static cJSON *object_schema(cJSON *properties)
{
    cJSON *o = sr_json_object();
    sr_json_add_string(o, "type", "object");
    sr_json_add(o, "properties", properties);
    sr_json_add_bool(o, "additionalProperties", false);
    return o;
}

/* properties of the group that path is in, made when it is the first. */
static cJSON *properties_of(cJSON *properties, const char *path)
{
    const char *dot = strchr(path, '.');
    if (!dot)
        return properties;
    cleanup_free char *group = sr_strndup(path, (size_t)(dot - path));
    cJSON *have = cJSON_GetObjectItemCaseSensitive(properties, group);
    if (have)
        return cJSON_GetObjectItemCaseSensitive(have, "properties");
    cJSON *inner = sr_json_object();
    sr_json_add(properties, group, object_schema(inner));
    return inner;
}

static cJSON *binding_schema(const struct sr_json *floor)
{
    cJSON *properties = sr_json_object();
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        const struct sr_policy_field *row = &sr_policy_fields[f];
        const char *dot = strchr(row->path, '.');
        const cJSON *value = floor_value(floor, row->path);
        cJSON *schema = fragment(row->schema);
        sr_json_add_string(schema, "description", row->doc);
        if (value)
            sr_json_add(schema, "default", cJSON_Duplicate(value, 1));
        sr_json_add(properties_of(properties, row->path), dot ? dot + 1 : row->path, schema);
    }
    return object_schema(properties);
}

static const char top_level[] =
    "{\"$schema\":{\"type\":\"string\"},"
    "\"version\":{\"const\":1,\"description\":\"The version of this format.\"},"
    "\"extends\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[a-z][a-z0-9_-]{"
    "0,63}$\"},"
    "\"description\":\"Presets whose values lie above the floor and below the organisation's and "
    "this file's.\"},"
    "\"defaults\":{\"allOf\":[{\"$ref\":\"#/$defs/"
    "binding\"},{\"not\":{\"required\":[\"command\"]}}],"
    "\"description\":\"Laid under each of this file's bindings, and over what weaker layers say of "
    "any binding.\"},"
    "\"bindings\":{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[A-Za-z][A-Za-z0-9._-]{0,"
    "63}$\"},"
    "\"additionalProperties\":{\"$ref\":\"#/$defs/binding\"},\"description\":\"The checks, by "
    "name.\"},"
    "\"lock\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
    "\"description\":\"Organisation only: FIELD, GROUP or BINDING.FIELD that a repository can "
    "tighten and not loosen, itself or by a preset.\"}}";

char *sr_policy_schema(void)
{
    cleanup_json_doc struct sr_json floor = { 0 };
    cleanup_json cJSON *schema = sr_json_object();
    read_floor(&floor);
    sr_json_add_string(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    sr_json_add_string(schema, "title", "sandrun policy");
    sr_json_add_string(schema, "type", "object");
    sr_json_add(schema, "required", fragment("[\"version\"]"));
    sr_json_add(schema, "properties", fragment(top_level));
    sr_json_add_bool(schema, "additionalProperties", false);
    cJSON *defs = sr_json_object();
    sr_json_add(defs, "binding", binding_schema(&floor));
    sr_json_add(schema, "$defs", defs);
    return sr_json_pretty(schema);
}

/* A '|' would end the cell. */
static void cell(struct sr_buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            sr_buf_putc(b, '\\');
        sr_buf_putc(b, *text);
    }
}

static void markdown_row(struct sr_buf *b, const struct sr_json *floor,
                         const struct sr_policy_field *row)
{
    const cJSON *value = floor_value(floor, row->path);
    cleanup_free char *text = value ? sr_json_compact(value) : NULL;
    sr_buf_printf(b, "| `%s` | ", row->path);
    cell(b, row->values);
    sr_buf_puts(b, " | ");
    if (text) {
        sr_buf_putc(b, '`');
        cell(b, text);
        sr_buf_putc(b, '`');
    }
    sr_buf_printf(b, " | %s | ", row->merge == SR_MERGE_APPEND ? "adds" : "replaces");
    cell(b, row->tighter);
    sr_buf_puts(b, " | ");
    cell(b, row->doc);
    sr_buf_puts(b, " |\n");
}

char *sr_policy_fields_markdown(void)
{
    cleanup_json_doc struct sr_json floor = { 0 };
    cleanup_buf struct sr_buf b = SR_BUF(256 * 1024);
    read_floor(&floor);
    sr_buf_puts(&b, "| field | values | floor | a stronger layer | command line and locked: may "
                    "only | |\n|---|---|---|---|---|---|\n");
    for (int f = 0; f < SR_FIELD_COUNT; f++)
        markdown_row(&b, &floor, &sr_policy_fields[f]);
    return sr_buf_steal(&b);
}
