/* SPDX-License-Identifier: MIT */
/* Records, found and looked into. */
#include "cli/record_view.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandrun/record.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_path(const char *record)
{
    struct stat st;
    return strchr(record, '/') || fstatat(AT_FDCWD, record, &st, 0) == 0;
}

/* A record's copy may stand behind a link of the person's own; only its bytes are believed, so
 * following is harmless. */
static int path_read(const char *path, struct sr_buf *text, struct sr_error *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct sr_error inner = { 0 };
    if (fd < 0)
        return sr_error_sys(err, "record.unreadable", "reading the record %s", path);
    if (sr_file_read_fd(fd, path, SR_RECORD_MAX, text, &inner) < 0)
        return sr_error_set(err, "record.unreadable", "reading a record: %s", inner.text);
    return 0;
}

static int run_read(const char *id, struct sr_buf *text, struct sr_error *err)
{
    cleanup_state struct sr_state state = {
        .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1
    };
    cleanup_fd int dir = -1;
    char whole[SR_RUN_ID_MAX];
    struct sr_error inner = { 0 };
    if (sr_state_open(&state, err) < 0 || sr_run_dir_find(&state, id, &dir, whole, err) < 0)
        return -1;
    if (sr_file_read_at(dir, "record.json", SR_RECORD_MAX, text, &inner) < 0)
        return sr_error_set(err, "record.unreadable", "reading the record of run %s: %s", whole,
                            inner.text);
    return 0;
}

int cli_record_load(const char *record, struct sr_json *ret, struct sr_error *err)
{
    cleanup_buf struct sr_buf text = SR_BUF(SR_RECORD_MAX);
    if ((is_path(record) ? path_read : run_read)(record, &text, err) < 0)
        return -1;
    return sr_record_parse(record, text.data ? text.data : "", text.len, ret, err);
}

const cJSON *cli_at(const cJSON *item, const char *path)
{
    while (item && *path) {
        size_t len = strcspn(path, ".");
        cleanup_free char *key = sr_strndup(path, len);
        item = sr_json_get(item, key);
        path += len + (path[len] == '.');
    }
    return item;
}

const char *cli_string_at(const cJSON *item, const char *path)
{
    const cJSON *found = cli_at(item, path);
    return cJSON_IsString(found) ? found->valuestring : NULL;
}

char *cli_path_at(const cJSON *item, const char *path)
{
    return sr_json_path(cli_string_at(item, path));
}

uint64_t cli_u64_at(const cJSON *item, const char *path)
{
    const cJSON *found = cli_at(item, path);
    struct sr_error ignored = { 0 };
    uint64_t v = 0;
    if (cJSON_IsString(found))
        return sr_text_u64(found->valuestring, 0, UINT64_MAX, &v, &ignored) < 0 ? 0 : v;
    if (!cJSON_IsNumber(found) ||
        !(found->valuedouble >= 0 && found->valuedouble <= 9007199254740991.0))
        return 0;
    return (uint64_t)found->valuedouble;
}

bool cli_bool_at(const cJSON *item, const char *path)
{
    return cJSON_IsTrue(cli_at(item, path));
}

bool cli_in_home(const cJSON *item)
{
    const char *where = cli_string_at(item, "where");
    return where && strcmp(where, "home") == 0;
}
