/* SPDX-License-Identifier: MIT */
/* sandrun run: the pipeline, then the verdict for a person or the record for a machine. */
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/record_file.h"
#include "cli/request.h"
#include "cli/verdict_text.h"

#include <unistd.h>

static void verdict_print(const struct sr_run_result *r, const char *binding, bool quiet)
{
    cleanup_page struct cli_page p = cli_page_on(STDERR_FILENO);
    bool about_code =
        r->verdict.status == SR_STATUS_PASSED || r->verdict.status == SR_STATUS_FAILED;
    if (quiet && about_code && !sr_error_is_set(&r->error))
        return;
    cli_verdict_lines(&p, binding, r);
    (void)cli_page_flush(&p);
}

/* What cannot be written never hides the run's own answer: it replaces a 0 only, so that no one
 * takes a run without the record that was asked for as good. */
static int copy_write(const struct cli_record_file *file, const struct sr_run_result *r, int status)
{
    struct sr_error err = { 0 };
    if (cli_record_file_write(file, r->record, &err) == 0)
        return status;
    (void)cli_error(&err);
    return status ? status : SR_EXIT_SANDBOX;
}

/* A run that came to no plan has no record; a machine still gets one document with the answer. */
static int answer_json(const struct sr_run_result *r, int status)
{
    cleanup_json cJSON *out = NULL;
    if (r->record)
        return cli_json(r->record, status);
    out = sr_json_object();
    cJSON *error = sr_json_object();
    sr_json_add_string(error, "code", r->error.code);
    sr_json_add_string(error, "text", r->error.text);
    sr_json_add_string(error, "hint", r->error.hint);
    sr_json_add_string(out, "status", sr_status_name(r->verdict.status));
    sr_json_add_string(out, "reason", r->verdict.reason);
    sr_json_add_bool(out, "decided", r->verdict.decided);
    sr_json_add_u64(out, "exit", (uint64_t)r->verdict.exit);
    sr_json_add(out, "error", error);
    return cli_json(out, status);
}

int cli_run(const struct cli_args *args)
{
    cleanup_request struct cli_request request = { 0 };
    struct cli_record_file file;
    struct sr_run_result result = { 0 };
    struct sr_error err = { 0 };
    bool json = cli_flag(args, "json");
    int status;
    if (cli_record_file_open(cli_arg(args, "record"), &file, &err) < 0) {
        (void)cli_error(&err);
        return SR_EXIT_USAGE;
    }
    cli_request_from(args, 0, &request);
    request.req.out_fd = json ? -1 : STDOUT_FILENO;
    request.req.err_fd = json ? -1 : STDERR_FILENO;
    sr_run(&request.req, &result);
    verdict_print(&result, request.req.binding, cli_flag(args, "quiet"));
    status = copy_write(&file, &result, result.verdict.exit);
    if (json)
        status = answer_json(&result, status);
    cli_record_file_close(&file);
    sr_run_result_clear(&result);
    return status;
}
