/* SPDX-License-Identifier: MIT */
/* Any bytes as a record: refused with a code, or good enough to be compared with itself without a
 * difference. */
#include "sandrun/record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    struct sr_strv lines = { 0 };
    if (sr_record_parse("fuzz", (const char *)data, size, &doc, &err) < 0) {
        if (!sr_error_is_set(&err))
            abort();
        return 0;
    }
    if (sr_record_compare(doc.root, doc.root, &lines, &err) == 0 && lines.n != 0)
        abort();
    sr_strv_clear(&lines);
    sr_json_clear(&doc);
    return 0;
}
