/* SPDX-License-Identifier: MIT */
/* The native engine: carries a plan out in children of this process. */
#include "engine/native/native.h"

#include "base/fs.h"
#include "base/mem.h"
#include "engine/native/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Theory of operation
 *
 * Three processes.
 *
 *   supervisor   this process, with the caller's privilege. Makes the limits, the pipes, the control socket; spawns init; runs one
 *                poll loop (supervise.c); reads the change set afterwards through descriptors that init sent it.
 *   init         PID 1 of new mount, pid, net, ipc, uts and cgroup namespaces (child.c). Builds the root step by step with the
 *                privilege it was born with, then becomes the check's identity without a capability, installs the filter,
 *                forks the command and reaps. Its end is the end of everything inside.
 *   command      verifies from inside what was promised (verify.c), then executes the command (command.c).
 *
 * Two ways to privilege, one order of steps (security.md 3.1):
 *   a caller with CAP_SYS_ADMIN   mounts are made in the host's user namespace, so that overlays may redirect renames and mounts may
 *                                 be idmapped; the check's user namespace is made first (its map is what the mounts are idmapped by)
 *                                 and entered last. The mount namespace stays the host's: no process inside can ever mount.
 *   an ordinary caller            init is born in a user namespace of its own, with one id mapped to itself; its mounts belong to it, and
 *                                 the filter and the lack of capabilities are what keeps the check from changing them.
 *
 * One control socket (SOCK_SEQPACKET; the messages are in native.h), two pipes for output. Every mount lives in init's mount
 * namespace and every tmpfs dies with its last user, so that killing init by whatever means leaves nothing behind but its
 * cgroup and its run directory, which the inventory names.
 */

struct pipes {
    int out_r, out_w, err_r, err_w, sock, child_sock;
};

static void pipes_close(struct pipes *p)
{
    int *all[] = { &p->out_r, &p->out_w, &p->err_r, &p->err_w, &p->sock, &p->child_sock };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sr_closep(all[i]);
        *all[i] = -1;
    }
}

static int pipes_open(struct pipes *p, struct sr_error *err)
{
    int out[2], errs[2], sock[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return sr_error_sys(err, "engine.broken", "cannot make a pipe");
    p->out_r = out[0];
    p->out_w = out[1];
    if (pipe2(errs, O_CLOEXEC) < 0)
        return sr_error_sys(err, "engine.broken", "cannot make a pipe");
    p->err_r = errs[0];
    p->err_w = errs[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
        return sr_error_sys(err, "engine.broken", "cannot make the control socket");
    p->sock = sock[0];
    p->child_sock = sock[1];
    if (fcntl(p->out_r, F_SETFL, O_NONBLOCK) < 0 || fcntl(p->err_r, F_SETFL, O_NONBLOCK) < 0)
        return sr_error_sys(err, "engine.broken", "cannot set up the pipes");
    return 0;
}

static uint64_t namespaces(const struct native *n)
{
    if (n->plain)
        return 0;
    uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    if (n->plan->network != SR_NETWORK_HOST)
        flags |= CLONE_NEWNET;
    if (!n->id.privileged)
        flags |= CLONE_NEWUSER;
    return flags;
}

/* ENOSPC of clone(2): one of the limits in /proc/sys/user is reached. Which, is for us to find: one that is 0 is the answer. */
static const char *exhausted_namespace(void)
{
    static const char *const kinds[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cleanup_free char *path = sr_asprintf("/proc/sys/user/max_%s_namespaces", kinds[i]);
        cleanup_buf struct sr_buf b = SR_BUF(64);
        struct sr_error unread = { 0 };
        if (sr_file_read_at(AT_FDCWD, path, 64, &b, &unread) == 0 && b.len && strcmp(b.data, "0\n") == 0)
            return kinds[i];
    }
    return NULL;
}

static int spawn_failed(const struct native *n, struct sr_error *err)
{
    if (n->plain)
        return sr_error_sys(err, "engine.broken", "cannot start the command's process");
    int sys = errno;
    const char *kind = sys == ENOSPC ? exhausted_namespace() : NULL;
    errno = sys;
    if (kind) {
        cleanup_free char *code = sr_asprintf("engine.unavailable.%s_namespace", strcmp(kind, "mnt") == 0 ? "mount" : kind);
        sr_error_sys(err, code, "cannot create the %s namespace of a check", kind);
        return sr_error_hint(err, "sysctl user.max_%s_namespaces=1000 (it is 0)", kind);
    }
    if (n->id.privileged)
        return sr_error_sys(err, "engine.unavailable.namespaces", "cannot create the namespaces of a check");
    sr_error_sys(err, "engine.unavailable.user_namespace", "cannot create a user namespace and the namespaces of a check");
    return sr_error_hint(err, "allow unprivileged user namespaces (kernel.unprivileged_userns_clone=1, user.max_user_namespaces > 0), "
                              "or start the container with a seccomp profile that allows clone and unshare");
}

/* From spawn to the end of the last process inside. */
static int spawn_and_supervise(struct native *n, struct sr_engine_io *io, struct sr_outcome *o, struct pipes *p, native_main *child,
                               struct sr_error *err)
{
    struct native_supervision s = { .n = n, .io = io, .outcome = o, .pidfd = -1 };
    s.pid = native_spawn(namespaces(n), sr_cgroup_clone_fd(&n->cg), &s.pidfd);
    if (s.pid < 0)
        return spawn_failed(n, err);
    if (s.pid == 0) {
        close(p->sock);
        close(p->out_r);
        close(p->err_r);
        child(n);
        _exit(127);
    }
    close(p->out_w);
    close(p->err_w);
    close(p->child_sock);
    s.sock = p->sock;
    s.out_r = p->out_r;
    s.err_r = p->err_r;
    *p = (struct pipes){ -1, -1, -1, -1, -1, -1 };
    int done = native_supervise(&s, err);
    sr_closep(&s.pidfd);
    sr_closep(&s.sock);
    return done;
}

/* The group's OOM killer may take init too: then the counter, and not init's silence, says what happened. */
static void explain_silence(const struct sr_cgroup_usage *u, struct sr_error *err)
{
    if (sr_error_is_set(err) && strcmp(err->code, NATIVE_INIT_KILLED) == 0 && u->oom_kills)
        sr_error_clear(err);
}

static void take_usage(const struct sr_cgroup_usage *u, struct sr_outcome *o)
{
    o->memory_peak = u->memory_peak;
    o->pids_peak = u->pids_peak;
    o->memory_at_bound = u->at_bound;
    o->at_bound_told = u->at_bound_told;
}

int native_run_limited(struct native *n, struct sr_engine_io *io, struct sr_outcome *o, native_main *child, struct sr_error *err)
{
    struct pipes p = { -1, -1, -1, -1, -1, -1 };
    if (sr_cgroup_create(io->run, &n->plan->limits, n->mounts->text.data ? n->mounts->text.data : "", &n->cg, err) < 0)
        return -1;
    o->limits = sr_limits_json(&n->cg, &n->plan->limits, !n->plain);
    int done = pipes_open(&p, err);
    if (done == 0) {
        n->sock = p.child_sock;
        n->out_w = p.out_w;
        n->err_w = p.err_w;
        done = spawn_and_supervise(n, io, o, &p, child, err);
    }
    pipes_close(&p);
    struct sr_cgroup_usage usage = { 0 };
    sr_cgroup_read(&n->cg, &usage);
    sr_cgroup_kill(&n->cg);
    sr_cgroup_destroy(&n->cg, io->run);
    take_usage(&usage, o);
    native_watch_end(&usage, &n->plan->limits, o);
    native_watch_unknowable(n, &usage, o);
    explain_silence(&usage, err);
    return done < 0 && sr_error_is_set(err) ? -1 : 0;
}

int native_run_plan(const struct sr_plan *plan, const struct sr_ticket *ticket, struct sr_engine_io *io, bool tell_steps, struct sr_outcome *ret,
                    struct sr_error *err)
{
    *ret = SR_OUTCOME;
    if (!sr_ticket_valid(ticket, plan))
        return sr_error_set(err, "engine.ticket", "the plan was not admitted by the gate");
    struct native n = { .plan = plan, .mounts = io->mounts, .id = { .userns_fd = -1, .nobody_fd = -1 }, .git_fd = -1, .run_fd = io->run->dir_fd, .root_fd = -1, .scratch_fd = -1, .git_mnt = -1, .tell_steps = tell_steps, .filter = SR_BUF(256 * 1024) };
    n.tree_fd = sr_openat2(AT_FDCWD, plan->tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (n.tree_fd < 0)
        return sr_error_sys(err, "plan.tree", "cannot open the tree %s", plan->tree);
    ret->lower_fd = n.tree_fd;
    if (sr_plan_git_held(plan)) {
        n.git_fd = sr_openat2(AT_FDCWD, plan->git_common_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
        if (n.git_fd < 0)
            return sr_error_sys(err, "plan.tree", "cannot open the git directory %s", plan->git_common_dir);
        ret->git_lower_fd = n.git_fd;
    }
    int done = sr_seccomp_filter(io->state->cache_fd, &plan->seccomp_allow, &n.filter, err);
    if (done == 0)
        done = sr_mounts_read(io->mounts, err);
    if (done == 0)
        done = native_identity_find(plan, &n.id, err);
    ret->userxattr = !n.id.privileged;
    if (done == 0)
        done = native_run_limited(&n, io, ret, native_child, err);
    sr_closep(&n.id.userns_fd);
    sr_closep(&n.id.nobody_fd);
    sr_buf_clear(&n.filter);
    return done;
}

static int native_run(const struct sr_plan *plan, const struct sr_ticket *ticket, struct sr_engine_io *io, struct sr_outcome *ret, struct sr_error *err)
{
    return native_run_plan(plan, ticket, io, false, ret, err);
}

/* An overlay shows what lies under the mounts of its lower, which is not the directory the policy means. */
static int probe_submounts(const struct sr_strv *points, const char *what, const char *dir, struct sr_error *err)
{
    const char *below = NULL;
    for (size_t i = 0; i < points->n && !below; i++)
        if (sr_path_below(points->v[i], dir) && strcmp(points->v[i], dir) != 0)
            below = points->v[i];
    if (!below)
        return 0;
    sr_error_set(err, "engine.unavailable.tree_submount", "something is mounted inside %s, at %s: a copy-on-write view would hide it", what, below);
    return sr_error_hint(err, "unmount it, or name it in the binding's mounts from where its content stands");
}

static int probe_held(const struct sr_plan *plan, struct sr_mounts *mounts, struct sr_error *err)
{
    if (sr_mounts_read(mounts, err) < 0 || probe_submounts(&mounts->points, "the tree", plan->tree, err) < 0)
        return -1;
    return sr_plan_git_held(plan) ? probe_submounts(&mounts->points, "the git directory", plan->git_common_dir, err) : 0;
}

static int native_probe(const struct sr_plan *plan, struct sr_mounts *mounts, struct sr_error *err)
{
    if (plan->rootfs == SR_ROOTFS_IMAGE) {
        sr_error_set(err, "engine.unavailable.image", "the native engine cannot run the image %s yet", plan->pin);
        return sr_error_hint(err, "\"rootfs\": { \"host\": \"sha256:...\" }  (sandrun image pin --host prints it)");
    }
    if (plan->network == SR_NETWORK_ALLOW) {
        sr_error_set(err, "engine.unavailable.network_allow", "the native engine cannot open the network to a list of hosts yet");
        return sr_error_hint(err, "\"network\": \"none\"");
    }
    return plan->writes == SR_WRITES_DIRECT ? 0 : probe_held(plan, mounts, err);
}

const struct sr_engine sr_engine_native = { .name = "native", .probe = native_probe, .run = native_run };
