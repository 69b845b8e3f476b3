/* SPDX-License-Identifier: MIT */
/* What was found, and the sandrun.json that a person would have written from it. */
#include "base/fs.h"
#include "base/json.h"
#include "cli/init.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The languages' own runners come first; build files speak where no language did. */
static void (*const detectors[])(struct init_found *f) = {
    init_detect_python, init_detect_node,  init_detect_rust,  init_detect_go,
    init_detect_make,   init_detect_cmake, init_detect_meson,
};

void init_detect(int tree_fd, struct init_found *ret)
{
    *ret = (struct init_found){ .tree_fd = tree_fd };
    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++)
        detectors[i](ret);
}

void init_found_clear(struct init_found *f)
{
    for (size_t i = 0; i < f->n_checks; i++) {
        sr_strv_clear(&f->checks[i].command);
        free(f->checks[i].why);
    }
    free(f->checks);
    sr_strv_clear(&f->presets);
    sr_strv_clear(&f->files);
    sr_strv_clear(&f->problems);
    *f = (struct init_found){ .tree_fd = -1 };
}

bool init_has_check(const struct init_found *f, const char *name)
{
    for (size_t i = 0; i < f->n_checks; i++)
        if (strcmp(f->checks[i].name, name) == 0)
            return true;
    return false;
}

void init_check_add(struct init_found *f, const char *name, const char *why,
                    const char *const *argv)
{
    if (init_has_check(f, name))
        return;
    SR_GROW(f->checks, f->n_checks, f->cap_checks);
    struct init_check *c = &f->checks[f->n_checks++];
    *c = (struct init_check){ .name = name, .why = sr_strdup(why) };
    for (; *argv; argv++)
        sr_strv_add(&c->command, *argv);
}

void init_preset_add(struct init_found *f, const char *preset)
{
    if (!sr_strv_has(&f->presets, preset))
        sr_strv_add(&f->presets, preset);
}

void init_problem(struct init_found *f, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    sr_strv_take(&f->problems, text);
}

char *init_file(struct init_found *f, const char *name)
{
    struct sr_buf text = SR_BUF(INIT_FILE_MAX);
    struct sr_error ignored = { 0 };
    if (sr_file_read_at(f->tree_fd, name, INIT_FILE_MAX, &text, &ignored) < 0)
        return sr_strdup("");
    if (!sr_strv_has(&f->files, name))
        sr_strv_add(&f->files, name);
    return sr_buf_steal(&text);
}

bool init_exists(const struct init_found *f, const char *name)
{
    struct stat st;
    return fstatat(f->tree_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- the text ---- */

static void put_string(struct sr_buf *out, const char *s)
{
    cleanup_json cJSON *item = cJSON_CreateString(s);
    cleanup_free char *text = sr_json_compact(item);
    sr_buf_puts(out, text);
}

static void put_list(struct sr_buf *out, const struct sr_strv *v)
{
    sr_buf_putc(out, '[');
    for (size_t i = 0; i < v->n; i++) {
        sr_buf_puts(out, i ? ", " : "");
        put_string(out, v->v[i]);
    }
    sr_buf_putc(out, ']');
}

static void put_head(const struct init_found *f, struct sr_buf *out)
{
    sr_buf_puts(out, "// The checks of this repository, and how they are contained.\n");
    if (f->files.n)
        sr_buf_puts(out, "// Written by `sandrun init` from ");
    for (size_t i = 0; i < f->files.n; i++)
        sr_buf_printf(out, "%s%s", i ? ", " : "", f->files.v[i]);
    if (f->files.n)
        sr_buf_puts(out, ". Read it, change it, commit it.\n");
    sr_buf_puts(
        out,
        "//   sandrun plan Test                shows what a run of Test uses, and who set it\n"
        "//   sandrun image pin --host Test    prints the \"rootfs\" line of another machine\n");
}

static void put_check(struct sr_buf *out, const struct init_check *c)
{
    static const char unfilled[] = "sha256:...";
    sr_buf_printf(out, "    // %s\n    ", c->why);
    put_string(out, c->name);
    sr_buf_puts(out, ": {\n");
    if (c->command.n) {
        sr_buf_puts(out, "      \"command\": ");
        put_list(out, &c->command);
        sr_buf_puts(out, ",\n");
    }
    sr_buf_printf(out, "      \"rootfs\": { \"host\": \"%s\" }\n    }", c->pin[0] ? c->pin : unfilled);
}

static const char skeleton[] =
    "    // Nothing here was recognised. Write the check's command, take the slashes away, and add\n"
    "    // the \"rootfs\" line that `sandrun image pin --host Test` prints.\n"
    "    // \"Test\": {\n"
    "    //   \"command\": [\"./run-tests\"]\n"
    "    // }\n";

/* In the order in which people name them, whoever found them. */
static void put_checks(const struct init_found *f, struct sr_buf *out)
{
    static const char *const order[] = { "Test", "Validate", "Lint" };
    size_t written = 0;
    for (size_t n = 0; n < sizeof order / sizeof *order; n++)
        for (size_t i = 0; i < f->n_checks; i++) {
            if (strcmp(f->checks[i].name, order[n]) != 0)
                continue;
            put_check(out, &f->checks[i]);
            sr_buf_puts(out, ++written < f->n_checks ? ",\n" : "\n");
        }
}

void init_text(const struct init_found *f, struct sr_buf *out)
{
    put_head(f, out);
    sr_buf_puts(out, "{\n  \"version\": 1,\n");
    if (f->presets.n) {
        sr_buf_puts(out, "  \"extends\": ");
        put_list(out, &f->presets);
        sr_buf_puts(out, ",\n");
    }
    sr_buf_puts(out, "  \"bindings\": {\n");
    put_checks(f, out);
    if (f->n_checks == 0)
        sr_buf_puts(out, skeleton);
    sr_buf_puts(out, "  }\n}\n");
}
