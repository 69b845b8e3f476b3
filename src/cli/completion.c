/* SPDX-License-Identifier: MIT */
/* Completion scripts for bash, zsh and fish, from the tables. */
#include "cli/help.h"

#include <string.h>

/* Names of bindings are asked for when they are needed: the policy of the tree is the only list. */
#define NAMES "sandrun audit --names 2>/dev/null"

/* Single-quoted text for a shell; a quote inside ends, escapes and begins again. */
static void quoted(struct sr_buf *out, const char *text)
{
    sr_buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            sr_buf_puts(out, "'\\''");
        else
            sr_buf_putc(out, *text);
    }
    sr_buf_putc(out, '\'');
}

static void command_names(struct sr_buf *out)
{
    for (const struct cli_command *c = cli_commands; c->name; c++)
        sr_buf_printf(out, "%s%s", c == cli_commands ? "" : " ", c->name);
}

/* ---- bash ---- */

static const char *bash_words(const struct cli_option *o, char out[128])
{
    struct sr_buf b = SR_BUF(128);
    switch (o->type) {
    case CLI_FILE:
        sr_buf_puts(&b, "$(compgen -f -- \"$cur\")");
        break;
    case CLI_DIR:
        sr_buf_puts(&b, "$(compgen -d -- \"$cur\")");
        break;
    default:
        sr_buf_puts(&b, o->choices ? o->choices : "");
    }
    memcpy(out, b.data ? b.data : "", b.data ? b.len + 1 : 1);
    sr_buf_clear(&b);
    return out;
}

static void bash_option_values(struct sr_buf *out, const struct cli_command *c)
{
    const struct cli_option *o;
    char words[128];
    for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
        for (; o->name; o++) {
            if (o->type == CLI_FLAG)
                continue;
            sr_buf_printf(out, "    '%s --%s'", c->name, o->name);
            if (o->letter)
                sr_buf_printf(out, " | '%s -%c'", c->name, o->letter);
            sr_buf_printf(out, ") words=\"%s\" ;;\n", bash_words(o, words));
        }
}

/* Options whose next word is their value, so that it is not counted as an argument. */
static void bash_value_options(struct sr_buf *out, const struct cli_command *c)
{
    const struct cli_option *o;
    sr_buf_printf(out, "    %s) values=' ", c->name);
    for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
        for (; o->name; o++) {
            if (o->type != CLI_FLAG)
                sr_buf_printf(out, "--%s ", o->name);
            if (o->type != CLI_FLAG && o->letter)
                sr_buf_printf(out, "-%c ", o->letter);
        }
    sr_buf_puts(out, "' ;;\n");
}

static void bash_positionals(struct sr_buf *out, const struct cli_command *c)
{
    static const char *const words[CLI_TYPE_COUNT] = {
        [CLI_BINDING] = "$(sandrun audit --names --tree \"$tree\" 2>/dev/null)",
        [CLI_RECORD] = "$(compgen -f -- \"$cur\")",
    };
    size_t n = 0;
    for (const struct cli_positional *p = c->positionals; p && p->name; p++) {
        sr_buf_printf(out, "    '%s %zu') words=\"", c->name, n++);
        if (p->type == CLI_COMMAND)
            command_names(out);
        else
            sr_buf_puts(out, p->choices ? p->choices : words[p->type] ? words[p->type] : "");
        sr_buf_puts(out, "\" ;;\n");
    }
}

static void bash_options(struct sr_buf *out, const struct cli_command *c)
{
    const struct cli_option *o;
    sr_buf_printf(out, "    %s) words=\"", c->name);
    for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
        for (; o->name; o++)
            sr_buf_printf(out, "%s--%s", out->data[out->len - 1] == '"' ? "" : " ", o->name);
    sr_buf_puts(out, "\" ;;\n");
}

/* bash takes "--tree=x" apart into three words. Behind "--" the words are the command's, of which
 * nothing is known here. */
static const char bash_scan[] =
    "    esac\n"
    "    [ \"$cur\" != '=' ] || cur=\n"
    "    [ \"$prev\" != '=' ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        case \"$word\" in\n"
    "        --) return ;;\n"
    "        =) continue ;;\n"
    "        -*) case \"$values\" in *\" $word \"*)\n"
    "            i=$((i + 1))\n"
    "            [ \"${COMP_WORDS[i]}\" != '=' ] || i=$((i + 1))\n"
    "            case \"$word\" in --tree | -C) tree=${COMP_WORDS[i]} ;; esac ;;\n"
    "        esac ;;\n"
    "        *) n=$((n + 1)) ;;\n"
    "        esac\n"
    "    done\n"
    "    case \"$cmd $prev\" in\n";

void cli_completion_bash(struct sr_buf *out)
{
    sr_buf_puts(out, "# bash completion for sandrun\n"
                     "_sandrun()\n{\n"
                     "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "    local cmd=${COMP_WORDS[1]} words= values= tree=. word n=0 i\n"
                     "    COMPREPLY=()\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                     "        COMPREPLY=($(compgen -W \"");
    command_names(out);
    sr_buf_puts(out, "\" -- \"$cur\"))\n        return\n    fi\n    case \"$cmd\" in\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        bash_value_options(out, c);
    sr_buf_puts(out, bash_scan);
    for (const struct cli_command *c = cli_commands; c->name; c++)
        bash_option_values(out, c);
    sr_buf_puts(out, "    *)\n    if [ \"${cur#-}\" != \"$cur\" ]; then\n    case \"$cmd\" in\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        bash_options(out, c);
    sr_buf_puts(out, "    esac\n    else\n    case \"$cmd $n\" in\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        bash_positionals(out, c);
    sr_buf_puts(out, "    esac\n    fi\n    ;;\n    esac\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                     "complete -o filenames -F _sandrun sandrun\n");
}

/* ---- zsh ---- */

/* Inside _arguments' '...' a colon separates and a bracket ends the description. */
static void zsh_text(struct sr_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            sr_buf_puts(out, "'\\''");
        else if (strchr(":[]", *text))
            sr_buf_printf(out, "\\%c", *text);
        else
            sr_buf_putc(out, *text);
    }
}

static void zsh_action(struct sr_buf *out, enum cli_type type, const char *choices)
{
    if (choices)
        sr_buf_printf(out, "(%s)", choices);
    else if (type == CLI_FILE || type == CLI_RECORD)
        sr_buf_puts(out, "_files");
    else if (type == CLI_DIR)
        sr_buf_puts(out, "_files -/");
    else if (type == CLI_BINDING)
        sr_buf_puts(out, "($(" NAMES "))");
    else if (type == CLI_COMMAND) {
        sr_buf_putc(out, '(');
        command_names(out);
        sr_buf_putc(out, ')');
    } else
        sr_buf_putc(out, ' ');
}

static void zsh_option(struct sr_buf *out, const struct cli_option *o)
{
    sr_buf_printf(out, " \\\n        '%s--%s%s[", o->repeat ? "*" : "", o->name,
                  o->argument ? "=" : "");
    zsh_text(out, o->help);
    sr_buf_putc(out, ']');
    if (o->argument) {
        sr_buf_printf(out, ":%s:", o->argument);
        zsh_action(out, o->type, o->choices);
    }
    sr_buf_putc(out, '\'');
}

static void zsh_command(struct sr_buf *out, const struct cli_command *c)
{
    const struct cli_option *o;
    sr_buf_printf(out, "    %s)\n        _arguments", c->name);
    for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
        for (; o->name; o++)
            zsh_option(out, o);
    for (const struct cli_positional *p = c->positionals; p && p->name; p++) {
        sr_buf_printf(out, " \\\n        '%s%s:", p->required ? ":" : "::", p->name);
        zsh_action(out, p->type, p->choices);
        sr_buf_putc(out, '\'');
    }
    sr_buf_puts(out, " ;;\n");
}

void cli_completion_zsh(struct sr_buf *out)
{
    sr_buf_puts(out, "#compdef sandrun\n# zsh completion for sandrun\n_sandrun() {\n    local -a "
                     "commands\n    commands=(\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        sr_buf_printf(out, "        '%s:", c->name);
        zsh_text(out, c->summary);
        sr_buf_puts(out, "'\n");
    }
    sr_buf_puts(
        out, "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
             "return\n    fi\n"
             "    local cmd=${words[2]}\n    shift words\n    (( CURRENT-- ))\n    case $cmd in\n");
    for (const struct cli_command *c = cli_commands; c->name; c++)
        zsh_command(out, c);
    sr_buf_puts(out, "    esac\n}\n_sandrun \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(struct sr_buf *out, const char *command, const struct cli_option *o)
{
    sr_buf_printf(out, "complete -c sandrun -n '__fish_seen_subcommand_from %s' -l %s", command,
                  o->name);
    if (o->letter)
        sr_buf_printf(out, " -s %c", o->letter);
    if (o->choices)
        sr_buf_printf(out, " -x -a '%s'", o->choices);
    else if (o->type == CLI_FILE || o->type == CLI_DIR)
        sr_buf_puts(out, " -r -F");
    else if (o->argument)
        sr_buf_puts(out, " -x");
    sr_buf_puts(out, " -d ");
    quoted(out, o->help);
    sr_buf_putc(out, '\n');
}

static void fish_positional(struct sr_buf *out, const char *command, const struct cli_positional *p)
{
    sr_buf_printf(out, "complete -c sandrun -n '__fish_seen_subcommand_from %s' ", command);
    if (p->type == CLI_RECORD)
        sr_buf_puts(out, "-F");
    else if (p->type == CLI_BINDING)
        sr_buf_puts(out, "-a '(" NAMES ")'");
    else if (p->type == CLI_COMMAND) {
        sr_buf_puts(out, "-a '");
        command_names(out);
        sr_buf_putc(out, '\'');
    } else
        sr_buf_printf(out, "-a '%s'", p->choices ? p->choices : "");
    sr_buf_putc(out, '\n');
}

void cli_completion_fish(struct sr_buf *out)
{
    const struct cli_option *o;
    sr_buf_puts(out, "# fish completion for sandrun\ncomplete -c sandrun -f\n");
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        sr_buf_printf(out, "complete -c sandrun -n __fish_use_subcommand -a %s -d ", c->name);
        quoted(out, c->summary);
        sr_buf_putc(out, '\n');
        for (size_t i = 0; (o = cli_command_table(c, i)) != NULL; i++)
            for (; o->name; o++)
                fish_option(out, c->name, o);
        for (const struct cli_positional *p = c->positionals; p && p->name; p++)
            fish_positional(out, c->name, p);
    }
}
