/* SPDX-License-Identifier: MIT */
/* The documents of failures. */
#include "cli/answer.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/record_file.h"
#include "sandrun/verdict.h"

#include <string.h>

cJSON *cli_error_json(const struct sr_error *err)
{
    cJSON *error = sr_json_object();
    sr_json_add_string(error, "code", err->code);
    sr_json_add_string(error, "text", err->text);
    sr_json_add_string(error, "hint", err->hint);
    return error;
}

cJSON *cli_answer(const struct sr_run_result *r)
{
    cJSON *out = sr_json_object();
    sr_json_add_string(out, "status", sr_status_name(r->verdict.status));
    sr_json_add_string(out, "reason", r->verdict.reason);
    sr_json_add_bool(out, "decided", r->verdict.decided);
    sr_json_add_u64(out, "exit", (uint64_t)r->verdict.exit);
    sr_json_add(out, "error", cli_error_json(&r->error));
    return out;
}

static int error_print(const struct sr_error *err, int status)
{
    cleanup_json cJSON *out = sr_json_object();
    sr_json_add(out, "error", cli_error_json(err));
    return cli_json(out, status);
}

int cli_failed(const struct cli_args *args, const struct sr_error *err)
{
    int status = cli_error(err);
    return cli_flag(args, "json") ? error_print(err, status) : status;
}

static bool has_json(const struct cli_command *cmd)
{
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_command_table(cmd, i)) != NULL; i++)
        for (; o->name; o++)
            if (strcmp(o->name, "json") == 0)
                return true;
    return false;
}

/* FILE of --record FILE or --record=FILE, NULL when the words do not say it plainly. */
static const char *record_word(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (sr_text_starts(argv[i], "--record=") && argv[i][9])
            return argv[i] + 9;
        if (strcmp(argv[i], "--record") == 0)
            return i + 1 < argc && argv[i + 1][0] != '-' ? argv[i + 1] : NULL;
    }
    return NULL;
}

/* Whoever reads FILE next must not find the answer of a run before this one. */
static void record_answer(const char *path, const cJSON *answer)
{
    struct cli_record_file file;
    struct sr_error err = { 0 };
    if (cli_record_file_open(path, &file, &err) < 0 ||
        cli_record_file_write(&file, answer, &err) < 0)
        (void)cli_error(&err);
    cli_record_file_close(&file);
}

static bool json_wanted(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

int cli_usage_failed(const struct cli_command *cmd, int argc, char *const *argv,
                     const struct sr_error *err)
{
    struct sr_run_result none = { .error = *err };
    bool json = json_wanted(argc, argv) && has_json(cmd);
    (void)cli_error(err);
    if (cmd->run != cli_run)
        return json ? error_print(err, SR_EXIT_USAGE) : SR_EXIT_USAGE;
    sr_verdict_error(err, &none.verdict);
    cleanup_json cJSON *answer = cli_answer(&none);
    const char *record = record_word(argc, argv);
    if (record)
        record_answer(record, answer);
    return json ? cli_json(answer, SR_EXIT_USAGE) : SR_EXIT_USAGE;
}
