/* SPDX-License-Identifier: MIT */
/* The plain host process of an "uncontained" binding: clean environment, own session, limits; no sandbox, and the record says so. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* HOME is a directory of the run, so that what a tool builds there is seen and does not stay. */
static int make_home(struct sr_engine_io *io, char **ret_path, struct sr_outcome *o, struct sr_error *err)
{
    cleanup_free char *runs = sr_path_join(io->state->root, "runs");
    cleanup_free char *dir = sr_path_join(runs, io->run->id);
    if (mkdirat(io->run->dir_fd, "home", 0700) < 0)
        return sr_error_sys(err, "engine.broken", "cannot make a home for the command");
    o->home_fd = openat(io->run->dir_fd, "home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->home_fd < 0)
        return sr_error_sys(err, "engine.broken", "cannot open the home of the command");
    *ret_path = sr_path_join(dir, "home");
    return 0;
}

/* The plan as it is on the host: the tree at its real path, HOME where it really is. */
static void host_view(const struct sr_plan *plan, const char *home, struct sr_plan *ret, struct sr_plan_env **ret_env)
{
    *ret = *plan;
    *ret_env = sr_calloc(plan->n_env, sizeof **ret_env);
    for (size_t i = 0; i < plan->n_env; i++) {
        (*ret_env)[i] = plan->env[i];
        if (strcmp(plan->env[i].name, "HOME") == 0)
            (*ret_env)[i].value = sr_strdup(home);
    }
    ret->env = *ret_env;
    ret->tree_target = plan->tree;
}

static void host_view_clear(struct sr_plan_env *env, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(env[i].name, "HOME") == 0)
            free(env[i].value);
    free(env);
}

_Noreturn static void plain_child(struct native *n)
{
    struct native_msg m = { .type = MSG_FAILED };
    if (sr_limits_reset_scheduling() < 0 || sr_cgroup_enter(&n->cg, sr_cgroup_clone_fd(&n->cg)) < 0 || sr_limits_set_rlimits(&n->cg, &n->plan->limits) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
        sr_error_sys(&m.err, "engine.broken", "cannot set the resource limits of the command");
        native_send(n->sock, &m, NULL, 0);
        _exit(127);
    }
    native_execute(n);
}

/* Whoever the command left running: as its subreaper we are their parent, and they end with it. */
static void end_descendants(void)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    for (int round = 0; round < 100; round++) {
        cleanup_file FILE *f = fopen(path, "re");
        if (!f || !fgets(line, sizeof line, f))
            return;
        char *save = NULL;
        for (char *pid = strtok_r(line, " \n", &save); pid; pid = strtok_r(NULL, " \n", &save)) {
            uint64_t v;
            struct sr_error bad = { 0 };
            if (sr_text_u64(pid, 2, INT32_MAX, &v, &bad) == 0)
                kill((pid_t)v, SIGKILL);
        }
        while (waitpid(-1, NULL, 0) > 0)
            ;
    }
}

void native_plain_kill(struct native_supervision *s)
{
    kill(-s->pid, SIGKILL);
    sr_cgroup_kill(&s->n->cg);
}

void native_plain_ended(struct native_supervision *s)
{
    sr_cgroup_kill(&s->n->cg);
    end_descendants();
}

int sr_engine_host_run(const struct sr_plan *plan, struct sr_engine_io *io, struct sr_outcome *ret, struct sr_error *err)
{
    *ret = SR_OUTCOME;
    ret->tree_mode = SR_TREE_DIRECT;
    cleanup_free char *home = NULL;
    if (plan->staged || !plan->uncontained)
        return sr_error_set(err, "engine.ticket", "only a binding that is declared uncontained runs on the host, and never staged");
    if (make_home(io, &home, ret, err) < 0)
        return -1;
    struct sr_plan view;
    struct sr_plan_env *env = NULL;
    host_view(plan, home, &view, &env);
    struct native n = { .plan = &view, .mounts = io->mounts, .id = { .userns_fd = -1, .nobody_fd = -1 }, .tree_fd = -1, .run_fd = -1, .root_fd = -1, .scratch_fd = -1, .plain = true };
    int before = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &before, 0, 0, 0);
    int done = sr_mounts_read(io->mounts, err);
    if (done == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        done = sr_error_sys(err, "engine.broken", "cannot become the reaper of the command");
    if (done == 0)
        done = native_run_limited(&n, io, ret, plain_child, err);
    prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)before, 0, 0, 0);
    host_view_clear(env, plan->n_env);
    return done;
}
