/* SPDX-License-Identifier: MIT */
/* Every option of every command, once. */
#include "cli/options.h"

#define END { .name = NULL }
#define FLAG(n, l, h) { .name = n, .letter = l, .type = CLI_FLAG, .help = h }
#define VALUE(n, l, arg, t, h) { .name = n, .letter = l, .argument = arg, .type = t, .help = h }
#define CHOICE(n, arg, words, h)                                                                   \
    { .name = n, .argument = arg, .type = CLI_CHOICE, .choices = words, .help = h }

const struct cli_option cli_options_common[] = {
    FLAG("help", 'h', "print this help and exit"),
    END,
};

const struct cli_option cli_options_tree[] = {
    VALUE("tree", 'C', "DIR", CLI_DIR,
          "the working tree to check (default: the current directory)"),
    END,
};

const struct cli_option cli_options_policy[] = {
    VALUE("policy", 0, "FILE", CLI_FILE,
          "read the policy from FILE instead of the tree's sandrun.json"),
    VALUE("policy-ref", 0, "REV", CLI_TEXT,
          "read sandrun.json as the commit REV has it (default with --staged: HEAD)"),
    FLAG("staged", 0,
         "the tree holds what a model wrote: refuse whatever is not contained, and take the "
         "policy from a commit or from a file outside the tree"),
    END,
};

const struct cli_option cli_options_limits[] = {
    VALUE("wall", 0, "TIME", CLI_DURATION, "stop after TIME (90s, 10m, 1h30m)"),
    VALUE("idle", 0, "TIME", CLI_DURATION, "stop after TIME without output"),
    VALUE("memory", 0, "SIZE", CLI_SIZE,
          "memory of all processes and of what they write (512MiB, 2GiB)"),
    VALUE("pids", 0, "N", CLI_NUMBER, "processes and threads at one time"),
    VALUE("cpus", 0, "N", CLI_CPUS, "processors' worth of time (2, 1.5)"),
    VALUE("output", 0, "SIZE", CLI_SIZE, "stdout and stderr together"),
    VALUE("disk", 0, "SIZE", CLI_SIZE, "bytes written to the tree, /tmp and HOME"),
    VALUE("files", 0, "N", CLI_NUMBER, "files made in the tree, /tmp and HOME"),
    CHOICE("on-reached", "WORD", "error report",
           "what a limit that was reached means although the command exited 0"),
    END,
};

const struct cli_option cli_options_json[] = {
    FLAG("json", 0, "print JSON on stdout instead of text"),
    END,
};

const struct cli_option cli_options_run[] = {
    VALUE("record", 0, "FILE", CLI_FILE,
          "also write the record to FILE, whole or not at all, never through a link"),
    FLAG("json", 0, "print the record on stdout; the command's output goes to its logs only"),
    FLAG("quiet", 'q', "no verdict on stderr unless sandrun itself has something to say"),
    END,
};

const struct cli_option cli_options_audit[] = {
    FLAG("names", 0, "print only the names of the checks, one a line"),
    END,
};

const struct cli_option cli_options_image[] = {
    FLAG("host", 0, "pin the host itself as the root filesystem, by its fingerprint"),
    END,
};

const struct cli_option cli_options_repro[] = {
    { .name = "allow-drift",
      .argument = "WHAT",
      .type = CLI_CHOICE,
      .repeat = true,
      .choices = "pin policy tree plan",
      .help = "go on although WHAT is not what it was; may be given several times" },
    END,
};

const struct cli_option cli_options_clean[] = {
    VALUE("older-than", 0, "TIME", CLI_DURATION,
          "also remove finished runs' records and logs older than TIME (7d)"),
    END,
};

const struct cli_option cli_options_init[] = {
    FLAG("force", 0, "replace a sandrun.json that is already there"),
    END,
};

const struct cli_option cli_options_help[] = {
    FLAG("man", 0, "print the manual page (roff)"),
    CHOICE("completion", "SHELL", "bash zsh fish", "print the completion script for SHELL"),
    CHOICE("markdown", "BLOCK", "commands exit-codes reasons fields",
           "print a table for the README"),
    END,
};
