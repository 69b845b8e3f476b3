/* SPDX-License-Identifier: MIT */
/* The environment table: what is one, what is not, and what may be written in one. */
#include "change/environments.h"
#include "change_rig.h"

static const struct {
    const char *make, *path, *kind;
} kinds[] = {
    { "mkdir x; touch x/pyvenv.cfg", "x", "venv" },
    { "mkdir -p a/.venv; touch a/.venv/pyvenv.cfg", "a/.venv", "venv" },
    { "mkdir -p x/conda-meta", "x", "conda" },
    { "mkdir -p x/bin; touch x/bin/activate_this.py", "x", "virtualenv" },
    { "mkdir node_modules", "node_modules", "node_modules" },
    { "mkdir -p a/node_modules", "a/node_modules", "node_modules" },
    { "mkdir -p .tox/py311", ".tox/py311", "tox" },
    { "mkdir -p .tox/.pkg", ".tox/.pkg", NULL },
    { "mkdir -p .tox/log", ".tox/log", NULL },
    { "mkdir -p .nox/lint", ".nox/lint", "nox" },
    { "mkdir -p vendor/bundle/ruby", "vendor/bundle", "bundler" },
    { "mkdir vendor; touch vendor/autoload.php", "vendor", "composer" },
    { "mkdir -p vendor/composer; touch vendor/composer/installed.json", "vendor", "composer" },
    { "mkdir vendor; touch vendor/modules.txt", "vendor", "go-vendor" },
    { "mkdir vendor", "vendor", NULL },
    { "mkdir target; touch target/.rustc_info.json", "target", "cargo" },
    { "mkdir target", "target", NULL },
    { "mkdir obj; touch obj/project.assets.json", "obj", "dotnet" },
    { "mkdir .gradle", ".gradle", "gradle" },
    { "mkdir deps; touch mix.exs", "deps", "mix" },
    { "mkdir deps", "deps", NULL },
    { "mkdir -p s/_build; touch s/mix.exs", "s/_build", "mix" },
    { "mkdir -p .yarn/cache", ".yarn/cache", "yarn-cache" },
    { "mkdir .eggs", ".eggs", "eggs" },
    { "mkdir -p x/lib/python3.11/site-packages", "x/lib/python3.11/site-packages", "python" },
    { "mkdir -p x/gems x/specifications", "x/gems", "gem" },
    { "mkdir -p x/gems", "x/gems", NULL },
    { "mkdir .gem", ".gem", NULL },
    { "mkdir -p go/bin", "go/bin", NULL },
    { "mkdir .pytest_cache", ".pytest_cache", NULL },
    { "mkdir .venv", ".venv", NULL },
    { "mkdir -p .venv/lib/python3.11", ".venv", NULL },
    { "touch pyvenv.cfg", ".", "venv" },
    { "touch node_modules", "node_modules", NULL },
    { "ln -s / node_modules", "node_modules", NULL },
    { "true", "nothing", NULL },
};

Test(environments, every_row_by_its_sign)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct rig r = rig_make(kinds[i].make);
        const char *got = sr_environment_kind(r.lower_fd, kinds[i].path);
        if (kinds[i].kind)
            cr_assert(got && strcmp(got, kinds[i].kind) == 0, "%s: %s, not %s", kinds[i].make,
                      got ? got : "none", kinds[i].kind);
        else
            cr_assert_null(got, "%s: %s", kinds[i].make, got);
        rig_down(&r);
    }
}

/* Where installers put what is then loaded, below a home; and where they only fetch. */
static const struct {
    const char *path, *kind;
} home_kinds[] = {
    { ".local/lib/python3.11/site-packages", "python" },
    { ".gem", "gem" },
    { ".local/share/gem", "gem" },
    { ".bundle/ruby", "bundler" },
    { ".bundle/plugin", "bundler" },
    { ".bundle/cache", NULL },
    { ".npm/_npx", "npx" },
    { ".npm/_cacache", NULL },
    { ".local/share/pnpm", "pnpm" },
    { ".pnpm-store", NULL },
    { ".config/yarn/global", "yarn-global" },
    { ".bun/bin", "bun" },
    { ".bun/install/cache", NULL },
    { ".cargo/bin", "cargo-install" },
    { ".cargo/registry", NULL },
    { ".rustup/toolchains", "rustup" },
    { "go/bin", "go-install" },
    { "go/pkg", NULL },
    { "perl5", "perl" },
    { "R/x86_64-pc-linux-gnu-library", "R" },
    { ".luarocks", "luarocks" },
    { ".julia/packages", "packages" },
    { ".nimble/pkgs2", "packages" },
    { ".dotnet/tools", "dotnet-tools" },
    { ".mix/archives", "mix" },
    { ".pyenv/versions", "toolchain" },
    { ".nvm/versions", "toolchain" },
    { ".m2/repository", NULL },
    { ".cache/pip", NULL },
};

static bool nothing(void *context, const char *path)
{
    (void)context;
    (void)path;
    return false;
}

Test(environments, homes_of_installers)
{
    for (size_t i = 0; i < sizeof home_kinds / sizeof *home_kinds; i++) {
        const struct sr_environment *e =
            sr_environment_match(home_kinds[i].path, true, nothing, NULL);
        cr_assert_str_eq(e ? e->kind : "", home_kinds[i].kind ? home_kinds[i].kind : "", "%s",
                         home_kinds[i].path);
        e = sr_environment_match(home_kinds[i].path, false, nothing, NULL);
        cr_assert(!e || !e->home, "%s in a tree", home_kinds[i].path);
    }
}

Test(environments, named_by_words_alone)
{
    cr_assert(sr_environment_named("a/.venv/lib/x"));
    cr_assert(sr_environment_named("a/node_modules/x/y"));
    cr_assert(sr_environment_named("any/pyvenv.cfg"));
    cr_assert(sr_environment_named(".tox/py311/bin/x"));
    cr_assert_not(sr_environment_named("src/main.c"));
    cr_assert_not(sr_environment_named("a/b/c"));
}

static bool venv_there(void *context, const char *path)
{
    (void)context;
    return strcmp(path, ".venv/pyvenv.cfg") == 0;
}

static const struct {
    const char *root, *below;
    bool harmless;
} writes[] = {
    { ".venv", "lib/python3.11/site-packages/a/__pycache__/b.cpython-311.pyc", true },
    { ".venv", "lib/python3.11/site-packages/a/b.py", false },
    { ".venv", "bin/python", false },
    { ".venv", "pyvenv.cfg", false },
    { ".venv", "lib/python3.11/site-packages/evil.pyc", false },
    { ".venv", "lib/python3.11/site-packages/a/evil.pyo", false },
    { "node_modules", ".cache/babel/x.json", true },
    { "node_modules", "a/node_modules/.cache/x", true },
    { "node_modules", "a/index.js", false },
    { "node_modules", ".package-lock.json", false },
    { ".tox/py", "log/1.log", true },
    { ".tox/py", "lib/python3.11/site-packages/log/x.py", false },
};

Test(environments, a21_what_may_be_written)
{
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        const struct sr_environment *e = sr_environment_match(writes[i].root, false, venv_there, NULL);
        cr_assert_not_null(e, "%s", writes[i].root);
        cr_assert_eq(sr_environment_harmless(e, writes[i].below), writes[i].harmless, "%s %s",
                     writes[i].root, writes[i].below);
    }
}

static bool matches(const char *pattern, const char *path)
{
    const char *const one[] = { pattern, NULL };
    return sr_patterns_match(one, path);
}

Test(environments, patterns)
{
    cr_assert(matches("*.nbi", "a/b/c.nbi"));
    cr_assert(matches("__pycache__", "a/__pycache__/x"));
    cr_assert_not(matches("__pycache__", "a/__pycache__x/x"));
    cr_assert(matches("node_modules/.cache", "a/node_modules/.cache/x/y"));
    cr_assert(matches("node_modules/.cache", "node_modules/.cache"));
    cr_assert_not(matches("node_modules/.cache", "node_modules/a/.cache"));
    cr_assert_not(matches("a/*/b", "a/x/y/b"));
    cr_assert_not(matches("a/b/c", "b/c"));
}
