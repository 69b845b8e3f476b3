/* SPDX-License-Identifier: MIT */
/* The table of exit statuses and the table of reasons. */
#include "cli/statuses.h"

#include <stddef.h>
#include <string.h>

const struct cli_status_row cli_status_rows[] = {
    { "0", "passed", "yes", "the command succeeded and the environment is as it was" },
    { "the command's own", "failed", "yes",
      "the command said no, and the environment is as it was" },
    { "1", "failed", "yes",
      "the same of a command that itself exits 120, 121, 122 or 125: its own number stands in the record "
      "(`reason_detail.end.code`) and on the summary line" },
    { "128+n", "failed", "yes", "the command was killed by signal n, by itself or from inside" },
    { "120", "blocked", "no", "a control refused; nothing ran" },
    { "121", "errored", "no",
      "the environment cannot work here (`env.mismatch`) or was repaired (`env.repaired`)" },
    { "122", "errored", "no",
      "a limit other than time was reached (`limit.memory`, `limit.pids`, `limit.disk`, "
      "`limit.files`, `limit.output`): the command was stopped, or failed, or `limits.on_reached` is "
      "`error`" },
    { "124", "errored", "no", "a time limit stopped it (`limit.wall`, `limit.idle`)" },
    { "125", "errored", "no",
      "sandrun or the sandbox failed, was told to stop (`run.interrupted`), or was called wrongly; "
      "nothing is known about the code" },
    { "126", "errored", "no",
      "the command was found and could not be executed (`command.not_executed`)" },
    { "127", "errored", "no", "the command was not found (`command.not_found`)" },
    { .exit = NULL },
};

const struct cli_reason_row cli_reason_rows[] = {
    { "command.success", "the command succeeded and the environment is as it was", NULL },
    { "command.exit", "the command said no", NULL },
    { "command.signal", "the command was killed by a signal", NULL },
    { "command.not_found", "the command was not found",
      "check the binding's command, and PATH in its env.set; `sandrun plan BINDING` shows both" },
    { "command.not_executed", "the command could not be executed",
      "check its mode, its first line and its architecture inside the root filesystem" },
    { "env.repaired", "the command deleted, rebuilt or created an environment",
      "install the environment so that the command finds it whole, then run again" },
    { "env.mismatch", "an environment of the tree cannot work in this root filesystem",
      "rebuild the environment for this root filesystem; nothing was executed" },
    { "limit.memory", "the memory limit was reached",
      "raise limits.memory in the policy, or use less" },
    { "limit.pids", "the limit of processes was reached",
      "raise limits.pids in the policy, or start fewer" },
    { "limit.disk", "the limit of written bytes was reached",
      "raise limits.disk in the policy, or write less" },
    { "limit.files", "the limit of files was reached",
      "raise limits.files in the policy, or make fewer" },
    { "limit.output", "the output limit was reached",
      "raise limits.output in the policy, or print less" },
    { "limit.wall", "the time limit was reached",
      "raise limits.wall in the policy, or make the check faster" },
    { "limit.idle", "the command was silent for too long",
      "raise limits.idle in the policy, or print progress" },
    { "run.interrupted", "sandrun was told to stop", "run it again" },
    { "binding", "the binding is not contained", NULL },
    { "rootfs", "the root filesystem is not the one that was pinned",
      "`sandrun image pin --host BINDING` prints the pin of this host" },
    { "engine.broken", "the sandbox broke down while it was set up or run", NULL },
    { "engine", "this machine cannot contain the command",
      "`sandrun doctor` names what is missing and the remedy" },
    { "policy", "the policy cannot be used", NULL },
    { "repro.drift", "the plan, pin, policy or tree is not what the record has", NULL },
    { "repro", "what was recorded cannot be repeated", NULL },
    { "record", "the record cannot be used", NULL },
    { "git", "the commit with the policy could not be read", NULL },
    { "log", "the command's output could not be kept", NULL },
    { "file", "a file could not be read or written", NULL },
    { "keep", "what was to be kept could not be brought back to the tree", NULL },
    { "changes", "the command changed more than can be judged",
      "make the command write fewer files" },
    { "snapshot", "the tree could not be read", NULL },
    { "run", "sandrun failed", NULL },
    { "plan", "the tree or a path of the plan cannot be used", NULL },
    { "state", "the state directory cannot be used", NULL },
    { "usage", "the command line was wrong", "`sandrun help COMMAND` lists what it takes" },
    { NULL, "it could not be run here", NULL },
};

/* "limit" covers "limit" and "limit.wall", not "limits". */
static int reason_covers(const char *row, const char *reason)
{
    size_t len = strlen(row);
    return strncmp(row, reason, len) == 0 && (reason[len] == '\0' || reason[len] == '.');
}

const struct cli_reason_row *cli_reason(const char *reason)
{
    const struct cli_reason_row *r = cli_reason_rows;
    while (r->reason && !reason_covers(r->reason, reason))
        r++;
    return r;
}
