/* SPDX-License-Identifier: MIT */
/* The one error type: a stable dotted code, an errno when a call failed, a sentence for a person. */
#ifndef SR_BASE_ERROR_H
#define SR_BASE_ERROR_H

/*
 * Convention, everywhere in sandrun:
 *   - a function that can fail returns 0 or -1 (or a descriptor or -1) and takes a struct sr_error last;
 *   - *err is written on failure only, and must be empty when it comes in: setting a set error is a bug;
 *   - ret_ outputs are written on success only;
 *   - library code never prints and never exits; src/cli does both.
 *
 *     struct sr_error err = { 0 };
 *     if (sr_tree_open(path, &fd, &err) < 0)
 *         return sr_error_wrap(&err, "opening the tree %s", path);   // "opening the tree X: <inner>"
 *
 * The text is bounded. Names in it are raw bytes of the outside world: only the print site in cli/ and the
 * record writer make them harmless (sr_text_printable).
 */

#define SR_CHECK __attribute__((warn_unused_result))
#define SR_PRINTF(a, b) __attribute__((format(printf, a, b)))

enum {
    SR_ERROR_CODE_MAX = 64,  /* longest stable code is under 40 */
    SR_ERROR_TEXT_MAX = 2048, /* room for two PATH_MAX/2 names and a sentence */
    SR_ERROR_HINT_MAX = 1024,
};

struct sr_error {
    char code[SR_ERROR_CODE_MAX]; /* "policy.invalid.unknown_key"; empty: no error */
    int sys;                      /* errno of the call that failed, 0 when none did */
    char text[SR_ERROR_TEXT_MAX]; /* what was attempted, on what, why it failed */
    char hint[SR_ERROR_HINT_MAX]; /* what to do: a line to write, a command to run; may be empty */
};

static inline int sr_error_is_set(const struct sr_error *err)
{
    return err->code[0] != '\0';
}

/* Each of these returns -1, so that a failure is one line: return sr_error_set(err, ...). */
int sr_error_set(struct sr_error *err, const char *code, const char *fmt, ...) SR_PRINTF(3, 4);
/* As above, with errno: ": <strerror>" is appended. Call it at once after the failing call. */
int sr_error_sys(struct sr_error *err, const char *code, const char *fmt, ...) SR_PRINTF(3, 4);
/* Prepends "context: " to a set error. */
int sr_error_wrap(struct sr_error *err, const char *fmt, ...) SR_PRINTF(2, 3);
/* Sets what to do. */
int sr_error_hint(struct sr_error *err, const char *fmt, ...) SR_PRINTF(2, 3);
void sr_error_clear(struct sr_error *err);

#endif
