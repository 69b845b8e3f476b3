/* SPDX-License-Identifier: MIT */
/* One parser for every command, driven by the option tables. */
#include "cli/options.h"
#include "base/text.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

bool cli_words_nth(const char *words, size_t n, char out[32])
{
    for (const char *p = words ? words : ""; *p != '\0';) {
        size_t len = strcspn(p, " ");
        if (n-- == 0 && len < 32) {
            memcpy(out, p, len);
            out[len] = '\0';
            return true;
        }
        p += len;
        p += strspn(p, " ");
    }
    return false;
}

bool cli_words_have(const char *words, const char *word)
{
    char w[32];
    for (size_t i = 0; cli_words_nth(words, i, w); i++)
        if (strcmp(w, word) == 0)
            return true;
    return false;
}

/* ---- values, checked where the person can still see which option it was ---- */

static int value_duration(const char *s, struct sr_error *err)
{
    uint64_t ns;
    if (sr_text_duration(s, &ns, err) < 0)
        return -1;
    return ns > 0 ? 0 : sr_error_set(err, "value.duration", "a duration of 0 means nothing here");
}

static int value_size(const char *s, struct sr_error *err)
{
    uint64_t bytes;
    return sr_text_size(s, &bytes, err);
}

static int value_number(const char *s, struct sr_error *err)
{
    uint64_t n;
    return sr_text_u64(s, 0, UINT32_MAX, &n, err); /* the field's own range is the policy's to tell */
}

/* "2" or "1.5": in steps of a tenth, as the policy has it. */
static int value_cpus(const char *s, struct sr_error *err)
{
    size_t whole = strspn(s, "0123456789"), part = 0;
    const char *end = s + whole;
    if (*end == '.') {
        part = strspn(end + 1, "0123456789");
        end += 1 + part;
        if (part == 0)
            whole = 0;
    }
    if (whole == 0 || whole > 4 || part > 1 || *end != '\0' || strspn(s, "0.") == strlen(s))
        return sr_error_set(err, "value.number", "\"%s\" is not a number of cpus, like 2 or 1.5",
                            s);
    return 0;
}

typedef int value_check(const char *s, struct sr_error *err);
static value_check *const checks[CLI_TYPE_COUNT] = {
    [CLI_DURATION] = value_duration,
    [CLI_SIZE] = value_size,
    [CLI_NUMBER] = value_number,
    [CLI_CPUS] = value_cpus,
};

static int value_valid(const char *what, enum cli_type type, const char *choices, const char *value,
                       struct sr_error *err)
{
    struct sr_error inner = { 0 };
    if (value[0] == '\0')
        return sr_error_set(err, "usage.missing_value",
                            "%s needs a value and was given an empty one", what);
    if (choices && !cli_words_have(choices, value)) {
        sr_error_set(err, "usage.invalid_value", "%s: \"%s\" is not one of its values", what,
                     value);
        return sr_error_hint(err, "write one of: %s", choices);
    }
    if (checks[type] && checks[type](value, &inner) < 0) {
        sr_error_set(err, "usage.invalid_value", "%s: %s", what, inner.text);
        return inner.hint[0] ? sr_error_hint(err, "%s", inner.hint) : -1;
    }
    return 0;
}

/* ---- options ---- */

struct parse {
    const struct cli_command *cmd;
    struct cli_args *args;
    char *const *argv;
    int argc, at;
    size_t n_positional;
    struct sr_error *err;
};

static int help_see(struct parse *p)
{
    return sr_error_hint(p->err, "sandrun help %s lists what it takes", p->cmd->name);
}

static const struct cli_option *option_long(const struct cli_command *cmd, const char *name,
                                            size_t len)
{
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_command_table(cmd, i)) != NULL; i++)
        for (; o->name; o++)
            if (strlen(o->name) == len && strncmp(o->name, name, len) == 0)
                return o;
    return NULL;
}

static const struct cli_option *option_letter(const struct cli_command *cmd, char letter)
{
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_command_table(cmd, i)) != NULL; i++)
        for (; o->name; o++)
            if (o->letter == letter)
                return o;
    return NULL;
}

static int option_unknown(struct parse *p, const char *word)
{
    const char *names[64];
    size_t n = 0;
    const struct cli_option *o;
    char near[160];
    cleanup_free char *bare = sr_strndup(word, strcspn(word, "="));
    for (size_t i = 0; (o = cli_command_table(p->cmd, i)) != NULL; i++)
        for (; o->name && n < 64; o++)
            names[n++] = o->name;
    cli_near(bare + strspn(bare, "-"), names, n, near);
    sr_error_set(p->err, "usage.unknown_option", "sandrun %s has no option %s", p->cmd->name, bare);
    if (near[0])
        return sr_error_hint(p->err, "did you mean --%s?", near);
    return help_see(p);
}

static int option_given(struct parse *p, const struct cli_option *o, const char *value)
{
    cleanup_free char *what = sr_asprintf("--%s", o->name);
    struct cli_args *a = p->args;
    for (size_t i = 0; !o->repeat && i < a->n_given; i++)
        if (a->given[i].option == o)
            return sr_error_set(p->err, "usage.duplicate_option", "%s was given twice", what);
    if (value && value_valid(what, o->type, o->choices, value, p->err) < 0)
        return -1;
    SR_GROW(a->given, a->n_given, a->cap_given);
    a->given[a->n_given++] = (struct cli_given){ .option = o, .value = value };
    if (strcmp(o->name, "help") == 0)
        a->help = true;
    return 0;
}

/* inline_value: what stood behind "=" or behind the letter; NULL: nothing did. */
static int option_take(struct parse *p, const struct cli_option *o, const char *inline_value)
{
    if (o->type == CLI_FLAG) {
        if (!inline_value)
            return option_given(p, o, NULL);
        return sr_error_set(p->err, "usage.unexpected_value", "--%s takes no value", o->name);
    }
    if (inline_value)
        return option_given(p, o, inline_value);
    /* A word that looks like an option is not swallowed as a value: `--record --json` is a
     * forgotten FILE. */
    if (p->at + 1 >= p->argc || (p->argv[p->at + 1][0] == '-' && p->argv[p->at + 1][1] != '\0')) {
        sr_error_set(p->err, "usage.missing_value", "--%s needs a value: %s", o->name, o->argument);
        return sr_error_hint(p->err, "write --%s=%s", o->name, o->argument);
    }
    return option_given(p, o, p->argv[++p->at]);
}

static int word_option(struct parse *p, const char *word)
{
    const char *name = word + 2, *equals = strchr(word, '=');
    const struct cli_option *o;
    if (word[1] == '-') {
        o = option_long(p->cmd, name, equals ? (size_t)(equals - name) : strlen(name));
        return o ? option_take(p, o, equals ? equals + 1 : NULL) : option_unknown(p, word);
    }
    o = option_letter(p->cmd, word[1]);
    if (!o || (o->type == CLI_FLAG && word[2] != '\0'))
        return option_unknown(p, word);
    return option_take(p, o, word[2] ? word + 2 : NULL);
}

/* ---- everything else ---- */

static int word_positional(struct parse *p, const char *word)
{
    const struct cli_positional *spec = p->cmd->positionals;
    size_t i = p->n_positional;
    for (size_t k = 0; spec && k < i && spec->name; k++)
        spec++;
    if (!spec || !spec->name || i >= CLI_POSITIONALS_MAX) {
        sr_error_set(p->err, "usage.unexpected_argument", "sandrun %s does not take \"%s\"",
                     p->cmd->name, word);
        if (p->cmd->rest)
            return sr_error_hint(p->err, "arguments for the command go behind \"--\"");
        return help_see(p);
    }
    if (value_valid(spec->name, spec->type, spec->choices, word, p->err) < 0)
        return -1;
    p->args->positional[p->n_positional++] = word;
    return 0;
}

static int word_rest(struct parse *p)
{
    if (!p->cmd->rest && p->at + 1 < p->argc)
        return sr_error_set(p->err, "usage.unexpected_argument",
                            "sandrun %s takes nothing behind \"--\"", p->cmd->name);
    p->args->has_rest = true;
    while (++p->at < p->argc)
        sr_strv_add(&p->args->rest, p->argv[p->at]);
    return 0;
}

static bool is_given(const struct cli_args *a, const char *name)
{
    for (size_t i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            return true;
    return false;
}

/* Two sources for one policy: taking either would be a guess about what is trusted. */
static int words_agree(struct parse *p)
{
    if (!is_given(p->args, "policy") || !is_given(p->args, "policy-ref"))
        return 0;
    sr_error_set(p->err, "usage.conflicting_options",
                 "--policy and --policy-ref name two policies, and a run has one");
    return sr_error_hint(p->err, "give one of them");
}

static int words_complete(struct parse *p)
{
    const struct cli_positional *spec = p->cmd->positionals;
    for (size_t i = 0; spec && spec[i].name; i++)
        if (spec[i].required && !p->args->positional[i]) {
            sr_error_set(p->err, "usage.missing_argument", "sandrun %s needs %s: %s", p->cmd->name,
                         spec[i].name, spec[i].help);
            return help_see(p);
        }
    return words_agree(p);
}

static int words_parse(struct parse *p)
{
    for (; p->at < p->argc && !p->args->help; p->at++) {
        const char *word = p->argv[p->at];
        int r;
        if (strcmp(word, "--") == 0)
            return word_rest(p) < 0 ? -1 : words_complete(p);
        r = word[0] == '-' && word[1] != '\0' ? word_option(p, word) : word_positional(p, word);
        if (r < 0)
            return -1;
    }
    return p->args->help ? 0 : words_complete(p);
}

int cli_args_parse(const struct cli_command *cmd, int argc, char *const *argv, struct cli_args *ret,
                   struct sr_error *err)
{
    cleanup_args struct cli_args args = { .command = cmd };
    struct parse p = { .cmd = cmd, .args = &args, .argv = argv, .argc = argc, .err = err };
    if (words_parse(&p) < 0)
        return -1;
    *ret = args;
    args = (struct cli_args){ 0 };
    return 0;
}

void cli_args_clear(struct cli_args *a)
{
    free(a->given);
    sr_strv_clear(&a->rest);
    *a = (struct cli_args){ 0 };
}

static const struct cli_given *given_find(const struct cli_args *a, const char *name)
{
    if (!option_long(a->command, name, strlen(name)))
        abort(); /* a command asks for an option it does not have */
    for (size_t i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            return &a->given[i];
    return NULL;
}

const char *cli_arg(const struct cli_args *a, const char *name)
{
    const struct cli_given *g = given_find(a, name);
    return g ? g->value : NULL;
}

bool cli_flag(const struct cli_args *a, const char *name)
{
    return given_find(a, name) != NULL;
}

bool cli_arg_has(const struct cli_args *a, const char *name, const char *value)
{
    for (size_t i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0 && strcmp(a->given[i].value, value) == 0)
            return true;
    return false;
}
