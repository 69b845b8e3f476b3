/* SPDX-License-Identifier: MIT */
/* The gate's answer in words. */
#include "cli/gate_text.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *sentence;
    enum cli_style style;
} decisions[] = {
    [SR_CONTAINED] = { "contained", "contained", CLI_GOOD },
    [SR_UNCONTAINED] = { "uncontained",
                         "NOT contained, by the policy's own word: it would run as a plain host "
                         "process",
                         CLI_WARN },
    [SR_OPTED_OUT] = { "opted_out", "NOT contained: the policy opens what is listed", CLI_WARN },
    [SR_REFUSED] = { "refused", "refused: it would not run", CLI_BAD },
};

const char *cli_decision_name(enum sr_decision d)
{
    return decisions[d].name;
}

void cli_refusal_lines(struct cli_page *p, const char *code, const char *text, const char *line)
{
    /* A line of the policy begins with its key, or says whose line it is; the rest are things to do. */
    bool written = line && (line[0] == '"' || strncmp(line, "in bindings.", 12) == 0);
    cli_line(p, CLI_PLAIN, "  %s: %s", code, text);
    if (line && line[0])
        cli_lines(p, CLI_PLAIN, written ? "    write: " : "    do: ", line);
}

void cli_gate_lines(struct cli_page *p, const struct sr_gate *gate)
{
    cli_line(p, decisions[gate->decision].style, "%s", decisions[gate->decision].sentence);
    for (size_t i = 0; i < gate->n_refusals; i++)
        cli_refusal_lines(p, gate->refusals[i].code, gate->refusals[i].text,
                          gate->refusals[i].line);
}

void cli_gate_json(cJSON *out, const struct sr_gate *gate)
{
    cJSON *list = sr_json_array();
    sr_json_add_string(out, "decision", cli_decision_name(gate->decision));
    for (size_t i = 0; i < gate->n_refusals; i++) {
        cJSON *r = sr_json_object();
        sr_json_add_string(r, "code", gate->refusals[i].code);
        sr_json_add_string(r, "text", gate->refusals[i].text);
        sr_json_add_string(r, "line", gate->refusals[i].line);
        sr_json_append(list, r);
    }
    sr_json_add(out, "refusals", list);
}

void cli_limit_text(char kind, uint64_t value, char out[32])
{
    if (value == 0)
        snprintf(out, 32, "absent");
    else if (kind == 't')
        sr_text_format_duration(value, out);
    else if (kind == 's')
        sr_text_format_size(value, out);
    else if (kind == 'c' && value % 1000)
        snprintf(out, 32, "%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
    else
        snprintf(out, 32, "%" PRIu64, kind == 'c' ? value / 1000 : value);
}

void cli_duration_text(uint64_t ns, char out[32])
{
    uint64_t ms = ns / 1000000;
    if (ms < 1000)
        snprintf(out, 32, "%" PRIu64 "ms", ms);
    else if (ms < 60000)
        snprintf(out, 32, "%" PRIu64 ".%" PRIu64 "s", ms / 1000, ms % 1000 / 100);
    else
        snprintf(out, 32, "%" PRIu64 "m%02" PRIu64 "s", ms / 60000, ms / 1000 % 60);
}
