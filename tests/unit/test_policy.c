/* SPDX-License-Identifier: MIT */
/* Policies that are accepted: values, merge rules, provenance, what a bound layer may still do. */
#include "base/fs.h"
#include "base/mem.h"
#include "engine/native/seccomp.h"
#include "policy/builtin.h"
#include "policy/fields.h"
#include "sandrun/policy.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PIN  "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PIN2 "sha256:ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

static const char *shipped(void *ctx, const char *name, size_t *ret_len)
{
    (void)ctx;
    for (size_t i = 0; i < sr_builtin_policies_n; i++) {
        if (strcmp(sr_builtin_policies[i].name, name) == 0) {
            *ret_len = sr_builtin_policies[i].len;
            return sr_builtin_policies[i].text;
        }
    }
    return NULL;
}

/* The floor, then one text per layer, NULL for none. */
static int resolve(const char *org, const char *repo, const char *cli, struct sr_policy *ret,
                   struct sr_error *err)
{
    size_t floor_len = 0, n = 0;
    const char *floor = shipped(NULL, "floor", &floor_len);
    struct sr_policy_source s[4];
    cr_assert_not_null(floor);
    s[n++] = (struct sr_policy_source){ SR_LAYER_FLOOR, "floor", floor, floor_len };
    if (org)
        s[n++] = (struct sr_policy_source){ SR_LAYER_ORGANISATION, "org.json", org, strlen(org) };
    if (repo)
        s[n++] =
            (struct sr_policy_source){ SR_LAYER_REPOSITORY, "sandrun.json", repo, strlen(repo) };
    if (cli)
        s[n++] =
            (struct sr_policy_source){ SR_LAYER_COMMAND_LINE, "command line", cli, strlen(cli) };
    struct sr_policy_options o = {
        .sources = s, .n_sources = n, .preset = shipped, .home = "/home/me"
    };
    return sr_policy_resolve(&o, ret, err);
}

static void accept(const char *org, const char *repo, const char *cli, struct sr_policy *ret)
{
    struct sr_error err = { 0 };
    cr_assert(resolve(org, repo, cli, ret, &err) == 0, "%s: %s", err.code, err.text);
}

static const struct sr_binding *binding(const struct sr_policy *p, const char *name)
{
    const struct sr_binding *b = sr_policy_binding(p, name);
    cr_assert_not_null(b, "no binding %s", name);
    return b;
}

static void accept_file(const char *name, struct sr_policy *ret)
{
    const char *tests = getenv("SR_TEST_DIR");
    struct sr_error err = { 0 };
    cleanup_buf struct sr_buf text = SR_BUF(64 * 1024);
    cleanup_free char *path = sr_asprintf("%s/policies/accept/%s", tests ? tests : "tests", name);
    cr_assert(sr_file_read_at(AT_FDCWD, path, text.max, &text, &err) == 0, "%s", err.text);
    accept(NULL, text.data, NULL, ret);
}

static void expect_strv(const struct sr_strv *s, const char *joined)
{
    cleanup_buf struct sr_buf b = SR_BUF(4096);
    for (size_t i = 0; i < s->n; i++)
        sr_buf_printf(&b, "%s%s", i ? "|" : "", s->v[i]);
    cr_expect_str_eq(b.data ? b.data : "", joined);
}

static const char *env_value(const struct sr_binding *b, const char *name)
{
    for (size_t i = 0; i < b->n_env_set; i++)
        if (strcmp(b->env_set[i].name, name) == 0)
            return b->env_set[i].value;
    return NULL;
}

static const char *set_by(const struct sr_policy *p, const struct sr_binding *b, enum sr_field f)
{
    return b->present & (UINT64_C(1) << f) ? p->files[b->set_by[f]].path : "nobody";
}

#define REPO "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"make\",\"test\"]}}}"

Test(policy, the_floor_gives_every_binding_its_values)
{
    struct sr_policy p = { 0 };
    accept(NULL, "{\"version\":1,\"bindings\":{\"Extra\":{\"command\":[\"x\"]}}}", NULL, &p);
    cr_expect_eq(p.n_bindings, 1, "Test, Validate and Lint have no command here and do not exist");
    const struct sr_binding *b = binding(&p, "Extra");
    cr_expect(b->executes);
    cr_expect_eq(b->rootfs, SR_ROOTFS_ABSENT);
    cr_expect_null(b->uncontained);
    cr_expect_str_eq(b->tree_target, "same");
    cr_expect_eq(b->writes, SR_WRITES_HOLD);
    expect_strv(&b->keep, "");
    expect_strv(&b->protect, "");
    cr_expect_eq(b->n_mounts, 0);
    cr_expect_eq(b->network, SR_NETWORK_NONE);
    cr_expect_eq(b->n_env_set, 3);
    cr_expect_eq(b->limits.wall_ns, 600000000000);
    cr_expect_eq(b->limits.idle_ns, 0);
    cr_expect_eq(b->limits.memory_bytes, 4ull << 30);
    cr_expect_eq(b->limits.pids, 512);
    cr_expect_eq(b->limits.cpus_milli, 2000);
    cr_expect_eq(b->limits.output_bytes, 64ull << 20);
    cr_expect_eq(b->limits.disk_bytes, 2ull << 30);
    cr_expect_eq(b->limits.files, 200000);
    cr_expect_not(b->present >> SR_FIELD_LIMIT_ON_REACHED & 1, "the plan decides, as it knows what is staged");
    cr_expect_eq(b->on_repair, SR_ON_REPAIR_FAIL);
    cr_expect_eq(b->on_mismatch, SR_ON_MISMATCH_BLOCK);
    sr_policy_clear(&p);
}

Test(policy, every_field_is_read)
{
    struct sr_policy p = { 0 };
    accept_file("every-field.json", &p);
    const struct sr_binding *b = binding(&p, "Test"), *other = binding(&p, "a.b-c_9");
    expect_strv(&b->command, "python3|-m|pytest|");
    cr_expect_not(b->executes);
    cr_expect_eq(b->rootfs, SR_ROOTFS_IMAGE);
    cr_expect_str_eq(b->rootfs_pin, "registry.example:5000/team/python@" PIN);
    cr_expect_str_eq(b->uncontained, "reviewed by people \xe2\x80\x94 \xc3\xbc"
                                     "ber alles gelesen");
    cr_expect_str_eq(b->tree_target, "/src/tree");
    cr_expect_eq(b->writes, SR_WRITES_KEEP);
    expect_strv(&b->keep, "out/junit.xml|cov");
    expect_strv(&b->protect, ".venv");
    cr_assert_eq(b->n_mounts, 3);
    cr_expect_str_eq(b->mounts[0].source, "/home/me/.cache/pip");
    cr_expect_str_eq(b->mounts[0].target, "/home/me/.cache/pip");
    cr_expect(b->mounts[0].readonly);
    cr_expect_str_eq(b->mounts[1].source, "/opt/data");
    cr_expect_str_eq(b->mounts[1].target, "/data");
    cr_expect_not(b->mounts[1].readonly);
    cr_expect_str_eq(b->mounts[1].reason, "the suite writes its index there");
    cr_expect_str_eq(b->mounts[2].target, "/dev/shm/index");
    cr_expect_eq(b->network, SR_NETWORK_ALLOW);
    expect_strv(&b->network_allow, "pypi.example:443|[2001:db8::1]:8080");
    cr_expect_str_eq(env_value(b, "A"), "");
    cr_expect_str_eq(env_value(b, "B"), "two words");
    cr_expect_str_eq(env_value(b, "PYTHONDONTWRITEBYTECODE"), "0");
    cr_expect_str_eq(b->env_set[0].name, "A", "sorted by name");
    expect_strv(&b->env_pass,
                "APP_PASSWORD|CI_TOKEN|GIT_AUTHOR_NAME|LANG|TOKENIZERS_PARALLELISM|TZ");
    cr_assert_eq(b->n_pass_secret, 2);
    cr_expect_str_eq(b->pass_secret[0].reason, "uploads the coverage");
    cr_expect_eq(b->limits.wall_ns, 5400000000000);
    cr_expect_eq(b->limits.idle_ns, 90000000000);
    cr_expect_eq(b->limits.memory_bytes, 16ull << 20);
    cr_expect_eq(b->limits.pids, 2);
    cr_expect_eq(b->limits.cpus_milli, 1500);
    cr_expect_eq(b->limits.output_bytes, 1024);
    cr_expect_eq(b->limits.disk_bytes, 4000000000);
    cr_expect_eq(b->limits.files, 16);
    cr_expect_eq(b->limits.on_reached, SR_ON_REACHED_REPORT);
    expect_strv(&b->seccomp_allow, "debug|userns");
    cr_expect_str_eq(b->seccomp_reason, "the suite runs strace");
    cr_expect_eq(b->on_repair, SR_ON_REPAIR_REPORT);
    cr_expect_eq(b->on_mismatch, SR_ON_MISMATCH_REPORT);
    cr_expect_eq(other->network, SR_NETWORK_HOST);
    cr_expect_str_eq(other->network_reason, "talks to a board on the desk");
    cr_expect_eq(other->writes, SR_WRITES_DIRECT);
    cr_expect_eq(b->present, (UINT64_C(1) << SR_FIELD_COUNT) - 1, "the file declares every field");
    sr_policy_clear(&p);
}

Test(policy, every_accepted_file_is_accepted)
{
    const char *tests = getenv("SR_TEST_DIR");
    cleanup_free char *path = sr_asprintf("%s/policies/accept", tests ? tests : "tests");
    cleanup_dir DIR *d = opendir(path);
    unsigned n = 0;
    cr_assert_not_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        struct sr_policy p = { 0 };
        accept_file(e->d_name, &p);
        sr_policy_clear(&p);
        n++;
    }
    cr_expect_geq(n, 8);
}

static const struct preset {
    const char *name, *test, *validate, *lint, *variable, *value;
} presets[] = {
    { "python", "python3|-m|pytest|-q",
      "python3|-I|-X|pycache_prefix=/tmp/pycache|-m|compileall|-q|-x|"
      "/(\\.venv|venv|\\.tox|\\.nox|node_modules|\\.git)/|.",
      "python3|-I|-W|error|-X|pycache_prefix=/tmp/pycache|-m|compileall|-q|-f|-x|/"
      "(\\.venv|venv|\\.tox|\\.nox|node_modules|\\.git)/|.",
      "POETRY_VIRTUALENVS_CREATE", "false" },
    { "node", "npm|test", "npm|ls|--all", "npm|run|lint", "COREPACK_ENABLE_NETWORK", "0" },
    { "rust", "cargo|test|--offline|--locked", "cargo|check|--offline|--locked|--all-targets",
      "cargo|clippy|--offline|--locked|--all-targets|--|-D|warnings", "CARGO_NET_OFFLINE", "true" },
    { "go", "go|test|./...", "go|build|./...", "go|vet|./...", "GOTOOLCHAIN", "local" },
    { "c", "make|check", "make", "make|lint", "GIT_OPTIONAL_LOCKS", "0" },
};

Test(policy, shipped_presets_stand_above_the_floor)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const struct preset *e = &presets[i];
        struct sr_policy p = { 0 };
        cleanup_free char *file = sr_asprintf("extends-%s.json", e->name),
                          *path = sr_asprintf("preset:%s", e->name);
        accept_file(file, &p);
        const struct sr_binding *test = binding(&p, "Test");
        expect_strv(&test->command, e->test);
        expect_strv(&binding(&p, "Validate")->command, e->validate);
        expect_strv(&binding(&p, "Lint")->command, e->lint);
        cr_expect_str_eq(env_value(test, e->variable), e->value, "%s", e->name);
        cr_expect_str_eq(set_by(&p, test, SR_FIELD_COMMAND), path);
        cr_expect_str_eq(set_by(&p, test, SR_FIELD_NETWORK), "floor");
        cr_expect_str_eq(set_by(&p, test, SR_FIELD_ROOTFS), "sandrun.json");
        cr_expect_eq(test->network, SR_NETWORK_NONE);
        cr_expect_eq(test->writes, SR_WRITES_HOLD);
        cr_expect_eq(test->n_mounts + test->env_pass.n + test->seccomp_allow.n, 0);
        cr_expect_null(test->uncontained);
        for (size_t b = 0; b < p.n_bindings; b++)
            cr_expect_null(env_value(&p.bindings[b], "CI"),
                           "CI=true turns a safe abort into a wipe");
        sr_policy_clear(&p);
    }
}

Test(policy, presets_come_in_the_order_of_naming_and_below_the_organisation)
{
    struct sr_policy p = { 0 };
    accept("{\"version\":1,\"bindings\":{\"Test\":{\"limits\":{\"wall\":\"5m\"}}}}",
           "{\"version\":1,\"extends\":[\"rust\",\"go\"]}", NULL, &p);
    const struct sr_binding *b = binding(&p, "Test");
    expect_strv(&b->command, "go|test|./...");
    cr_expect_str_eq(env_value(b, "CARGO_NET_OFFLINE"), "true");
    cr_expect_eq(b->limits.memory_bytes, 8ull << 30, "rust's, which go does not mention");
    cr_expect_eq(b->limits.wall_ns, 300000000000, "the organisation's, above both");
    cr_assert_eq(p.n_files, 5);
    static const char *const order[] = { "floor", "preset:rust", "preset:go", "org.json",
                                         "sandrun.json" };
    for (size_t i = 0; i < p.n_files; i++)
        cr_expect_str_eq(p.files[i].path, order[i]);
    cr_expect_eq(p.files[1].layer, SR_LAYER_PRESET);
    sr_policy_clear(&p);
}

Test(policy, every_field_knows_which_file_set_it)
{
    struct sr_policy p = { 0 };
    accept("{\"version\":1,\"defaults\":{\"limits\":{\"pids\":100}}}",
           "{\"version\":1,\"extends\":[\"python\"],\"defaults\":{\"limits\":{\"disk\":\"1GiB\"}},"
           "\"bindings\":{\"Test\":{\"limits\":{\"wall\":\"9m\"}}}}",
           "{\"bindings\":{\"Test\":{\"limits\":{\"cpus\":1}}}}", &p);
    const struct sr_binding *b = binding(&p, "Test"), *lint = binding(&p, "Lint");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_LIMIT_MEMORY), "floor");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_COMMAND), "preset:python");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_LIMIT_PIDS), "org.json");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_LIMIT_DISK), "sandrun.json");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_LIMIT_WALL), "sandrun.json");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_LIMIT_CPUS), "command line");
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_ROOTFS), "nobody");
    cr_expect_str_eq(set_by(&p, lint, SR_FIELD_LIMIT_DISK), "sandrun.json");
    cr_expect_str_eq(set_by(&p, lint, SR_FIELD_LIMIT_CPUS), "floor");
    for (size_t i = 0; i < p.n_files; i++)
        cr_expect(strncmp(p.files[i].digest, "sha256:", 7) == 0 && strlen(p.files[i].digest) == 71);
    sr_policy_clear(&p);
}

static const char *entry_by(const struct sr_policy *p, const struct sr_binding *b, enum sr_field f,
                            const char *name)
{
    const char *ret = "nobody";
    for (size_t i = 0; i < b->n_entries; i++) {
        if (b->entries[i].field != f || strcmp(b->entries[i].name, name) != 0)
            continue;
        cr_expect_str_eq(ret, "nobody", "%s is said twice", name);
        ret = p->files[b->entries[i].file].path;
    }
    return ret;
}

/* The last file that added to a field did not set what others put there. */
Test(policy, every_entry_knows_which_file_set_it)
{
    struct sr_policy p = { 0 };
    accept(
        "{\"version\":1,\"defaults\":{\"env\":{\"set\":{\"A\":\"1\",\"B\":\"1\"},\"pass\":[\"P\"]},"
        "\"mounts\":[{\"source\":\"/opt/a\"},{\"source\":\"/opt/b\"}]}}",
        "{\"version\":1,\"defaults\":{\"env\":{\"set\":{\"D\":\"0\"}}},"
        "\"bindings\":{\"Test\":{\"command\":[\"x\"],\"env\":{\"set\":{\"B\":\"2\",\"C\":\"3\"},"
        "\"pass\":[\"Q\"],\"pass_secret\":{\"S_TOKEN\":\"it is needed\"}},"
        "\"mounts\":[{\"source\":\"/opt/c\",\"target\":\"/opt/b\"}]}}}",
        NULL, &p);
    const struct sr_binding *b = binding(&p, "Test");
    static const struct {
        enum sr_field field;
        const char *name, *file;
    } want[] = {
        { SR_FIELD_ENV_SET, "A", "org.json" },
        { SR_FIELD_ENV_SET, "B", "sandrun.json" },
        { SR_FIELD_ENV_SET, "C", "sandrun.json" },
        { SR_FIELD_ENV_SET, "D", "sandrun.json" },
        { SR_FIELD_ENV_PASS, "P", "org.json" },
        { SR_FIELD_ENV_PASS, "Q", "sandrun.json" },
        { SR_FIELD_MOUNTS, "/opt/a", "org.json" },
        { SR_FIELD_MOUNTS, "/opt/b", "sandrun.json" },
        { SR_FIELD_ENV_PASS_SECRET, "S_TOKEN", "sandrun.json" },
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        cr_expect_str_eq(entry_by(&p, b, want[i].field, want[i].name), want[i].file, "%s",
                         want[i].name);
    sr_policy_clear(&p);
}

Test(policy, lists_that_append_add_and_the_rest_replaces)
{
    struct sr_policy p = { 0 };
    accept("{\"version\":1,\"defaults\":{\"env\":{\"set\":{\"A\":\"1\",\"B\":\"1\"},\"pass\":["
           "\"LANG\"]},\"tree\":{\"protect\":[\"x\"],\"keep\":[\"k\"]},"
           "\"mounts\":[{\"source\":\"/opt/a\"},{\"source\":\"/opt/"
           "b\"}],\"seccomp\":{\"allow\":[\"debug\"],\"reason\":\"for all\"},"
           "\"rootfs\":{\"host\":\"" PIN "\"},\"uncontained\":\"an old habit\"}}",
           "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"env\":{\"set\":{\"B\":"
           "\"2\",\"C\":\"2\"},\"pass\":[\"TZ\",\"LANG\"]},"
           "\"tree\":{\"protect\":[\"x\",\"y\"],\"keep\":[\"l\"]},\"mounts\":[{\"source\":\"/"
           "srv\",\"target\":\"/opt/a\"}],"
           "\"seccomp\":{\"allow\":[]},\"rootfs\":{\"image\":\"i@" PIN2
           "\"},\"uncontained\":null}}}",
           NULL, &p);
    const struct sr_binding *b = binding(&p, "Test");
    cr_expect_str_eq(env_value(b, "A"), "1");
    cr_expect_str_eq(env_value(b, "B"), "2");
    cr_expect_str_eq(env_value(b, "C"), "2");
    expect_strv(&b->env_pass, "LANG|TZ");
    expect_strv(&b->protect, "x|y");
    expect_strv(&b->keep, "l");
    cr_assert_eq(b->n_mounts, 2);
    cr_expect_str_eq(b->mounts[0].source, "/srv");
    cr_expect_str_eq(b->mounts[1].source, "/opt/b");
    expect_strv(&b->seccomp_allow, "");
    cr_expect_null(b->seccomp_reason);
    cr_expect_str_eq(b->rootfs_pin, "i@" PIN2);
    cr_expect_null(b->uncontained);
    sr_policy_clear(&p);
}

Test(policy, a_stronger_files_defaults_stand_above_a_weaker_files_binding)
{
    struct sr_policy p = { 0 };
    accept("{\"version\":1,\"bindings\":{\"Test\":{\"limits\":{\"wall\":\"1m\"}}}}",
           "{\"version\":1,\"defaults\":{\"limits\":{\"wall\":\"2m\"}},\"bindings\":{\"Test\":{"
           "\"command\":[\"a\"]},\"Own\":{\"command\":[\"b\"],"
           "\"limits\":{\"wall\":\"3m\"}}}}",
           NULL, &p);
    cr_expect_eq(binding(&p, "Test")->limits.wall_ns, 120000000000);
    cr_expect_eq(binding(&p, "Own")->limits.wall_ns, 180000000000);
    sr_policy_clear(&p);
}

/* Over a repository that opens everything: each of these closes one thing, and is let through. */
static const char open_repo[] =
    "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"executes\":false,\"rootfs\":{"
    "\"host\":\"" PIN "\"},\"uncontained\":\"it was so\","
    "\"tree\":{\"writes\":\"direct\",\"keep\":[\"a\",\"b\"]},\"mounts\":[{\"source\":\"/"
    "opt\",\"readonly\":false,\"reason\":\"a cache\"}],"
    "\"network\":{\"host\":\"downloads\"},\"env\":{\"set\":{\"A\":\"1\"},\"pass\":[\"LANG\"],"
    "\"pass_secret\":{\"A_TOKEN\":\"uploads\"}},"
    "\"seccomp\":{\"allow\":[\"debug\",\"userns\"],\"reason\":\"strace\"},\"on_repair\":\"report\","
    "\"on_mismatch\":\"report\",\"limits\":{\"on_reached\":\"report\"}}}}";

static const char *const tightenings[] = {
    "\"executes\":true",
    "\"executes\":false",
    "\"command\":[\"a\"]",
    "\"rootfs\":{\"host\":\"" PIN "\"}",
    "\"uncontained\":null",
    "\"uncontained\":\"it was so\"",
    "\"tree\":{\"writes\":\"none\"}",
    "\"tree\":{\"writes\":\"hold\"}",
    "\"tree\":{\"writes\":\"keep\"}",
    "\"tree\":{\"keep\":[\"a\"]}",
    "\"tree\":{\"keep\":[]}",
    "\"tree\":{\"protect\":[\"src\"]}",
    "\"tree\":{\"target\":\"same\"}",
    "\"mounts\":[{\"source\":\"/opt\"}]",
    "\"network\":\"none\"",
    "\"network\":{\"allow\":[\"a:1\"]}",
    "\"network\":{\"host\":\"downloads\"}",
    "\"env\":{\"set\":{\"A\":\"1\"}}",
    "\"env\":{\"pass\":[\"LANG\"]}",
    "\"env\":{\"pass_secret\":{\"A_TOKEN\":\"uploads\"}}",
    "\"seccomp\":{\"allow\":[\"debug\"],\"reason\":\"strace\"}",
    "\"seccomp\":{\"allow\":[]}",
    "\"on_repair\":\"fail\"",
    "\"on_mismatch\":\"block\"",
    "\"limits\":{\"wall\":\"10m\",\"memory\":\"1GiB\",\"pids\":2,\"cpus\":0.1}",
    "\"limits\":{\"on_reached\":\"error\"}",
    "\"limits\":{\"on_reached\":\"report\"}",
    "\"limits\":{\"output\":\"1KiB\",\"disk\":\"1MiB\",\"files\":16,\"idle\":\"1s\"}",
};

Test(policy, a04_the_command_line_may_tighten_each_field)
{
    for (size_t i = 0; i < sizeof tightenings / sizeof *tightenings; i++) {
        struct sr_policy p = { 0 };
        struct sr_error err = { 0 };
        cleanup_free char *cli = sr_asprintf("{\"bindings\":{\"Test\":{%s}}}", tightenings[i]);
        cr_expect(resolve(NULL, open_repo, cli, &p, &err) == 0, "%s: %s", tightenings[i], err.text);
        sr_policy_clear(&p);
    }
}

/* Absent it is error or report, as the run is staged or not: report would loosen the one, error tightens both. */
Test(policy, a04_on_reached_may_become_error_from_the_command_line_where_nobody_said_it)
{
    struct sr_policy p = { 0 };
    accept(NULL, "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"]}}}",
           "{\"bindings\":{\"Test\":{\"limits\":{\"on_reached\":\"error\"}}}}", &p);
    cr_expect_eq(binding(&p, "Test")->limits.on_reached, SR_ON_REACHED_ERROR);
    cr_expect_str_eq(set_by(&p, binding(&p, "Test"), SR_FIELD_LIMIT_ON_REACHED), "command line");
    sr_policy_clear(&p);
}

Test(policy, a04_a_locked_field_may_be_tightened_by_the_repository)
{
    static const char lock_all[] = "{\"version\":1,\"lock\":[\"limits\",\"network\",\"tree\","
                                   "\"env\",\"on_repair\",\"Test.mounts\"]}";
    struct sr_policy p = { 0 };
    accept(lock_all,
           "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"limits\":{\"wall\":\"1m\"}"
           ",\"tree\":{\"writes\":\"none\",\"protect\":[\"x\"]}},"
           "\"Other\":{\"command\":[\"b\"],\"mounts\":[{\"source\":\"/opt\"}]}}}",
           NULL, &p);
    cr_expect_eq(binding(&p, "Test")->limits.wall_ns, 60000000000);
    cr_expect_eq(binding(&p, "Other")->n_mounts, 1, "Test.mounts binds Test alone");
    sr_policy_clear(&p);
}

Test(policy, a04_a_preset_that_the_repository_names_does_not_open_a_lock)
{
    struct sr_policy p = { 0 };
    static const char repo[] = "{\"version\":1,\"extends\":[\"rust\"]}";
    accept("{\"version\":1,\"lock\":[\"limits\"]}", repo, NULL, &p);
    const struct sr_binding *b = binding(&p, "Test");
    cr_expect_eq(b->limits.memory_bytes, 4ull << 30);
    cr_expect_str_eq(set_by(&p, b, SR_FIELD_LIMIT_MEMORY), "floor");
    expect_strv(&b->command, "cargo|test|--offline|--locked");
    sr_policy_clear(&p);
    accept("{\"version\":1,\"extends\":[\"rust\"],\"lock\":[\"limits\"]}", repo, NULL, &p);
    cr_expect_eq(binding(&p, "Test")->limits.memory_bytes, 8ull << 30,
                 "named by the organisation itself");
    sr_policy_clear(&p);
}

Test(policy, long_lists_are_refused_before_they_cost_time)
{
    static const char *const lists[] = { "\"tree\":{\"keep\":[", "\"tree\":{\"protect\":[",
                                         "\"env\":{\"pass\":[", "\"network\":{\"allow\":[" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
        struct sr_policy p = { 0 };
        struct sr_error err = { 0 };
        sr_buf_printf(&b, "{\"version\":1,\"bindings\":{\"A\":{\"command\":[\"a\"],%s", lists[i]);
        for (int n = 0; n < 1100; n++)
            sr_buf_printf(&b, "%s\"A%d%s\"", n ? "," : "", n, i == 3 ? ":1" : "");
        sr_buf_puts(&b, "]}}}}");
        cr_expect(resolve(NULL, b.data, NULL, &p, &err) < 0);
        cr_expect_str_eq(err.code, "policy.invalid.range", "%s: %s", lists[i], err.text);
        sr_policy_clear(&p);
    }
}

Test(policy, a_refusal_says_what_to_do)
{
    struct sr_policy p = { 0 };
    struct sr_error err = { 0 };
    cr_assert(resolve(NULL,
                      "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"rootfs\":{"
                      "\"image\":\"python:3.11\"}}}}",
                      NULL, &p, &err) < 0);
    cr_expect_not_null(strstr(err.hint, "python@sha256:"), "%s", err.hint);
    cr_expect_not_null(strstr(err.hint, "\"host\""), "%s", err.hint);
    cr_expect_null(strstr(err.hint, "image pin python"), "a command that does not exist: %s", err.hint);
    sr_error_clear(&err);
    cr_assert(resolve(NULL,
                      "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"limits\":{"
                      "\"wal\":\"1m\"}}}}",
                      NULL, &p, &err) < 0);
    cr_expect_str_eq(err.hint, "did you mean \"limits.wall\"?");
    sr_error_clear(&err);
    cr_assert(resolve("{\"version\":1,\"lock\":[\"limits.wall\"]}",
                      "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"limits\":{"
                      "\"wall\":\"1h\"}}}}",
                      NULL, &p, &err) < 0);
    cr_expect_not_null(strstr(err.text, "org.json"), "%s", err.text);
}

Test(policy, short_names_are_not_near_each_other)
{
    struct sr_policy p = { 0 };
    accept(NULL, "{\"version\":1,\"bindings\":{\"CI\":{\"command\":[\"a\"]}}}", NULL, &p);
    cleanup_free char *other = sr_policy_near(&p, "Go"), *typo = sr_policy_near(&p, "CJ");
    cr_expect_str_eq(other, "");
    cr_expect_str_eq(typo, "CI");
    sr_policy_clear(&p);
}

Test(policy, a_pin_that_is_not_filled_in_is_no_pin)
{
    struct sr_policy p = { 0 };
    accept(NULL,
           "{\"version\":1,\"bindings\":{\"Test\":{\"command\":[\"a\"],\"rootfs\":{\"host\":"
           "\"sha256:...\"}}}}",
           NULL, &p);
    cr_expect_eq(p.bindings[0].rootfs, SR_ROOTFS_HOST);
    cr_expect_null(p.bindings[0].rootfs_pin);
    sr_policy_clear(&p);
}

Test(policy, near_names_are_suggested)
{
    struct sr_policy p = { 0 };
    accept(NULL, "{\"version\":1,\"extends\":[\"c\"]}", NULL, &p);
    cleanup_free char *near = sr_policy_near(&p, "test"), *typo = sr_policy_near(&p, "Tets"),
                      *none = sr_policy_near(&p, "Deploy");
    cr_expect_str_eq(near, "Test");
    cr_expect_str_eq(typo, "Test");
    cr_expect_str_eq(none, "");

    cr_expect_null(sr_policy_binding(&p, "test"));
    sr_policy_clear(&p);
}

Test(policy, names_of_secrets_are_told_from_others)
{
    static const char *const secret[] = { "GITHUB_TOKEN", "npm_token", "X_AUTH", "MY_SECRET_THING",
                                          "AWS_PROFILE",  "API_KEY",   "DB_PASS" };
    static const char *const plain[] = {
        "LANG", "TZ",         "GIT_AUTHOR_NAME", "TOKENIZERS_PARALLELISM",
        "PATH", "COMPASSION", "MONKEY",          "TERM"
    };
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        cr_expect(sr_policy_secret_name(secret[i]), "%s", secret[i]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        cr_expect_not(sr_policy_secret_name(plain[i]), "%s", plain[i]);
}

Test(policy, filter_groups_are_those_of_the_engine)
{
    const char *const *engine = sr_seccomp_groups();
    size_t n = 0;
    for (; engine[n]; n++) {
        cr_assert_not_null(sr_policy_seccomp_groups[n]);
        cr_expect_str_eq(sr_policy_seccomp_groups[n], engine[n]);
    }
    cr_expect_null(sr_policy_seccomp_groups[n]);
}
