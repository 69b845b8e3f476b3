/* SPDX-License-Identifier: MIT */
/* Preflight: can the environments in the tree work in the plan's root filesystem? Looked at before any command runs. */
#ifndef SANDRUN_PREFLIGHT_H
#define SANDRUN_PREFLIGHT_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/plan.h"

/*
 * Codes: env.mismatch.interpreter_missing (a link of the chain does not exist inside), env.mismatch.interpreter_minor,
 * env.mismatch.interpreter_patch (pyvenv.cfg names another patch version than the interpreter has), env.mismatch.shebang
 * (a console script's first line leads nowhere inside), env.mismatch.moved (scripts name another path than the venv has),
 * env.mismatch.incomplete (bin or lib without pyvenv.cfg; an environment that is a link to what is not inside),
 * env.mismatch.arch, env.mismatch.libc, env.mismatch.git_alternates (the repository borrows objects from what is not inside).
 */
struct sr_finding {
    const char *code;
    char *path;     /* relative to the tree: ".venv/bin/python" */
    char *expected; /* one side: "3.11.16 (pyvenv.cfg)" */
    char *found;    /* other side: "3.11.2 (/usr/bin/python3.11)" */
    char *text;     /* the sentence */
    char *remedy;   /* what to do here */
};

struct sr_findings {
    struct sr_finding *v;
    size_t n;
};

/* Answers "which version is this interpreter": run contained by the caller (run.c) because executing is the only judge;
 * version gets "3.11.2"; -1 when it cannot be run inside. NULL: versions are not compared. */
typedef int sr_interpreter_version(void *ctx, const char *path_inside, char version[32]);

SR_CHECK int sr_preflight(const struct sr_plan *plan, sr_interpreter_version *version, void *ctx, struct sr_findings *ret,
                          struct sr_error *err);
void sr_findings_clear(struct sr_findings *f);
cJSON *sr_findings_json(const struct sr_findings *f);

#endif
