/* SPDX-License-Identifier: MIT */
/* THE list of what a binding can declare. The schema, the README's table and every error message
 * come from here. */
#include "policy/fields.h"

#include <stddef.h>

#define MEMBER(m) .offset = offsetof(struct sr_binding, m)
#define MS        1000000ull
#define DAY       (86400000ull * MS)
#define KIB       1024ull
#define MIB       (1024ull * KIB)
#define TIB       (1024ull * 1024ull * MIB)

/* direct > keep > hold > none; report > fail; report > block; report > error */
static const unsigned char writes_looseness[SR_WRITES_COUNT] = {
    [SR_WRITES_NONE] = 0, [SR_WRITES_HOLD] = 1, [SR_WRITES_KEEP] = 2, [SR_WRITES_DIRECT] = 3
};
static const unsigned char repair_looseness[SR_ON_REPAIR_COUNT] = {
    [SR_ON_REPAIR_FAIL] = 0, [SR_ON_REPAIR_REPORT] = 1
};
static const unsigned char mismatch_looseness[SR_ON_MISMATCH_COUNT] = {
    [SR_ON_MISMATCH_BLOCK] = 0, [SR_ON_MISMATCH_REPORT] = 1
};
static const unsigned char reached_looseness[SR_ON_REACHED_COUNT] = {
    [SR_ON_REACHED_ERROR] = 0, [SR_ON_REACHED_REPORT] = 1
};

#define SAME_ONLY            "nothing else than declared"
#define LOWER                "lower it"
#define TEXT_SCHEMA(pattern) "{\"type\":\"string\",\"pattern\":\"" pattern "\"}"
#define DURATION_SCHEMA      TEXT_SCHEMA("^([0-9]+(ns|us|ms|s|m|h|d))+$")
#define SIZE_SCHEMA          TEXT_SCHEMA("^[0-9]+(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?$")
#define REASON_SCHEMA        "{\"type\":\"string\",\"minLength\":3,\"maxLength\":500}"
#define PATHS_SCHEMA                                                                               \
    "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1,\"pattern\":\"^[^/]\"},"   \
    "\"uniqueItems\":true}"

/* clang-format off: a table reads by its rows */
const struct sr_policy_field sr_policy_fields[SR_FIELD_COUNT] = {
    [SR_FIELD_COMMAND] = {
        .path = "command", .type = &sr_type_command, .tighter = SAME_ONLY,
        .values = "a list of words",
        .schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1}",
        .doc = "What is run: a program and its arguments, without a shell.",
    },
    [SR_FIELD_EXECUTES] = {
        .path = "executes", .type = &sr_type_bool, MEMBER(executes), .tighter = "true",
        .values = "true or false",
        .schema = "{\"type\":\"boolean\"}",
        .doc = "Whether the command runs code from the tree; false: it only reads it.",
    },
    [SR_FIELD_ROOTFS] = {
        .path = "rootfs", .type = &sr_type_rootfs, .tighter = SAME_ONLY,
        .values = "{\"image\": \"NAME@sha256:...\"} or {\"host\": \"sha256:...\"}",
        .schema =
            "{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"image\":{\"type\":\"string\","
            "\"pattern\":\"@sha256:[0-9a-f]{64}$\"}},\"required\":[\"image\"],"
            "\"additionalProperties\":false},{\"type\":\"object\","
            "\"properties\":{\"host\":{\"type\":\"string\","
            "\"pattern\":\"^sha256:([0-9a-f]{64}|[.]{3})$\"}},\"required\":[\"host\"],"
            "\"additionalProperties\":false}]}",
        .doc =
            "The root filesystem, by a digest: an image's, or the fingerprint of this host's own "
            "for this binding's tools; \"sha256:...\" as it stands is a pin still to be filled in.",
    },
    [SR_FIELD_UNCONTAINED] = {
        .path = "uncontained", .type = &sr_type_uncontained, .tighter = "null",
        .values = "a reason, or null",
        .schema = "{\"oneOf\":[{\"type\":\"null\"}," REASON_SCHEMA "]}",
        .doc =
            "Runs as a plain process of the host over reviewed code, never for a staged run; "
            "null takes back what a weaker layer declared.",
    },
    [SR_FIELD_TREE_TARGET] = {
        .path = "tree.target", .type = &sr_type_target, .tighter = SAME_ONLY,
        .values = "\"same\" or an absolute path",
        .schema = "{\"type\":\"string\",\"pattern\":\"^(same$|/.)\"}",
        .doc =
            "Where the tree stands inside; \"same\" keeps the shebangs of console scripts "
            "working.",
    },
    [SR_FIELD_TREE_WRITES] = {
        .path = "tree.writes", .type = &sr_type_enum, MEMBER(writes), .from = sr_writes_from,
        .looseness = writes_looseness, .tighter = "towards none: direct, keep, hold, none",
        .values = "hold, keep, none or direct",
        .schema = "{\"enum\":[\"hold\",\"keep\",\"none\",\"direct\"]}",
        .doc =
            "What becomes of writes to the tree: held back, held but for the listed paths, "
            "refused, or made to the real tree.",
    },
    [SR_FIELD_TREE_KEEP] = {
        .path = "tree.keep", .type = &sr_type_paths, MEMBER(keep), .tighter = "name fewer",
        .values = "paths beneath the tree",
        .schema = PATHS_SCHEMA,
        .doc = "What comes back to the tree when writes is keep; nothing of .git does.",
    },
    [SR_FIELD_TREE_PROTECT] = {
        .path = "tree.protect", .type = &sr_type_paths, MEMBER(protect),
        .merge = SR_MERGE_APPEND, .tighter = "name more",
        .values = "paths beneath the tree",
        .schema = PATHS_SCHEMA,
        .doc = "What stays as it is, whatever else may be written.",
    },
    [SR_FIELD_MOUNTS] = {
        .path = "mounts", .type = &sr_type_mounts, .merge = SR_MERGE_APPEND,
        .tighter = "make one read-only",
        .values = "a list of {\"source\", \"target\", \"readonly\", \"reason\"}",
        .schema =
            "{\"type\":\"array\",\"items\":{\"type\":\"object\","
            "\"properties\":{\"source\":{\"type\":\"string\",\"pattern\":\"^(/|~/)\"},"
            "\"target\":{\"type\":\"string\",\"pattern\":\"^/\"},"
            "\"readonly\":{\"type\":\"boolean\",\"default\":true},\"reason\":" REASON_SCHEMA "},"
            "\"required\":[\"source\"],\"additionalProperties\":false,"
            "\"if\":{\"properties\":{\"readonly\":{\"const\":false}},"
            "\"required\":[\"readonly\"]},\"then\":{\"required\":[\"reason\"]}}}",
        .doc =
            "Directories of the host that are seen inside; target is the source's path, readonly "
            "is true, unless said otherwise.",
    },
    [SR_FIELD_NETWORK] = {
        .path = "network", .type = &sr_type_network, .tighter = "towards \"none\"",
        .values = "\"none\", {\"allow\": [\"host:port\"]} or {\"host\": \"reason\"}",
        .schema =
            "{\"oneOf\":[{\"const\":\"none\"},{\"type\":\"object\","
            "\"properties\":{\"allow\":{\"type\":\"array\",\"minItems\":1,"
            "\"items\":{\"type\":\"string\",\"pattern\":\"^.+:[0-9]+$\"}}},"
            "\"required\":[\"allow\"],\"additionalProperties\":false},{\"type\":\"object\","
            "\"properties\":{\"host\":" REASON_SCHEMA "},\"required\":[\"host\"],"
            "\"additionalProperties\":false}]}",
        .doc =
            "Which network there is: none but its own loopback, a list for provisioning, or the "
            "host's, with a reason.",
    },
    [SR_FIELD_ENV_SET] = {
        .path = "env.set", .type = &sr_type_env_set, .merge = SR_MERGE_APPEND,
        .tighter = SAME_ONLY,
        .values = "{\"NAME\": \"value\"}",
        .schema =
            "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]*$\","
            "\"not\":{\"pattern\":\"^(HOME|USER|LOGNAME|TMPDIR|GLIBC_TUNABLES|LD_.*)$\"}},"
            "\"additionalProperties\":{\"type\":\"string\"}}",
        .doc = "Variables with their values; never HOME, USER, LOGNAME, TMPDIR or the loader's.",
    },
    [SR_FIELD_ENV_PASS] = {
        .path = "env.pass", .type = &sr_type_env_pass, .merge = SR_MERGE_APPEND,
        .tighter = SAME_ONLY,
        .values = "a list of names",
        .schema =
            "{\"type\":\"array\",\"items\":{\"type\":\"string\","
            "\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]*$\"},\"uniqueItems\":true}",
        .doc =
            "Variables of the caller that are passed on; a name that looks like a secret belongs "
            "into pass_secret.",
    },
    [SR_FIELD_ENV_PASS_SECRET] = {
        .path = "env.pass_secret", .type = &sr_type_pass_secret, .merge = SR_MERGE_APPEND,
        .tighter = SAME_ONLY,
        .values = "{\"NAME\": \"reason\"}",
        .schema =
            "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]*$\"},"
            "\"additionalProperties\":" REASON_SCHEMA "}",
        .doc =
            "Variables of the caller that are passed on although they look like secrets, each "
            "with its reason.",
    },
    [SR_FIELD_LIMIT_WALL] = {
        .path = "limits.wall", .type = &sr_type_duration, MEMBER(limits.wall_ns),
        .min = 100 * MS, .max = 30 * DAY, .tighter = LOWER,
        .values = "a duration",
        .schema = DURATION_SCHEMA,
        .doc = "How long the command may take.",
    },
    [SR_FIELD_LIMIT_IDLE] = {
        .path = "limits.idle", .type = &sr_type_duration, MEMBER(limits.idle_ns),
        .min = 100 * MS, .max = 30 * DAY, .tighter = LOWER,
        .values = "a duration",
        .schema = DURATION_SCHEMA,
        .doc = "How long the command may be silent; without it there is no such limit.",
    },
    [SR_FIELD_LIMIT_MEMORY] = {
        .path = "limits.memory", .type = &sr_type_size, MEMBER(limits.memory_bytes),
        .min = 16 * MIB, .max = 64 * TIB, .tighter = LOWER,
        .values = "a size",
        .schema = SIZE_SCHEMA,
        .doc =
            "Memory of all processes together, what they write to the tree, /tmp and HOME "
            "included.",
    },
    [SR_FIELD_LIMIT_PIDS] = {
        .path = "limits.pids", .type = &sr_type_count, MEMBER(limits.pids), .min = 2,
        .max = 4194304, .tighter = LOWER,
        .values = "a number",
        .schema = "{\"type\":\"integer\",\"minimum\":2,\"maximum\":4194304}",
        .doc = "Processes and threads at one time.",
    },
    [SR_FIELD_LIMIT_CPUS] = {
        .path = "limits.cpus", .type = &sr_type_cpus, MEMBER(limits.cpus_milli), .min = 100,
        .max = 1024 * 1000, .tighter = LOWER,
        .values = "a number in steps of 0.1",
        .schema = "{\"type\":\"number\",\"minimum\":0.1,\"maximum\":1024}",
        .doc = "Processors' worth of time.",
    },
    [SR_FIELD_LIMIT_OUTPUT] = {
        .path = "limits.output", .type = &sr_type_size, MEMBER(limits.output_bytes), .min = KIB,
        .max = 1 * TIB, .tighter = LOWER,
        .values = "a size",
        .schema = SIZE_SCHEMA,
        .doc = "Bytes of stdout and stderr together.",
    },
    [SR_FIELD_LIMIT_DISK] = {
        .path = "limits.disk", .type = &sr_type_size, MEMBER(limits.disk_bytes), .min = 1 * MIB,
        .max = 64 * TIB, .tighter = LOWER,
        .values = "a size",
        .schema = SIZE_SCHEMA,
        .doc = "Bytes that may be written to the tree, /tmp and HOME.",
    },
    [SR_FIELD_LIMIT_FILES] = {
        .path = "limits.files", .type = &sr_type_count, MEMBER(limits.files), .min = 16,
        .max = 1000000000, .tighter = LOWER,
        .values = "a number",
        .schema = "{\"type\":\"integer\",\"minimum\":16,\"maximum\":1000000000}",
        .doc = "Files and directories that may be made in the same places.",
    },
    [SR_FIELD_LIMIT_ON_REACHED] = {
        .path = "limits.on_reached", .type = &sr_type_enum, MEMBER(limits.on_reached),
        .from = sr_on_reached_from, .looseness = reached_looseness, .tighter = "error",
        .values = "error or report",
        .schema = "{\"enum\":[\"error\",\"report\"]}",
        .doc =
            "What a limit that was reached means for a command that exited 0 all the same: errored "
            "limit.*, or listed and not judged; without it error for a staged run, else report.",
    },
    [SR_FIELD_SECCOMP] = {
        .path = "seccomp", .type = &sr_type_seccomp, .tighter = "name fewer",
        .values = "{\"allow\": [\"debug\", \"userns\"], \"reason\": \"...\"}",
        .schema =
            "{\"type\":\"object\",\"properties\":{\"allow\":{\"type\":\"array\","
            "\"items\":{\"enum\":[\"debug\",\"userns\"]}},\"reason\":" REASON_SCHEMA "},"
            "\"required\":[\"allow\"],\"additionalProperties\":false}",
        .doc = "Groups of system calls that are allowed beyond the shipped filter, with a reason.",
    },
    [SR_FIELD_ON_REPAIR] = {
        .path = "on_repair", .type = &sr_type_enum, MEMBER(on_repair),
        .from = sr_on_repair_from, .looseness = repair_looseness, .tighter = "fail",
        .values = "fail or report",
        .schema = "{\"enum\":[\"fail\",\"report\"]}",
        .doc =
            "What a repair of an environment means: errored env.repaired, or listed and not "
            "judged.",
    },
    [SR_FIELD_ON_MISMATCH] = {
        .path = "on_mismatch", .type = &sr_type_enum, MEMBER(on_mismatch),
        .from = sr_on_mismatch_from, .looseness = mismatch_looseness, .tighter = "block",
        .values = "block or report",
        .schema = "{\"enum\":[\"block\",\"report\"]}",
        .doc =
            "What an environment that cannot work here means: errored env.mismatch before "
            "anything runs, or listed.",
    },
};
/* clang-format on */

const char *sr_field_path(enum sr_field f)
{
    return sr_policy_fields[f].path;
}
