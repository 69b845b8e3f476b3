/* SPDX-License-Identifier: MIT */
/* Values of one word or number: switches, choices, limits, the tree's place inside. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *member(const struct sr_policy_field *f, struct sr_binding *b)
{
    return (char *)b + f->offset;
}

static const void *member_of(const struct sr_policy_field *f, const struct sr_binding *b)
{
    return (const char *)b + f->offset;
}

static int bool_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                      const cJSON *item, struct sr_binding *b)
{
    if (!cJSON_IsBool(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "true or false is expected");
    *(bool *)member(f, b) = cJSON_IsTrue(item);
    return 0;
}

static void bool_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                       const struct sr_binding *src)
{
    *(bool *)member(f, dst) = *(const bool *)member_of(f, src);
}

/* The one switch, executes, is the tighter when true: more is asked of such a binding. */
static bool bool_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                          const struct sr_binding *above)
{
    return *(const bool *)member_of(f, above) || !*(const bool *)member_of(f, below);
}

const struct sr_policy_type sr_type_bool = { bool_parse, bool_merge, bool_tightens };

/* Enums have the size of unsigned int under the one ABI that gnu11 gives here; memcpy keeps the
 * aliasing rules. */
static int enum_get(const struct sr_policy_field *f, const struct sr_binding *b)
{
    int v;
    _Static_assert(sizeof(enum sr_writes) == sizeof v, "enums are ints");
    memcpy(&v, member_of(f, b), sizeof v);
    return v;
}

static int enum_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                      const cJSON *item, struct sr_binding *b)
{
    const char *s = sr_policy_read_string(r, item);
    if (!s)
        return -1;
    int v = f->from(s);
    if (v < 0)
        return sr_policy_refuse(r, item, "policy.invalid.unsupported_value",
                                "\"%s\" is not one of: %s", s, f->values);
    memcpy(member(f, b), &v, sizeof v);
    return 0;
}

static void enum_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                       const struct sr_binding *src)
{
    int v = enum_get(f, src);
    memcpy(member(f, dst), &v, sizeof v);
}

static bool enum_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                          const struct sr_binding *above)
{
    return f->looseness[enum_get(f, above)] <= f->looseness[enum_get(f, below)];
}

const struct sr_policy_type sr_type_enum = { enum_parse, enum_merge, enum_tightens };

static void u64_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                      const struct sr_binding *src)
{
    *(uint64_t *)member(f, dst) = *(const uint64_t *)member_of(f, src);
}

/* 0 is no limit. */
static bool u64_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                         const struct sr_binding *above)
{
    uint64_t b = *(const uint64_t *)member_of(f, below), a = *(const uint64_t *)member_of(f, above);
    return b == 0 || (a != 0 && a <= b);
}

typedef void formatter(uint64_t v, char out[32]);

static void format_count(uint64_t v, char out[32])
{
    snprintf(out, 32, "%" PRIu64, v);
}

static void format_milli(uint64_t v, char out[32])
{
    snprintf(out, 32, "%" PRIu64 ".%" PRIu64, v / 1000, v % 1000 / 100);
}

static int store(struct sr_policy_reader *r, const struct sr_policy_field *f, const cJSON *item,
                 uint64_t v, formatter *format, struct sr_binding *b)
{
    char low[32], high[32], given[32];
    if (v >= f->min && v <= f->max) {
        *(uint64_t *)member(f, b) = v;
        return 0;
    }
    format(f->min, low);
    format(f->max, high);
    format(v, given);
    return sr_policy_refuse(r, item, "policy.invalid.range", "%s is not between %s and %s", given,
                            low, high);
}

typedef int text_parser(const char *s, uint64_t *ret, struct sr_error *err);

static int united(struct sr_policy_reader *r, const struct sr_policy_field *f, const cJSON *item,
                  text_parser *parse, formatter *format, const char *code, const char *example,
                  struct sr_binding *b)
{
    struct sr_error inner = { 0 };
    uint64_t v = 0;
    if (!cJSON_IsString(item)) {
        sr_policy_refuse(r, item, "policy.invalid.type", "a string with a unit is expected");
        return sr_error_hint(r->err, "for example %s", example);
    }
    if (parse(item->valuestring, &v, &inner) < 0) {
        sr_policy_refuse(r, item, code, "%s", inner.text);
        return sr_error_hint(r->err, "for example %s", example);
    }
    return store(r, f, item, v, format, b);
}

static int duration_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                          const cJSON *item, struct sr_binding *b)
{
    return united(r, f, item, sr_text_duration, sr_text_format_duration, "policy.invalid.duration",
                  "\"90s\"", b);
}

static int size_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                      const cJSON *item, struct sr_binding *b)
{
    return united(r, f, item, sr_text_size, sr_text_format_size, "policy.invalid.size", "\"2GiB\"",
                  b);
}

static int count_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                       const cJSON *item, struct sr_binding *b)
{
    if (!cJSON_IsNumber(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "a number is expected");
    double v = item->valuedouble;
    if (v < 0 || v != (double)(uint64_t)v)
        return sr_policy_refuse(r, item, "policy.invalid.range",
                                "a whole number, zero or more, is expected");
    return store(r, f, item, (uint64_t)v, format_count, b);
}

static int cpus_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                      const cJSON *item, struct sr_binding *b)
{
    if (!cJSON_IsNumber(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "a number is expected");
    double v = item->valuedouble;
    if (v < 0 || v > 1e6)
        return sr_policy_refuse(r, item, "policy.invalid.range", "%g processors cannot be meant",
                                v);
    uint64_t tenths = (uint64_t)(v * 10 + 0.5);
    if ((double)tenths / 10 != v)
        return sr_policy_refuse(r, item, "policy.invalid.range",
                                "processors are counted in steps of 0.1");
    return store(r, f, item, tenths * 100, format_milli, b);
}

const struct sr_policy_type sr_type_duration = { duration_parse, u64_merge, u64_tightens };
const struct sr_policy_type sr_type_size = { size_parse, u64_merge, u64_tightens };
const struct sr_policy_type sr_type_count = { count_parse, u64_merge, u64_tightens };
const struct sr_policy_type sr_type_cpus = { cpus_parse, u64_merge, u64_tightens };

static int target_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                        const cJSON *item, struct sr_binding *b)
{
    (void)f;
    const char *s = sr_policy_read_string(r, item);
    if (!s)
        return -1;
    char *target = strcmp(s, "same") == 0 ? sr_strdup(s) : sr_policy_read_place(r, item, s);
    if (!target)
        return -1;
    free(b->tree_target);
    b->tree_target = target;
    return 0;
}

static void target_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                         const struct sr_binding *src)
{
    (void)f;
    free(dst->tree_target);
    dst->tree_target = sr_strdup(src->tree_target);
}

static bool target_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                            const struct sr_binding *above)
{
    (void)f;
    return below->tree_target && strcmp(below->tree_target, above->tree_target) == 0;
}

const struct sr_policy_type sr_type_target = { target_parse, target_merge, target_tightens };
