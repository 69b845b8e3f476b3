/* SPDX-License-Identifier: MIT */
/* Console scripts of a Python environment: does the first line of each lead to an interpreter, and
 * to this environment's? */
#include "plan/preflight.h"

#include "base/buf.h"
#include "base/fs.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * An environment that was copied or moved keeps the path it was made at in the first line of every
 * script: python itself works, and each tool by name is "not found" (127), or runs out of the old
 * place. One finding says so for all of them.
 */

enum judgement { SCRIPT_FITS, SCRIPT_MOVED, SCRIPT_NOWHERE, SCRIPT_JUDGEMENTS };
enum { EXAMPLES_MAX = 3, ACTIVATE_MAX = 64 * 1024 };

struct tally {
    size_t n;
    struct sr_strv examples;
    char *target; /* the interpreter that the first of them names */
    char *chain;
};

struct scripts {
    struct preflight *pf;
    const struct venv *venv;
    char *real;    /* the environment's path inside, links resolved */
    char *claimed; /* VIRTUAL_ENV of activate, when it is another path */
    struct tally tally[SCRIPT_JUDGEMENTS];
    char *asked; /* the interpreter judged last: neighbours name the same one */
    enum judgement answer;
    char *chain;
};

/* ---- the interpreter that a script names ---- */

static char *first_word(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *stop = at;
    while (stop < end && *stop && *stop != ' ' && *stop != '\t' && *stop != '\n' && *stop != '\r')
        stop++;
    /* a path that is cut off by the end of what was read is not judged */
    return stop == end || stop == at ? NULL : sr_strndup(at, (size_t)(stop - at));
}

/* Paths that the kernel would not take (blanks, too long) pip and uv write into a second line that
 * the shell reads:
 * '''exec' "/path with blanks/bin/python" "$0" "$@" */
static char *trampoline(const char *at, const char *end)
{
    static const char exec[] = "'''exec' ";
    size_t n = sizeof exec - 1;
    if ((size_t)(end - at) <= n || memcmp(at, exec, n) != 0)
        return NULL;
    at += n;
    if (*at != '"')
        return first_word(at, end);
    const char *quote = memchr(at + 1, '"', (size_t)(end - at) - 1);
    return quote ? sr_strndup(at + 1, (size_t)(quote - at) - 1) : NULL;
}

/* NULL: no script, or none that names an absolute path. */
static char *named_interpreter(const char *head, size_t len)
{
    if (len < 3 || memcmp(head, "#!", 2) != 0)
        return NULL;
    const char *end = head + len, *line = memchr(head, '\n', len);
    cleanup_free char *direct = first_word(head + 2, end);
    cleanup_free char *second = line ? trampoline(line + 1, end) : NULL;
    char **chosen = second ? &second : &direct;
    return *chosen && (*chosen)[0] == '/' ? sr_path_clean(*chosen) : NULL;
}

/* Executable regular files only; head is read at once, the rest never. */
static char *script_interpreter(int bin, const char *name)
{
    char head[PREFLIGHT_SCRIPT_HEAD];
    struct stat st;
    cleanup_fd int fd =
        openat(bin, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
        return NULL;
    ssize_t n;
    do
        n = read(fd, head, sizeof head);
    while (n < 0 && errno == EINTR);
    return n > 0 ? named_interpreter(head, (size_t)n) : NULL;
}

/* ---- judging it ---- */

/* "/x/.venv" of "/x/.venv/bin/python". Caller frees. */
static char *environment_of(const char *interpreter)
{
    const char *slash = strrchr(interpreter, '/');
    size_t n = (size_t)(slash - interpreter);
    return n > 4 && memcmp(slash - 4, "/bin", 4) == 0 ? sr_strndup(interpreter, n - 4) : NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool exists_inside(const struct scripts *s, const char *dir, const char *name)
{
    cleanup_free char *path = sr_path_join(dir, name);
    cleanup_inside struct inside w;
    inside_walk(s->pf->plan, path, &w);
    return w.end == INSIDE_THERE;
}

static bool same_place(const struct scripts *s, const char *path)
{
    cleanup_inside struct inside w;
    inside_walk(s->pf->plan, path, &w);
    return w.end == INSIDE_THERE && strcmp(w.path, s->real) == 0;
}

/* Is the environment that a script names this one, under the path it was made at? */
static bool looks_like_us(const struct scripts *s, const char *environment, const char *interpreter)
{
    if (!sr_strv_has(&s->venv->bin, base_name(interpreter)))
        return false;
    return (s->claimed && strcmp(environment, s->claimed) == 0) ||
           strcmp(base_name(environment), base_name(s->venv->inside)) == 0;
}

static enum judgement judge(struct scripts *s, const char *interpreter)
{
    cleanup_free char *environment = environment_of(interpreter);
    /* what leads to this environment's own interpreter was judged with it */
    if (environment && strcmp(environment, s->venv->inside) == 0 && !s->venv->usable)
        return SCRIPT_FITS;
    cleanup_inside struct inside w;
    inside_walk(s->pf->plan, interpreter, &w);
    free(s->chain);
    s->chain = steal_ptr(&w.chain);
    if (w.end != INSIDE_THERE)
        return environment && looks_like_us(s, environment, interpreter) ? SCRIPT_MOVED
                                                                         : SCRIPT_NOWHERE;
    bool another =
        environment && exists_inside(s, environment, "pyvenv.cfg") && !same_place(s, environment);
    return another ? SCRIPT_MOVED : SCRIPT_FITS;
}

static void count(struct scripts *s, const char *name, const char *interpreter)
{
    if (!s->asked || strcmp(s->asked, interpreter) != 0) {
        s->answer = judge(s, interpreter);
        free(s->asked);
        s->asked = sr_strdup(interpreter);
    }
    struct tally *t = &s->tally[s->answer];
    if (!t->n++) {
        t->target = sr_strdup(interpreter);
        t->chain = sr_strdup(s->chain);
    }
    if (t->examples.n < EXAMPLES_MAX)
        sr_strv_add(&t->examples, name);
}

/* VIRTUAL_ENV as activate sets it: VIRTUAL_ENV="/p", ='/p', =/p, with export or $(cygpath ...)
 * around it. */
static char *claimed_path(int bin)
{
    cleanup_buf struct sr_buf b = SR_BUF(ACTIVATE_MAX);
    struct sr_error unread = { 0 };
    if (sr_file_read_at(bin, "activate", ACTIVATE_MAX, &b, &unread) < 0 || !b.len)
        return NULL;
    for (const char *at = b.data; (at = strstr(at, "VIRTUAL_ENV=")); at++) {
        const char *value = at + strlen("VIRTUAL_ENV=");
        char quote = *value == '"' || *value == '\'' ? *value : '\0';
        value += quote != '\0';
        size_t n =
            quote ? strcspn(value, quote == '"' ? "\"\n" : "'\n") : strcspn(value, " \t\n;)");
        /* $ and `: computed when it is sourced, so it moves with the environment */
        cleanup_free char *path = sr_strndup(value, n);
        bool assigned = at == b.data || at[-1] == '\n' || at[-1] == ' ' || at[-1] == '\t';
        if (assigned && path[0] == '/' && !strpbrk(path, "$`"))
            return sr_path_clean(path);
    }
    return NULL;
}

/* ---- saying it ---- */

static char *examples(const struct tally *t)
{
    struct sr_buf b = SR_BUF(2048);
    for (size_t i = 0; i < t->examples.n; i++)
        sr_buf_printf(&b, "%sbin/%s", i ? ", " : "", t->examples.v[i]);
    if (t->n > t->examples.n)
        sr_buf_printf(&b, " and %zu more", t->n - t->examples.n);
    return sr_buf_steal(&b);
}

static char *moved_remedy(const struct scripts *s, const char *old)
{
    const struct sr_plan *p = s->pf->plan;
    if (strcmp(p->tree, p->tree_target) != 0 && sr_path_below(old, p->tree))
        return sr_asprintf("let the tree stand at its own path inside (\"tree\": {\"target\": "
                           "\"same\"} instead of \"%s\")",
                           p->tree_target);
    return sr_asprintf("rebuild %s where it is now, or check the tree at the path it was made at "
                       "(%s); `python -m NAME` needs no script",
                       s->venv->name, old);
}

static void add_moved(struct scripts *s)
{
    const struct tally *t = &s->tally[SCRIPT_MOVED];
    if (!t->n && !s->claimed)
        return;
    cleanup_free char *old = t->n ? environment_of(t->target) : sr_strdup(s->claimed);
    cleanup_free char *which = t->n ? examples(t) : sr_strdup("bin/activate (VIRTUAL_ENV)");
    preflight_add(s->pf, (struct sr_finding){
                             .code = "env.mismatch.moved",
                             .path = venv_path(s->venv, t->n ? "bin" : "bin/activate"),
                             .expected = sr_asprintf("%s (%s)", old, which),
                             .found = sr_asprintf("%s (where it stands inside)", s->venv->inside),
                             .text = sr_asprintf("the environment %s was made at another path: %s "
                                                 "name%s %s, and inside it stands at %s",
                                                 s->venv->name, which, t->n > 1 ? "" : "s", old,
                                                 s->venv->inside),
                             .remedy = moved_remedy(s, old),
                         });
}

static void add_nowhere(struct scripts *s)
{
    const struct tally *t = &s->tally[SCRIPT_NOWHERE];
    if (!t->n)
        return;
    cleanup_free char *which = examples(t);
    char *mount = preflight_mount_remedy(s->pf->plan, t->target);
    preflight_add(
        s->pf, (struct sr_finding){
                   .code = "env.mismatch.shebang",
                   .path = venv_path(s->venv, "bin"),
                   .expected = sr_asprintf("%s (first line of %s)", t->chain, which),
                   .found = sr_asprintf("no %s inside", t->target),
                   .text = sr_asprintf("%zu console script%s of the environment %s name%s an "
                                       "interpreter that does not exist in the check's root "
                                       "filesystem: %s (%s)",
                                       t->n, t->n == 1 ? "" : "s", s->venv->name,
                                       t->n == 1 ? "s" : "", t->chain, which),
                   .remedy = mount ? mount
                                   : sr_asprintf("reinstall the packages of these scripts in %s, "
                                                 "so that their first line names its own python",
                                                 s->venv->name),
               });
}

static void look_at_scripts(struct scripts *s, int bin)
{
    for (size_t i = 0; i < s->venv->bin.n && i < PREFLIGHT_SCRIPTS; i++) {
        cleanup_free char *interpreter = script_interpreter(bin, s->venv->bin.v[i]);
        if (interpreter)
            count(s, s->venv->bin.v[i], interpreter);
    }
}

void preflight_scripts(struct preflight *pf, const struct venv *v)
{
    struct scripts s = { .pf = pf, .venv = v };
    cleanup_fd int bin = openat(v->fd, "bin", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (bin < 0)
        return;
    cleanup_inside struct inside here;
    inside_walk(pf->plan, v->inside, &here);
    s.real = here.path;
    s.claimed = claimed_path(bin);
    if (s.claimed && (strcmp(s.claimed, v->inside) == 0 || same_place(&s, s.claimed))) {
        free(s.claimed);
        s.claimed = NULL;
    }
    look_at_scripts(&s, bin);
    add_moved(&s);
    add_nowhere(&s);
    for (size_t i = 0; i < SCRIPT_JUDGEMENTS; i++) {
        sr_strv_clear(&s.tally[i].examples);
        free(s.tally[i].target);
        free(s.tally[i].chain);
    }
    free(s.claimed);
    free(s.asked);
    free(s.chain);
}
