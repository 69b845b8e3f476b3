/* SPDX-License-Identifier: MIT */
/* From a command's arguments to the request that the resolver takes. */
#ifndef SR_CLI_REQUEST_H
#define SR_CLI_REQUEST_H

#include "cli/options.h"
#include "sandrun/run.h"

/* Owns what the request borrows and argv does not hold. */
struct cli_request {
    struct sr_run_request req;
    struct sr_strv args;
    char *overrides;
    char *policy_file; /* absolute: the record keeps it, and repro may stand elsewhere */
};
#define cleanup_request __attribute__((cleanup(cli_request_clear)))

/* Fills what the command's tables have: --tree, --policy..., the limits, BINDING (positional number
 * `binding`, -1: none). */
void cli_request_from(const struct cli_args *a, int binding, struct cli_request *ret);
void cli_request_clear(struct cli_request *r);

/* {"bindings":{"Test":{"limits":{...}}}} from the limit options; NULL when none was given. Caller
 * frees. */
char *cli_overrides(const struct cli_args *a, const char *binding);

/* State and resolved plan together, for the commands that show or judge a plan. */
struct cli_session {
    struct cli_request request;
    struct sr_state state;
    struct sr_resolved resolved;
    bool has_state, has_resolved;
};
#define cleanup_session __attribute__((cleanup(cli_session_clear)))

SR_CHECK int cli_session_open(const struct cli_args *a, int binding, struct cli_session *ret,
                              struct sr_error *err);
void cli_session_clear(struct cli_session *s);

#endif
