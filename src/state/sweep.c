/* SPDX-License-Identifier: MIT */
/* The sweep: undoes what dead runs left, and nothing else. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandrun/state.h"
#include "state/inventory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Who is dead: the holder of a free lock, and nobody else. The pid in the file does not decide: a state directory may be
 * shared between pid namespaces, where the same number is another process. Two sweeps at once: the one that gets the lock
 * sweeps, the other takes the run for live. A file locked after its supervisor removed it has no name any more
 * (st_nlink 0) and is passed over; the same for one that another sweep finished.
 */

enum { STALE_TEMP_S = 60 }; /* a live file has its temporary name for microseconds */

struct sweep {
    struct sr_state *state;
    struct sr_sweep *ret;
};

/* Read when it is needed: most sweeps find nothing dead. */
static int same_boot(const struct sr_live *live, bool *ret, struct sr_error *err)
{
    char now[SR_BOOT_ID_MAX];
    if (sr_boot_id(now) < 0)
        return sr_error_sys(err, "state.left", "reading the kernel's boot id");
    *ret = strcmp(now, live->boot_id) == 0;
    return 0;
}

/* The process is held by a pidfd before its start time is read, so the signal cannot meet a successor of the same pid. */
static int undo_process(const struct sr_live *live, const struct sr_live_item *item, struct sr_error *err)
{
    uint64_t pid = 0;
    bool same = false;
    if (item->start == 0)
        return 0;
    if (same_boot(live, &same, err) < 0 || sr_text_u64(item->value, 2, INT32_MAX, &pid, err) < 0)
        return -1;
    if (!same)
        return 0;
    cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (pidfd < 0)
        return errno == ESRCH ? 0 : sr_error_sys(err, "state.left", "opening the process %s", item->value);
    if (sr_process_start((pid_t)pid) != item->start)
        return 0;
    if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
        return sr_error_sys(err, "state.left", "killing the process %s", item->value);
    return 0;
}

static int undo(struct sweep *w, const char *id, const struct sr_live *live, const struct sr_live_item *item,
                struct sr_error *err)
{
    if (sr_live_item_check(id, item, err) < 0)
        return -1;
    switch (item->kind) {
    case SR_RESOURCE_CGROUP:
        return sr_cgroup_remove(item->value, err);
    case SR_RESOURCE_DIRECTORY:
        return sr_remove_at(w->state->root_fd, item->value, err);
    case SR_RESOURCE_PROCESS:
        return undo_process(live, item, err);
    case SR_RESOURCE_COUNT:
        break;
    }
    return sr_error_set(err, "state.invalid", "undoing a resource of no known kind");
}

/* Whether everything of this run is gone now. */
static bool undo_all(struct sweep *w, const char *id, const struct sr_live *live)
{
    bool whole = true;
    for (size_t i = live->n; i-- > 0;) {
        const struct sr_live_item *item = &live->v[i];
        struct sr_error why = { 0 };
        sr_inventory_add(w->ret->items, id, item->kind, item->value);
        bool gone = undo(w, id, live, item, &why) == 0;
        sr_inventory_settle(w->ret->items, item->kind, item->value, gone ? NULL : why.text);
        whole = whole && gone;
    }
    return whole;
}

/* A live file that cannot be read names nothing that could be undone: it stays and is listed. */
static void list_unreadable(struct sweep *w, const char *id, const char *why)
{
    cJSON *item = sr_json_object();
    sr_json_add_string(item, "run", id);
    sr_json_add_string(item, "kind", "live");
    sr_json_add_string(item, "value", id);
    sr_json_add_string(item, "state", "left");
    sr_json_add_string(item, "why", why);
    sr_json_append(w->ret->items, item);
    w->ret->left++;
}

static void sweep_dead(struct sweep *w, const char *id, int fd)
{
    cleanup_buf struct sr_buf text = SR_BUF(SR_LIVE_FILE_MAX);
    cleanup_live struct sr_live live = { 0 };
    struct sr_error why = { 0 };
    if (sr_file_read_fd(fd, id, SR_LIVE_FILE_MAX, &text, &why) < 0 ||
        sr_live_parse(text.data ? text.data : "", text.len, &live, &why) < 0) {
        list_unreadable(w, id, why.text);
        return;
    }
    if (!undo_all(w, id, &live)) {
        w->ret->left++;
        return;
    }
    unlinkat(w->state->live_fd, id, 0);
    /* A run that died before it wrote anything leaves an empty directory; one with logs keeps them. */
    unlinkat(w->state->runs_fd, id, AT_REMOVEDIR);
    w->ret->swept++;
}

static void sweep_run(struct sweep *w, const char *id)
{
    /* O_NONBLOCK: nobody but the caller can put a FIFO here, but it must not hang us either. */
    cleanup_fd int fd = openat(w->state->live_fd, id, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0) {
        if (errno != ENOENT)
            list_unreadable(w, id, strerror(errno));
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            w->ret->live++;
        else
            list_unreadable(w, id, strerror(errno));
        return;
    }
    if (fstat(fd, &st) < 0 || st.st_nlink == 0)
        return;
    sweep_dead(w, id, fd);
}

/* ".new.<id>.<pid>" into its parts. */
static bool temp_name(const char *name, char id[SR_RUN_ID_MAX], pid_t *ret_pid)
{
    static const char prefix[] = ".new.";
    uint64_t pid;
    struct sr_error bad = { 0 };
    const char *from = name + strlen(prefix), *dot = sr_text_starts(name, prefix) ? strchr(from, '.') : NULL;
    if (!dot || dot - from >= SR_RUN_ID_MAX || sr_text_u64(dot + 1, 1, INT32_MAX, &pid, &bad) < 0)
        return false;
    memcpy(id, from, (size_t)(dot - from));
    id[dot - from] = '\0';
    *ret_pid = (pid_t)pid;
    return sr_run_id_valid(id);
}

/*
 * What a supervisor left that died between making its live file and naming it: it names no resource yet. The process is asked
 * for; where its number went to another meanwhile, age decides.
 */
static void sweep_temp(struct sweep *w, const char *name)
{
    struct stat st;
    char id[SR_RUN_ID_MAX];
    pid_t pid;
    if (!temp_name(name, id, &pid) || fstatat(w->state->live_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    bool gone = kill(pid, 0) < 0 && errno == ESRCH;
    if (!gone && time(NULL) - st.st_mtime <= STALE_TEMP_S)
        return;
    unlinkat(w->state->live_fd, name, 0);
    unlinkat(w->state->runs_fd, id, AT_REMOVEDIR);
}

int sr_state_sweep(struct sr_state *s, struct sr_sweep *ret, struct sr_error *err)
{
    struct sr_sweep result = { .items = sr_json_array() };
    struct sweep w = { .state = s, .ret = &result };
    int fd = openat(s->live_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        sr_error_sys(err, "state.unusable", "listing the live runs of %s", s->root);
        sr_closep(&fd);
        sr_sweep_clear(&result);
        return -1;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (sr_run_id_valid(e->d_name))
            sweep_run(&w, e->d_name);
        else
            sweep_temp(&w, e->d_name);
    }
    *ret = result;
    return 0;
}

void sr_sweep_clear(struct sr_sweep *s)
{
    cJSON_Delete(s->items);
    *s = (struct sr_sweep){ 0 };
}
