/* SPDX-License-Identifier: MIT */
/* sandrun clean: the sweep of dead runs, and the removal of old records. */
#include "base/fs.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/record_view.h"
#include "sandrun/state.h"
#include "sandrun/verdict.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct clean {
    struct sr_state state;
    struct sr_sweep sweep;
    uint64_t older_ns; /* 0: records stay */
    unsigned removed, failed;
};

static bool run_live(const struct clean *c, const char *id)
{
    /* Anything but "not there" counts as live: a run that cannot be judged is not removed. */
    return faccessat(c->state.live_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static bool run_old(const struct clean *c, const char *id)
{
    struct stat st;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0 ||
        fstatat(c->state.runs_fd, id, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return st.st_mtime < now.tv_sec &&
           (uint64_t)(now.tv_sec - st.st_mtime) >= c->older_ns / 1000000000;
}

/* The names are read whole before anything goes: removing while reading may skip entries. */
static int runs_list(const struct clean *c, struct sr_strv *ret, struct sr_error *err)
{
    int fd = openat(c->state.runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    if (!dir) {
        sr_error_sys(err, "state.unusable", "reading the runs below %s", c->state.root);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while ((e = readdir(dir)) != NULL)
        if (e->d_name[0] != '.')
            sr_strv_add(ret, e->d_name);
    return 0;
}

static int records_remove(struct clean *c, struct sr_error *err)
{
    cleanup_strv struct sr_strv runs = { 0 };
    if (c->older_ns == 0)
        return 0;
    if (runs_list(c, &runs, err) < 0)
        return -1;
    for (size_t i = 0; i < runs.n; i++) {
        struct sr_error one = { 0 };
        if (run_live(c, runs.v[i]) || !run_old(c, runs.v[i]))
            continue;
        if (sr_remove_at(c->state.runs_fd, runs.v[i], &one) == 0) {
            c->removed++;
            continue;
        }
        c->failed++;
        (void)cli_error(&one);
    }
    return 0;
}

static void sweep_lines(struct cli_page *p, const struct sr_sweep *s)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, s->items)
    {
        const char *run = cli_string_at(item, "run"), *kind = cli_string_at(item, "kind");
        const char *value = cli_string_at(item, "value"), *state = cli_string_at(item, "state");
        const char *why = cli_string_at(item, "why");
        bool left = state && strcmp(state, "left") == 0;
        cli_line(p, left ? CLI_BAD : CLI_PLAIN, "  %s %s %s (run %s)%s%s", state ? state : "?",
                 kind ? kind : "?", value ? value : "?", run ? run : "?", why ? ": " : "",
                 why ? why : "");
    }
}

static int clean_print(const struct clean *c, int status)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    cli_line(&p, CLI_PLAIN, "%u live, %u dead and cleaned, %u dead with something left",
             c->sweep.live, c->sweep.swept, c->sweep.left);
    sweep_lines(&p, &c->sweep);
    if (c->older_ns)
        cli_line(&p, CLI_PLAIN, "%u records removed", c->removed);
    return cli_page_done(&p, status);
}

static int clean_json(const struct clean *c, int status)
{
    cleanup_json cJSON *out = sr_json_object();
    sr_json_add_u64(out, "live", c->sweep.live);
    sr_json_add_u64(out, "swept", c->sweep.swept);
    sr_json_add_u64(out, "left", c->sweep.left);
    sr_json_add(out, "items",
                c->sweep.items ? cJSON_Duplicate(c->sweep.items, 1) : sr_json_array());
    sr_json_add_u64(out, "records_removed", c->removed);
    sr_json_add_u64(out, "records_left", c->failed);
    return cli_json(out, status);
}

int cli_clean(const struct cli_args *args)
{
    struct clean c = { .state = { .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1 } };
    struct sr_error err = { 0 };
    const char *older = cli_arg(args, "older-than");
    int status;
    if ((older && sr_text_duration(older, &c.older_ns, &err) < 0) ||
        sr_state_open(&c.state, &err) < 0 || sr_state_sweep(&c.state, &c.sweep, &err) < 0 ||
        records_remove(&c, &err) < 0) {
        status = cli_failed(args, &err);
    } else {
        status = c.sweep.left || c.failed ? SR_EXIT_SANDBOX : 0;
        status = cli_flag(args, "json") ? clean_json(&c, status) : clean_print(&c, status);
    }
    sr_sweep_clear(&c.sweep);
    sr_state_close(&c.state);
    return status;
}
