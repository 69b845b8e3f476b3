/* SPDX-License-Identifier: MIT */
/* Records as the commands read them: found by path or id, and looked into by dotted names. */
#ifndef SR_CLI_RECORD_VIEW_H
#define SR_CLI_RECORD_VIEW_H

#include "base/error.h"
#include "base/json.h"
#include "sandrun/state.h"

/* RECORD is a path when it has a slash or names a file here, else a run id or the start of one.
 * Checked by sr_record_parse. */
SR_CHECK int cli_record_load(const char *record, struct sr_json *ret, struct sr_error *err);

/* "changes.repairs": NULL when any part is missing. */
const cJSON *cli_at(const cJSON *item, const char *path);
const char *cli_string_at(const cJSON *item, const char *path); /* NULL unless a string */
char *cli_path_at(const cJSON *item, const char *path); /* the bytes of one; caller frees */
uint64_t cli_u64_at(const cJSON *item,
                    const char *path); /* 0 unless a number; digits in a string count */
bool cli_bool_at(const cJSON *item, const char *path);
/* Of a change or a repair: is its path one of the private HOME. */
bool cli_in_home(const cJSON *item);

#endif
