/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file: refused, or described by strings that end and names that exist. */
#include "plan/elf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_info info;
    memset(&info, 0xff, sizeof info);
    if (elf_read_bytes(data, size, &info) < 0)
        return 0;
    if (size < 52 || memcmp(data, "\177ELF", 4) != 0)
        abort();
    if (!memchr(info.interp, '\0', sizeof info.interp) || !elf_machine_name(info.machine) ||
        !elf_libc_name(info.libc))
        abort();
    return 0;
}
