/* SPDX-License-Identifier: MIT */
/* The live file's lines, the JSON of the inventory, and the undoing of one line. */
#ifndef SR_STATE_INVENTORY_H
#define SR_STATE_INVENTORY_H

#include "base/buf.h"
#include "base/error.h"
#include "sandrun/state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SR_BOOT_ID_MAX = 40,
    SR_LIVE_FILE_MAX = 1024 * 1024, /* a run notes some ten lines */
    SR_LIVE_VALUE_MAX = 4096,       /* PATH_MAX */
};

struct sr_live_item {
    enum sr_resource kind;
    char *value;
    uint64_t start; /* processes: start time in clock ticks since boot, 0 when it was gone already */
};

struct sr_live {
    char boot_id[SR_BOOT_ID_MAX];
    pid_t pid;
    uint64_t start;
    struct sr_live_item *v;
    size_t n, cap;
};
#define cleanup_live __attribute__((cleanup(sr_live_clear)))

/* Thirty-two characters of [0-9a-f], the first 20 of them digits. */
bool sr_run_id_valid(const char *id);

/* /proc/PID/stat field 22; 0 when there is no such process. */
uint64_t sr_process_start(pid_t pid);
/* -1 with errno. */
int sr_boot_id(char ret[SR_BOOT_ID_MAX]);

/* The first line; the line of one resource. */
void sr_live_format_head(struct sr_buf *b, const char *boot_id, pid_t pid, uint64_t start);
void sr_live_format_item(struct sr_buf *b, const struct sr_live_item *item);
/* Strict. A last line without its newline is dropped: its write did not complete, so the resource was never made. */
SR_CHECK int sr_live_parse(const char *text, size_t len, struct sr_live *ret, struct sr_error *err);
void sr_live_clear(struct sr_live *l);

/* May the sweep undo this? One rule for noting and undoing, so that nothing is noted that would stay. */
SR_CHECK int sr_live_item_check(const char *id, const struct sr_live_item *item, struct sr_error *err);

/* The inventory array of the record: one item. */
void sr_inventory_add(cJSON *array, const char *run, enum sr_resource kind, const char *value);
/* Sets the state of the last item that matches and is not yet gone; why NULL: removed, else left. */
void sr_inventory_settle(cJSON *array, enum sr_resource kind, const char *value, const char *why);
bool sr_inventory_settled(const cJSON *array);

#endif
