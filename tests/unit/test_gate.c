/* SPDX-License-Identifier: MIT */
/* The gate: one refusal per failed condition, each with a sentence and the line to write. */
#include "sandrun/gate.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

/* A literal where the structs own their strings; nothing here frees it. */
#define S(literal) ((char *)(uintptr_t)(literal))

static char *command[] = { S("true"), NULL };
static char *list[] = { S("debug"), NULL };
static struct sr_mount writable[] = { { .source = S("/a"), .target = S("/a"), .readonly = true },
                                      { .source = S("/b"), .target = S("/c"), .reason = S("why") } };
static struct sr_plan_secret secret[] = { { S("API_TOKEN"), S("why") } };
static const struct sr_error missing = { .code = "engine.unavailable.user_namespace", .text = "making a user namespace: refused",
                                         .hint = "sysctl user.max_user_namespaces=1000" };

/* Contained in every respect. Nothing in it is owned. */
static struct sr_plan contained(bool staged)
{
    return (struct sr_plan){
        .binding = S("Test"),
        .command = { command, 1 },
        .staged = staged,
        .rootfs = SR_ROOTFS_HOST,
        .pin = S("sha256:aa"),
        .pin_observed = S("sha256:aa"),
        .tree = S("/t"),
        .tree_target = S("/t"),
        .limits = { .wall_ns = 1, .memory_bytes = 2, .pids = 3, .cpus_milli = 4, .output_bytes = 5, .disk_bytes = 6, .files = 7 },
        .policy_trusted = true,
    };
}

static void no_command(struct sr_plan *p)
{
    p->n_args = 1; /* the only word is the caller's */
}
static void untrusted(struct sr_plan *p)
{
    p->policy_trusted = false;
}
static void uncontained(struct sr_plan *p)
{
    p->uncontained = S("reviewed code only");
    p->rootfs = SR_ROOTFS_ABSENT;
    p->pin = p->pin_observed = NULL;
}
static void unpinned(struct sr_plan *p)
{
    p->rootfs = SR_ROOTFS_ABSENT;
    p->pin = NULL;
}
static void image(struct sr_plan *p)
{
    p->rootfs = SR_ROOTFS_IMAGE;
    p->pin = S("python@sha256:aa");
}
static void mismatch(struct sr_plan *p)
{
    p->pin_observed = S("sha256:bb");
}
static void host_without_pin(struct sr_plan *p)
{
    p->pin = NULL;
}
static void unverified(struct sr_plan *p)
{
    p->pin_observed = NULL;
}
static void direct(struct sr_plan *p)
{
    p->writes = SR_WRITES_DIRECT;
}
static void mount(struct sr_plan *p)
{
    p->mounts = writable;
    p->n_mounts = 2;
}
static void network_host(struct sr_plan *p)
{
    p->network = SR_NETWORK_HOST;
}
static void network_allow(struct sr_plan *p)
{
    p->network = SR_NETWORK_ALLOW;
    p->network_allow = (struct sr_strv){ list, 1 };
}
static void seccomp(struct sr_plan *p)
{
    p->seccomp_allow = (struct sr_strv){ list, 1 };
}
static void secrets(struct sr_plan *p)
{
    p->pass_secret = secret;
    p->n_pass_secret = 1;
}
static void nothing(struct sr_plan *p)
{
    (void)p;
}
#define NO_LIMIT(name)                                                                             \
    static void no_##name(struct sr_plan *p)                                                       \
    {                                                                                              \
        p->limits.name = 0;                                                                        \
    }
NO_LIMIT(wall_ns)
NO_LIMIT(memory_bytes)
NO_LIMIT(pids)
NO_LIMIT(cpus_milli)
NO_LIMIT(output_bytes)
NO_LIMIT(disk_bytes)
NO_LIMIT(files)

static const struct {
    void (*change)(struct sr_plan *p);
    const char *code;
    const struct sr_error *engine;
    enum sr_decision unstaged;
} table[] = {
    { no_command, "binding.no_command", NULL, SR_REFUSED },
    { untrusted, "policy.untrusted", NULL, SR_CONTAINED },
    { uncontained, "binding.uncontained", NULL, SR_UNCONTAINED },
    { unpinned, "rootfs.unpinned", NULL, SR_REFUSED },
    { image, "rootfs.image_unsupported", NULL, SR_REFUSED },
    { mismatch, "rootfs.pin_mismatch", NULL, SR_REFUSED },
    { host_without_pin, "rootfs.unpinned", NULL, SR_REFUSED },
    { unverified, "rootfs.pin_unverified", NULL, SR_REFUSED },
    { direct, "binding.uncontained.writes", NULL, SR_OPTED_OUT },
    { mount, "binding.uncontained.mount", NULL, SR_OPTED_OUT },
    { network_host, "binding.uncontained.network", NULL, SR_OPTED_OUT },
    { network_allow, "binding.uncontained.network", NULL, SR_REFUSED },
    { seccomp, "binding.uncontained.seccomp", NULL, SR_OPTED_OUT },
    { secrets, "binding.uncontained.secret", NULL, SR_OPTED_OUT },
    { no_wall_ns, "binding.uncontained.limit", NULL, SR_REFUSED },
    { no_memory_bytes, "binding.uncontained.limit", NULL, SR_REFUSED },
    { no_pids, "binding.uncontained.limit", NULL, SR_REFUSED },
    { no_cpus_milli, "binding.uncontained.limit", NULL, SR_REFUSED },
    { no_output_bytes, "binding.uncontained.limit", NULL, SR_REFUSED },
    { no_disk_bytes, "binding.uncontained.limit", NULL, SR_REFUSED },
    { no_files, "binding.uncontained.limit", NULL, SR_REFUSED },
    { nothing, "engine.unavailable", &missing, SR_REFUSED },
};

Test(gate, a01_contained_plan_gets_a_ticket_and_no_refusal)
{
    for (int staged = 0; staged < 2; staged++) {
        struct sr_plan p = contained(staged);
        struct sr_gate g;
        sr_gate_decide(&p, NULL, &g);
        cr_expect_eq(g.decision, SR_CONTAINED);
        cr_expect_eq(g.n_refusals, 0);
        cr_expect(sr_ticket_valid(g.ticket, &p));
        sr_gate_clear(&g);
    }
}

Test(gate, a01_each_failed_condition_refuses_a_staged_run_by_its_code)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sr_plan p = contained(true);
        struct sr_gate g;
        table[i].change(&p);
        sr_gate_decide(&p, table[i].engine, &g);
        cr_expect_eq(g.decision, SR_REFUSED, "%s", table[i].code);
        cr_expect_null(g.ticket, "%s", table[i].code);
        cr_assert_eq(g.n_refusals, 1, "%s: %zu refusals", table[i].code, g.n_refusals);
        cr_expect_str_eq(g.refusals[0].code, table[i].code);
        cr_expect_gt(strlen(g.refusals[0].text), 20, "%s", table[i].code);
        cr_expect_gt(strlen(g.refusals[0].line), 5, "%s", table[i].code);
        sr_gate_clear(&g);
    }
}

Test(gate, a01_without_staged_only_named_opt_outs_go_on)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sr_plan p = contained(false);
        struct sr_gate g;
        table[i].change(&p);
        sr_gate_decide(&p, table[i].engine, &g);
        cr_expect_eq(g.decision, table[i].unstaged, "%s: decision %d", table[i].code, (int)g.decision);
        cr_expect_eq(g.ticket != NULL, g.decision == SR_CONTAINED || g.decision == SR_OPTED_OUT, "%s", table[i].code);
        cr_expect_eq(g.n_refusals, table[i].unstaged == SR_CONTAINED ? 0 : 1, "%s", table[i].code);
        sr_gate_clear(&g);
    }
}

Test(gate, a01_every_failed_condition_is_named)
{
    struct sr_plan p = contained(true);
    struct sr_gate g;
    static void (*const all[])(struct sr_plan *) = { no_command, untrusted, unpinned, direct, mount, network_host, seccomp, secrets,
                                                     no_pids };
    const size_t n = sizeof all / sizeof *all;
    for (size_t i = 0; i < n; i++)
        all[i](&p);
    sr_gate_decide(&p, &missing, &g);
    cr_expect_eq(g.n_refusals, n + 1);
    for (size_t i = 0; i < g.n_refusals; i++)
        for (size_t j = 0; j < i; j++)
            cr_expect_str_neq(g.refusals[i].code, g.refusals[j].code);
    sr_gate_clear(&g);
}

Test(gate, a02_missing_primitive_is_named_with_its_remedy)
{
    struct sr_plan p = contained(false);
    struct sr_gate g;
    sr_gate_decide(&p, &missing, &g);
    cr_assert_eq(g.n_refusals, 1);
    cr_expect_not_null(strstr(g.refusals[0].text, "user_namespace"));
    cr_expect_str_eq(g.refusals[0].line, missing.hint);
    sr_gate_clear(&g);
}

Test(gate, a01_refusals_say_which_values)
{
    struct sr_plan p = contained(true);
    struct sr_gate g;
    mount(&p);
    mismatch(&p);
    sr_gate_decide(&p, NULL, &g);
    cr_assert_eq(g.n_refusals, 2);
    cr_expect_not_null(strstr(g.refusals[0].line, "sha256:bb"));
    cr_expect_not_null(strstr(g.refusals[1].text, "/b is mounted writable (\"why\")"));
    cr_expect_null(strstr(g.refusals[1].text, "/a"));
    sr_gate_clear(&g);
}

Test(gate, a01_a_ticket_is_for_one_plan)
{
    struct sr_plan p = contained(true);
    struct sr_gate g;
    sr_gate_decide(&p, NULL, &g);
    cr_assert(sr_ticket_valid(g.ticket, &p));
    cr_expect_not(sr_ticket_valid(NULL, &p));
    static void (*const changes[])(struct sr_plan *) = { untrusted, unpinned, mismatch, direct, mount, network_host, seccomp, secrets,
                                                         no_pids };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct sr_plan other = contained(true);
        changes[i](&other);
        cr_expect_not(sr_ticket_valid(g.ticket, &other), "change %zu", i);
    }
    struct sr_plan unstaged = contained(false);
    cr_expect_not(sr_ticket_valid(g.ticket, &unstaged));
    sr_gate_clear(&g);
}

Test(gate, a01_names_too_long_to_print_still_refuse)
{
    static char long_name[20000];
    memset(long_name, 'x', sizeof long_name - 1);
    struct sr_mount m = { .source = long_name, .target = long_name };
    struct sr_plan p = contained(true);
    struct sr_gate g;
    p.mounts = &m;
    p.n_mounts = 1;
    sr_gate_decide(&p, NULL, &g);
    cr_expect_eq(g.decision, SR_REFUSED);
    cr_assert_eq(g.n_refusals, 1);
    cr_expect(g.refusals[0].text[0] && g.refusals[0].line[0]);
    sr_gate_clear(&g);
}
