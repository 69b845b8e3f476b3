/* SPDX-License-Identifier: MIT */
/* sandrun version */
#include "cli/commands.h"
#include "cli/print.h"

#include <unistd.h>

int cli_version(const struct cli_args *args)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    (void)args;
    cli_line(&p, CLI_PLAIN, "sandrun %s", SR_VERSION);
    return cli_page_done(&p, 0);
}
