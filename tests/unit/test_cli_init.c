/* SPDX-License-Identifier: MIT */
/* sandrun init: what it recognises, and that what it writes is a policy. */
#include "base/fs.h"
#include "base/json.h"
#include "cli/init.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
    char path[64];
    int fd;
};

static void tree_make(struct tree *t)
{
    snprintf(t->path, sizeof t->path, "/tmp/sr-init-XXXXXX");
    cr_assert_not_null(mkdtemp(t->path));
    t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(t->fd, 0);
}

static void tree_remove(struct tree *t)
{
    struct sr_error err = { 0 };
    close(t->fd);
    cr_assert_eq(sr_remove_at(AT_FDCWD, t->path, &err), 0, "%s", err.text);
}

static void put(struct tree *t, const char *name, const char *text)
{
    struct sr_error err = { 0 };
    const char *slash = strrchr(name, '/');
    if (slash) {
        cleanup_free char *dir = sr_strndup(name, (size_t)(slash - name));
        cr_assert_eq(sr_mkdir_p(t->fd, dir, 0755, &err), 0);
    }
    int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0);
    cr_assert_eq(sr_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static char *command_of(const struct init_found *f, const char *name)
{
    struct sr_buf b = SR_BUF(4096);
    for (size_t i = 0; i < f->n_checks; i++)
        for (size_t k = 0; strcmp(f->checks[i].name, name) == 0 && k < f->checks[i].command.n; k++)
            sr_buf_printf(&b, "%s%s", k ? " " : "", f->checks[i].command.v[k]);
    return sr_buf_steal(&b);
}

#define EXPECT(found, name, words)                                                                 \
    do {                                                                                           \
        cleanup_free char *c_ = command_of(found, name);                                           \
        cr_assert_str_eq(c_, words, "%s: %s", name, c_);                                           \
    } while (0)

Test(cli_init, python_uses_the_environments_own_interpreter)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n");
    put(&t, ".venv/pyvenv.cfg", "home = /usr/bin\n");
    put(&t, ".venv/lib/python3.11/site-packages/pytest/__init__.py", "");
    put(&t, ".venv/lib/python3.11/site-packages/mypy/__init__.py", "");
    put(&t, ".venv/bin/ruff", "");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", ".venv/bin/python -m pytest -q");
    EXPECT(&f, "Lint", ".venv/bin/ruff check --no-cache .");
    EXPECT(&f, "Validate", ".venv/bin/python -m mypy .");
    cr_assert(sr_strv_has(&f.presets, "python"));
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, what_the_environment_lacks_is_said_and_not_run)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n");
    put(&t, ".venv/pyvenv.cfg", "home = /usr/bin\n");
    init_detect(t.fd, &f);
    EXPECT(&f, "Lint", "");
    EXPECT(&f, "Validate", "");
    cr_assert_eq(f.problems.n, 1);
    cr_assert_not_null(strstr(f.problems.v[0], "pytest"));
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, a_broken_package_json_is_said)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "package.json", "{\"scripts\": {\"test\": \"jest\",}}");
    init_detect(t.fd, &f);
    cr_assert_eq(f.n_checks, 0);
    cr_assert_eq(f.presets.n, 0);
    cr_assert_eq(f.problems.n, 1);
    cr_assert_not_null(strstr(f.problems.v[0], "package.json"));
    init_found_clear(&f);
    tree_remove(&t);
}

/* Neither of the preset's commands is there without its script behind it. */
Test(cli_init, npm_without_a_script_has_no_check_for_it)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "package.json", "{\"scripts\":{\"test\":\"jest\"}}");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", "npm run test");
    EXPECT(&f, "Lint", "");
    cr_assert_not(sr_strv_has(&f.presets, "node"));
    cr_assert(sr_strv_has(&f.presets, "node_env"));
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, python_without_anything_named_is_unittest)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "setup.py", "from setuptools import setup; setup()\n");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", "python3 -m unittest discover");
    EXPECT(&f, "Lint", "");
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, node_takes_scripts_that_are_there)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "package.json",
        "{\"scripts\":{\"test\":\"jest\",\"lint\":\"eslint .\",\"typecheck\":\"tsc\"}}");
    put(&t, "pnpm-lock.yaml", "");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", "pnpm run test");
    EXPECT(&f, "Lint", "pnpm run lint");
    EXPECT(&f, "Validate", "pnpm run typecheck");
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, npms_placeholder_is_no_test)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "package.json",
        "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", "");
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, npms_own_scripts_are_the_presets)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "package.json", "{\"scripts\":{\"test\":\"jest\",\"lint\":\"eslint .\"}}");
    init_detect(t.fd, &f);
    cr_assert_eq(f.n_checks, 0);
    cr_assert(sr_strv_has(&f.presets, "node"));
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, a_language_with_a_preset_leaves_the_makefile_alone)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "Cargo.toml", "[package]\n");
    put(&t, "Makefile", "lint:\n\ttrue\n");
    init_detect(t.fd, &f);
    cr_assert_eq(f.n_checks, 0);
    cr_assert_eq(f.presets.n, 1);
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, assignments_and_recipes_are_no_targets)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "Makefile", "test := no\nfoo validate: all\n\ttest:\nlint:\n\ttrue\ncheck: lint\n");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", "make check");
    EXPECT(&f, "Validate", "make validate");
    EXPECT(&f, "Lint", "make lint");
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, a_makefile_alone)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    put(&t, "Makefile", ".PHONY: check\ncheck:\n\ttrue\nlint: ;\ntest=1\n# validate:\n");
    init_detect(t.fd, &f);
    EXPECT(&f, "Test", "make check");
    EXPECT(&f, "Validate", "");
    EXPECT(&f, "Lint", "make lint");
    init_found_clear(&f);
    tree_remove(&t);
}

Test(cli_init, links_are_not_followed)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    cr_assert_eq(symlinkat("/etc/passwd", t.fd, "go.mod"), 0);
    init_detect(t.fd, &f);
    cr_assert_eq(f.n_checks, 0);
    cr_assert_eq(f.files.n, 0);
    init_found_clear(&f);
    tree_remove(&t);
}

/* Comments allowed, strict otherwise: exactly how a policy is read. */
static void parses(const struct init_found *f)
{
    cleanup_buf struct sr_buf text = SR_BUF(INIT_FILE_MAX);
    cleanup_json_doc struct sr_json doc = { 0 };
    struct sr_error err = { 0 };
    init_text(f, &text);
    cr_assert_eq(sr_json_parse("sandrun.json", text.data, text.len, INIT_FILE_MAX, SR_JSON_COMMENTS,
                               &doc, &err),
                 0, "%s\n%s", err.text, text.data);
    cr_assert(cJSON_IsObject(sr_json_get(doc.root, "bindings")));
    for (size_t i = 0; i < f->n_checks; i++)
        cr_assert_not_null(sr_json_get(sr_json_get(doc.root, "bindings"), f->checks[i].name));
}

Test(cli_init, the_text_is_json_with_comments_also_when_nothing_was_found)
{
    struct tree t;
    struct init_found f;
    tree_make(&t);
    init_detect(t.fd, &f);
    cr_assert_eq(f.n_checks, 0);
    parses(&f);
    init_found_clear(&f);
    put(&t, "Makefile", "validate:\ntest:\nlint:\n");
    init_detect(t.fd, &f);
    cr_assert_eq(f.n_checks, 3);
    parses(&f);
    init_found_clear(&f);
    tree_remove(&t);
}
