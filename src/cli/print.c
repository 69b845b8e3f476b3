/* SPDX-License-Identifier: MIT */
/* The print site. */
#include "cli/print.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandrun/verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 * 1024 };

static const char *const styles[CLI_STYLE_COUNT] = {
    [CLI_PLAIN] = "",         [CLI_HEAD] = "\033[1m",  [CLI_GOOD] = "\033[32m",
    [CLI_BAD] = "\033[1;31m", [CLI_WARN] = "\033[33m", [CLI_DIM] = "\033[2m",
};

static bool colour_wanted(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && no[0])
        return false;
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

struct cli_page cli_page_on(int fd)
{
    return (struct cli_page){ .buf = SR_BUF(CLI_PAGE_MAX), .fd = fd, .colour = colour_wanted(fd) };
}

void cli_page_clear(struct cli_page *p)
{
    sr_buf_clear(&p->buf);
}

/* Backslashes of sandrun's own sentences are rare and stay readable doubled; undoubling them would
 * make a name that spells "\x1b" look like one that holds the byte. */
static void line_add(struct cli_page *p, enum cli_style style, const char *text, size_t len)
{
    bool coloured = p->colour && style != CLI_PLAIN;
    if (coloured)
        sr_buf_puts(&p->buf, styles[style]);
    sr_text_printable(&p->buf, text, len);
    if (coloured)
        sr_buf_puts(&p->buf, "\033[0m");
    sr_buf_putc(&p->buf, '\n');
}

void cli_line(struct cli_page *p, enum cli_style style, const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    line_add(p, style, text, strnlen(text, LINE_MAX_BYTES));
}

void cli_lines(struct cli_page *p, enum cli_style style, const char *lead, const char *text)
{
    size_t indent = strlen(lead);
    for (bool first = true; first || *text; first = false) {
        size_t len = strcspn(text, "\n");
        cleanup_free char *line = sr_strndup(text, len);
        cli_line(p, style, "%*s%s", (int)indent, first ? lead : "", line);
        text += len + (text[len] == '\n');
    }
}

void cli_own(struct cli_page *p, const char *text)
{
    sr_buf_puts(&p->buf, text);
}

int cli_page_flush(struct cli_page *p)
{
    struct sr_error err = { 0 };
    const char *stream = p->fd == STDOUT_FILENO ? "stdout" : "stderr";
    int r = 0;
    if (p->buf.overflow)
        r = sr_error_set(&err, "output.too_large", "writing to %s: the text is longer than %d MiB",
                         stream, CLI_PAGE_MAX >> 20);
    else if (p->buf.len > 0 && sr_write_all(p->fd, p->buf.data, p->buf.len) < 0)
        r = sr_error_sys(&err, "output.write", "writing to %s", stream);
    sr_buf_reset(&p->buf);
    if (r < 0 && p->fd != STDERR_FILENO)
        (void)cli_error(&err);
    return r;
}

int cli_page_done(struct cli_page *p, int status)
{
    if (cli_page_flush(p) == 0)
        return status;
    return status == 0 ? SR_EXIT_SANDBOX : status;
}

void cli_error_lines(struct cli_page *p, const struct sr_error *err)
{
    cli_line(p, CLI_BAD, "sandrun: error: %s", err->text);
    cli_line(p, CLI_PLAIN, "  code: %s", err->code);
    if (err->hint[0])
        cli_lines(p, CLI_PLAIN, "  do: ", err->hint);
}

int cli_error(const struct sr_error *err)
{
    cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
    struct sr_verdict verdict = { 0 };
    cli_error_lines(&p, err);
    (void)cli_page_flush(&p);
    sr_verdict_error(err, &verdict);
    return verdict.exit;
}

void cli_warning(const char *fmt, ...)
{
    cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
    cleanup_free char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    cli_line(&p, CLI_WARN, "sandrun: warning: %s", text);
    (void)cli_page_flush(&p);
}

/* Outside of strings JSON is ASCII, so every such byte found stands in a string, where \u is
 * allowed. */
static void json_harmless(struct sr_buf *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == 0x7f)
            sr_buf_puts(out, "\\u007f");
        else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
            sr_buf_printf(out, "\\u%04x", *++c);
        else
            sr_buf_putc(out, (char)*c);
    }
}

int cli_json(const cJSON *item, int status)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    cleanup_free char *text = sr_json_pretty(item);
    p.buf.max = 512u * 1024 * 1024; /* a record may be larger than any text for people */
    json_harmless(&p.buf, text);
    return cli_page_done(&p, status);
}
