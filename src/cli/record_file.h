/* SPDX-License-Identifier: MIT */
/* --record FILE: a copy of the record, whole or not at all; never a former run's. */
#ifndef SR_CLI_RECORD_FILE_H
#define SR_CLI_RECORD_FILE_H

#include "base/error.h"
#include "base/json.h"

struct cli_record_file {
    int dir_fd; /* -1: none was asked for */
    const char *path, *name;
};

/* Before anything runs: a mistyped directory must not cost a run. Removes what a former run left
 * there; a file that is no record is refused. path NULL: none. Codes: record.path. */
SR_CHECK int cli_record_file_open(const char *path, struct cli_record_file *ret,
                                  struct sr_error *err);
SR_CHECK int cli_record_file_write(const struct cli_record_file *f, const cJSON *record,
                                   struct sr_error *err);
void cli_record_file_close(struct cli_record_file *f);

#endif
