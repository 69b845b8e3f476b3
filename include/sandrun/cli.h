/* SPDX-License-Identifier: MIT */
/* The command line: the only layer that prints or picks an exit status. */
#ifndef SANDRUN_CLI_H
#define SANDRUN_CLI_H

/* argv as main has it. Returns the exit status. */
int sr_cli_main(int argc, char *const *argv);

/* For a program that was given more privilege than its caller has: says so, returns the exit
 * status. */
int sr_cli_refuse_setuid(void);

#endif
