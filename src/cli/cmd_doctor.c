/* SPDX-License-Identifier: MIT */
/* sandrun doctor: what this machine can do, primitive by primitive. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "sandrun/doctor.h"
#include "sandrun/verdict.h"

#include <unistd.h>

static const enum cli_style answer_styles[SR_PROBE_ANSWER_COUNT] = {
    [SR_PROBE_WORKS] = CLI_GOOD,
    [SR_PROBE_WEAKER] = CLI_WARN,
    [SR_PROBE_MISSING] = CLI_BAD,
    [SR_PROBE_UNREADABLE] = CLI_WARN,
};

static void probe_lines(struct cli_page *p, const struct sr_probe_result *r)
{
    cli_line(p, answer_styles[r->answer], "%-11s %s (%s)%s", sr_probe_answer_name(r->answer),
             r->title, r->primitive, r->required ? "" : ", optional");
    if (r->text[0] && r->answer != SR_PROBE_WORKS)
        cli_lines(p, CLI_PLAIN, "            ", r->text);
    if (r->remedy[0])
        cli_lines(p, CLI_PLAIN, "            do: ", r->remedy);
}

static int doctor_print(const struct sr_doctor *d, int status)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    for (size_t i = 0; i < d->n; i++)
        probe_lines(&p, &d->v[i]);
    cli_line(&p, d->contained ? CLI_GOOD : CLI_BAD, "%s",
             d->contained ? "a contained run works here" : "a contained run does not work here");
    return cli_page_done(&p, status);
}

static int doctor_json(const struct sr_doctor *d, int status)
{
    cleanup_json cJSON *out = sr_json_object();
    cJSON *list = sr_json_array();
    for (size_t i = 0; i < d->n; i++) {
        cJSON *o = sr_json_object();
        sr_json_add_string(o, "primitive", d->v[i].primitive);
        sr_json_add_string(o, "title", d->v[i].title);
        sr_json_add_string(o, "answer", sr_probe_answer_name(d->v[i].answer));
        sr_json_add_bool(o, "required", d->v[i].required);
        sr_json_add_string(o, "text", d->v[i].text);
        sr_json_add_string(o, "remedy", d->v[i].remedy);
        sr_json_append(list, o);
    }
    sr_json_add_bool(out, "contained", d->contained);
    sr_json_add(out, "primitives", list);
    return cli_json(out, status);
}

int cli_doctor(const struct cli_args *args)
{
    cleanup_state struct sr_state state = {
        .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1
    };
    struct sr_error err = { 0 };
    struct sr_doctor d = { 0 };
    int status;
    if (sr_state_open(&state, &err) < 0 || sr_doctor_run(&state, &d, &err) < 0)
        return cli_failed(args, &err);
    status = d.contained ? 0 : SR_EXIT_SANDBOX;
    status = cli_flag(args, "json") ? doctor_json(&d, status) : doctor_print(&d, status);
    sr_doctor_clear(&d);
    return status;
}
