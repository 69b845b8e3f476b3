/* SPDX-License-Identifier: MIT */
/* The command's process: descriptors, verification from inside, the look-up, exec. */
#include "engine/native/native.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn static void give_up(const struct native *n, struct native_msg *m)
{
    native_send(n->sock, m, NULL, 0);
    _exit(127);
}

static char **environment(const struct sr_plan *p)
{
    char **env = sr_calloc(p->n_env + 1, sizeof *env);
    for (size_t i = 0; i < p->n_env; i++)
        env[i] = sr_asprintf("%s=%s", p->env[i].name, p->env[i].value);
    return env;
}

static const char *plan_env(const struct sr_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_env; i++)
        if (strcmp(p->env[i].name, name) == 0)
            return p->env[i].value;
    return NULL;
}

static void default_signals(void)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL); /* fails for KILL and STOP, which are default anyway */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* stdin from /dev/null, stdout and stderr to the supervisor, everything else closed at exec; the control socket keeps its number. */
static int arrange_descriptors(const struct native *n)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(n->out_w, 1) < 0 || dup2(n->err_w, 2) < 0)
        return -1;
    return close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
}

/* The interpreter of a script's first line, "" when the file is none. */
static void shebang(const char *path, char out[256])
{
    char line[256];
    out[0] = '\0';
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (len < 3 || line[0] != '#' || line[1] != '!')
        return;
    line[len] = '\0';
    char *start = line + 2 + strspn(line + 2, " \t");
    start[strcspn(start, " \t\r\n")] = '\0';
    memcpy(out, start, strlen(start) + 1);
}

/* execve failed on a file that is there: why, in words. */
static void explain(const char *path, int error, struct native_msg *m)
{
    char interpreter[256];
    errno = error;
    m->status = SR_END_NOT_EXECUTED;
    shebang(path, interpreter);
    if (error == ENOENT && interpreter[0]) {
        sr_error_set(&m->err, "command.interpreter", "%s cannot be executed: its interpreter %s does not exist inside", path, interpreter);
    } else if (error == ENOENT) {
        sr_error_set(&m->err, "command.interpreter", "%s cannot be executed: the loader or interpreter it needs does not exist inside", path);
    } else if (error == ENOEXEC) {
        sr_error_set(&m->err, "command.format", "%s cannot be executed: it is neither a program of this machine nor a script with a first line #!", path);
    } else {
        sr_error_sys(&m->err, "command.denied", "%s cannot be executed", path);
    }
}

/* A directory of the name is passed over on PATH, as a shell does, and is what was named when the command has a slash. */
static bool is_there(const char *path, bool named)
{
    struct stat st;
    return stat(path, &st) == 0 && (named || !S_ISDIR(st.st_mode));
}

/* As execvpe(3), but every place looked at is remembered and a found file's failure ends the search, as in a shell. */
static void search(const struct sr_plan *p, char **env, struct native_msg *m)
{
    const char *name = p->command.v[0];
    cleanup_buf struct sr_buf looked = SR_BUF(1024);
    if (strchr(name, '/')) {
        execve(name, p->command.v, env);
        if (is_there(name, true)) {
            explain(name, errno, m);
            return;
        }
        sr_buf_printf(&looked, " %s (from %s)", name, p->tree_target);
    }
    const char *path = strchr(name, '/') ? "" : plan_env(p, "PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t len = strcspn(at, ":");
        cleanup_free char *full = sr_asprintf("%.*s/%s", (int)len, at, name);
        if (len && is_there(full, false)) {
            execve(full, p->command.v, env);
            explain(full, errno, m);
            return;
        }
        if (len)
            sr_buf_printf(&looked, " %s", full);
        at += len + (at[len] == ':');
    }
    m->status = SR_END_NOT_FOUND;
    sr_error_set(&m->err, "command.not_found", "the command %s was not found inside; looked at:%s", name, looked.len ? looked.data : " nothing, PATH is empty");
}

static bool all_held(const struct native_msg *m)
{
    for (unsigned i = 0; i < m->observed.n; i++)
        if (!m->observed.v[i].held)
            return false;
    return true;
}

_Noreturn void native_execute(struct native *n)
{
    struct native_msg m = { .type = MSG_NOT_STARTED };
    if (arrange_descriptors(n) < 0 || chdir(n->plan->tree_target) < 0) {
        m.type = MSG_FAILED;
        sr_error_sys(&m.err, "engine.broken", "cannot arrange the command's descriptors and working directory");
        give_up(n, &m);
    }
    setsid();
    default_signals();
    umask(022);
    if (!n->plain) {
        struct native_msg seen = { .type = MSG_OBSERVED };
        native_verify(n, &seen);
        /* the supervisor turns what does not hold into the refusal; what it cannot be told has not been verified */
        if (native_send(n->sock, &seen, NULL, 0) < 0 || !all_held(&seen))
            _exit(127);
    }
    char **env = environment(n->plan);
    struct native_msg started = { .type = MSG_STARTED };
    /* sent before exec: once it succeeds nothing of ours is left to tell it. MSG_NOT_STARTED takes it back */
    if (native_send(n->sock, &started, NULL, 0) < 0)
        _exit(127); /* nobody would watch the clock */
    search(n->plan, env, &m);
    give_up(n, &m);
}
