/* SPDX-License-Identifier: MIT */
/* The live file's lines and the JSON of the inventory. */
#include "state/inventory.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const resource_names[] = { "cgroup", "directory", "process" };
_Static_assert(sizeof resource_names / sizeof *resource_names == SR_RESOURCE_COUNT, "names");

#define LIVE_FORMAT "sandrun-live/1"

const char *sr_resource_name(enum sr_resource r)
{
    return resource_names[r];
}

bool sr_run_id_valid(const char *id)
{
    return strlen(id) == 32 && strspn(id, "0123456789") >= 20 && strspn(id, "0123456789abcdef") == 32;
}

/* A small file of /proc in one read; -1 with errno. */
static ssize_t read_small(const char *path, char *out, size_t size)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, out, size - 1);
    if (n >= 0)
        out[n] = '\0';
    return n;
}

uint64_t sr_process_start(pid_t pid)
{
    char path[40], stat[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_small(path, stat, sizeof stat) <= 0)
        return 0;
    /* The second field is the command in parentheses and may hold blanks and parentheses: count from the last one. */
    const char *p = strrchr(stat, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (!p)
        return 0;
    char number[24];
    size_t len = strspn(p + 1, "0123456789");
    snprintf(number, sizeof number, "%.*s", (int)len, p + 1);
    uint64_t start = 0;
    struct sr_error ignored = { 0 };
    return sr_text_u64(number, 0, UINT64_MAX, &start, &ignored) < 0 ? 0 : start;
}

int sr_boot_id(char ret[SR_BOOT_ID_MAX])
{
    if (read_small("/proc/sys/kernel/random/boot_id", ret, SR_BOOT_ID_MAX) < 0)
        return -1;
    ret[strcspn(ret, "\n")] = '\0';
    if (ret[0] && strspn(ret, "0123456789abcdef-") == strlen(ret))
        return 0;
    errno = EINVAL;
    return -1;
}

void sr_live_format_head(struct sr_buf *b, const char *boot_id, pid_t pid, uint64_t start)
{
    sr_buf_printf(b, LIVE_FORMAT " %s %d %" PRIu64 "\n", boot_id, (int)pid, start);
}

void sr_live_format_item(struct sr_buf *b, const struct sr_live_item *item)
{
    sr_buf_printf(b, "%s %s", sr_resource_name(item->kind), item->value);
    if (item->kind == SR_RESOURCE_PROCESS)
        sr_buf_printf(b, " %" PRIu64, item->start);
    sr_buf_putc(b, '\n');
}

static int bad_line(unsigned line, struct sr_error *err)
{
    return sr_error_set(err, "state.invalid", "reading a live file: line %u is not in the format " LIVE_FORMAT, line);
}

/* Splits at the blanks, in place; the number of words, at most max. */
static size_t split(char *s, char **words, size_t max)
{
    size_t n = 0;
    char *save = NULL;
    for (char *w = strtok_r(s, " ", &save); w && n < max; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    return n;
}

static int parse_head(char *line, struct sr_live *l, struct sr_error *err)
{
    char *w[5];
    uint64_t pid = 0;
    struct sr_error why = { 0 };
    if (split(line, w, 5) != 4 || strcmp(w[0], LIVE_FORMAT) != 0 || strlen(w[1]) >= SR_BOOT_ID_MAX ||
        sr_text_u64(w[2], 1, INT32_MAX, &pid, &why) < 0 || sr_text_u64(w[3], 0, UINT64_MAX, &l->start, &why) < 0)
        return bad_line(1, err);
    snprintf(l->boot_id, sizeof l->boot_id, "%s", w[1]);
    l->pid = (pid_t)pid;
    return 0;
}

/* "<pid> <start>" -> value and start. */
static bool parse_process(char *value, struct sr_live_item *item)
{
    char *blank = strchr(value, ' ');
    struct sr_error why = { 0 };
    if (!blank)
        return false;
    *blank = '\0';
    return sr_text_u64(blank + 1, 0, UINT64_MAX, &item->start, &why) == 0;
}

static int parse_item(char *line, unsigned number, struct sr_live *l, struct sr_error *err)
{
    char *value = strchr(line, ' ');
    if (!value || !value[1])
        return bad_line(number, err);
    *value++ = '\0';
    struct sr_live_item item = { .kind = SR_RESOURCE_COUNT };
    for (int k = 0; k < SR_RESOURCE_COUNT; k++)
        if (strcmp(line, resource_names[k]) == 0)
            item.kind = (enum sr_resource)k;
    if (item.kind == SR_RESOURCE_COUNT || (item.kind == SR_RESOURCE_PROCESS && !parse_process(value, &item)))
        return bad_line(number, err);
    item.value = sr_strdup(value);
    SR_GROW(l->v, l->n, l->cap);
    l->v[l->n++] = item;
    return 0;
}

int sr_live_parse(const char *text, size_t len, struct sr_live *ret, struct sr_error *err)
{
    cleanup_live struct sr_live l = { 0 };
    if (memchr(text, '\0', len))
        return bad_line(1, err);
    cleanup_free char *copy = sr_strndup(text, len);
    unsigned number = 0;
    for (char *line = copy, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        number++;
        if ((number == 1 ? parse_head(line, &l, err) : parse_item(line, number, &l, err)) < 0)
            return -1;
    }
    if (number == 0)
        return bad_line(1, err);
    *ret = l;
    l = (struct sr_live){ 0 };
    return 0;
}

void sr_live_clear(struct sr_live *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].value);
    free(l->v);
    *l = (struct sr_live){ 0 };
}

static bool check_cgroup(const char *id, const char *value)
{
    cleanup_free char *clean = sr_path_clean(value);
    cleanup_free char *prefix = sr_asprintf("/sandrun-%s", id);
    const char *last = strrchr(value, '/');
    return value[0] == '/' && clean && strcmp(clean, value) == 0 && sr_text_starts(last, prefix);
}

static bool check_directory(const char *id, const char *value)
{
    cleanup_free char *clean = sr_path_clean(value);
    if (value[0] == '/' || !clean || strcmp(clean, value) != 0)
        return false;
    for (const char *part = value; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (sr_text_starts(part, id))
            return true;
    return false;
}

static bool check_process(const char *id, const char *value)
{
    (void)id;
    uint64_t pid;
    struct sr_error why = { 0 };
    return sr_text_u64(value, 2, INT32_MAX, &pid, &why) == 0;
}

static const struct {
    bool (*ok)(const char *id, const char *value);
    const char *rule;
} checks[] = {
    [SR_RESOURCE_CGROUP] = { check_cgroup, "an absolute path whose last component starts with sandrun-<run id>" },
    [SR_RESOURCE_DIRECTORY] = { check_directory, "a path relative to the state root with a component that starts "
                                                 "with the run's id" },
    [SR_RESOURCE_PROCESS] = { check_process, "a process number above 1" },
};

int sr_live_item_check(const char *id, const struct sr_live_item *item, struct sr_error *err)
{
    if (item->value[0] && strlen(item->value) < SR_LIVE_VALUE_MAX && !strchr(item->value, '\n') &&
        checks[item->kind].ok(id, item->value))
        return 0;
    return sr_error_set(err, "state.invalid", "the %s \"%s\" of run %s cannot be in an inventory: it must be %s",
                        sr_resource_name(item->kind), item->value, id, checks[item->kind].rule);
}

void sr_inventory_add(cJSON *array, const char *run, enum sr_resource kind, const char *value)
{
    cJSON *item = sr_json_object();
    if (run)
        sr_json_add_string(item, "run", run);
    sr_json_add_string(item, "kind", sr_resource_name(kind));
    sr_json_add_string(item, "value", value);
    sr_json_add_string(item, "state", "made");
    sr_json_add_string(item, "why", NULL);
    sr_json_append(array, item);
}

static void replace_string(cJSON *object, const char *key, const char *value)
{
    cJSON_ReplaceItemInObjectCaseSensitive(object, key, value ? cJSON_CreateString(value) : cJSON_CreateNull());
}

void sr_inventory_settle(cJSON *array, enum sr_resource kind, const char *value, const char *why)
{
    /* The writer of JSON spells names that are not UTF-8 its own way: compare with what it made of this one. */
    cJSON *spelled = sr_json_object();
    sr_json_add_string(spelled, "value", value);
    cJSON *found = NULL, *item;
    cJSON_ArrayForEach(item, array)
        if (strcmp(sr_json_string(item, "kind"), sr_resource_name(kind)) == 0 &&
            strcmp(sr_json_string(item, "value"), sr_json_string(spelled, "value")) == 0 &&
            strcmp(sr_json_string(item, "state"), "removed") != 0)
            found = item;
    cJSON_Delete(spelled);
    if (!found)
        return;
    cleanup_buf struct sr_buf b = SR_BUF(SR_ERROR_TEXT_MAX * 4);
    if (why)
        sr_text_printable(&b, why, strlen(why));
    replace_string(found, "state", why ? "left" : "removed");
    replace_string(found, "why", why ? (b.data ? b.data : "") : NULL);
}

bool sr_inventory_settled(const cJSON *array)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
        if (strcmp(sr_json_string(item, "state"), "removed") != 0)
            return false;
    return true;
}
