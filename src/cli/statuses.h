/* SPDX-License-Identifier: MIT */
/* What the exit statuses and the reasons mean, in words: one table for verdicts, help, man page and
 * README. */
#ifndef SR_CLI_STATUSES_H
#define SR_CLI_STATUSES_H

struct cli_status_row {
    const char *exit;    /* "0", "120", "128+n"; NULL ends the table */
    const char *status;  /* as sr_status_name spells it */
    const char *decided; /* was anything learned about the code */
    const char *when;
};
extern const struct cli_status_row cli_status_rows[];

/* Matched on whole dotted parts: "limit.wall" first, then "limit". */
struct cli_reason_row {
    const char *reason; /* NULL ends the table */
    const char *text;   /* goes behind "Test errored: " */
    const char *remedy; /* what to do; NULL: the message or the list says it */
};
extern const struct cli_reason_row cli_reason_rows[];

/* Never NULL: a reason without a row gets the last one, which says so. */
const struct cli_reason_row *cli_reason(const char *reason);

#endif
