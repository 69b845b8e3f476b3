/* SPDX-License-Identifier: MIT */
/* The pipeline: policy -> plan -> preflight -> gate -> engine -> change set -> verdict -> record. */
#ifndef SANDRUN_RUN_H
#define SANDRUN_RUN_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/gate.h"
#include "sandrun/plan.h"
#include "sandrun/policy.h"
#include "sandrun/preflight.h"
#include "sandrun/record.h"
#include "sandrun/state.h"
#include "sandrun/verdict.h"

#include <stdbool.h>

struct sr_run_request {
    const char *tree;        /* as given; NULL: the current directory */
    const char *policy_file; /* --policy */
    const char *policy_ref;  /* --policy-ref; NULL: HEAD when staged, else the working tree's file */
    bool staged;
    const char *binding;
    const struct sr_strv *args; /* after --, may be NULL */
    const char *overrides;   /* JSON of the command line's tightenings, or NULL */
    char *const *environ_in;
    int out_fd, err_fd;      /* the command's output; -1: logs only */
};

/* What plan, audit, check, run and repro share: the one resolver. */
struct sr_resolved {
    char *tree; /* real path */
    struct sr_policy_loaded loaded;
    struct sr_plan plan; /* of request.binding; empty when that is NULL (audit) */
};
/* The state for that request: first of all, since what can be cached is looked up there. Codes: plan.tree, state.*. */
SR_CHECK int sr_resolve_state(const struct sr_run_request *req, struct sr_state *ret, struct sr_error *err);
SR_CHECK int sr_resolve(const struct sr_run_request *req, struct sr_state *state, struct sr_resolved *ret, struct sr_error *err);
/* A further binding of the same policy and tree. */
SR_CHECK int sr_resolve_binding(const struct sr_run_request *req, struct sr_state *state, const struct sr_resolved *r, const char *binding,
                                struct sr_plan *ret, struct sr_error *err);
void sr_resolved_clear(struct sr_resolved *r);

/* Probe and gate together, as run does it. mounts: read by the first who asks; one for many plans, and for their runs. */
void sr_resolve_gate(const struct sr_plan *plan, struct sr_mounts *mounts, struct sr_gate *ret);
/* Preflight with interpreters run contained. */
SR_CHECK int sr_resolve_preflight(const struct sr_plan *plan, struct sr_state *state, struct sr_mounts *mounts, struct sr_findings *ret,
                                  struct sr_error *err);

struct sr_run_result {
    struct sr_verdict verdict;
    cJSON *record;       /* whole; NULL when none could be built */
    char id[SR_RUN_ID_MAX];
    char *record_path;   /* where it stands; NULL when it could not be written */
    struct sr_error error; /* set when status is errored 125 or blocked: what to tell the person */
};

/* Never fails to answer: every failure is a verdict. */
void sr_run(const struct sr_run_request *req, struct sr_run_result *ret);
void sr_run_result_clear(struct sr_run_result *r);

#endif
