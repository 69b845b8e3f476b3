/* SPDX-License-Identifier: MIT */
/* What a contained run costs, as ratios of interleaved medians on one machine: bench SANDRUN SMALL-TREE LARGE-TREE [--json] [--rounds N]. */
#include "sandrun/image.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Each round runs every subject once, in turn, so that what disturbs the machine disturbs all of them alike; every other round
 * backwards, since the kernel takes namespaces down after their process, at the cost of whoever comes next. A subject that
 * fails ends the bench: the time of a failure is no measurement. Medians, and the quartiles as spread.
 */
enum { ROUNDS = 50, ROUNDS_MAX = 1000, ARGS_MAX = 512 };

struct subject {
    const char *name;
    const char *argv[ARGS_MAX];
    size_t argc;
    double ms[ROUNDS_MAX];
    long rss_kib; /* the largest of all rounds: of the child itself, the supervisor */
};

enum { EXEC, BWRAP, BWRAP_SAME, RUN, STAGED, LARGE, SUBJECTS };

static void give(struct subject *s, const char *arg)
{
    if (s->argc + 1 >= ARGS_MAX) {
        fprintf(stderr, "bench: too many arguments\n");
        exit(1);
    }
    s->argv[s->argc++] = arg;
}

static void give_all(struct subject *s, const char *const *args)
{
    for (; *args; args++)
        give(s, *args);
}

/* The namespaces and mounts of a contained run, without overlay, filter, limits, change set or record. The same paths as a check sees, one by one: the shipped table is asked, not a copy of it. */
static void bwrap_host_paths(struct subject *s)
{
    for (size_t i = 0; i < sr_host_paths_n; i++) {
        static char targets[64][256];
        static size_t used;
        struct stat st;
        const char *path = sr_host_paths[i].path;
        if (lstat(path, &st) < 0)
            continue;
        if (!S_ISLNK(st.st_mode)) {
            give_all(s, (const char *const[]){ "--ro-bind", path, path, NULL });
            continue;
        }
        ssize_t len = used < 64 ? readlink(path, targets[used], sizeof targets[used] - 1) : -1;
        if (len < 0)
            continue;
        targets[used][len] = '\0';
        give_all(s, (const char *const[]){ "--symlink", targets[used++], path, NULL });
    }
}

static void bwrap_same(struct subject *s, const char *tree)
{
    static const char *const head[] = { "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", NULL };
    static const char *const fresh[] = { "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--tmpfs", "/home/check", NULL };
    give_all(s, head);
    bwrap_host_paths(s);
    give_all(s, fresh);
    give_all(s, (const char *const[]){ "--ro-bind", tree, tree, "--chdir", tree, "/bin/true", NULL });
}

/* As people type it: the whole root read-only, and so a handful of mounts. */
static const char *const bwrap_typed[] = { "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                                           "--unshare-all", "/bin/true", NULL };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void child(struct subject *s)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    execvp(s->argv[0], (char *const *)(void *)s->argv);
    _exit(99);
}

static void measure(struct subject *s, size_t round)
{
    struct rusage use;
    int status = 0;
    double start = now_ms();
    pid_t pid = fork();
    if (pid == 0)
        child(s);
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bench: %s failed: status %#x (try it by hand: %s ...)\n", s->name, (unsigned)status, s->argv[0]);
        exit(1);
    }
    s->ms[round] = now_ms() - start;
    if (use.ru_maxrss > s->rss_kib)
        s->rss_kib = use.ru_maxrss;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const struct subject *s, size_t n, double q)
{
    return s->ms[(size_t)(q * (double)(n - 1) + 0.5)];
}

static double median(const struct subject *s, size_t n)
{
    return quantile(s, n, 0.5);
}

/* What is compared with what: the one list of both outputs. */
static const struct {
    const char *key;
    int of, to;
} ratios[] = {
    { "run / bwrap as typed", RUN, BWRAP },
    { "run --staged / bwrap as typed", STAGED, BWRAP },
    { "run / bwrap, the same mounts", RUN, BWRAP_SAME },
    { "run --staged / bwrap, the same mounts", STAGED, BWRAP_SAME },
};
enum { RATIOS = sizeof ratios / sizeof *ratios };

static double ratio(const struct subject *s, size_t i, size_t rounds)
{
    return median(&s[ratios[i].of], rounds) / median(&s[ratios[i].to], rounds);
}

static void cpu_model(char out[128])
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, 128, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(out, 128, "%s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

struct report {
    struct utsname host;
    char cpu[128];
    long cores;
    size_t rounds;
};

static void print_text(const struct report *r, const struct subject *s)
{
    printf("%s, %ld cores, Linux %s, %zu interleaved rounds\n\n", r->cpu, r->cores, r->host.release, r->rounds);
    printf("%-38s %9s %19s %8s %9s\n", "", "median", "quartiles", "x exec", "peak RSS");
    for (size_t i = 0; i < SUBJECTS; i++)
        printf("%-38s %6.2f ms %8.2f .. %6.2f ms %7.2f %5.1f MiB\n", s[i].name, median(&s[i], r->rounds), quantile(&s[i], r->rounds, 0.25),
               quantile(&s[i], r->rounds, 0.75), median(&s[i], r->rounds) / median(&s[EXEC], r->rounds), (double)s[i].rss_kib / 1024);
    printf("\n");
    for (size_t i = 0; i < RATIOS; i++)
        printf("%-38s %6.2f\n", ratios[i].key, ratio(s, i, r->rounds));
    printf("%-38s %6.2f ms (budget 2 ms)\n", "100,000 files - 10 files", median(&s[LARGE], r->rounds) - median(&s[STAGED], r->rounds));
    printf("%-38s %6.1f MiB (budget 16 MiB)\n", "peak RSS of the supervisor", (double)s[LARGE].rss_kib / 1024);
}

static void print_json(const struct report *r, const struct subject *s)
{
    printf("{\"cpu\":\"%s\",\"cores\":%ld,\"kernel\":\"%s\",\"rounds\":%zu,\"subjects\":[", r->cpu, r->cores, r->host.release, r->rounds);
    for (size_t i = 0; i < SUBJECTS; i++)
        printf("%s{\"name\":\"%s\",\"median_ms\":%.3f,\"q1_ms\":%.3f,\"q3_ms\":%.3f,\"peak_rss_kib\":%ld}", i ? "," : "", s[i].name,
               median(&s[i], r->rounds), quantile(&s[i], r->rounds, 0.25), quantile(&s[i], r->rounds, 0.75), s[i].rss_kib);
    printf("],\"ratios\":{");
    for (size_t i = 0; i < RATIOS; i++)
        printf("%s\"%s\":%.3f", i ? "," : "", ratios[i].key, ratio(s, i, r->rounds));
    printf("},\"large_minus_small_ms\":%.3f}\n", median(&s[LARGE], r->rounds) - median(&s[STAGED], r->rounds));
}

static bool options(int argc, char **argv, struct report *r, bool *json)
{
    for (int i = 4; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--json") == 0)
            *json = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc && (r->rounds = strtoul(argv[++i], &end, 10)) > 0 && *end == '\0' &&
                 r->rounds <= ROUNDS_MAX)
            continue;
        else
            return false;
    }
    return argc >= 4;
}

int main(int argc, char **argv)
{
    static struct subject s[SUBJECTS] = {
        [EXEC] = { .name = "fork, exec /bin/true" },
        [BWRAP] = { .name = "bwrap, as typed" },
        [BWRAP_SAME] = { .name = "bwrap, the same mounts" },
        [RUN] = { .name = "sandrun run" },
        [STAGED] = { .name = "sandrun run --staged" },
        [LARGE] = { .name = "sandrun run --staged, 100,000 files" },
    };
    struct report r = { .rounds = ROUNDS, .cores = sysconf(_SC_NPROCESSORS_ONLN) };
    bool json = false;
    if (!options(argc, argv, &r, &json)) {
        fprintf(stderr, "usage: bench SANDRUN SMALL-TREE LARGE-TREE [--json] [--rounds N]\n");
        return 2;
    }
    give(&s[EXEC], "/bin/true");
    give_all(&s[BWRAP], bwrap_typed);
    bwrap_same(&s[BWRAP_SAME], argv[2]);
    give_all(&s[RUN], (const char *const[]){ argv[1], "run", "--tree", argv[2], "Test", NULL });
    give_all(&s[STAGED], (const char *const[]){ argv[1], "run", "--staged", "--tree", argv[2], "Test", NULL });
    give_all(&s[LARGE], (const char *const[]){ argv[1], "run", "--staged", "--tree", argv[3], "Test", NULL });
    for (size_t warm = 0; warm < 3; warm++)
        for (size_t i = 0; i < SUBJECTS; i++)
            measure(&s[i], 0);
    for (size_t round = 0; round < r.rounds; round++)
        for (size_t i = 0; i < SUBJECTS; i++)
            measure(&s[round % 2 ? SUBJECTS - 1 - i : i], round);
    for (size_t i = 0; i < SUBJECTS; i++)
        qsort(s[i].ms, r.rounds, sizeof *s[i].ms, by_value);
    uname(&r.host);
    cpu_model(r.cpu);
    (json ? print_json : print_text)(&r, s);
    return 0;
}
