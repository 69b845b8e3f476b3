/* SPDX-License-Identifier: MIT */
/* Paths that say by themselves what a change of them means: two tables. */
#include "change/patterns.h"

#include "change/environments.h"

#include <stddef.h>
#include <string.h>

/*
 * Deferred: written in the sandbox, executed on the host by something that nobody starts as a
 * check: a shell entering the directory, an editor opening it, git, a pipeline, an interpreter
 * starting up. Build files (Makefile, package.json, setup.py) are not here: they run when someone
 * runs them, and reviewing them is reviewing source.
 */
static const char *const deferred[] = {
    /* shells and environment managers */
    ".envrc",
    ".direnv",
    ".autoenv.zsh",
    ".mise.toml",
    "mise.toml",
    ".miserc",
    ".tool-versions",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".lando.yml",
    /* git and its helpers */
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook.yaml",
    ".lefthook",
    ".overcommit.yml",
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    "hooks/pre-commit",
    "hooks/post-checkout",
    "hooks/pre-push",
    ".lintstagedrc*",
    /* editors and assistants */
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".lvimrc",
    ".dir-locals.el",
    ".sublime-project",
    "*.sublime-project",
    "*.code-workspace",
    ".devcontainer",
    ".devcontainer.json",
    ".claude",
    ".cursor",
    ".cursorrules",
    ".codex",
    ".gemini",
    ".aider.conf.yml",
    ".mcp.json",
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".windsurf",
    ".continue",
    /* pipelines */
    ".github",
    ".gitlab-ci.yml",
    ".gitlab",
    ".circleci",
    ".travis.yml",
    "azure-pipelines.yml",
    ".azure-pipelines",
    "Jenkinsfile",
    ".drone.yml",
    ".woodpecker",
    ".woodpecker.yml",
    ".buildkite",
    ".cirrus.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    ".appveyor.yml",
    ".semaphore",
    ".gitea",
    ".forgejo",
    ".tekton",
    "cloudbuild.yaml",
    "buildspec.yml",
    /* interpreters and tools that load what lies there */
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".pythonrc*",
    ".pdbrc",
    ".gdbinit",
    ".lldbinit",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".cargo/config",
    ".cargo/config.toml",
    ".irbrc",
    ".pryrc",
    ".Rprofile",
    ".psqlrc",
    ".wgetrc",
    ".curlrc",
    NULL,
};

static const char *const cache[] = {
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".pytype",
    ".dmypy.json",
    ".import_linter_cache",
    ".coverage",
    ".coverage.*",
    "htmlcov",
    ".testmondata*",
    ".benchmarks",
    ".ipynb_checkpoints",
    ".tox",
    ".nox",
    "*.egg-info",
    "node_modules/.cache",
    "node_modules/.vite",
    "node_modules/.vite-temp",
    "node_modules/.vitest",
    ".eslintcache",
    ".stylelintcache",
    ".prettiercache",
    ".parcel-cache",
    ".next/cache",
    ".nuxt",
    ".turbo",
    ".nx/cache",
    ".angular/cache",
    ".svelte-kit",
    ".nyc_output",
    "*.tsbuildinfo",
    ".yarn/install-state.gz",
    ".sass-cache",
    ".rspec_status",
    ".phpunit.result.cache",
    ".phpunit.cache",
    ".php-cs-fixer.cache",
    ".php_cs.cache",
    ".phpstan.cache",
    ".rubocop_cache",
    ".bootsnap",
    ".gradle",
    ".kotlin",
    ".ccls-cache",
    ".clangd",
    "*.gcda",
    "*.gcno",
    ".scannerwork",
    ".golangci-cache",
    ".DS_Store",
    ".cache",
    NULL,
};

/* Below the private home: where tools keep what they can make again. */
static const char *const home_cache[] = {
    ".npm",
    ".cargo/registry",
    ".cargo/git",
    ".gradle/caches",
    ".m2/repository",
    ".ivy2/cache",
    ".nuget/packages",
    "go/pkg",
    ".bundle/cache",
    ".gem/specs",
    ".cabal/packages",
    ".hex/packages",
    ".local/state",
    ".local/share/virtualenv",
    ".pex",
    ".local/share/pnpm/store",
    ".node-gyp",
    ".yarn",
    ".pnpm-store",
    ".bun/install/cache",
    ".config/configstore",
    NULL,
};

bool sr_path_git_internal(const char *path)
{
    for (const char *p = path; p;) {
        size_t len = strcspn(p, "/");
        if (len == 4 && memcmp(p, ".git", 4) == 0)
            return true;
        p = p[len] ? p + len + 1 : NULL;
    }
    return false;
}

bool sr_path_deferred(const char *path)
{
    return sr_patterns_match(deferred, path);
}

bool sr_path_cache(const char *path, bool in_home)
{
    return sr_patterns_match(cache, path) || (in_home && sr_patterns_match(home_cache, path));
}
