/* SPDX-License-Identifier: MIT */
/* sandrun diff: the change set of a record, environments first. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/record_view.h"
#include "cli/verdict_text.h"
#include "sandrun/change.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const struct {
    enum sr_change_kind kind;
    char mark;
    enum cli_style style;
} marks[] = {
    { SR_CHANGE_ADDED, '+', CLI_GOOD },    { SR_CHANGE_DELETED, '-', CLI_BAD },
    { SR_CHANGE_MODIFIED, '~', CLI_WARN }, { SR_CHANGE_MODE, 'm', CLI_WARN },
    { SR_CHANGE_TYPE, 't', CLI_WARN },
};

static void change_line(struct cli_page *p, const cJSON *change)
{
    const char *kind = cli_string_at(change, "kind");
    cleanup_free char *path = cli_path_at(change, "path"), *target = cli_path_at(change, "target");
    char mark = '?';
    enum cli_style style = CLI_PLAIN;
    for (size_t i = 0; kind && i < sizeof marks / sizeof *marks; i++)
        if (strcmp(sr_change_kind_name(marks[i].kind), kind) == 0) {
            mark = marks[i].mark;
            style = marks[i].style;
        }
    cli_line(p, style, "  %c %s%s%s%s", mark, cli_in_home(change) ? "~/" : "", path ? path : "?",
             target ? " -> " : "", target ? target : "");
}

static void class_lines(struct cli_page *p, const cJSON *changes, const char *cls)
{
    const cJSON *change;
    bool headed = false;
    cJSON_ArrayForEach(change, cli_at(changes, "list"))
    {
        const char *own = cli_string_at(change, "class");
        if (!own || strcmp(own, cls) != 0)
            continue;
        if (!headed) {
            const cJSON *by_class = cli_at(changes, "by_class");
            const cJSON *n = sr_json_get(by_class, cls);
            cli_line(p, CLI_HEAD, "%s: %.0f", cls, cJSON_IsNumber(n) ? n->valuedouble : 0.0);
            headed = true;
        }
        change_line(p, change);
    }
}

static void diff_page(struct cli_page *p, const cJSON *record)
{
    const cJSON *changes = cli_at(record, "changes");
    const cJSON *repairs = cli_at(changes, "repairs");
    uint64_t total = cli_u64_at(changes, "total");
    if (!changes || cJSON_IsNull(changes)) {
        cli_line(p, CLI_PLAIN, "nothing ran, so there is no change set");
        return;
    }
    if (cJSON_GetArraySize(repairs) > 0)
        cli_line(p, CLI_HEAD, "environments");
    cli_repair_lines(p, changes, NULL);
    for (int c = 0; c < SR_CLASS_COUNT; c++)
        class_lines(p, changes, sr_change_class_name((enum sr_change_class)c));
    if (cli_bool_at(changes, "truncated"))
        cli_line(p, CLI_WARN, "%" PRIu64 " changes in all; the record lists %d of them", total,
                 cJSON_GetArraySize(cli_at(changes, "list")));
    else if (total == 0)
        cli_line(p, CLI_PLAIN, "the command changed nothing");
}

int cli_diff(const struct cli_args *args)
{
    cleanup_json_doc struct sr_json doc = { 0 };
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    struct sr_error err = { 0 };
    if (cli_record_load(args->positional[0], &doc, &err) < 0)
        return cli_failed(args, &err);
    if (cli_flag(args, "json"))
        return cli_json(cli_at(doc.root, "changes"), 0);
    diff_page(&p, doc.root);
    return cli_page_done(&p, 0);
}
