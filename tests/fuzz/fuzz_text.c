/* SPDX-License-Identifier: MIT */
/* Durations, sizes, numbers, and names made printable: bounded, no control byte left, and what is
 * printed reads back. */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void printable_has_no_controls(const uint8_t *data, size_t size)
{
    struct sr_buf out = SR_BUF(1 << 20);
    sr_text_printable(&out, data, size);
    for (size_t i = 0; i < out.len; i++)
        if ((unsigned char)out.data[i] < 0x20 || out.data[i] == 0x7f)
            abort();
    if (out.len && !sr_text_is_utf8(out.data, out.len))
        abort();
    sr_buf_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char word[64], text[32];
    uint64_t v = 0, back = 0;
    struct sr_error err = { 0 };
    printable_has_no_controls(data, size > 4096 ? 4096 : size);
    size = size < sizeof word - 1 ? size : sizeof word - 1;
    memcpy(word, data, size);
    word[size] = '\0';
    if (sr_text_duration(word, &v, &err) == 0) {
        sr_text_format_duration(v, text);
        if (sr_text_duration(text, &back, &err) < 0)
            abort();
    }
    err = (struct sr_error){ 0 };
    if (sr_text_size(word, &v, &err) == 0) {
        sr_text_format_size(v, text);
        if (sr_text_size(text, &back, &err) < 0)
            abort();
    }
    err = (struct sr_error){ 0 };
    if (sr_text_u64(word, 3, 1000, &v, &err) == 0 && (v < 3 || v > 1000))
        abort();
    return 0;
}
