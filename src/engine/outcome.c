/* SPDX-License-Identifier: MIT */
/* How a command ended: the spellings, and the end of an outcome. */
#include "sandrun/engine.h"

#include <stdlib.h>

static const char *const end_names[] = {
    [SR_END_EXITED] = "exited",
    [SR_END_SIGNALED] = "signaled",
    [SR_END_NOT_FOUND] = "not_found",
    [SR_END_NOT_EXECUTED] = "not_executed",
    [SR_END_WALL] = "wall",
    [SR_END_IDLE] = "idle",
    [SR_END_OUTPUT] = "output",
    [SR_END_INTERRUPTED] = "interrupted",
};
_Static_assert(sizeof end_names / sizeof *end_names == SR_END_COUNT, "names");

const char *sr_end_name(enum sr_end e)
{
    return end_names[e];
}

static const char *const limit_names[] = {
    [SR_LIMIT_MEMORY] = "memory",
    [SR_LIMIT_DISK] = "disk",
    [SR_LIMIT_FILES] = "files",
    [SR_LIMIT_PIDS] = "pids",
    [SR_LIMIT_OUTPUT] = "output",
    [SR_LIMIT_WALL] = "wall",
    [SR_LIMIT_IDLE] = "idle",
    [SR_LIMIT_FILE_SIZE] = "file_size",
    [SR_LIMIT_OPEN_FILES] = "open_files",
};
_Static_assert(sizeof limit_names / sizeof *limit_names == SR_LIMIT_COUNT, "names");

const char *sr_limit_name(enum sr_limit l)
{
    return limit_names[l];
}

/* The descriptors are those of a run that was set up: 0 is never one of them, so a zeroed outcome closes nothing. */
static void close_fd(int *fd)
{
    if (*fd > 0)
        sr_closep(fd);
    *fd = -1;
}

void sr_outcome_clear(struct sr_outcome *o)
{
    close_fd(&o->lower_fd);
    close_fd(&o->upper_fd);
    close_fd(&o->home_fd);
    close_fd(&o->git_lower_fd);
    close_fd(&o->git_upper_fd);
    free(o->observed);
    sr_manifest_free(o->fresh);
    cJSON_Delete(o->limits);
    *o = SR_OUTCOME;
}
