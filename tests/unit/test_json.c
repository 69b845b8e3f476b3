/* SPDX-License-Identifier: MIT */
/* Strict JSON: what is refused and where, what is kept, how it is written. */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static const struct refusal {
    const char *text, *code, *place;
    enum sr_json_flags flags;
} refusals[] = {
    { "", "json.syntax", "t:1:1: ", 0 },
    { "  \n ", "json.syntax", "t:2:2: ", 0 },
    { "{\"a\":1,}", "json.syntax", "t:1:8: ", 0 },
    { "[1,]", "json.syntax", "t:1:4: ", 0 },
    { "[1 2]", "json.syntax", "t:1:4: ", 0 },
    { "{\"a\" 1}", "json.syntax", "t:1:6: ", 0 },
    { "{a:1}", "json.syntax", "t:1:2: ", 0 },
    { "{'a':1}", "json.syntax", "t:1:2: ", 0 },
    { "[01]", "json.syntax", "t:1:2: ", 0 },
    { "[+1]", "json.syntax", "t:1:2: ", 0 },
    { "[.5]", "json.syntax", "t:1:2: ", 0 },
    { "[1.]", "json.syntax", "t:1:2: ", 0 },
    { "[1e]", "json.syntax", "t:1:2: ", 0 },
    { "[-]", "json.syntax", "t:1:2: ", 0 },
    { "[NaN]", "json.syntax", "t:1:2: ", 0 },
    { "[Infinity]", "json.syntax", "t:1:2: ", 0 },
    { "[tru]", "json.syntax", "t:1:2: ", 0 },
    { "[truex]", "json.syntax", "t:1:6: ", 0 },
    { "[", "json.syntax", "t:1:2: ", 0 },
    { "{", "json.syntax", "t:1:2: ", 0 },
    { "{\"a\":", "json.syntax", "t:1:6: ", 0 },
    { "[\"abc", "json.syntax", "t:1:2: ", 0 },
    { "[\"abc\\", "json.syntax", "t:1:7: ", 0 },
    { "[\"\\x\"]", "json.syntax", "t:1:4: ", 0 },
    { "[\"\\u12g4\"]", "json.syntax", "t:1:4: ", 0 },
    { "[\"\\u12", "json.syntax", "t:1:4: ", 0 },
    { "[\"a\tb\"]", "json.syntax", "t:1:4: ", 0 },
    { "[\"a\nb\"]", "json.syntax", "t:1:4: ", 0 },
    { "\xef\xbb\xbf{}", "json.syntax", "t:1:1: ", 0 },
    { "// c\n{}", "json.syntax", "t:1:1: ", 0 },
    { "{} /* c", "json.syntax", "t:1:4: ", SR_JSON_COMMENTS },
    { "{}\n/", "json.trailing", "t:2:1: ", SR_JSON_COMMENTS },
    { "{}\n}", "json.trailing", "t:2:1: ", 0 },
    { "1 1", "json.trailing", "t:1:3: ", 0 },
    { "{\"a\":1,\n \"a\":2}", "json.duplicate_key", "t:2:2: ", 0 },
    { "{\"a\":1,\n \"\\u0061\":2}", "json.duplicate_key", "t:2:2: ", 0 },
    { "[{\"x\":{\"b\":1,\"c\":2,\"b\":3}}]", "json.duplicate_key", "t:1:20: ", 0 },
    { "{\"\":1,\"\":2}", "json.duplicate_key", "t:1:7: ", 0 },
    { "[\"\\u0000\"]", "json.nul", "t:1:4: ", 0 },
    { "{\"a\\u0000b\":1}", "json.nul", "t:1:5: ", 0 },
    { "[\"\xff\"]", "json.utf8", "t:1:3: ", 0 },
    { "[\"\xc0\xaf\"]", "json.utf8", "t:1:3: ", 0 },
    { "[\"\xe0\x80\xaf\"]", "json.utf8", "t:1:3: ", 0 },
    { "[\"\xed\xa0\x80\"]", "json.utf8", "t:1:3: ", 0 },
    { "[\"\xf4\x90\x80\x80\"]", "json.utf8", "t:1:3: ", 0 },
    { "[\"\xe2\x82\"]", "json.utf8", "t:1:3: ", 0 },
    { "{}\n// \xff", "json.utf8", "t:2:4: ", SR_JSON_COMMENTS },
    { "[\"\\ud800\"]", "json.surrogate", "t:1:9: ", 0 },
    { "[\"\\udc00\"]", "json.surrogate", "t:1:4: ", 0 },
    { "[\"\\ud800\\u0041\"]", "json.surrogate", "t:1:9: ", 0 },
    { "[9007199254740992]", "json.number", "t:1:2: ", 0 },
    { "[9007199254740993]", "json.number", "t:1:2: ", 0 },
    { "[-9007199254740992]", "json.number", "t:1:2: ", 0 },
    { "[1e400]", "json.number", "t:1:2: ", 0 },
    { "[1e300]", "json.number", "t:1:2: ", 0 },
    { "[1e-400]", "json.number", "t:1:2: ", 0 },
    { "[1e99999999999999999999]", "json.number", "t:1:2: ", 0 },
    { "[0.12345678901234567890]", "json.number", "t:1:2: ", 0 },
    { "[9007199254740993.0]", "json.number", "t:1:2: ", 0 },
};

Test(json, refuses_what_cjson_lets_pass_with_its_place)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        cleanup_json_doc struct sr_json doc = { 0 };
        struct sr_error err = { 0 };
        cr_expect(sr_json_parse("t", r->text, strlen(r->text), 4096, r->flags, &doc, &err) < 0,
                  "accepted: %s", r->text);
        cr_expect_str_eq(err.code, r->code, "%s: %s", r->text, err.text);
        cr_expect(strncmp(err.text, r->place, strlen(r->place)) == 0, "%s: %s, not %s", r->text,
                  err.text, r->place);
        cr_expect_null(doc.root);
    }
}

Test(json, refuses_a_nul_byte_and_what_is_too_large)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    cr_assert(sr_json_parse("t", "{}\0x", 4, 10, 0, &doc, &err) < 0);
    cr_expect_str_eq(err.code, "json.nul");
    sr_error_clear(&err);
    cr_assert(sr_json_parse("t", "[1,2]", 5, 4, 0, &doc, &err) < 0);
    cr_expect_str_eq(err.code, "json.size");
}

Test(json, depth_is_bounded_at_exactly_the_limit)
{
    char text[200];
    for (int depth = SR_JSON_DEPTH_MAX; depth <= SR_JSON_DEPTH_MAX + 1; depth++) {
        cleanup_json_doc struct sr_json doc = { 0 };
        struct sr_error err = { 0 };
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        int r = sr_json_parse("t", text, (size_t)depth * 2, sizeof text, 0, &doc, &err);
        cr_expect_eq(r, depth == SR_JSON_DEPTH_MAX ? 0 : -1);
        cr_expect_str_eq(err.code, depth == SR_JSON_DEPTH_MAX ? "" : "json.depth");
    }
}

static void parse(const char *text, struct sr_json *doc)
{
    struct sr_error err = { 0 };
    cr_assert(sr_json_parse("t", text, strlen(text), 1 << 20, SR_JSON_COMMENTS, doc, &err) == 0,
              "%s", err.text);
}

Test(json, numbers_that_survive_are_kept)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    parse("{\"max\":9007199254740991,\"low\":-9007199254740991,\"tenth\":0.1,\"exp\":1.5e3,\"z\":0."
          "0,\"zz\":0e9,\"n\":-0,"
          "\"long\":0.12345678901234566,\"tail\":1.500000000000000000000000000,\"small\":0."
          "00000001,\"h\":100}",
          &doc);
    uint64_t v = 1;
    cr_expect(sr_json_u64(doc.root, "max", &v) && v == 9007199254740991);
    cr_expect_not(sr_json_u64(doc.root, "low", &v));
    cr_expect_not(sr_json_u64(doc.root, "tenth", &v));
    cr_expect_not(sr_json_u64(doc.root, "n", &v));
    cr_expect(sr_json_u64(doc.root, "exp", &v) && v == 1500);
    cr_expect(sr_json_u64(doc.root, "h", &v) && v == 100);
    cr_expect(sr_json_get(doc.root, "tenth")->valuedouble == 0.1);
    cr_expect(sr_json_get(doc.root, "tail")->valuedouble == 1.5);
    cr_expect(sr_json_get(doc.root, "small")->valuedouble == 1e-8);
}

Test(json, comments_are_blanks_and_strings_keep_their_slashes)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    parse("// head \"{\n{ /* one\n two */ \"a\" : \"http://x/*y*/\", // tail\n\"b\":[1,/**/2]}//",
          &doc);
    cr_expect_str_eq(sr_json_string(doc.root, "a"), "http://x/*y*/");
    cr_expect_eq(cJSON_GetArraySize(sr_json_get(doc.root, "b")), 2);
}

Test(json, every_value_and_key_knows_its_place)
{
    cleanup_json_doc struct sr_json doc = { 0 }, other = { 0 };
    parse("{\"a\": [10,\n  {\"b\" : true}],\n \"c\":null}", &doc);
    parse("1", &other);
    const cJSON *a = sr_json_get(doc.root, "a"), *c = sr_json_get(doc.root, "c");
    const cJSON *b = sr_json_get(cJSON_GetArrayItem(a, 1), "b");
    struct sr_json_where w = sr_json_where_value(&doc, b);
    cr_expect(w.line == 2 && w.column == 10, "%u:%u", w.line, w.column);
    w = sr_json_where_key(&doc, b);
    cr_expect(w.line == 2 && w.column == 4);
    w = sr_json_where_value(&doc, cJSON_GetArrayItem(a, 0));
    cr_expect(w.line == 1 && w.column == 8);
    cr_expect_eq(sr_json_where_key(&doc, cJSON_GetArrayItem(a, 0)).line, 0);
    w = sr_json_where_key(&doc, c);
    cr_expect(w.line == 3 && w.column == 2);
    cr_expect_eq(sr_json_where_value(&doc, doc.root).column, 1);
    cr_expect_eq(sr_json_where_value(&doc, other.root).line, 0);
}

Test(json, look_up_minds_the_case_and_the_type)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    parse("{\"Abc\":\"x\",\"f\":false,\"l\":[1]}", &doc);
    bool f = true;
    cr_expect_null(sr_json_get(doc.root, "abc"));
    cr_expect_str_eq(sr_json_string(doc.root, "Abc"), "x");
    cr_expect_null(sr_json_string(doc.root, "f"));
    cr_expect(sr_json_bool(doc.root, "f", &f) && !f);
    cr_expect_not(sr_json_bool(doc.root, "Abc", &f));
    cr_expect_null(sr_json_get(sr_json_get(doc.root, "l"), "Abc"));
    cr_expect_null(sr_json_get(NULL, "x"));
}

Test(json, escapes_are_decoded_and_keys_that_differ_pass)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    parse("{\"a\":\"\\u00e9\\ud83d\\ude00\\n\\/\",\"A\":2,\"ab\":3,\"\\u00e9\":4}", &doc);
    cr_expect_str_eq(sr_json_string(doc.root, "a"), "\xc3\xa9\xf0\x9f\x98\x80\n/");
    cr_expect_not_null(sr_json_get(doc.root, "\xc3\xa9"));
}

Test(json, writes_in_order_and_exactly)
{
    cleanup_json cJSON *o = sr_json_object();
    sr_json_add_string(o, "z", "a\"\\\n\x01");
    sr_json_add_u64(o, "big", UINT64_MAX);
    sr_json_add_u64(o, "e15", 1000000000000000);
    sr_json_add_u64(o, "max", 9007199254740991);
    sr_json_add_string(o, "none", NULL);
    sr_json_add_bool(o, "t", true);
    cJSON *a = sr_json_array();
    sr_json_append_string(a, "x");
    sr_json_append(a, cJSON_CreateNumber(0.1));
    sr_json_append(a, sr_json_object());
    sr_json_add(o, "a", a);
    cleanup_free char *compact = sr_json_compact(o);
    cr_expect_str_eq(
        compact,
        "{\"z\":\"a\\\"\\\\\\n\\u0001\",\"big\":\"18446744073709551615\",\"e15\":1000000000000000,"
        "\"max\":9007199254740991,\"none\":null,\"t\":true,\"a\":[\"x\",0.1,{}]}");
    cleanup_free char *pretty = sr_json_pretty(a);
    cr_expect_str_eq(pretty, "[\n  \"x\",\n  0.1,\n  {}\n]\n");
    cleanup_json_doc struct sr_json doc = { 0 };
    parse(compact, &doc);
    cleanup_free char *again = sr_json_compact(doc.root);
    cr_expect_str_eq(again, compact);
}

/* A byte and the four characters that spell it are two names; each leads back. */
Test(json, a_path_of_any_bytes_leads_back)
{
    static const struct {
        const char *raw, *written;
    } paths[] = {
        { "\xff", "\\xff" },        { "\\xff", "\\\\xff" }, { "\\\\xff", "\\\\\\\\xff" },
        { "a\\b", "a\\b" },        { "a\\x", "a\\x" },       { "a\\xF0", "a\\xF0" },
        { "a\\\xff", "a\\\\\\xff" }, { "\\x1b\xc3\xa4", "\\\\x1b\xc3\xa4" }, { "\x1b[m", "\x1b[m" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        cleanup_json cJSON *o = sr_json_object();
        sr_json_add_path(o, "p", paths[i].raw);
        const char *written = sr_json_string(o, "p");
        cleanup_free char *back = sr_json_path(written);
        cr_expect_str_eq(written, paths[i].written, "%zu: %s", i, written);
        cr_expect_str_eq(back, paths[i].raw, "%zu: %s", i, back);
    }
    cr_expect_null(sr_json_path(NULL));
    cleanup_free char *cut = sr_json_path("\\xff\\");
    cr_expect_str_eq(cut, "\\xff\\", "what nobody wrote stays");
}

Test(json, names_that_are_not_utf8_are_spelled_out)
{
    cleanup_json cJSON *o = sr_json_object();
    sr_json_add_string(o, "n", "a\xff");
    cleanup_free char *compact = sr_json_compact(o);
    cr_expect_str_eq(compact, "{\"n\":\"a\\\\xff\"}");
}

Test(json, many_keys_take_no_quadratic_time, .timeout = 30)
{
    cleanup_buf struct sr_buf b = SR_BUF(8 << 20);
    sr_buf_putc(&b, '{');
    for (int i = 0; i < 200000; i++)
        sr_buf_printf(&b, "%s\"k%d\":0", i ? "," : "", i);
    sr_buf_puts(&b, ",\"k7\":1}");
    cleanup_json_doc struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    cr_assert(sr_json_parse("t", b.data, b.len, 8 << 20, 0, &doc, &err) < 0);
    cr_expect_str_eq(err.code, "json.duplicate_key");
}
