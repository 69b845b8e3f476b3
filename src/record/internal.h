/* SPDX-License-Identifier: MIT */
/* What the files of record/ share. */
#ifndef SR_RECORD_INTERNAL_H
#define SR_RECORD_INTERNAL_H

#include "base/json.h"
#include "base/sha256.h"

/* The digest of a plan from its canonical view, as sr_plan_seal makes it. */
void sr_record_plan_digest(const cJSON *canonical, char ret[SR_DIGEST_TEXT]);

#endif
