/* SPDX-License-Identifier: MIT */
/* The one place where sandrun prints: names of the outside world made harmless, one message in one
 * write. */
#ifndef SR_CLI_PRINT_H
#define SR_CLI_PRINT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>

enum cli_style { CLI_PLAIN, CLI_HEAD, CLI_GOOD, CLI_BAD, CLI_WARN, CLI_DIM, CLI_STYLE_COUNT };

/*
 *     cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
 *     cli_line(&p, CLI_BAD, "sandrun: %s failed", binding);
 *     cli_page_flush(&p);
 *
 * cli_line is the only way in for text with names in it: the finished line goes through
 * sr_text_printable, so that neither an escape sequence nor a newline of an untrusted name can
 * forge what the reader sees. Colour only on a terminal, and not with NO_COLOR.
 */
struct cli_page {
    struct sr_buf buf;
    int fd;
    bool colour;
};
#define cleanup_page __attribute__((cleanup(cli_page_clear)))
enum { CLI_PAGE_MAX = 64 * 1024 * 1024 };

struct cli_page cli_page_on(int fd);
void cli_page_clear(struct cli_page *p);
void cli_line(struct cli_page *p, enum cli_style style, const char *fmt, ...) SR_PRINTF(3, 4);
/* As cli_line, but the text may have several lines: each is indented, the first one follows lead.
 */
void cli_lines(struct cli_page *p, enum cli_style style, const char *lead, const char *text);
/* Text of sandrun's own tables (help, man page): as it is, newlines included. */
void cli_own(struct cli_page *p, const char *text);
/* One write. Returns 0, or -1 after saying on stderr that the output could not be written. */
int cli_page_flush(struct cli_page *p);

/* The exit status after printing what was asked for: status, or 125 when it could not be written.
 */
int cli_page_done(struct cli_page *p, int status);

/* sandrun: error: TEXT / code: CODE / do: HINT, on stderr. Returns the exit status that belongs to
 * the code. */
int cli_error(const struct sr_error *err);
void cli_error_lines(struct cli_page *p, const struct sr_error *err);
void cli_warning(const char *fmt, ...) SR_PRINTF(1, 2);

/* Pretty JSON on stdout; control characters that JSON allows raw (DEL, C1) are spelt \u. Returns
 * status or 125. */
int cli_json(const cJSON *item, int status);

#endif
