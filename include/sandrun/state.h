/* SPDX-License-Identifier: MIT */
/* The state root: run directories, the write-ahead inventory of live runs, the sweep of what dead ones left. */
#ifndef SANDRUN_STATE_H
#define SANDRUN_STATE_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Layout, all 0700 and owned by the caller (refused otherwise, state.unsafe):
 *     $XDG_STATE_HOME/sandrun (else $HOME/.local/state/sandrun, else the passwd entry's home)
 *         runs/<id>/record.json stdout.log stderr.log
 *         live/<id>     the inventory of a run that has not ended; flock held by its supervisor; first line: format, boot id,
 *                       pid, pid's start time; then one line "kind value" per resource, appended before the resource is
 *                       made, in order
 *         cache/        compiled filters, digests: verified on use, may be deleted at any time
 * A run with nothing left removes its live file. A live file whose lock is free belongs to a dead run: the sweep undoes its
 * lines in reverse, never what is not listed: cgroups (absolute path, last component starting with "sandrun-<id>", on a
 * cgroup filesystem), directories (relative to the state root, one component starting with the id), processes (pid, bound
 * to its start time when noted; only within the same boot).
 * Ids: 20 digits of UTC time (YYYYMMDDhhmmss and microseconds) and 12 hex digits of randomness, sortable by time.
 *
 * The lock and forked children: a flock lives as long as any descriptor of the same open file does, so a forked child that
 * keeps live_fd keeps a dead run "live". Exec closes it (O_CLOEXEC). A child that does not exec (an init, a keeper) must call
 * sr_run_dir_forget first thing, before it does anything long-lived.
 */
enum { SR_RUN_ID_MAX = 40 };

struct sr_state {
    char *root;
    int root_fd, runs_fd, live_fd, cache_fd;
};
#define cleanup_state __attribute__((cleanup(sr_state_close)))

SR_CHECK int sr_state_open(struct sr_state *ret, struct sr_error *err); /* codes: state.unusable state.unsafe state.no_space */
/* The same, unless it would stand in tree (a real path), where nothing is then made: state.in_tree. */
SR_CHECK int sr_state_open_outside(const char *tree, struct sr_state *ret, struct sr_error *err);
void sr_state_close(struct sr_state *s);

enum sr_resource { SR_RESOURCE_CGROUP, SR_RESOURCE_DIRECTORY, SR_RESOURCE_PROCESS, SR_RESOURCE_COUNT };
const char *sr_resource_name(enum sr_resource r);

struct sr_run_dir {
    char id[SR_RUN_ID_MAX];
    int dir_fd;  /* runs/<id> */
    int live_fd; /* locked */
    cJSON *inventory; /* array of {kind, value, state: made|removed|left, why} for the record */
};
SR_CHECK int sr_run_dir_create(struct sr_state *s, struct sr_run_dir *ret, struct sr_error *err);
/* Write-ahead: returns once the line is in the file. Value for SR_RESOURCE_PROCESS: the pid in decimal.
 * Codes: state.invalid (a value that the sweep would refuse to undo), state.no_space, state.unusable. */
SR_CHECK int sr_run_dir_note(struct sr_run_dir *r, enum sr_resource kind, const char *value, struct sr_error *err);
/* After the resource is gone (left: NULL) or could not be removed (left: why). */
void sr_run_dir_gone(struct sr_run_dir *r, enum sr_resource kind, const char *value, const char *left);
/* In a forked child: closes the descriptors, and so lets go of the lock; touches no file. */
void sr_run_dir_forget(struct sr_run_dir *r);
/* Ends the run: the live file goes when nothing is left. Closes, and frees the inventory (build the record before). */
void sr_run_dir_close(struct sr_state *s, struct sr_run_dir *r);
/* Opens an existing run by id or unique prefix. Code: record.missing, record.ambiguous. */
SR_CHECK int sr_run_dir_find(struct sr_state *s, const char *id, int *ret_fd, char ret_id[SR_RUN_ID_MAX], struct sr_error *err);

/* Kills the members of a run's cgroup, removes its children first and then itself, in at most 2 s. ENOENT is success.
 * Codes: state.invalid (not a cgroup), state.left. */
SR_CHECK int sr_cgroup_remove(const char *path, struct sr_error *err);

struct sr_sweep {
    unsigned live;   /* runs whose supervisor is alive: untouched */
    unsigned swept;  /* dead runs cleaned whole */
    unsigned left;   /* dead runs of which something stays, listed */
    cJSON *items;    /* array {run, kind, value, state, why} */
};
SR_CHECK int sr_state_sweep(struct sr_state *s, struct sr_sweep *ret, struct sr_error *err);
void sr_sweep_clear(struct sr_sweep *s);

#endif
