/* SPDX-License-Identifier: MIT */
/* Any bytes as JSON: refused or whole, and what was printed parses again to the same text. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_json doc = { 0 }, again = { 0 };
    struct sr_error err = { 0 };
    if (size == 0 || sr_json_parse("fuzz", (const char *)data + 1, size - 1, 1 << 20,
                                   data[0] & 1 ? SR_JSON_COMMENTS : SR_JSON_STRICT, &doc, &err) < 0)
        return 0;
    char *text = cJSON_PrintUnformatted(doc.root);
    if (text) {
        struct sr_error second = { 0 };
        if (sr_json_parse("again", text, strlen(text), 8 << 20, SR_JSON_STRICT, &again, &second) <
            0)
            abort();
        char *twice = cJSON_PrintUnformatted(again.root);
        if (!twice || strcmp(text, twice) != 0)
            abort();
        free(twice);
    }
    free(text);
    sr_json_clear(&doc);
    sr_json_clear(&again);
    return 0;
}
