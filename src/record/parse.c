/* SPDX-License-Identifier: MIT */
/* Reading a record back: nothing in it is believed before it was checked. */
#include "sandrun/record.h"

#include "record/internal.h"

#include <stdio.h>
#include <string.h>

enum type { STRING = 1, NUMBER = 2, BOOL = 4, OBJECT = 8, ARRAY = 16, NUL = 32 };

struct rule {
    const char *key;
    unsigned types;
    bool optional;
    const struct rule *members; /* of an object; ends with a NULL key */
    bool open;                  /* of the members: more than the listed ones may be there */
};

#define END { NULL, 0, false, NULL, false }

/* What repro and diff read is checked to the leaf; the rest for its type. */
static const struct rule canonical_tree[] = {
    { "path", STRING, false, NULL, false }, { "target", STRING, false, NULL, false }, END
};
static const struct rule canonical_args[] = {
    { "count", NUMBER, false, NULL, false }, { "digest", STRING, false, NULL, false }, END
};
static const struct rule canonical[] = {
    { "binding", STRING, false, NULL, false },
    { "staged", BOOL, false, NULL, false },
    { "command", ARRAY, false, NULL, false },
    { "args", OBJECT, false, canonical_args, false },
    { "rootfs", OBJECT, false, NULL, false },
    { "tree", OBJECT, false, canonical_tree, true },
    { "env", OBJECT, false, NULL, false },
    { "limits", OBJECT, false, NULL, false },
    END
};
static const struct rule plan[] = {
    { "canonical", OBJECT, false, canonical, true }, { "observed", OBJECT, false, NULL, false }, END
};
static const struct rule request[] = {
    { "file", STRING | NUL, false, NULL, false },
    { "ref", STRING | NUL, false, NULL, false },
    { "overrides", STRING | NUL, false, NULL, false },
    END
};
static const struct rule policy[] = {
    { "request", OBJECT, false, request, false },
    { "commit", STRING | NUL, true, NULL, false },
    { "files", ARRAY, true, NULL, false },
    END
};
static const struct rule pin[] = {
    { "kind", STRING | NUL, false, NULL, false },
    { "declared", STRING | NUL, false, NULL, false },
    { "observed", STRING | NUL, false, NULL, false },
    { "verified", BOOL, false, NULL, false },
    { "lines", ARRAY, false, NULL, false },
    END
};
static const struct rule tree[] = {
    { "path", STRING | NUL, false, NULL, false },
    { "target", STRING | NUL, false, NULL, false },
    { "before", OBJECT | NUL, false, NULL, false },
    { "after", OBJECT | NUL, false, NULL, false },
    END
};
static const struct rule preflight[] = {
    { "looked", BOOL, false, NULL, false }, { "findings", ARRAY, false, NULL, false }, END
};
static const struct rule enforced[] = {
    { "contained", BOOL, false, NULL, false },
    { "decision", STRING | NUL, false, NULL, false },
    { "refusals", ARRAY, false, NULL, false },
    { "controls", ARRAY, false, NULL, false },
    { "reached", ARRAY, false, NULL, false },
    { "unknowable", ARRAY, false, NULL, false },
    END
};
static const struct rule output[] = {
    { "stdout", OBJECT, false, NULL, false }, { "stderr", OBJECT, false, NULL, false }, END
};
static const struct rule record[] = {
    { "schema", STRING, false, NULL, false },
    { "id", STRING, false, NULL, false },
    { "binding", STRING | NUL, false, NULL, false },
    { "staged", BOOL, false, NULL, false },
    { "status", STRING, false, NULL, false },
    { "reason", STRING, false, NULL, false },
    { "reason_detail", OBJECT, true, NULL, false },
    { "decided", BOOL, false, NULL, false },
    { "exit", NUMBER, false, NULL, false },
    { "plan", OBJECT | NUL, false, plan, false },
    { "plan_digest", STRING | NUL, false, NULL, false },
    { "policy", OBJECT, false, policy, true },
    { "pin", OBJECT, false, pin, false },
    { "tree", OBJECT, false, tree, false },
    { "preflight", OBJECT, false, preflight, false },
    { "enforced", OBJECT, false, enforced, true },
    { "timing", OBJECT, false, NULL, false },
    { "usage", OBJECT, false, NULL, false },
    { "changes", OBJECT | NUL, false, NULL, false },
    { "attribution", OBJECT, false, NULL, false },
    { "output", OBJECT, false, output, false },
    { "cleanup", ARRAY, false, NULL, false },
    END
};

static unsigned type_of(const cJSON *item)
{
    static const struct {
        cJSON_bool (*is)(const cJSON *item);
        unsigned type;
    } types[] = { { cJSON_IsString, STRING }, { cJSON_IsNumber, NUMBER }, { cJSON_IsBool, BOOL },
                  { cJSON_IsObject, OBJECT }, { cJSON_IsArray, ARRAY },   { cJSON_IsNull, NUL } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].is(item))
            return types[i].type;
    return 0;
}

static const struct rule *rule_for(const struct rule *rules, const char *key)
{
    for (; rules->key; rules++)
        if (strcmp(rules->key, key) == 0)
            return rules;
    return NULL;
}

/* object against rules; at is where it stands, "" or "plan." */
static int check_object(const char *name, const char *at, const cJSON *object, const struct rule *rules, bool open,
                        struct sr_error *err)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
        if (!open && !rule_for(rules, item->string))
            return sr_error_set(err, "record.invalid.unknown_key", "reading the record %s: a record has no key \"%s%s\"", name, at,
                                item->string);
    for (const struct rule *r = rules; r->key; r++) {
        item = sr_json_get(object, r->key);
        if (!item && r->optional)
            continue;
        if (!item)
            return sr_error_set(err, "record.invalid.missing", "reading the record %s: \"%s%s\" is not there", name, at, r->key);
        if (!(type_of(item) & r->types))
            return sr_error_set(err, "record.invalid.type", "reading the record %s: \"%s%s\" is of a type it cannot have", name, at,
                                r->key);
        cleanup_free char *below = sr_asprintf("%s%s.", at, r->key);
        if (r->members && cJSON_IsObject(item) && check_object(name, below, item, r->members, r->open, err) < 0)
            return -1;
    }
    return 0;
}

static bool flag(const cJSON *root, const char *key)
{
    return cJSON_IsTrue(sr_json_get(root, key));
}

/* Does the verdict say one thing? */
static bool verdict_agrees(const cJSON *root)
{
    static const struct {
        const char *status;
        bool decided;
        uint64_t least, most; /* exit */
    } rows[] = {
        { "passed", true, 0, 0 },
        { "failed", true, 1, 255 },
        { "errored", false, SR_EXIT_ENV, SR_EXIT_NOT_FOUND },
        { "blocked", false, SR_EXIT_BLOCKED, SR_EXIT_BLOCKED },
    };
    uint64_t code;
    if (!sr_json_u64(root, "exit", &code))
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].status, sr_json_string(root, "status")) == 0)
            return flag(root, "decided") == rows[i].decided && code >= rows[i].least && code <= rows[i].most;
    return false;
}

static int inconsistent(const char *name, const char *what, struct sr_error *err)
{
    return sr_error_set(err, "record.invalid.inconsistent", "reading the record %s: %s", name, what);
}

static bool same_string(const cJSON *a, const char *ka, const cJSON *b, const char *kb)
{
    const char *x = sr_json_string(a, ka), *y = sr_json_string(b, kb);
    return x && y && strcmp(x, y) == 0;
}

/* The plan against its digest, and what is said twice against itself. */
static int check_plan(const char *name, const cJSON *root, struct sr_error *err)
{
    const cJSON *c = sr_json_get(sr_json_get(root, "plan"), "canonical");
    const char *digest = sr_json_string(root, "plan_digest");
    char computed[SR_DIGEST_TEXT];
    if (!c && !digest)
        return 0;
    if (!c || !digest)
        return inconsistent(name, "it has a plan without a digest, or a digest without a plan", err);
    sr_record_plan_digest(c, computed);
    if (strcmp(digest, computed) != 0) {
        sr_error_set(err, "record.invalid.digest", "reading the record %s: its plan has the digest %s, and the record says %s", name,
                     computed, digest);
        return sr_error_hint(err, "the record was changed after it was written; take the original from the state directory");
    }
    if (!same_string(root, "binding", c, "binding") || flag(root, "staged") != flag(c, "staged"))
        return inconsistent(name, "its binding or \"staged\" is not the plan's", err);
    const cJSON *rootfs = sr_json_get(c, "rootfs"), *p = sr_json_get(root, "pin");
    if (!cJSON_Compare(sr_json_get(rootfs, "pin"), sr_json_get(p, "declared"), 1) ||
        !same_string(rootfs, "kind", p, "kind"))
        return inconsistent(name, "its pin is not the plan's", err);
    if (!same_string(sr_json_get(c, "tree"), "path", sr_json_get(root, "tree"), "path"))
        return inconsistent(name, "its tree is not the plan's", err);
    return 0;
}

static int check(const char *name, const cJSON *root, struct sr_error *err)
{
    if (!cJSON_IsObject(root))
        return sr_error_set(err, "record.invalid.type", "reading the record %s: it is not a JSON object", name);
    const char *schema = sr_json_string(root, "schema");
    if (schema && strcmp(schema, SR_RECORD_SCHEMA) != 0) {
        sr_error_set(err, "record.schema", "reading the record %s: its schema is %s, and this sandrun reads %s", name, schema,
                     SR_RECORD_SCHEMA);
        return sr_error_hint(err, "use the sandrun that wrote it");
    }
    if (check_object(name, "", root, record, false, err) < 0)
        return -1;
    if (!verdict_agrees(root))
        return inconsistent(name, "its status, \"decided\" and exit do not go together", err);
    return check_plan(name, root, err);
}

int sr_record_parse(const char *name, const char *text, size_t len, struct sr_json *ret, struct sr_error *err)
{
    struct sr_json doc = { 0 };
    if (sr_json_parse(name, text, len, SR_RECORD_MAX, SR_JSON_STRICT, &doc, err) < 0) {
        char code[SR_ERROR_CODE_MAX];
        snprintf(code, sizeof code, "record.invalid.%.40s", err->code);
        memcpy(err->code, code, sizeof code);
        return -1;
    }
    if (check(name, doc.root, err) < 0) {
        sr_json_clear(&doc);
        return -1;
    }
    *ret = doc;
    return 0;
}
