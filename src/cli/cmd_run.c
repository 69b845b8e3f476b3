/* SPDX-License-Identifier: MIT */
/* sandrun run: the pipeline, then the verdict for a person or the record for a machine. */
#include "cli/answer.h"
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
static int copy_write(const struct cli_record_file *file, const cJSON *document, int status)
{
    struct sr_error err = { 0 };
    if (cli_record_file_write(file, document, &err) == 0)
        return status;
    (void)cli_error(&err);
    return status ? status : SR_EXIT_SANDBOX;
}

/* A run that came to no plan has no record; a machine still gets one document with the answer, and
 * the same one at both places. */
static int documents_write(const struct cli_record_file *file, const struct sr_run_result *r,
                           bool json)
{
    cleanup_json cJSON *answer = r->record ? NULL : cli_answer(r);
    const cJSON *document = r->record ? r->record : answer;
    int status = copy_write(file, document, r->verdict.exit);
    return json ? cli_json(document, status) : status;
}

/* Nothing ran: a FILE that cannot be written is a wrong command line. */
static int unopened(const struct sr_error *err, bool json)
{
    struct sr_run_result none = { .error = *err };
    cleanup_json cJSON *answer = NULL;
    (void)cli_error(err);
    sr_verdict_error(err, &none.verdict);
    answer = cli_answer(&none);
    return json ? cli_json(answer, SR_EXIT_USAGE) : SR_EXIT_USAGE;
}

int cli_run(const struct cli_args *args)
{
    cleanup_request struct cli_request request = { 0 };
    struct cli_record_file file;
    struct sr_run_result result = { 0 };
    struct sr_error err = { 0 };
    bool json = cli_flag(args, "json");
    int status;
    if (cli_record_file_open(cli_arg(args, "record"), &file, &err) < 0)
        return unopened(&err, json);
    cli_request_from(args, 0, &request);
    request.req.out_fd = json ? -1 : STDOUT_FILENO;
    request.req.err_fd = json ? -1 : STDERR_FILENO;
    sr_run(&request.req, &result);
    verdict_print(&result, request.req.binding, cli_flag(args, "quiet"));
    status = documents_write(&file, &result, json);
    cli_record_file_close(&file);
    sr_run_result_clear(&result);
    return status;
}
