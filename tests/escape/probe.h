/* SPDX-License-Identifier: MIT */
/* What every hostile program here shares: one attempt a child, one line an attempt. */
#ifndef PROBE_H
#define PROBE_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A line is "NAME HELD|OPEN DETAIL". OPEN: the attempt got through, or the kernel went on to look at its arguments.
 * Each program runs outside too, as root, where every attempt must come out OPEN: a probe that cannot succeed proves
 * nothing. DETAIL begins with the errno's name, from which the runner tells a kernel that lacks a thing.
 */
enum answer { HELD, OPEN };

struct probe {
    const char *name;
    enum answer (*attempt)(const char *argument);
};

static char *probe_detail; /* shared with the parent */
enum { PROBE_DETAIL_MAX = 256 };

__attribute__((format(printf, 2, 3), unused)) static enum answer say(enum answer a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(probe_detail, PROBE_DETAIL_MAX, fmt, ap);
    va_end(ap);
    return a;
}

/* The errnos by which a control answers; all others mean that the call was let through to its own checks. */
__attribute__((unused)) static bool refused(int e)
{
    static const int refusals[] = { EPERM, EACCES, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT, EROFS };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (e == refusals[i])
            return true;
    return false;
}

/* By the result of a call whose arguments may be wrong on purpose: only a refusal holds. */
__attribute__((unused)) static enum answer by_refusal(long result)
{
    int e = errno;
    if (result >= 0)
        return say(OPEN, "it worked");
    return say(refused(e) ? HELD : OPEN, "%s", strerrorname_np(e));
}

/* By the result of a call that must work to do harm. */
__attribute__((unused)) static enum answer by_success(long result)
{
    int e = errno;
    return result >= 0 ? say(OPEN, "it worked") : say(HELD, "%s", strerrorname_np(e));
}

/* An attempt may hang or die; neither is a control holding, but for the filter's SIGSYS. */
static void probe_run(const char *name, enum answer (*attempt)(const char *), const char *argument)
{
    snprintf(probe_detail, PROBE_DETAIL_MAX, "no detail");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        printf("%s OPEN could not fork: %s\n", name, strerrorname_np(errno));
        return;
    }
    if (child == 0) {
        alarm(5);
        _exit(attempt(argument) == HELD ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    bool held = WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGSYS;
    if (WIFSIGNALED(status))
        snprintf(probe_detail, PROBE_DETAIL_MAX, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
    printf("%s %s %s\n", name, held ? "HELD" : "OPEN", probe_detail);
}

/* Arguments are "NAME=ARGUMENT" for probes that want one, each as often as wished; probes without one run once. */
static int probe_main(int argc, char **argv, const struct probe *probes, size_t n)
{
    probe_detail = mmap(NULL, PROBE_DETAIL_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (probe_detail == MAP_FAILED)
        return 2;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(probes[i].name);
        bool wants = probes[i].name[len - 1] == '=';
        if (!wants)
            probe_run(probes[i].name, probes[i].attempt, NULL);
        for (int a = 1; wants && a < argc; a++)
            if (strncmp(argv[a], probes[i].name, len) == 0)
                probe_run(argv[a], probes[i].attempt, argv[a] + len);
    }
    printf("END\n");
    return 0;
}

#define PROBE_MAIN(table)                                                                          \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return probe_main(argc, argv, table, sizeof table / sizeof *table);                        \
    }

#endif
