/* SPDX-License-Identifier: MIT */
/* sandrun schema: the field table as JSON Schema. */
#include "cli/commands.h"
#include "cli/print.h"
#include "sandrun/policy.h"

#include <unistd.h>

int cli_schema(const struct cli_args *args)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    cleanup_free char *schema = sr_policy_schema();
    (void)args;
    cli_own(&p, schema);
    return cli_page_done(&p, 0);
}
