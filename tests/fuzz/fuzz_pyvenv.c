/* SPDX-License-Identifier: MIT */
/* Any bytes as pyvenv.cfg: read without harm, and the numbers are those of the version that was
 * kept. */
#include "plan/pyvenv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pyvenv c;
    pyvenv_parse((const char *)data, size, &c);
    if (c.number.n > 3 || (!c.version && c.number.n))
        abort();
    if (c.version) {
        struct py_version again = py_version_parse(c.version);
        if (again.n != c.number.n || memcmp(again.v, c.number.v, sizeof again.v) != 0)
            abort();
    }
    if ((c.home && strlen(c.home) > size) || (c.version && strlen(c.version) > size))
        abort();
    pyvenv_clear(&c);
    return 0;
}
