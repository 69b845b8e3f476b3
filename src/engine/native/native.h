/* SPDX-License-Identifier: MIT */
/* Private to the native engine: the context that the set-up steps share, and the messages between its processes. */
#ifndef SR_NATIVE_NATIVE_H
#define SR_NATIVE_NATIVE_H

#include "base/buf.h"
#include "base/error.h"
#include "engine/native/limits.h"
#include "sandrun/engine.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Host ids of a check under a root caller. 65536 ids from a range that systemd's UIDS-GIDS document lists as unused
 * (1879048192 to 2147352575), so no user, subordinate range or container of the host has them.
 */
enum { SR_ID_BASE = 1879113728, SR_ID_COUNT = 65536 };

struct native_identity {
    bool privileged; /* the caller has CAP_SYS_ADMIN in its user namespace: mounts first, user namespace last */
    uid_t uid;       /* inside: the owner of the tree, so that tools that compare owners agree */
    gid_t gid;
    uid_t host_uid;  /* what that is on the host: never 0 */
    gid_t host_gid;
    int userns_fd;   /* privileged only: the map that is used for idmapped mounts and entered last */
    /*
     * Privileged only: a map that leaves every owner out, for mounts of the host's root filesystem. What nobody owns nobody may write
     * (Linux 5.12: EACCES where an id is unmapped), and connecting to a socket or opening a FIFO for writing is a write. Reading
     * goes by the bits for others.
     */
    int nobody_fd;
};

struct native {
    const struct sr_plan *plan;
    struct native_identity id;
    int tree_fd;  /* the supervisor's descriptor of the tree: what the child mounts must be the same inode */
    int git_fd;   /* likewise of the git directory outside the tree; -1: there is none, or it is read-only */
    int run_fd;   /* runs/<id>: where the child's private mount tree hangs until pivot_root */
    int sock;     /* the child's end of the control socket */
    int out_w, err_w;
    struct sr_buf filter; /* BPF */
    const struct sr_mounts *mounts; /* of the host, as the gate's probe saw them */
    struct sr_cgroup cg;

    /* made by the steps, in the child */
    int root_fd;    /* the new root: a tmpfs, read-only in the end */
    int scratch_fd; /* tmpfs of the run: u (upper) w (work) l (lower) tmp home shm vartmp, views of mounts, gu gw gl of git's directory */
    int git_mnt;    /* made with the tree and attached in the order of the mounts; -1: read-only, or none */
    bool git_attached;
    enum sr_tree_mode tree_mode, git_mode;
    unsigned views; /* made so far: each has a directory of the scratch */
    bool tell_steps; /* for the doctor: MSG_STEP after each */
    bool plain; /* the uncontained host process: no init, no namespaces (plain.c) */
};

/* ---- messages: SOCK_SEQPACKET, one struct each ---- */

enum native_msg_type {
    MSG_SCRATCH = 1, /* child -> supervisor: descriptors of the scratch, with tree_mode */
    MSG_GO,          /* supervisor -> child, copy mode alone: the copy was looked at, go on */
    MSG_STEP,        /* child -> supervisor: step number `status` is done */
    MSG_FAILED,      /* child -> supervisor: set-up failed, error whole; nothing was executed */
    MSG_OBSERVED,    /* command process, before exec -> supervisor: what verification saw */
    MSG_STARTED,     /* command process -> supervisor: about to exec; MSG_NOT_STARTED takes it back */
    MSG_NOT_STARTED, /* command process -> supervisor: exec failed; error whole, status is the enum sr_end */
    MSG_ENDED,       /* init -> supervisor: wait status of the command */
    MSG_TERM,        /* supervisor -> init: SIGTERM to everything inside but init */
};

enum { NATIVE_CONTROLS_MAX = 24 };

struct native_msg {
    enum native_msg_type type;
    int status;  /* MSG_ENDED: wait status; MSG_NOT_STARTED: enum sr_end; MSG_SCRATCH: enum sr_tree_mode */
    int64_t when_ns; /* CLOCK_MONOTONIC */
    union {
        struct sr_error err;
        struct {
            mode_t root_mode, git_root_mode; /* the latter two with a third descriptor */
            enum sr_tree_mode git_mode;
        } scratch;
        struct {
            unsigned n;
            struct {
                bool held;
                char detail[96];
            } v[NATIVE_CONTROLS_MAX];
        } observed;
    };
};

/* Sends one message with n descriptors. 0 or -1 with errno. Safe in the child. */
int native_send(int sock, const struct native_msg *m, const int *fds, size_t n);
/* 1 a message, 0 end of file, -1 errno. Descriptors beyond max are closed; *ret_n tells how many came. */
int native_recv(int sock, struct native_msg *m, int *fds, size_t max, size_t *ret_n);
int64_t native_now(void);

/* ---- spawn.c: the only clone and unshare ---- */
pid_t native_spawn(uint64_t namespaces, int cgroup_fd, int *ret_pidfd); /* as fork, into the namespaces (and the v2 group) */
int native_cgroup_namespace(void); /* rooted at the caller's own groups, so after it entered them */
SR_CHECK int native_userns_make(const char *uid_map, const char *gid_map, int *ret_fd, struct sr_error *err); /* lines as in user_namespaces(7) */
SR_CHECK int native_userns_map_self(uid_t uid, gid_t gid, struct sr_error *err); /* in the child of an ordinary caller */

/* ---- identity.c ---- */
SR_CHECK int native_identity_find(const struct sr_plan *plan, struct native_identity *ret, struct sr_error *err);
SR_CHECK int native_identity_enter(const struct native_identity *id, struct sr_error *err); /* and drops every capability */

/* ---- the steps, each in the file that its name says; run in this order by child.c ---- */
int step_namespace(struct native *n, struct sr_error *err);  /* net.c: private propagation, lo, hostname */
int step_root(struct native *n, struct sr_error *err);       /* root.c */
int step_scratch(struct native *n, struct sr_error *err);    /* root.c */
int step_host_paths(struct native *n, struct sr_error *err); /* host.c */
int step_etc(struct native *n, struct sr_error *err);        /* etc.c */
int step_dev(struct native *n, struct sr_error *err);        /* dev.c */
int step_proc(struct native *n, struct sr_error *err);       /* dev.c */
int step_private(struct native *n, struct sr_error *err);    /* root.c: /tmp, HOME, /dev/shm, /var/tmp */
int step_tree(struct native *n, struct sr_error *err);       /* tree.c */
int step_mounts(struct native *n, struct sr_error *err);     /* tree.c: policy's mounts, git's common directory */
int step_protect(struct native *n, struct sr_error *err);    /* protect.c */
int step_pivot(struct native *n, struct sr_error *err);      /* root.c */

/* ---- mount.c: mounts on descriptors ---- */
enum { NATIVE_T_EMPTY_PATH = 0x00000040 }; /* MOVE_MOUNT_T_EMPTY_PATH, Linux 5.2; glibc 2.36 lacks the name */
SR_CHECK int native_tmpfs(const char *what, uint64_t size, uint64_t inodes, unsigned mode, unsigned attr, int *ret_fd, struct sr_error *err);
/* A detached clone of path (the host's, in this mount namespace) with attributes added. idmap: user namespace fd or -1. */
SR_CHECK int native_clone_mount(int dirfd, const char *path, bool recursive, uint64_t attr, int idmap, int *ret_fd, struct sr_error *err);
/* Attaches mnt at path below the new root; the mount point is made when it is missing (dir: a directory, else a file). */
SR_CHECK int native_attach(int root_fd, int mnt, const char *path, bool dir, struct sr_error *err);
/* A read-only view of a directory through which no socket can be reached: an overlay of lower alone, whose inodes are its own. */
SR_CHECK int native_view_mount(struct native *n, int source_fd, const char *source, int idmap, int *ret_fd, struct sr_error *err);
/* The same with what is mounted below source, attached at target of the new root. */
SR_CHECK int native_attach_view(struct native *n, const char *source, const char *target, int idmap, struct sr_error *err);
struct native_layers {
    const char *of;           /* for messages: the host's directory */
    const char *lower;        /* as lowerdir has it; all are names in the scratch */
    const char *upper, *work; /* NULL: read-only */
};
SR_CHECK int native_overlay(struct native *n, const struct native_layers *l, int *ret_fd, struct sr_error *err);

/* ---- inside ---- */
void native_child(struct native *n);             /* child.c: set-up, then init; does not return */
size_t native_steps(void);                       /* child.c: of the set-up */
_Noreturn void native_execute(struct native *n); /* command.c: descriptors, verification, look-up, exec */
void native_verify(const struct native *n, struct native_msg *ret); /* verify.c */
const char *native_control_name(unsigned i);     /* verify.c */
size_t native_controls(void);

/* ---- watch.c: which limits were reached ---- */
struct native_watch {
    bool full[SR_LIMIT_COUNT]; /* at the last look */
};
/* times: all so far. at_ns: after the command's start, -1: not known. */
void native_reached(struct sr_outcome *o, enum sr_limit limit, uint64_t times, int64_t at_ns, const char *told_by);
void native_watch_look(struct native_watch *w, const struct sr_cgroup *cg, struct sr_outcome *o, int64_t at_ns);
/* After the last process: what only the counters' last values and the way it ended tell. */
void native_watch_end(const struct sr_cgroup_usage *u, const struct sr_limits *limits, struct sr_outcome *o);
void native_watch_unknowable(const struct native *n, const struct sr_cgroup_usage *u, struct sr_outcome *o);

/* ---- supervise.c ---- */
struct native_supervision {
    struct native *n;
    struct sr_engine_io *io;
    struct sr_outcome *outcome;
    pid_t pid;
    int pidfd, sock, out_r, err_r;
};
/* The code when init died without a word: the OOM killer can do that, and its counter then tells. */
#define NATIVE_INIT_KILLED "engine.broken.init_killed"
SR_CHECK int native_supervise(struct native_supervision *s, struct sr_error *err);

/* ---- native.c ---- */
typedef void native_main(struct native *n); /* does not return */
/* Limits, pipes, the child, supervision, usage: what the contained and the plain run share. */
SR_CHECK int native_run_plan(const struct sr_plan *plan, const struct sr_ticket *ticket, struct sr_engine_io *io, bool tell_steps,
                             struct sr_outcome *ret, struct sr_error *err);
SR_CHECK int native_run_limited(struct native *n, struct sr_engine_io *io, struct sr_outcome *o, native_main *child, struct sr_error *err);

/* ---- plain.c ---- */
void native_plain_kill(struct native_supervision *s);
void native_plain_ended(struct native_supervision *s); /* its descendants end with it */

#endif
