/* SPDX-License-Identifier: MIT */
/* The environment table. */
#include "change/environments.h"

#include "base/mem.h"
#include "change/walk.h"
#include "sandrun/change.h"

#include <string.h>

/*
 * First match wins, so the surer sign stands first. A row without markers goes by the name alone:
 * npm makes an empty node_modules, and an empty one is what a failed install leaves. A weak row is
 * what a half-removed environment looks like.
 */
const struct sr_environment sr_environments[] = {
    /* .tox/.pkg and .nox/.cache are scratch of one run, made and dropped by the tool itself: no
       environment of anyone's */
    { .kind = "tox",
      .names = { "*" },
      .parents = { ".tox" },
      .not_names = { "log", "dist", "tmp", "build", ".pkg*", ".package*", ".tox-info.json" },
      .identity = "pyvenv.cfg",
      .keys = { "home", "version", "version_info" },
      .harmless = { "log", "tmp", ".tox-info.json", ".tox-config1" } },
    { .kind = "nox",
      .names = { "*" },
      .parents = { ".nox" },
      .not_names = { ".cache", ".tmp", "tmp" },
      .identity = "pyvenv.cfg",
      .keys = { "home", "version", "version_info" },
      .harmless = { "tmp" } },
    { .kind = "venv",
      .markers = { "pyvenv.cfg" },
      .identity = "pyvenv.cfg",
      .keys = { "home", "version", "version_info" } },
    { .kind = "virtualenv", .markers = { "bin/activate_this.py", "Scripts/activate_this.py" } },
    { .kind = "conda", .markers = { "conda-meta" } },
    { .kind = "node_modules",
      .names = { "node_modules" },
      .identity = ".modules.yaml",
      .keys = { "storeDir", "layoutVersion" },
      .harmless = { ".cache", ".vite", ".vite-temp", ".vitest", ".yarn-state.yml",
                    ".package-map.json" } },
    { .kind = "bower_components", .names = { "bower_components" } },
    { .kind = "jspm_packages", .names = { "jspm_packages" } },
    { .kind = "yarn-cache", .names = { "cache", "unplugged" }, .parents = { ".yarn" } },
    { .kind = "bundler", .names = { "bundle" }, .parents = { "vendor" } },
    { .kind = "composer",
      .names = { "vendor" },
      .markers = { "autoload.php", "composer/installed.json" } },
    { .kind = "go-vendor", .names = { "vendor" }, .markers = { "modules.txt" } },
    { .kind = "cargo-vendor", .names = { "vendor" }, .markers = { "../.cargo/config.toml" } },
    { .kind = "pdm", .names = { "__pypackages__" } },
    { .kind = "opam", .names = { "_opam" }, .markers = { ".opam-switch" } },
    { .kind = "renv", .names = { "library" }, .parents = { "renv" } },
    { .kind = "cpan", .names = { "local" }, .markers = { "lib/perl5" } },
    { .kind = "cocoapods", .names = { "Pods" }, .markers = { "Manifest.lock" } },
    { .kind = "mix", .names = { "deps" }, .markers = { "../mix.exs" } },
    { .kind = "haxelib", .names = { ".haxelib" } },
    { .kind = "luarocks", .names = { "lua_modules" } },
    { .kind = "eggs", .names = { ".eggs" }, .harmless = { "README.txt" } },
    /* an installer's prefix without a pyvenv.cfg: pip --user, pip --prefix */
    { .kind = "python",
      .names = { "site-packages", "dist-packages" },
      .parents = { "python*", "pypy*" } },
    { .kind = "bundler", .names = { "ruby", "plugin" }, .parents = { ".bundle" } },
    { .kind = "gem", .names = { "gems" }, .markers = { "../specifications" } },
    { .kind = "cargo",
      .names = { "target*" },
      .markers = { ".rustc_info.json" },
      .writes_are_builds = true },
    { .kind = "cargo",
      .names = { "target" },
      .markers = { "CACHEDIR.TAG", "debug/.cargo-lock", "release/.cargo-lock" },
      .writes_are_builds = true },
    { .kind = "maven",
      .names = { "target" },
      .markers = { "../pom.xml" },
      .writes_are_builds = true },
    { .kind = "gradle", .names = { ".gradle" }, .writes_are_builds = true },
    { .kind = "gradle",
      .names = { "build" },
      .markers = { "../build.gradle", "../build.gradle.kts" },
      .writes_are_builds = true },
    { .kind = "mix",
      .names = { "_build" },
      .markers = { "../mix.exs", "dev/lib", "test/lib", "prod/lib" },
      .writes_are_builds = true },
    /* restore bakes absolute paths of the machine into this file; a build alone leaves it as it is
     */
    { .kind = "dotnet",
      .names = { "obj" },
      .markers = { "project.assets.json" },
      .identity = "project.assets.json",
      .writes_are_builds = true },
    { .kind = "stack", .names = { ".stack-work" }, .writes_are_builds = true },
    { .kind = "cabal", .names = { "dist-newstyle" }, .writes_are_builds = true },
    { .kind = "dart",
      .names = { ".dart_tool" },
      .identity = "package_config.json",
      .writes_are_builds = true },
    { .kind = "swiftpm",
      .names = { ".build" },
      .markers = { "../Package.swift" },
      .writes_are_builds = true },
    { .kind = "venv",
      .names = { ".venv", "venv", ".env", "env", ".virtualenv" },
      .markers = { "lib", "bin", "Scripts", "lib64" },
      .weak = true },
    /* Where installers put packages that are then loaded or run, below a home; what is only fetched
       there is a cache (patterns.c). A home's venvs and node_modules are found by the rows above.
     */
    { .kind = "gem", .names = { ".gem" }, .harmless = { "specs", "credentials" }, .home = true },
    { .kind = "gem",
      .names = { "gem" },
      .parents = { "share" },
      .harmless = { "specs" },
      .home = true },
    { .kind = "npx", .names = { "_npx" }, .parents = { ".npm" }, .home = true },
    { .kind = "pnpm",
      .names = { "pnpm" },
      .parents = { "share" },
      .harmless = { "store" },
      .home = true },
    { .kind = "yarn-global", .names = { "global" }, .parents = { "yarn" }, .home = true },
    { .kind = "bun", .names = { "bin", "global" }, .parents = { ".bun", "install" }, .home = true },
    { .kind = "cargo-install", .names = { "bin" }, .parents = { ".cargo" }, .home = true },
    { .kind = "rustup", .names = { "toolchains" }, .parents = { ".rustup" }, .home = true },
    { .kind = "go-install", .names = { "bin" }, .parents = { "go" }, .home = true },
    { .kind = "perl", .names = { "perl5" }, .home = true },
    { .kind = "R", .names = { "*-library" }, .parents = { "R" }, .home = true },
    { .kind = "opam",
      .names = { "*" },
      .parents = { ".opam" },
      .markers = { ".opam-switch" },
      .home = true },
    { .kind = "luarocks", .names = { ".luarocks" }, .home = true },
    { .kind = "packages",
      .names = { "packages", "pkgs*" },
      .parents = { ".julia", ".dub", ".nimble" },
      .home = true },
    { .kind = "dotnet-tools", .names = { "tools" }, .parents = { ".dotnet" }, .home = true },
    { .kind = "mix", .names = { "archives", "escripts" }, .parents = { ".mix" }, .home = true },
    { .kind = "toolchain",
      .names = { "versions", "installs", "candidates" },
      .parents = { ".pyenv", ".rbenv", ".nodenv", ".nvm", ".asdf", "mise", ".sdkman" },
      .home = true },
};
const size_t sr_environments_n = sizeof sr_environments / sizeof *sr_environments;

/* What tools write into any environment while it is used as installed. */
static const char *const harmless_anywhere[] = {
    "__pycache__",
    "*.nbi",
    "*.nbc",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "pip-selfcheck.json",
    ".lock",
    ".DS_Store",
    "node_modules/.cache",
    NULL,
};

/* One component against one of a pattern, which has at most one star. No fnmatch: it wants its
 * strings ended, and a deep tree asks this some million times. */
static bool component_match(const char *pattern, size_t pattern_len, const char *word, size_t len)
{
    const char *star = memchr(pattern, '*', pattern_len);
    if (!star)
        return pattern_len == len && memcmp(pattern, word, len) == 0;
    size_t head = (size_t)(star - pattern), tail = pattern_len - head - 1;
    return len >= head + tail && memcmp(pattern, word, head) == 0 &&
           memcmp(star + 1, word + len - tail, tail) == 0;
}

bool sr_pattern_leads(const char *pattern, const char *path)
{
    for (;;) {
        size_t pattern_len = strcspn(pattern, "/"), len = strcspn(path, "/");
        if (!component_match(pattern, pattern_len, path, len))
            return false;
        if (pattern[pattern_len] == '\0')
            return true;
        if (path[len] == '\0')
            return false;
        pattern += pattern_len + 1;
        path += len + 1;
    }
}

bool sr_patterns_match(const char *const *patterns, const char *path)
{
    for (const char *p = path; p;) {
        for (const char *const *pattern = patterns; *pattern; pattern++)
            if (((*pattern)[0] == p[0] || (*pattern)[0] == '*') && sr_pattern_leads(*pattern, p))
                return true;
        p = strchr(p, '/');
        p = p ? p + 1 : NULL;
    }
    return false;
}

static bool words_match(const char *const *patterns, const char *word, size_t len)
{
    for (size_t i = 0; i < SR_ENVIRONMENT_WORDS && patterns[i]; i++)
        if (component_match(patterns[i], strlen(patterns[i]), word, len))
            return true;
    return false;
}

static bool word_match(const char *const *patterns, const char *word)
{
    return words_match(patterns, word, strlen(word));
}

static bool marker_exists(const struct sr_environment *e, const char *path, sr_exists_fn *exists,
                          void *context)
{
    for (size_t i = 0; i < SR_ENVIRONMENT_WORDS && e->markers[i]; i++) {
        const char *marker = e->markers[i];
        size_t len = strlen(path);
        if (strncmp(marker, "../", 3) == 0) {
            const char *slash = strrchr(path, '/');
            if (len == 0)
                continue;
            marker += 3;
            len = slash ? (size_t)(slash - path) : 0;
        }
        cleanup_free char *dir = sr_strndup(path, len), *full = sr_walk_join(dir, marker);
        if (exists(context, full))
            return true;
    }
    return false;
}

const struct sr_environment *sr_environment_match(const char *path, bool in_home,
                                                  sr_exists_fn *exists, void *context)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *above = path;
    size_t above_len = 0;
    if (slash) {
        cleanup_free char *dir = sr_strndup(path, (size_t)(slash - path));
        const char *up = strrchr(dir, '/');
        above = path + (up ? up + 1 - dir : 0);
        above_len = (size_t)(slash - above);
    }
    for (size_t i = 0; i < sr_environments_n; i++) {
        const struct sr_environment *e = &sr_environments[i];
        if (e->names[0] && !word_match(e->names, name))
            continue;
        if ((e->home && !in_home) || (e->parents[0] && !words_match(e->parents, above, above_len)))
            continue;
        if (word_match(e->not_names, name))
            continue;
        if (!e->markers[0] || marker_exists(e, path, exists, context))
            return e;
    }
    return NULL;
}

static bool nothing_there(void *context, const char *path)
{
    (void)context;
    (void)path;
    return false;
}

static const struct sr_environment *row_of_kind(const char *kind)
{
    for (size_t i = 0; i < sr_environments_n; i++)
        if (strcmp(sr_environments[i].kind, kind) == 0)
            return &sr_environments[i];
    return NULL;
}

const struct sr_environment *sr_environment_link(const char *path)
{
    /* "env" and ".env" are not among them: links of these names lead to settings as often */
    static const struct {
        const char *name, *kind;
    } by_name[] = { { ".venv", "venv" },    { "venv", "venv" }, { ".virtualenv", "venv" },
                    { ".tox", "tox" },      { ".nox", "nox" },  { "_opam", "opam" },
                    { "Pods", "cocoapods" } };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (strcmp(by_name[i].name, name) == 0)
            return row_of_kind(by_name[i].kind);
    const struct sr_environment *e = sr_environment_match(path, false, nothing_there, NULL);
    return e && !e->writes_are_builds ? e : NULL;
}

bool sr_environment_harmless(const struct sr_environment *e, const char *below)
{
    if (sr_patterns_match(harmless_anywhere, below))
        return true;
    /* The row's own lie at the top of the environment, or (nested packages) below another of its
     * name. */
    for (size_t i = 0; i < SR_ENVIRONMENT_WORDS && e->harmless[i]; i++) {
        size_t len = strcspn(below, "/");
        if (component_match(e->harmless[i], strlen(e->harmless[i]), below, len))
            return true;
    }
    return false;
}

bool sr_bytecode_beside_source(const char *path, sr_exists_fn *exists, void *context)
{
    size_t len = strlen(path);
    if (len < 5 || (strcmp(path + len - 4, ".pyc") != 0 && strcmp(path + len - 4, ".pyo") != 0))
        return false;
    cleanup_free char *source = sr_strndup(path, len - 1);
    return exists(context, source);
}

/* Whether one component is a word of the row: a name that stands for itself, a parent, or a file
 * that makes its directory one. */
static bool row_named(const struct sr_environment *e, const char *word, size_t len)
{
    if (e->parents[0])
        return words_match(e->parents, word, len);
    if (e->names[0])
        return words_match(e->names, word, len);
    return words_match(e->markers, word, len);
}

bool sr_environment_named(const char *path)
{
    for (const char *p = path; p;) {
        size_t len = strcspn(p, "/");
        if (sr_environment_signed(p))
            return true;
        for (size_t i = 0; i < sr_environments_n; i++)
            if (row_named(&sr_environments[i], p, len))
                return true;
        p = p[len] ? p + len + 1 : NULL;
    }
    return false;
}

bool sr_environment_signed(const char *below)
{
    static const char sign[] = "*.dist-info";
    return component_match(sign, sizeof sign - 1, below, strcspn(below, "/"));
}

bool sr_environment_root_owns(const struct sr_environment *e, const char *below)
{
    static const char *const owned[] = { "bin",     "lib", "lib64",      "include",
                                         "Scripts", "Lib", "pyvenv.cfg", "conda-meta" };
    size_t len = strcspn(below, "/");
    if (e->by_sign)
        return sr_environment_signed(below);
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (strlen(owned[i]) == len && memcmp(owned[i], below, len) == 0)
            return true;
    return false;
}

static bool exists_beneath(void *context, const char *path)
{
    struct stat st;
    return sr_walk_stat(*(const int *)context, path, &st) == 0;
}

const char *sr_environment_kind(int dirfd, const char *name)
{
    struct stat st;
    const char *path = strcmp(name, ".") == 0 ? "" : name;
    if (sr_walk_stat(dirfd, path, &st) < 0 || !S_ISDIR(st.st_mode))
        return NULL;
    const struct sr_environment *e = sr_environment_match(path, false, exists_beneath, &dirfd);
    return e && !e->weak ? e->kind : NULL;
}
