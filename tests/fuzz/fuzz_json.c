/* SPDX-License-Identifier: MIT */
/* Any bytes: refused with a place, or read, written and read again as the same. */
#include "base/json.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "fuzz json: %s\n", what);
        abort();
    }
}

/* Every item has a place inside the text. */
static void walk(const struct sr_json *doc, const cJSON *item)
{
    for (; item; item = item->next) {
        struct sr_json_where w = sr_json_where_value(doc, item);
        must(w.line > 0 && w.column > 0, "an item without a place");
        must(!item->string || sr_json_where_key(doc, item).line > 0, "a member without a place");
        walk(doc, item->child);
    }
}

/* The first byte chooses the flags. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_error err = { 0 }, err2 = { 0 };
    cleanup_json_doc struct sr_json doc = { 0 }, again = { 0 };
    if (size < 1)
        return 0;
    const char *text = (const char *)data + 1;
    enum sr_json_flags flags = data[0] & 1 ? SR_JSON_COMMENTS : SR_JSON_STRICT;
    if (sr_json_parse("fuzz", text, size - 1, 1 << 16, flags, &doc, &err) < 0) {
        must(strncmp(err.code, "json.", 5) == 0 && strncmp(err.text, "fuzz:", 5) == 0,
             "a refusal without code or place");
        return 0;
    }
    walk(&doc, doc.root);
    cleanup_free char *compact = sr_json_compact(doc.root);
    must(sr_json_parse("again", compact, strlen(compact), 1 << 20, SR_JSON_STRICT, &again, &err2) ==
             0,
         err2.text);
    cleanup_free char *second = sr_json_compact(again.root);
    must(strcmp(compact, second) == 0, "written differently the second time");
    return 0;
}
