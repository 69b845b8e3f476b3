/* SPDX-License-Identifier: MIT */
/* What this host can do: each primitive of the containment sequence performed, one by one. */
#ifndef SANDRUN_DOCTOR_H
#define SANDRUN_DOCTOR_H

#include "sandrun/state.h"

enum sr_probe_answer {
    SR_PROBE_WORKS,
    SR_PROBE_WEAKER,     /* it works, but holds less than the best form: the text says what */
    SR_PROBE_MISSING,    /* performed, and refused by the kernel or the host */
    SR_PROBE_UNREADABLE, /* could not be performed or read: says nothing about the primitive */
    SR_PROBE_ANSWER_COUNT
};
const char *sr_probe_answer_name(enum sr_probe_answer a);

struct sr_probe_result {
    const char *primitive; /* "user_namespace", "proc_mount", ... the name used in engine.unavailable.<primitive> */
    const char *title;
    enum sr_probe_answer answer;
    bool required;         /* a contained run is refused without it */
    char text[512];        /* what was done and seen */
    char remedy[512];      /* the one thing to do on this host; "" when it works */
};

struct sr_doctor {
    struct sr_probe_result *v;
    size_t n;
    bool contained; /* a whole contained run of /bin/true-like probe succeeded, all controls held */
};

SR_CHECK int sr_doctor_run(struct sr_state *state, struct sr_doctor *ret, struct sr_error *err);
void sr_doctor_clear(struct sr_doctor *d);

#endif
