/* SPDX-License-Identifier: MIT */
/* The directory and the write-ahead inventory of one run. */
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandrun/state.h"
#include "state/inventory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/*
 * Durability. The live file is written and not fsynced: what it guards against is the death of the supervisor, and the
 * page cache survives that. After a loss of power or a panic the cgroups and processes it names are gone with the kernel
 * that held them. Only a directory outlives the boot, so only the note of a directory is forced to the disk (with the
 * name of the live file); no usual run makes one. An fsync for every run would cost more than everything else a run does.
 *
 * The lock is a flock: it belongs to the open file, so it goes with the supervisor's last descriptor, whatever kills it.
 * A POSIX lock (F_SETLK) would not pass to forked children, but any close of the same file anywhere in the supervisor,
 * its own sweep included, would drop it silently. An OFD lock behaves as flock does here and can be taken away by nothing
 * less; flock says what is meant (the whole file) and shows in /proc/locks with the pid that took it.
 */

static int fail(struct sr_error *err, const char *what, const char *id)
{
    bool full = errno == ENOSPC || errno == EDQUOT;
    sr_error_sys(err, full ? "state.no_space" : "state.unusable", "%s %s", what, id);
    return full ? sr_error_hint(err, "free some space in the state directory, or run `sandrun clean`") : -1;
}

/* UTC as YYYYMMDDhhmmss. Not gmtime: it reads /etc/localtime first, more system calls than all else that a run directory
 * takes. The calendar is counted from a March 1st, so that a leap day is the last of its year. */
static void format_utc(time_t now, char out[15])
{
    uint64_t days = (uint64_t)now / 86400 + 719468, rest = (uint64_t)now % 86400; /* since 0000-03-01 */
    uint64_t era = days / 146097, doe = days % 146097;                            /* 400 years, day of them */
    uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    uint64_t month = mp < 10 ? mp + 3 : mp - 9, year = era * 400 + yoe + (month <= 2);
    snprintf(out, 15, "%04u%02u%02u%02u%02u%02u", (unsigned)(year % 10000), (unsigned)(month % 100),
             (unsigned)((doy - (153 * mp + 2) / 5 + 1) % 100), (unsigned)(rest / 3600 % 100), (unsigned)(rest / 60 % 60),
             (unsigned)(rest % 60));
}

static int make_id(char id[SR_RUN_ID_MAX], struct sr_error *err)
{
    unsigned char r[6];
    char utc[15];
    struct timespec now;
    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
        return fail(err, "asking the kernel for randomness for", "a run id");
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec < 0)
        return sr_error_set(err, "state.unusable", "making a run id: the clock is set before 1970");
    format_utc(now.tv_sec, utc);
    snprintf(id, SR_RUN_ID_MAX, "%s%06u%02x%02x%02x%02x%02x%02x", utc, (unsigned)(now.tv_nsec / 1000), r[0], r[1], r[2], r[3],
             r[4], r[5]);
    return 0;
}

/*
 * A sweep must never meet a live file that its supervisor has not locked yet. So it is made under a name the sweep does
 * not take for a run, locked, given its first line, and only then renamed. (O_TMPFILE and linkat would need no such name,
 * but not every filesystem people keep their home on has it.)
 */
static int make_live(struct sr_state *s, struct sr_run_dir *r, struct sr_error *err)
{
    char temp[SR_RUN_ID_MAX + 24], boot_id[SR_BOOT_ID_MAX];
    snprintf(temp, sizeof temp, ".new.%s.%d", r->id, getpid()); /* the sweep asks for this process */
    if (sr_boot_id(boot_id) < 0)
        return fail(err, "reading the kernel's boot id for run", r->id);
    cleanup_fd int fd = openat(s->live_fd, temp, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(err, "making the live file of run", r->id);
    cleanup_buf struct sr_buf head = SR_BUF(256);
    sr_live_format_head(&head, boot_id, getpid(), sr_process_start(getpid()));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || sr_write_all(fd, head.data, head.len) < 0 ||
        renameat(s->live_fd, temp, s->live_fd, r->id) < 0) {
        fail(err, "writing the live file of run", r->id);
        unlinkat(s->live_fd, temp, 0);
        return -1;
    }
    r->live_fd = steal_fd(&fd);
    return 0;
}

int sr_run_dir_create(struct sr_state *s, struct sr_run_dir *ret, struct sr_error *err)
{
    struct sr_run_dir r = { .dir_fd = -1, .live_fd = -1 };
    /* The directory decides who has an id; two of the same microsecond and the same 48 random bits try again. */
    for (int tries = 0;; tries++) {
        if (make_id(r.id, err) < 0)
            return -1;
        if (mkdirat(s->runs_fd, r.id, 0700) == 0)
            break;
        if (errno != EEXIST || tries == 8)
            return fail(err, "making the directory of run", r.id);
    }
    r.dir_fd = openat(s->runs_fd, r.id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r.dir_fd < 0)
        fail(err, "opening the directory of run", r.id);
    if (r.dir_fd < 0 || make_live(s, &r, err) < 0) {
        sr_closep(&r.dir_fd);
        unlinkat(s->runs_fd, r.id, AT_REMOVEDIR);
        return -1;
    }
    r.inventory = sr_json_array();
    *ret = r;
    return 0;
}

/* The note of a directory, on the disk: the content, and the name of the file that holds it. */
static int force_to_disk(const struct sr_run_dir *r)
{
    if (fdatasync(r->live_fd) < 0)
        return -1;
    cleanup_fd int live = openat(r->dir_fd, "../../live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return live < 0 ? -1 : fsync(live);
}

int sr_run_dir_note(struct sr_run_dir *r, enum sr_resource kind, const char *value, struct sr_error *err)
{
    cleanup_free char *owned = sr_strdup(value);
    struct sr_live_item item = { .kind = kind, .value = owned };
    if (sr_live_item_check(r->id, &item, err) < 0)
        return -1;
    if (kind == SR_RESOURCE_PROCESS) {
        uint64_t pid = 0;
        if (sr_text_u64(value, 2, INT32_MAX, &pid, err) < 0)
            return -1;
        item.start = sr_process_start((pid_t)pid);
    }
    cleanup_buf struct sr_buf line = SR_BUF(SR_LIVE_VALUE_MAX + 64);
    sr_live_format_item(&line, &item);
    off_t end = lseek(r->live_fd, 0, SEEK_END);
    if (end < 0 || sr_write_all(r->live_fd, line.data, line.len) < 0 ||
        (kind == SR_RESOURCE_DIRECTORY && force_to_disk(r) < 0)) {
        fail(err, "noting a resource in the inventory of run", r->id);
        /* Half a line would make the next one unreadable. If even this fails, the next write fails as well. */
        if (end >= 0 && ftruncate(r->live_fd, end) < 0)
            sr_error_hint(err, "the inventory of the run cannot be written: check the filesystem of the state directory");
        return -1;
    }
    sr_inventory_add(r->inventory, NULL, kind, value);
    return 0;
}

void sr_run_dir_gone(struct sr_run_dir *r, enum sr_resource kind, const char *value, const char *left)
{
    sr_inventory_settle(r->inventory, kind, value, left);
}

void sr_run_dir_forget(struct sr_run_dir *r)
{
    if (!r->id[0])
        return;
    sr_closep(&r->dir_fd);
    sr_closep(&r->live_fd);
    r->dir_fd = r->live_fd = -1;
}

void sr_run_dir_close(struct sr_state *s, struct sr_run_dir *r)
{
    if (!r->id[0])
        return;
    /* Unlinked while still locked, so that no sweep finds it free. */
    if (sr_inventory_settled(r->inventory))
        unlinkat(s->live_fd, r->id, 0);
    sr_run_dir_forget(r);
    cJSON_Delete(r->inventory);
    *r = (struct sr_run_dir){ .dir_fd = -1, .live_fd = -1 };
}

static int missing(const char *id, struct sr_error *err)
{
    sr_error_set(err, "record.missing", "looking for the run \"%s\": there is none of that id", id);
    return sr_error_hint(err, "each run prints its id; the directory runs of the state root holds them");
}

/* The one name in runs/ that starts with prefix. */
static int find_prefix(struct sr_state *s, const char *prefix, char ret_id[SR_RUN_ID_MAX], struct sr_error *err)
{
    char found[SR_RUN_ID_MAX] = "";
    cleanup_fd int fd = openat(s->runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_dir DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return fail(err, "listing the runs for", prefix);
    fd = -1;
    for (struct dirent *e; (e = readdir(d));) {
        if (!sr_run_id_valid(e->d_name) || strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        if (found[0]) {
            sr_error_set(err, "record.ambiguous", "looking for the run \"%s\": more than one id starts so, among them "
                         "%s and %s", prefix, found, e->d_name);
            return sr_error_hint(err, "give more of the id");
        }
        memcpy(found, e->d_name, strlen(e->d_name) + 1); /* valid: 32 characters */
    }
    if (!found[0])
        return missing(prefix, err);
    memcpy(ret_id, found, SR_RUN_ID_MAX);
    return 0;
}

int sr_run_dir_find(struct sr_state *s, const char *id, int *ret_fd, char ret_id[SR_RUN_ID_MAX], struct sr_error *err)
{
    char full[SR_RUN_ID_MAX];
    size_t len = strlen(id);
    if (len == 0 || len > 32 || strspn(id, "0123456789abcdef") != len)
        return missing(id, err);
    if (sr_run_id_valid(id))
        snprintf(full, sizeof full, "%s", id);
    else if (find_prefix(s, id, full, err) < 0)
        return -1;
    int fd = openat(s->runs_fd, full, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? missing(id, err) : fail(err, "opening the directory of run", full);
    memcpy(ret_id, full, SR_RUN_ID_MAX);
    *ret_fd = fd;
    return 0;
}
