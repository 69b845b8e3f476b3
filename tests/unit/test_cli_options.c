/* SPDX-License-Identifier: MIT */
/* The option parser: what it takes, and what it refuses by name. */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define PARSE(command, args, err, ...) parse(command, (char *[]){ __VA_ARGS__, NULL }, args, err)

static int parse(const char *command, char **argv, struct cli_args *args, struct sr_error *err)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return cli_args_parse(cli_command_find(command), argc, argv, args, err);
}

static char word[16][32]; /* argv is char *: literals are copied */
static char *w(size_t i, const char *s)
{
    snprintf(word[i], sizeof word[i], "%s", s);
    return word[i];
}

Test(cli_options, values_come_with_equals_and_as_the_next_word)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(
        PARSE("run", &a, &err, w(0, "--tree=/x"), w(1, "--policy"), w(2, "p.json"), w(3, "Test")),
        0);
    cr_assert_str_eq(cli_arg(&a, "tree"), "/x");
    cr_assert_str_eq(cli_arg(&a, "policy"), "p.json");
    cr_assert_null(cli_arg(&a, "record"));
    cr_assert_not(cli_flag(&a, "staged"));
    cr_assert_str_eq(a.positional[0], "Test");
}

Test(cli_options, letters_with_the_value_attached_or_apart)
{
    cleanup_args struct cli_args a = { 0 }, b = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("run", &a, &err, w(0, "-C/x"), w(1, "-q"), w(2, "Test")), 0);
    cr_assert_str_eq(cli_arg(&a, "tree"), "/x");
    cr_assert(cli_flag(&a, "quiet"));
    cr_assert_eq(PARSE("run", &b, &err, w(0, "Test"), w(1, "-C"), w(2, "/y")), 0);
    cr_assert_str_eq(cli_arg(&b, "tree"), "/y");
}

Test(cli_options, two_dashes_end_the_options_and_the_rest_is_verbatim)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(
        PARSE("run", &a, &err, w(0, "Test"), w(1, "--"), w(2, "--json"), w(3, "--"), w(4, "")), 0);
    cr_assert_not(cli_flag(&a, "json"));
    cr_assert_eq(a.rest.n, 3);
    cr_assert_str_eq(a.rest.v[0], "--json");
    cr_assert_str_eq(a.rest.v[1], "--");
    cr_assert_str_eq(a.rest.v[2], "");
}

Test(cli_options, help_wins_over_what_is_missing)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("run", &a, &err, w(0, "--help"), w(1, "--nonsense")), 0);
    cr_assert(a.help);
}

Test(cli_options, repeated_options_are_all_kept)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("repro", &a, &err, w(0, "--allow-drift=pin"), w(1, "--allow-drift"),
                       w(2, "tree"), w(3, "id")),
                 0);
    cr_assert(cli_arg_has(&a, "allow-drift", "pin"));
    cr_assert(cli_arg_has(&a, "allow-drift", "tree"));
    cr_assert_not(cli_arg_has(&a, "allow-drift", "plan"));
}

/* Each row: what is refused, with which code, and what the message or the hint must name. */
static const struct {
    const char *command, *words[4], *code, *names;
} refused[] = {
    { "run", { "--bogus", "Test" }, "usage.unknown_option", "--bogus" },
    { "run", { "--tre=x", "Test" }, "usage.unknown_option", "--tree" },
    { "run", { "-x", "Test" }, "usage.unknown_option", "-x" },
    { "run", { "-qj", "Test" }, "usage.unknown_option", "-qj" },
    { "run", { "--wall=1m", "--wall=2m", "Test" }, "usage.duplicate_option", "--wall" },
    { "run", { "--json", "--json", "Test" }, "usage.duplicate_option", "--json" },
    { "run", { "--record", "--json", "Test" }, "usage.missing_value", "--record" },
    { "run", { "Test", "--record" }, "usage.missing_value", "--record" },
    { "run", { "--tree=", "Test" }, "usage.missing_value", "--tree" },
    { "run", { "--json=1", "Test" }, "usage.unexpected_value", "--json" },
    { "run", { "--wall=90", "Test" }, "usage.invalid_value", "--wall" },
    { "run", { "--wall=0s", "Test" }, "usage.invalid_value", "--wall" },
    { "run", { "--memory=lots", "Test" }, "usage.invalid_value", "--memory" },
    { "run", { "--pids=-1", "Test" }, "usage.invalid_value", "--pids" },
    { "run", { "--cpus=.5", "Test" }, "usage.invalid_value", "--cpus" },
    { "run", { "--cpus=1.", "Test" }, "usage.invalid_value", "--cpus" },
    { "run", { "--cpus=0.0", "Test" }, "usage.invalid_value", "--cpus" },
    { "run", { "--cpus=1.25", "Test" }, "usage.invalid_value", "--cpus" },
    { "repro", { "--allow-drift=all", "id" }, "usage.invalid_value", "pin policy tree plan" },
    { "run", { "Test", "Lint" }, "usage.unexpected_argument", "--" },
    { "check", { "Test", "--", "x" }, "usage.unexpected_argument", "--" },
    { "schema", { "x" }, "usage.unexpected_argument", "x" },
    { "run", { NULL }, "usage.missing_argument", "BINDING" },
    { "run", { "" }, "usage.missing_value", "BINDING" },
    { "run", { "--policy=a", "--policy-ref=b", "Test" }, "usage.conflicting_options", "--policy-ref" },
    { "audit", { "--policy-ref=b", "--policy=a" }, "usage.conflicting_options", "--policy" },
    { "image", { "pull" }, "usage.invalid_value", "pin" },
};

Test(cli_options, refusals_name_what_was_wrong)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        cleanup_args struct cli_args a = { 0 };
        struct sr_error err = { 0 };
        char *argv[5] = { 0 };
        for (size_t k = 0; k < 4 && refused[i].words[k]; k++)
            argv[k] = w(k, refused[i].words[k]);
        cr_assert_eq(parse(refused[i].command, argv, &a, &err), -1, "row %zu was taken", i);
        cr_assert_str_eq(err.code, refused[i].code, "row %zu: %s: %s", i, err.code, err.text);
        cr_assert(strstr(err.text, refused[i].names) || strstr(err.hint, refused[i].names),
                  "row %zu: %s / %s", i, err.text, err.hint);
    }
}

Test(cli_options, near_names_are_named_and_far_ones_are_not)
{
    static const char *const names[] = { "run", "repro", "audit" };
    char near[160];
    cli_near("rnu", names, 3, near);
    cr_assert_str_eq(near, "run");
    cli_near("audti", names, 3, near);
    cr_assert_str_eq(near, "audit");
    cli_near("explode", names, 3, near);
    cr_assert_str_eq(near, "");
}

Test(cli_options, limits_become_overrides_of_the_binding)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("run", &a, &err, w(0, "--wall=90s"), w(1, "--pids=7"), w(2, "--cpus=1.5"),
                       w(3, "--memory"), w(4, "2GiB"), w(5, "a\"b")),
                 0);
    cleanup_free char *json = cli_overrides(&a, a.positional[0]);
    cr_assert_str_eq(json, "{\"bindings\":{\"a\\\"b\":{\"limits\":"
                           "{\"wall\":\"90s\",\"memory\":\"2GiB\",\"pids\":7,\"cpus\":1.5}}}}");
}

Test(cli_options, what_a_reached_limit_means_is_a_field_of_the_limits)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("run", &a, &err, w(0, "--on-reached=error"), w(1, "Test")), 0);
    cleanup_free char *json = cli_overrides(&a, "Test");
    cr_assert_str_eq(json, "{\"bindings\":{\"Test\":{\"limits\":{\"on_reached\":\"error\"}}}}");
}

Test(cli_options, no_limits_no_overrides)
{
    cleanup_args struct cli_args a = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("run", &a, &err, w(0, "Test")), 0);
    cr_assert_null(cli_overrides(&a, "Test"));
}

Test(cli_options, the_policy_file_is_named_so_that_a_record_can_be_repeated_elsewhere)
{
    cleanup_args struct cli_args a = { 0 }, b = { 0 };
    cleanup_request struct cli_request relative = { 0 }, absolute = { 0 };
    struct sr_error err = { 0 };
    cr_assert_eq(PARSE("run", &a, &err, w(0, "--policy=p.json"), w(1, "Test")), 0);
    cr_assert_eq(PARSE("run", &b, &err, w(2, "--policy=/x/p.json"), w(3, "Test")), 0);
    cli_request_from(&a, 0, &relative);
    cli_request_from(&b, 0, &absolute);
    cr_assert_eq(relative.req.policy_file[0], '/');
    cr_assert_not_null(strstr(relative.req.policy_file, "/p.json"));
    cr_assert_str_eq(absolute.req.policy_file, "/x/p.json");
    cr_assert_str_eq(relative.req.binding, "Test");
}
