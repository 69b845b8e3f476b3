/* SPDX-License-Identifier: MIT */
/* Recognising repositories by their build files: Makefile targets, CMake, Meson. */
#include "cli/init.h"

#include <stdio.h>
#include <string.h>

#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* A line "target:" or "a target b: ...", but not an assignment "target := x". */
static bool line_has_target(const char *line, const char *target)
{
    size_t len = strcspn(line, ":\n#="), word = strlen(target);
    if (line[len] != ':' || line[len + 1] == '=' || line[0] == '\t')
        return false;
    for (size_t at = 0; at < len;) {
        size_t n = strcspn(line + at, " \t:\n");
        if (n == word && strncmp(line + at, target, word) == 0)
            return true;
        at += n;
        at += strspn(line + at, " \t");
    }
    return false;
}

static bool makefile_has(const char *text, const char *target)
{
    while (*text) {
        if (line_has_target(text, target))
            return true;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return false;
}

static const struct {
    const char *target, *check;
} make_targets[] = { { "test", "Test" },
                     { "check", "Test" },
                     { "validate", "Validate" },
                     { "check", "Validate" },
                     { "lint", "Lint" } };

static bool target_taken(const struct init_found *f, const char *target)
{
    for (size_t i = 0; i < f->n_checks; i++)
        if (sr_strv_has(&f->checks[i].command, "make") &&
            sr_strv_has(&f->checks[i].command, target))
            return true;
    return false;
}

void init_detect_make(struct init_found *f)
{
    static const char *const names[] = { "GNUmakefile", "makefile", "Makefile" };
    const char *name = NULL;
    char why[64];
    /* A preset has a command for each name already, and one that does not go through a wrapper. */
    if (f->presets.n)
        return;
    for (size_t i = 0; !name && i < sizeof names / sizeof *names; i++)
        name = init_exists(f, names[i]) ? names[i] : NULL;
    if (!name)
        return;
    cleanup_free char *text = init_file(f, name);
    for (size_t i = 0; i < sizeof make_targets / sizeof *make_targets; i++) {
        const char *target = make_targets[i].target;
        if (!makefile_has(text, target) || target_taken(f, target))
            continue;
        snprintf(why, sizeof why, "the target \"%s\" of %s", target, name);
        init_check_add(f, make_targets[i].check, why, ARGV("make", target));
    }
}

/* Built below /tmp: the tree stays as it is, and a build directory of the host is not mistaken for
 * this one. */
void init_detect_cmake(struct init_found *f)
{
    cleanup_free char *text = init_file(f, "CMakeLists.txt");
    if (text[0] && !f->presets.n)
        init_check_add(f, "Test", "CMakeLists.txt; built outside the tree",
                       ARGV("sh", "-c",
                            "cmake -S . -B /tmp/build && cmake --build /tmp/build && "
                            "ctest --test-dir /tmp/build --output-on-failure"));
}

void init_detect_meson(struct init_found *f)
{
    cleanup_free char *text = init_file(f, "meson.build");
    if (text[0] && !f->presets.n)
        init_check_add(f, "Test", "meson.build; built outside the tree",
                       ARGV("sh", "-c", "meson setup /tmp/build && meson test -C /tmp/build"));
}
