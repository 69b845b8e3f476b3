/* SPDX-License-Identifier: MIT */
/* The must-refuse corpus: each policy of tests/policies/refuse is refused, with its code, at its
 * place. */
#include "base/fs.h"
#include "base/mem.h"
#include "policy/builtin.h"
#include "sandrun/policy.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * NAME.json is the repository's file over the shipped floor; its first line says "// expect: CODE
 * at LINE:COLUMN", or NAME.expect beside it says "CODE at LINE:COLUMN" where a comment cannot stand
 * first. A directory is a stack of layers: org.json, repo.json, cli.json, presets/NAME.json; its
 * expect ends in " in FILE".
 */
enum { CASES_MIN = 75, TEXT_MAX = 64 * 1024 };

struct expected {
    char code[64], file[64];
    unsigned line, column;
};

struct texts {
    char *owned[32];
    size_t n;
    const char *dir;
};

static void texts_clear(struct texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->owned[i]);
}

static const char *corpus(void)
{
    static char path[4096];
    const char *tests = getenv("SR_TEST_DIR");
    snprintf(path, sizeof path, "%s/policies/refuse", tests ? tests : "tests");
    return path;
}

/* NULL when the file is not there. */
static const char *slurp(struct texts *t, const char *dir, const char *name, size_t *ret_len)
{
    struct sr_error err = { 0 };
    struct sr_buf b = SR_BUF(TEXT_MAX);
    cleanup_free char *path = sr_asprintf("%s/%s", dir, name);
    if (sr_file_read_at(AT_FDCWD, path, TEXT_MAX, &b, &err) < 0) {
        cr_assert_str_eq(err.code, "file.missing", "%s", err.text);
        sr_buf_clear(&b);
        return NULL;
    }
    cr_assert_lt(t->n, sizeof t->owned / sizeof *t->owned);
    *ret_len = b.len;
    return t->owned[t->n++] = sr_buf_steal(&b);
}

static const char *builtin(const char *name, size_t *ret_len)
{
    for (size_t i = 0; i < sr_builtin_policies_n; i++) {
        if (strcmp(sr_builtin_policies[i].name, name) == 0) {
            *ret_len = sr_builtin_policies[i].len;
            return sr_builtin_policies[i].text;
        }
    }
    return NULL;
}

static const char *find_preset(void *ctx, const char *name, size_t *ret_len)
{
    struct texts *t = ctx;
    cleanup_free char *file = sr_asprintf("presets/%s.json", name);
    const char *own = t->dir ? slurp(t, t->dir, file, ret_len) : NULL;
    return own ? own : builtin(name, ret_len);
}

static struct expected parse_expected(const char *name, const char *line)
{
    struct expected e = { 0 };
    int n = sscanf(line, "%63s at %u:%u in %63[^\n]", e.code, &e.line, &e.column, e.file);
    cr_assert(n >= 3, "%s: no \"CODE at LINE:COLUMN\"", name);
    return e;
}

static void judge(const char *name, const struct expected *e, const struct sr_policy_options *o)
{
    struct sr_error err = { 0 };
    struct sr_policy p = { 0 };
    cleanup_free char *place = sr_asprintf("%s:%u:%u: ", e->file, e->line, e->column);
    int r = sr_policy_resolve(o, &p, &err);
    cr_expect(r < 0, "%s: accepted", name);
    cr_expect_str_eq(err.code, e->code, "%s: %s (%s), not %s", name, err.code, err.text, e->code);
    cr_expect(strncmp(err.text, place, strlen(place)) == 0, "%s: \"%s\" does not stand at %s", name,
              err.text, place);
    cr_expect_null(p.bindings);
    sr_policy_clear(&p);
}

static void add(struct sr_policy_source *s, size_t *n, enum sr_layer layer, const char *path,
                const char *text, size_t len)
{
    if (text)
        s[(*n)++] =
            (struct sr_policy_source){ .layer = layer, .path = path, .text = text, .len = len };
}

static void judge_file(const char *name)
{
    static const char mark[] = "// expect: ";
    struct texts t = { 0 };
    struct sr_policy_source s[2];
    size_t n = 0, len = 0;
    cleanup_free char *sidecar =
        sr_asprintf("%.*s.expect", (int)(strlen(name) - strlen(".json")), name);
    const char *floor = builtin("floor", &len);
    add(s, &n, SR_LAYER_FLOOR, "floor", floor, len);
    const char *text = slurp(&t, corpus(), name, &len);
    add(s, &n, SR_LAYER_REPOSITORY, name, text, len);
    const char *said = slurp(&t, corpus(), sidecar, &len);
    if (!said && strncmp(text, mark, sizeof mark - 1) == 0)
        said = text + sizeof mark - 1;
    cr_assert_not_null(said, "%s does not say what it expects", name);
    struct expected e = parse_expected(name, said);
    snprintf(e.file, sizeof e.file, "%s", name);
    judge(name, &e,
          &(struct sr_policy_options){ .sources = s,
                                       .n_sources = n,
                                       .preset = find_preset,
                                       .preset_ctx = &t,
                                       .home = "/home/me" });
    texts_clear(&t);
}

static void judge_directory(const char *name)
{
    static const struct layer {
        enum sr_layer layer;
        const char *file, *shown;
    } layers[] = { { SR_LAYER_ORGANISATION, "org.json", "org.json" },
                   { SR_LAYER_REPOSITORY, "repo.json", "repo.json" },
                   { SR_LAYER_COMMAND_LINE, "cli.json", "command line" } };
    cleanup_free char *dir = sr_asprintf("%s/%s", corpus(), name);
    struct texts t = { .dir = dir };
    struct sr_policy_source s[8];
    size_t n = 0, len = 0;
    const char *floor = builtin("floor", &len);
    add(s, &n, SR_LAYER_FLOOR, "floor", floor, len);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const char *text = slurp(&t, dir, layers[i].file, &len);
        add(s, &n, layers[i].layer, layers[i].shown, text, len);
    }
    const char *said = slurp(&t, dir, "expect", &len);
    cr_assert_not_null(said, "%s does not say what it expects", name);
    struct expected e = parse_expected(name, said);
    cr_assert(e.file[0] && n > 1, "%s names no file", name);
    judge(name, &e,
          &(struct sr_policy_options){ .sources = s,
                                       .n_sources = n,
                                       .preset = find_preset,
                                       .preset_ctx = &t,
                                       .home = "/home/me" });
    texts_clear(&t);
}

Test(policy_corpus, a04_every_bad_policy_is_refused_by_name_and_place)
{
    cleanup_dir DIR *d = opendir(corpus());
    unsigned cases = 0;
    cr_assert_not_null(d, "%s cannot be opened; SR_TEST_DIR names the tests folder", corpus());
    for (const struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || (n > 7 && strcmp(e->d_name + n - 7, ".expect") == 0))
            continue;
        if (n > 5 && strcmp(e->d_name + n - 5, ".json") == 0)
            judge_file(e->d_name);
        else
            judge_directory(e->d_name);
        cases++;
    }
    cr_expect_geq(cases, CASES_MIN, "only %u cases", cases);
}
