/* SPDX-License-Identifier: MIT */
/* The command table. */
#include "cli/commands.h"
#include "sandrun/verdict.h"

#include <string.h>

#define BINDING(need)                                                                              \
    { .name = "BINDING",                                                                           \
      .required = need,                                                                            \
      .type = CLI_BINDING,                                                                         \
      .help = "the check's name in the policy" }
#define RECORD                                                                                     \
    { .name = "RECORD",                                                                            \
      .required = true,                                                                            \
      .type = CLI_RECORD,                                                                          \
      .help = "a record file, or a run id or the start of one" }

static const struct cli_positional takes_binding[] = { BINDING(true), { .name = NULL } };
static const struct cli_positional takes_record[] = { RECORD, { .name = NULL } };
static const struct cli_positional takes_pin[] = {
    { .name = "pin",
      .required = true,
      .type = CLI_CHOICE,
      .choices = "pin",
      .help = "what to do with the image" },
    BINDING(false),
    { .name = NULL },
};
static const struct cli_positional takes_command[] = {
    { .name = "COMMAND", .type = CLI_COMMAND, .help = "the command to explain" },
    { .name = NULL },
};

#define EXITS(...) (const struct cli_exit_line[]){ __VA_ARGS__, { .status = -1 } }
#define FAILS { SR_EXIT_SANDBOX, "sandrun failed, or the command line was wrong" }
#define REFUSED { SR_EXIT_BLOCKED, "a control refused" }

/* run and repro share what can come of running. */
#define RUN_EXITS                                                                                  \
    { CLI_EXIT_OWN, "failed: the command's own exit status, or 128+n when signal n killed it" },   \
        { SR_EXIT_BLOCKED, "blocked: a control refused; nothing ran" },                            \
        { SR_EXIT_ENV, "errored: the environment cannot work here, or was repaired" },             \
        { SR_EXIT_LIMIT, "errored: a limit of memory, processes, disk or output was reached" },    \
        { SR_EXIT_WALL, "errored: a time limit stopped it" },                                      \
        { SR_EXIT_SANDBOX, "errored: sandrun failed, or the command line was wrong" },             \
        { SR_EXIT_NOT_EXECUTED, "errored: the command could not be executed" },                    \
        { SR_EXIT_NOT_FOUND, "errored: the command was not found" }

const struct cli_command cli_commands[] = {
    { .name = "run",
      .summary = "run a check contained and say what happened",
      .tables = { cli_options_tree, cli_options_policy, cli_options_run, cli_options_limits },
      .positionals = takes_binding,
      .rest = "appended to the binding's command",
      .description =
          "Resolves BINDING to a plan, looks whether the environments in the tree can work in its "
          "root filesystem, and runs the command with the tree held copy-on-write. Afterwards "
          "everything the command did to the tree is read, and the verdict says whether the code, "
          "the environment, the sandbox or a control was at fault.\n\n"
          "The command's output streams through; the verdict is a short block on stderr. What "
          "cannot be contained is refused with a code and the line to write, never run on the "
          "host instead.\n\n"
          "The limit options tighten what the policy says; they cannot loosen it.",
      .examples = "sandrun run Test  # the check named Test of ./sandrun.json\n"
                  "sandrun run --staged Test  # over what a model wrote: contained, or refused\n"
                  "sandrun run --json --record test.json Lint  # the record for a machine, and a "
                  "copy\n"
                  "sandrun run --wall 90s Test -- -k parser  # shorter, with arguments for the "
                  "command\n",
      .exits = EXITS({ 0, "passed: the command succeeded and the environment is as it was" },
                     RUN_EXITS),
      .run = cli_run },
    { .name = "plan",
      .summary = "show everything a run would use, and who set it",
      .tables = { cli_options_tree, cli_options_policy, cli_options_json, cli_options_limits },
      .positionals = takes_binding,
      .rest = "appended to the binding's command",
      .description =
          "Resolves BINDING as run does and prints the plan: each field with its value and the "
          "layer and file that set it, mounts, environment names, the pin and what this host has, "
          "the digest, and whether the plan is contained. Each reason why not comes with its code "
          "and the line to write. Nothing is executed.",
      .examples = "sandrun plan Test  # for people\n"
                  "sandrun plan --staged --json Test  # for machines\n",
      .exits = EXITS({ 0, "the plan was printed, contained or not" },
                     { SR_EXIT_BLOCKED, "the policy was refused" }, FAILS),
      .run = cli_plan },
    { .name = "audit",
      .summary = "list every check and whether it is contained",
      .tables = { cli_options_tree, cli_options_policy, cli_options_audit, cli_options_json },
      .description =
          "Resolves every binding of the policy and prints whether it is contained, and each "
          "opt-out with its reason. Red when a binding that executes code of the tree is not "
          "contained; bindings that only read it (executes: false) are listed and not judged. A "
          "policy without any binding is an error, not a green answer about nothing.",
      .examples =
          "sandrun audit --staged  # in CI: red when a check is not contained\n",
      .exits = EXITS({ 0, "every binding that executes is contained" },
                     { SR_EXIT_BLOCKED, "one is not, or the policy was refused" },
                     { SR_EXIT_SANDBOX, "the policy has no check at all, sandrun failed, or the "
                                        "command line was wrong" }),
      .run = cli_audit },
    { .name = "check",
      .summary = "look whether the tree's environments can work, without running",
      .tables = { cli_options_tree, cli_options_policy, cli_options_json },
      .positionals = takes_binding,
      .description =
          "The preflight of run by itself: interpreters that are missing or of another version "
          "than the environment was built with, scripts whose first line leads nowhere, native "
          "parts for another architecture or libc. Both sides of each finding are printed, and "
          "what to do. When a run would be refused for another reason (a pin, an opt-out), that is "
          "printed too, and the exit status stays the findings' own.",
      .examples = "sandrun check Test  # before the first run on a new machine\n",
      .exits = EXITS({ 0, "nothing was found, whether or not a run would be refused" }, REFUSED,
                     { SR_EXIT_ENV, "an environment cannot work here" }, FAILS),
      .run = cli_check },
    { .name = "image",
      .summary = "print the pin of a root filesystem",
      .tables = { cli_options_tree, cli_options_policy, cli_options_image, cli_options_json },
      .positionals = takes_pin,
      .description =
          "With --host, prints the fingerprint of this host for BINDING, or for every binding, "
          "and the line to write into the policy. The fingerprint covers the architecture, "
          "os-release, the package database and the tools that the binding's command names, so each "
          "binding has its own. A pin that is still to be filled in is written \"sha256:...\".",
      .examples =
          "sandrun image pin --host Test  # the line to write after an update of the host\n",
      .exits = EXITS({ 0, "the pins were printed" }, REFUSED,
                     { SR_EXIT_SANDBOX, "a binding has none, the others were printed; or sandrun "
                                        "failed, or the command line was wrong" }),
      .run = cli_image },
    { .name = "repro",
      .summary = "run the plan of a record again and compare",
      .tables = { cli_options_tree, cli_options_repro, cli_options_json },
      .positionals = takes_record,
      .rest = "the arguments of the recorded run, which no record holds",
      .description =
          "Resolves what RECORD was resolved from, refuses by name when the pin, the policy, the "
          "tree or the plan is no longer what it was, and otherwise runs and compares field by "
          "field. Timing, ids and use of resources do not count as differences.",
      .examples = "sandrun repro 18f2c3  # by the start of a run id\n"
                  "sandrun repro --allow-drift tree test.json  # the same check over a tree that "
                  "moved on\n",
      .exits = EXITS({ 0, "the same result" }, { 1, "it differs; the differences are listed" },
                     { SR_EXIT_BLOCKED, "something is not what it was, or a control refused" },
                     FAILS),
      .run = cli_repro },
    { .name = "diff",
      .summary = "show what a run did to the tree",
      .tables = { cli_options_json },
      .positionals = takes_record,
      .description =
          "Prints the change set of a record: environments first, then by class, each path with + "
          "(added), - (deleted), ~ (content), m (mode) or t (type).",
      .examples = "sandrun diff 18f2c3  # by the start of a run id\n",
      .exits = EXITS({ 0, "the change set was printed, empty or not" },
                     { SR_EXIT_BLOCKED, "the record is not what its own digest says" },
                     { SR_EXIT_SANDBOX, "the record cannot be read or is damaged, sandrun failed, "
                                        "or the command line was wrong" }),
      .run = cli_diff },
    { .name = "doctor",
      .summary = "try each thing containment needs on this machine",
      .tables = { cli_options_json },
      .description =
          "Performs each step of the containment sequence and says whether it works, works but "
          "holds less, is missing, or could not be told, with the one remedy for this host. Ends "
          "with a whole contained run.",
      .examples = "sandrun doctor  # when a run says engine.unavailable\n",
      .exits = EXITS({ 0, "a contained run works here" },
                     { SR_EXIT_SANDBOX, "it does not, or sandrun failed" }),
      .run = cli_doctor },
    { .name = "clean",
      .summary = "remove what ended runs left, and list what stays",
      .tables = { cli_options_clean, cli_options_json },
      .description =
          "Undoes the inventory of runs whose supervisor is gone, and touches no live run. With "
          "--older-than, records and logs of finished runs are removed too. Repeating it changes "
          "nothing.",
      .examples = "sandrun clean --older-than 14d  # leftovers, and records of two weeks ago\n",
      .exits = EXITS({ 0, "nothing is left" },
                     { SR_EXIT_SANDBOX, "something is left, or sandrun failed" }),
      .run = cli_clean },
    { .name = "init",
      .summary = "write a sandrun.json for this repository",
      .tables = { cli_options_tree, cli_options_init },
      .description =
          "Looks at the files of the tree (pyproject.toml, package.json, Cargo.toml, go.mod, "
          "Makefile, ...), writes a commented sandrun.json with a check for what it recognises, "
          "each pinned to this host, and loads it to be sure that it is valid. Never replaces a "
          "file without --force.",
      .examples = "sandrun init && sandrun plan Test  # then read it, and commit it\n",
      .exits = EXITS({ 0, "the file was written and is valid" }, FAILS),
      .run = cli_init },
    { .name = "schema",
      .summary = "print the JSON Schema of sandrun.json",
      .description = "For editors and for validators that know JSON Schema (draft 2020-12).",
      .exits = EXITS({ 0, "the schema was printed" }, FAILS),
      .run = cli_schema },
    { .name = "version",
      .summary = "print the version",
      .exits = EXITS({ 0, "the version was printed" }, FAILS),
      .run = cli_version },
    { .name = "help",
      .summary = "explain a command, or print what is made from the same tables",
      .tables = { cli_options_help },
      .positionals = takes_command,
      .description =
          "Without a word: the list of commands. Options, manual page, completions and the "
          "README's tables come from the same tables as this text.",
      .examples = "sandrun help run  # one command\n"
                  "sandrun help --completion bash  # for the shell\n",
      .exits = EXITS({ 0, "the help was printed" }, FAILS),
      .run = cli_help },
    { .name = NULL },
};

const struct cli_command *cli_command_find(const char *name)
{
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

const struct cli_option *cli_command_table(const struct cli_command *cmd, size_t i)
{
    size_t n = 0;
    while (n < CLI_OPTION_TABLES_MAX && cmd->tables[n])
        n++;
    if (i < n)
        return cmd->tables[i];
    return i == n ? cli_options_common : NULL;
}
