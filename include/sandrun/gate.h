/* SPDX-License-Identifier: MIT */
/* The one place that decides whether a plan is contained, and the only maker of the ticket an engine accepts. */
#ifndef SANDRUN_GATE_H
#define SANDRUN_GATE_H

#include "base/error.h"
#include "sandrun/plan.h"

/*
 * Each failed condition is one refusal. Codes, stable:
 *   binding.uncontained            the policy says so (uncontained: reason)
 *   rootfs.unpinned                neither rootfs nor uncontained, or a host pin that is not filled in
 *   rootfs.pin_mismatch            the host is not the one that was pinned
 *   rootfs.pin_unverified          the pin could not be computed here
 *   binding.uncontained.writes     tree.writes direct
 *   binding.uncontained.mount      a mount that is not read-only
 *   binding.uncontained.network    network other than none
 *   binding.uncontained.seccomp    (staged) an opt-out group
 *   binding.uncontained.secret     (staged) env.pass_secret
 *   binding.uncontained.limit      a limit is absent
 *   binding.no_command             the binding names no command
 *   policy.untrusted               (staged) the policy was read neither from a commit nor from a file outside the tree
 *   engine.unavailable             the engine cannot do it here; text names the primitive
 *   rootfs.image_unsupported       no engine here runs images
 */
struct sr_refusal {
    const char *code;
    char *text; /* a sentence */
    char *line; /* the line to write or the command to run */
};

struct sr_ticket; /* opaque: an engine's run() takes it and checks it against the plan's digest */

enum sr_decision {
    SR_CONTAINED,   /* ticket made, refusals empty */
    SR_UNCONTAINED, /* uncontained: reason, not staged: may run as a plain host process, no ticket */
    SR_OPTED_OUT,   /* named opt-outs with reasons, not staged: ticket made, refusals list what is open; `audit` is red */
    SR_REFUSED,
};

struct sr_gate {
    enum sr_decision decision;
    struct sr_refusal *refusals;
    size_t n_refusals;
    struct sr_ticket *ticket;
};

/* engine_missing: what the engine's probe found lacking (its error's code/text/hint), or NULL. */
void sr_gate_decide(const struct sr_plan *plan, const struct sr_error *engine_missing, struct sr_gate *ret);
void sr_gate_clear(struct sr_gate *g);
/* True when the ticket was made for exactly this plan. */
bool sr_ticket_valid(const struct sr_ticket *t, const struct sr_plan *plan);

#endif
