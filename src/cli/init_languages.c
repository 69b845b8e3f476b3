/* SPDX-License-Identifier: MIT */
/* Recognising Python, Node, Rust and Go repositories by the files their tools read. */
#include "base/fs.h"
#include "base/json.h"
#include "cli/init.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* ---- Python ---- */

static const char *const python_files[] = { "pyproject.toml",      "setup.cfg", "tox.ini",
                                            "pytest.ini",          "setup.py",  "requirements.txt",
                                            "requirements-dev.txt" };

/* The environment of the tree, "" when there is none. Its interpreter is named by path: `poetry run`
 * and its like would rather rebuild an environment than say that it does not work. */
static const char *python_venv(const struct init_found *f)
{
    static const char *const venvs[] = { ".venv", "venv", "env" };
    for (size_t i = 0; i < sizeof venvs / sizeof *venvs; i++) {
        char marker[64];
        snprintf(marker, sizeof marker, "%s/pyvenv.cfg", venvs[i]);
        if (init_exists(f, marker))
            return venvs[i];
    }
    return "";
}

/* lib/pythonX.Y/site-packages/MODULE */
static bool venv_has_module(const struct init_found *f, const char *venv, const char *module)
{
    cleanup_free char *lib = sr_path_join(venv, "lib");
    int fd = openat(f->tree_fd, lib, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    if (!dir && fd >= 0)
        close(fd);
    while (dir && (e = readdir(dir)) != NULL) {
        cleanup_free char *at = sr_asprintf("%s/%s/site-packages/%s", lib, e->d_name, module);
        if (strncmp(e->d_name, "python", 6) == 0 && init_exists(f, at))
            return true;
    }
    return false;
}

static void python_test(struct init_found *f, const char *text, const char *venv,
                        const char *python)
{
    if (!strstr(text, "pytest")) {
        init_check_add(f, "Test", "no test runner is named: unittest of the standard library",
                       ARGV(python, "-m", "unittest", "discover"));
        return;
    }
    if (!venv[0]) /* the preset's own command */
        return;
    if (venv_has_module(f, venv, "pytest")) {
        init_check_add(f, "Test", "pytest of the tree's own environment",
                       ARGV(python, "-m", "pytest", "-q"));
        return;
    }
    init_check_add(f, "Test", "pytest, which the tree's environment does not have yet",
                   ARGV(python, "-m", "pytest", "-q"));
    init_problem(f, "Test runs pytest, and %s has none: install it there first", venv);
}

/* What the preset does already is left to it, and so is what the environment cannot do. */
static void python_checks(struct init_found *f, const char *text)
{
    const char *venv = python_venv(f);
    cleanup_free char *python = venv[0] ? sr_asprintf("%s/bin/python", venv) : sr_strdup("python3");
    cleanup_free char *ruff = venv[0] ? sr_asprintf("%s/bin/ruff", venv) : sr_strdup("ruff");
    python_test(f, text, venv, python);
    if (strstr(text, "mypy") && (!venv[0] || venv_has_module(f, venv, "mypy")))
        init_check_add(f, "Validate", "the repository's files name mypy",
                       ARGV(python, "-m", "mypy", "."));
    if (strstr(text, "ruff") && (!venv[0] || init_exists(f, ruff)))
        init_check_add(f, "Lint", "the repository's files name ruff",
                       ARGV(ruff, "check", "--no-cache", "."));
    else if (strstr(text, "flake8") && (!venv[0] || venv_has_module(f, venv, "flake8")))
        init_check_add(f, "Lint", "the repository's files name flake8",
                       ARGV(python, "-m", "flake8"));
}

void init_detect_python(struct init_found *f)
{
    cleanup_buf struct sr_buf all = SR_BUF(8 * INIT_FILE_MAX);
    size_t before = f->files.n;
    for (size_t i = 0; i < sizeof python_files / sizeof *python_files; i++) {
        cleanup_free char *text = init_file(f, python_files[i]);
        sr_buf_printf(&all, "%s\n", text);
    }
    if (init_exists(f, "pytest.ini"))
        sr_buf_puts(&all, "pytest");
    if (f->files.n == before)
        return;
    init_preset_add(f, "python");
    python_checks(f, all.data);
}

/* ---- Node ---- */

static const char *node_manager(const struct init_found *f)
{
    if (init_exists(f, "pnpm-lock.yaml"))
        return "pnpm";
    return init_exists(f, "yarn.lock") ? "yarn" : "npm";
}

static const struct {
    const char *script, *check;
} node_scripts[] = { { "test", "Test" },
                     { "validate", "Validate" },
                     { "typecheck", "Validate" },
                     { "check", "Validate" },
                     { "lint", "Lint" } };

static bool node_has(const cJSON *scripts, const char *script)
{
    const char *body = sr_json_string(scripts, script);
    /* What `npm init` writes where there are no tests. */
    return body && !strstr(body, "no test specified");
}

static void node_checks(struct init_found *f, const cJSON *scripts, const char *manager)
{
    char why[128];
    for (size_t i = 0; i < sizeof node_scripts / sizeof *node_scripts; i++) {
        const char *script = node_scripts[i].script;
        if (!node_has(scripts, script))
            continue;
        snprintf(why, sizeof why, "the script \"%s\" of package.json", script);
        init_check_add(f, node_scripts[i].check, why, ARGV(manager, "run", script));
    }
}

/* The preset names npm's test and lint. A check of it that no script stands behind would fail for
 * ever, and say of the code what is true of package.json: then only its variables are taken. */
static void node_scripts_look(struct init_found *f, const cJSON *scripts)
{
    const char *manager = node_manager(f);
    bool npm = strcmp(manager, "npm") == 0;
    bool whole = npm && node_has(scripts, "test") && node_has(scripts, "lint");
    init_preset_add(f, whole ? "node" : "node_env");
    if (!node_has(scripts, "test"))
        init_problem(f, "package.json has no script \"test\", so there is no Test");
    if (!whole) {
        node_checks(f, scripts, manager);
        return;
    }
    for (size_t i = 0; i < sizeof node_scripts / sizeof *node_scripts; i++)
        if (strcmp(node_scripts[i].check, "Validate") == 0 &&
            node_has(scripts, node_scripts[i].script))
            init_check_add(f, "Validate", "a script of package.json",
                           ARGV(manager, "run", node_scripts[i].script));
}

void init_detect_node(struct init_found *f)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    cleanup_free char *text = init_file(f, "package.json");
    struct sr_error err = { 0 };
    if (text[0] == '\0')
        return;
    if (sr_json_parse("package.json", text, strlen(text), INIT_FILE_MAX, SR_JSON_STRICT, &doc,
                      &err) < 0)
        init_problem(f, "package.json was passed over: %s", err.text);
    else
        node_scripts_look(f, sr_json_get(doc.root, "scripts"));
}

/* ---- Rust and Go: one tool, one way, which the presets know ---- */

void init_detect_rust(struct init_found *f)
{
    cleanup_free char *text = init_file(f, "Cargo.toml");
    if (text[0])
        init_preset_add(f, "rust");
}

void init_detect_go(struct init_found *f)
{
    cleanup_free char *text = init_file(f, "go.mod");
    if (text[0])
        init_preset_add(f, "go");
}
