/* SPDX-License-Identifier: MIT */
/* Limits by rlimit, and what the record says about each limit. */
#include "engine/native/limits.h"

#include "base/text.h"

#include <sched.h>
#include <sys/resource.h>

static const char *const holder_names[SR_BY_COUNT] = {
    [SR_BY_NONE] = "none",     [SR_BY_CGROUP2] = "cgroup v2", [SR_BY_CGROUP1] = "cgroup v1",
    [SR_BY_RLIMIT] = "rlimit", [SR_BY_TMPFS] = "tmpfs",       [SR_BY_SUPERVISOR] = "supervisor",
    [SR_BY_MACHINE] = "machine",
};

const char *sr_holder_name(enum sr_holder h)
{
    return (unsigned)h < SR_BY_COUNT ? holder_names[h] : "none";
}

/* Hard limits only sink: what the caller has less of stays less, and an ordinary caller may not
 * raise them anyway. */
static int rlimit_set(int resource, uint64_t soft, uint64_t hard)
{
    struct rlimit old;
    if (getrlimit(resource, &old) < 0)
        return -1;
    struct rlimit now = { soft, hard };
    if (now.rlim_max > old.rlim_max)
        now.rlim_max = old.rlim_max;
    if (now.rlim_cur > now.rlim_max)
        now.rlim_cur = now.rlim_max;
    return setrlimit(resource, &now);
}

/*
 * nofile: programs that close every possible descriptor hang for minutes below a limit of a
 * thousand million, and select(2) breaks above 1024; what needs more raises its own soft limit.
 */
int sr_limits_reset_scheduling(void)
{
    const struct sched_param none = { 0 };
    return sched_getscheduler(0) == SCHED_OTHER ? 0 : sched_setscheduler(0, SCHED_OTHER, &none);
}

int sr_limits_set_rlimits(const struct sr_cgroup *cg, const struct sr_limits *limits)
{
    const struct {
        int resource;
        bool wanted;
        uint64_t soft, hard;
    } set[] = {
        { RLIMIT_CORE, true, 0, 0 },
        { RLIMIT_NOFILE, true, 1024, 524288 },
        { RLIMIT_FSIZE, limits->disk_bytes > 0, limits->disk_bytes, limits->disk_bytes },
        { RLIMIT_DATA, cg->by_memory == SR_BY_RLIMIT && limits->memory_bytes > 0,
          limits->memory_bytes, limits->memory_bytes },
        { RLIMIT_NPROC, cg->by_pids == SR_BY_RLIMIT && limits->pids > 0, limits->pids,
          limits->pids },
    };
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (set[i].wanted && rlimit_set(set[i].resource, set[i].soft, set[i].hard) < 0)
            return -1;
    return 0;
}

static cJSON *value_duration(uint64_t v)
{
    char text[32];
    sr_text_format_duration(v, text);
    return cJSON_CreateString(text);
}

static cJSON *value_size(uint64_t v)
{
    char text[32];
    sr_text_format_size(v, text);
    return cJSON_CreateString(text);
}

static cJSON *value_number(uint64_t v)
{
    return cJSON_CreateNumber((double)v);
}

static cJSON *value_cpus(uint64_t milli)
{
    return cJSON_CreateNumber((double)milli / 1000);
}

/* value as a policy spells it; null and "none" when the limit is absent; weaker when a stronger
 * holder was looked for. */
cJSON *sr_limits_json(const struct sr_cgroup *cg, const struct sr_limits *l, bool scratch)
{
    const struct {
        const char *name;
        uint64_t v;
        cJSON *(*spell)(uint64_t v);
        enum sr_holder by;
        bool of_cgroup;
    } all[] = {
        { "wall", l->wall_ns, value_duration, SR_BY_SUPERVISOR, false },
        { "idle", l->idle_ns, value_duration, SR_BY_SUPERVISOR, false },
        { "memory", l->memory_bytes, value_size, cg->by_memory, true },
        { "pids", l->pids, value_number, cg->by_pids, true },
        { "cpus", l->cpus_milli, value_cpus, cg->by_cpus, true },
        { "output", l->output_bytes, value_size, SR_BY_SUPERVISOR, false },
        { "disk", l->disk_bytes, value_size, scratch ? SR_BY_TMPFS : SR_BY_RLIMIT, false },
        { "files", l->files, value_number, scratch ? SR_BY_TMPFS : SR_BY_NONE, false },
    };
    cJSON *object = sr_json_object();
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        cJSON *one = sr_json_object();
        sr_json_add(one, "value", all[i].v ? all[i].spell(all[i].v) : cJSON_CreateNull());
        sr_json_add_string(one, "by", sr_holder_name(all[i].v ? all[i].by : SR_BY_NONE));
        if (all[i].of_cgroup && all[i].v)
            sr_json_add_bool(one, "weaker",
                             all[i].by == SR_BY_NONE || all[i].by == SR_BY_RLIMIT);
        sr_json_add(object, all[i].name, one);
    }
    return object;
}
