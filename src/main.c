/* SPDX-License-Identifier: MIT */
/* sandrun: argv to the command table, its answer to the exit status. */
#include "sandrun/cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* A caller that closed 0, 1 or 2 would have the next file opened become them: the record would be
 * written into by an error message. */
static void standard_streams_open(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
            abort();
}

int main(int argc, char **argv)
{
    standard_streams_open();
    /* Set-user-id or with file capabilities: the caller's environment, files and tree would steer a
     * power that the caller does not have. Nothing here needs it. */
    return getauxval(AT_SECURE) ? sr_cli_refuse_setuid() : sr_cli_main(argc, argv);
}
