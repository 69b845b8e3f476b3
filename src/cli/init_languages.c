/* SPDX-License-Identifier: MIT */
/* Recognising Python, Node, Rust and Go repositories by the files their tools read. */
#include "base/json.h"
#include "cli/init.h"

#include <stdio.h>
#include <string.h>

#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* ---- Python ---- */

static const char *const python_files[] = { "pyproject.toml",      "setup.cfg", "tox.ini",
                                            "pytest.ini",          "setup.py",  "requirements.txt",
                                            "requirements-dev.txt" };

/* The environment's own interpreter by path: `poetry run` and its like would rather rebuild an
 * environment than say that it does not work. */
static const char *python_program(const struct init_found *f, const char *name, char out[64])
{
    static const char *const venvs[] = { ".venv", "venv", "env" };
    for (size_t i = 0; i < sizeof venvs / sizeof *venvs; i++) {
        char marker[64];
        snprintf(marker, sizeof marker, "%s/pyvenv.cfg", venvs[i]);
        if (!init_exists(f, marker))
            continue;
        snprintf(out, 64, "%s/bin/%s", venvs[i], name);
        return out;
    }
    snprintf(out, 64, "%s", strcmp(name, "python") == 0 ? "python3" : name);
    return out;
}

/* What the preset does already is left to it. */
static void python_checks(struct init_found *f, const char *text)
{
    char python[64], ruff[64];
    bool venv = strcmp(python_program(f, "python", python), "python3") != 0;
    python_program(f, "ruff", ruff);
    if (!strstr(text, "pytest"))
        init_check_add(f, "Test", "no test runner is named: unittest of the standard library",
                       ARGV(python, "-m", "unittest", "discover"));
    else if (venv)
        init_check_add(f, "Test", "pytest of the tree's own environment",
                       ARGV(python, "-m", "pytest", "-q"));
    if (strstr(text, "mypy"))
        init_check_add(f, "Validate", "the repository's files name mypy",
                       ARGV(python, "-m", "mypy", "."));
    if (strstr(text, "ruff"))
        init_check_add(f, "Lint", "the repository's files name ruff",
                       ARGV(ruff, "check", "--no-cache", "."));
    else if (strstr(text, "flake8"))
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

/* preset: the preset's command for npm is this very script. */
static const struct {
    const char *script, *check;
    bool preset;
} node_scripts[] = { { "test", "Test", true },
                     { "validate", "Validate", false },
                     { "typecheck", "Validate", false },
                     { "check", "Validate", false },
                     { "lint", "Lint", true } };

static void node_script_add(struct init_found *f, const cJSON *scripts, size_t i)
{
    const char *body = sr_json_string(scripts, node_scripts[i].script), *manager = node_manager(f);
    char why[128];
    /* What `npm init` writes where there are no tests. */
    if (!body || strstr(body, "no test specified") ||
        (node_scripts[i].preset && strcmp(manager, "npm") == 0))
        return;
    snprintf(why, sizeof why, "the script \"%s\" of package.json", node_scripts[i].script);
    init_check_add(f, node_scripts[i].check, why, ARGV(manager, "run", node_scripts[i].script));
}

void init_detect_node(struct init_found *f)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    cleanup_free char *text = init_file(f, "package.json");
    struct sr_error ignored = { 0 };
    if (text[0] == '\0')
        return;
    init_preset_add(f, "node");
    if (sr_json_parse("package.json", text, strlen(text), INIT_FILE_MAX, SR_JSON_STRICT, &doc,
                      &ignored) < 0)
        return;
    for (size_t i = 0; i < sizeof node_scripts / sizeof *node_scripts; i++)
        node_script_add(f, sr_json_get(doc.root, "scripts"), i);
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
