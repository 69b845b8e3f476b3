/* SPDX-License-Identifier: MIT */
/* What is printed from the field table names every field and is well formed. */
#include "base/json.h"
#include "base/mem.h"
#include "policy/fields.h"
#include "sandrun/policy.h"

#include <criterion/criterion.h>
#include <string.h>

static const cJSON *schema_of(const cJSON *binding, const char *path)
{
    cleanup_free char *copy = sr_strdup(path);
    const cJSON *at = binding;
    char *save = NULL;
    for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save))
        at = sr_json_get(sr_json_get(at, "properties"), part);
    return at;
}

Test(policy_schema, names_every_field_with_its_sentence_and_default)
{
    struct sr_error err = { 0 };
    cleanup_json_doc struct sr_json doc = { 0 };
    cleanup_free char *text = sr_policy_schema();
    cr_assert(sr_json_parse("schema", text, strlen(text), 1 << 20, SR_JSON_STRICT, &doc, &err) == 0,
              "%s", err.text);
    cr_expect_str_eq(sr_json_string(doc.root, "$schema"),
                     "https://json-schema.org/draft/2020-12/schema");
    const cJSON *binding = sr_json_get(sr_json_get(doc.root, "$defs"), "binding");
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        const cJSON *s = schema_of(binding, sr_field_path((enum sr_field)f));
        cr_assert_not_null(s, "%s", sr_field_path((enum sr_field)f));
        cr_expect_str_eq(sr_json_string(s, "description"), sr_policy_fields[f].doc);
    }
    cr_expect_str_eq(sr_json_string(schema_of(binding, "limits.wall"), "default"), "10m");
    cr_expect_str_eq(sr_json_string(schema_of(binding, "network"), "default"), "none");
    cr_expect_null(sr_json_get(schema_of(binding, "rootfs"), "default"), "the floor pins nothing");
    bool more = true;
    cr_expect(sr_json_bool(binding, "additionalProperties", &more) && !more);
}

Test(policy_schema, every_row_of_the_table_is_whole)
{
    for (int f = 0; f < SR_FIELD_COUNT; f++) {
        const struct sr_policy_field *row = &sr_policy_fields[f];
        cr_assert_not_null(row->path, "row %d", f);
        cr_expect(row->type && row->type->parse && row->type->merge && row->type->tightens, "%s",
                  row->path);
        cr_expect(row->doc && row->doc[strlen(row->doc) - 1] == '.', "%s: a sentence", row->path);
        cr_expect(row->values && row->schema && row->tighter, "%s", row->path);
        cr_expect(!row->from == !row->looseness, "%s", row->path);
        for (int g = 0; g < f; g++)
            cr_expect_str_neq(sr_policy_fields[g].path, row->path);
    }
}

Test(policy_schema, markdown_has_a_row_of_six_cells_per_field)
{
    cleanup_free char *text = sr_policy_fields_markdown();
    char *save = NULL;
    unsigned rows = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        unsigned bars = 0;
        for (const char *p = line; *p; p++)
            bars += *p == '|' && (p == line || p[-1] != '\\');
        cr_expect_eq(bars, 7, "%s", line);
        if (rows >= 2) {
            cleanup_free char *start =
                sr_asprintf("| `%s` |", sr_field_path((enum sr_field)(rows - 2)));
            cr_expect(strncmp(line, start, strlen(start)) == 0, "%s", line);
        }
        rows++;
    }
    cr_expect_eq(rows, SR_FIELD_COUNT + 2);
}
