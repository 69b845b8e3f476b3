/* SPDX-License-Identifier: MIT */
/* What opens or closes the sandbox: root filesystem and pin, no containment, network, filter
 * groups. */
#include "base/mem.h"
#include "base/text.h"
#include "policy/fields.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_digest(const char *s)
{
    if (!sr_text_starts(s, "sha256:") || strlen(s) != 7 + 64)
        return false;
    return strspn(s + 7, "0123456789abcdef") == 64;
}

/* What a policy holds until `sandrun image pin --host` has printed the digest. It parses, so that
 * the pin can be asked for; the gate refuses it as no pin. Every other spelling is a slip. */
#define UNFILLED "sha256:..."

static int host_pin(struct sr_policy_reader *r, const cJSON *item)
{
    const char *s = sr_policy_read_string(r, item);
    if (!s)
        return -1;
    if (is_digest(s) || strcmp(s, UNFILLED) == 0)
        return 0;
    sr_policy_refuse(r, item, "policy.invalid.digest",
                     "\"%s\" is not \"sha256:\" and 64 hexadecimal digits", s);
    return sr_error_hint(r->err, "write \"" UNFILLED "\" and let `sandrun image pin --host` print "
                                 "the digest to put there");
}

static int hint_image(struct sr_policy_reader *r, const char *name)
{
    return sr_error_hint(r->err,
                         "{ \"image\": \"%.*s@sha256:...\" } with the digest's 64 digits names it; "
                         "this version runs the host's root filesystem only: { \"host\": \"" UNFILLED
                         "\" }",
                         (int)strcspn(name, ":@"), name);
}

/* A tag is what a registry makes it, and another thing tomorrow; see rootfs in the field table. */
static int image_pin(struct sr_policy_reader *r, const cJSON *item)
{
    const char *s = sr_policy_read_string(r, item);
    if (!s)
        return -1;
    const char *at = strchr(s, '@');
    size_t n = at ? (size_t)(at - s) : strlen(s);
    if (n == 0 || n > 255 || !isalnum((unsigned char)s[0]) ||
        strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:[]") < n)
        return sr_policy_refuse(r, item, "policy.invalid.name",
                                "\"%s\" is not the name of an image", s);
    if (!at) {
        sr_policy_refuse(r, item, "policy.invalid.tag",
                         "\"%s\" names a tag, which can move; a digest is required", s);
        return hint_image(r, s);
    }
    if (!is_digest(at + 1)) {
        sr_policy_refuse(r, item, "policy.invalid.digest",
                         "\"%s\" is not \"sha256:\" and 64 hexadecimal digits", at + 1);
        return hint_image(r, s);
    }
    return 0;
}

static int rootfs_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                        const cJSON *item, struct sr_binding *b)
{
    static const char *const keys[] = { "host", "image", NULL };
    if (!cJSON_IsObject(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "an object is expected: %s",
                                f->values);
    if (sr_policy_read_keys(r, item, keys) < 0)
        return -1;
    const cJSON *host = sr_json_get(item, "host"), *image = sr_json_get(item, "image");
    if (!host == !image)
        return sr_policy_refuse(
            r, item, host ? "policy.invalid.unsupported_value" : "policy.invalid.missing",
            "one of \"host\" and \"image\" is expected");
    if (host ? host_pin(r, host) < 0 : image_pin(r, image) < 0)
        return -1;
    free(b->rootfs_pin);
    b->rootfs = host ? SR_ROOTFS_HOST : SR_ROOTFS_IMAGE;
    const char *pin = (host ? host : image)->valuestring;
    b->rootfs_pin = strcmp(pin, UNFILLED) == 0 ? NULL : sr_strdup(pin);
    return 0;
}

static void rootfs_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                         const struct sr_binding *src)
{
    (void)f;
    free(dst->rootfs_pin);
    dst->rootfs = src->rootfs;
    dst->rootfs_pin = sr_strdup(src->rootfs_pin);
}

static bool string_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool rootfs_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                            const struct sr_binding *above)
{
    (void)f;
    return below->rootfs == above->rootfs && string_equal(below->rootfs_pin, above->rootfs_pin);
}

const struct sr_policy_type sr_type_rootfs = { rootfs_parse, rootfs_merge, rootfs_tightens };

/* null takes back what a weaker layer declared. */
static int uncontained_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                             const cJSON *item, struct sr_binding *b)
{
    (void)f;
    if (cJSON_IsNull(item))
        return 0;
    return sr_policy_read_reason(r, item, "running uncontained", &b->uncontained);
}

static void uncontained_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                              const struct sr_binding *src)
{
    (void)f;
    free(dst->uncontained);
    dst->uncontained = sr_strdup(src->uncontained);
}

static bool uncontained_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                                 const struct sr_binding *above)
{
    (void)f;
    return !above->uncontained || string_equal(below->uncontained, above->uncontained);
}

const struct sr_policy_type sr_type_uncontained = { uncontained_parse, uncontained_merge,
                                                    uncontained_tightens };

/* host:port, [v6]:port. No patterns: a list that someone reviews must say where it leads. */
static bool is_endpoint(const char *s)
{
    struct sr_error err = { 0 };
    uint64_t port;
    const char *colon = strrchr(s, ':');
    size_t n = colon ? (size_t)(colon - s) : 0;
    if (n == 0 || n > 253 || sr_text_u64(colon + 1, 1, 65535, &port, &err) < 0)
        return false;
    if (s[0] == '[')
        return n > 3 && s[n - 1] == ']' && strspn(s + 1, "0123456789abcdefABCDEF:.") == n - 2;
    return isalnum((unsigned char)s[0]) &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-") == n;
}

static int network_allow(struct sr_policy_reader *r, const cJSON *item, struct sr_binding *b)
{
    enum { ENDPOINTS_MAX = 256 };
    if (!cJSON_IsArray(item))
        return sr_policy_refuse(r, item, "policy.invalid.type",
                                "a list of \"host:port\" is expected");
    if (cJSON_GetArraySize(item) > ENDPOINTS_MAX)
        return sr_policy_refuse(r, item, "policy.invalid.range", "more than %d endpoints",
                                ENDPOINTS_MAX);
    if (!item->child)
        return sr_policy_refuse(r, item, "policy.invalid.unsupported_value",
                                "an empty list: write \"none\"");
    for (const cJSON *m = item->child; m; m = m->next) {
        const char *s = sr_policy_read_string(r, m);
        if (!s)
            return -1;
        if (!is_endpoint(s))
            return sr_policy_refuse(r, m, "policy.invalid.unsupported_value",
                                    "\"%s\" is not \"host:port\"", s);
        if (!sr_strv_has(&b->network_allow, s))
            sr_strv_add(&b->network_allow, s);
    }
    b->network = SR_NETWORK_ALLOW;
    return 0;
}

static int network_word(struct sr_policy_reader *r, const cJSON *item, struct sr_binding *b)
{
    if (strcmp(item->valuestring, "none") == 0) {
        b->network = SR_NETWORK_NONE;
        return 0;
    }
    sr_policy_refuse(r, item, "policy.invalid.unsupported_value", "\"%s\" is no kind of network",
                     item->valuestring);
    return sr_error_hint(r->err,
                         "\"none\", {\"allow\": [\"host:port\"]} or {\"host\": \"reason\"}");
}

static int network_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                         const cJSON *item, struct sr_binding *b)
{
    static const char *const keys[] = { "allow", "host", NULL };
    if (cJSON_IsString(item))
        return network_word(r, item, b);
    if (!cJSON_IsObject(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "expected: %s", f->values);
    if (sr_policy_read_keys(r, item, keys) < 0)
        return -1;
    const cJSON *allow = sr_json_get(item, "allow"), *host = sr_json_get(item, "host");
    if (!allow == !host)
        return sr_policy_refuse(
            r, item, allow ? "policy.invalid.unsupported_value" : "policy.invalid.missing",
            "one of \"allow\" and \"host\" is expected");
    if (allow)
        return network_allow(r, allow, b);
    b->network = SR_NETWORK_HOST;
    return sr_policy_read_reason(r, host, "the host's network", &b->network_reason);
}

static void network_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                          const struct sr_binding *src)
{
    (void)f;
    dst->network = src->network;
    sr_strv_copy(&dst->network_allow, &src->network_allow);
    free(dst->network_reason);
    dst->network_reason = sr_strdup(src->network_reason);
}

static bool network_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                             const struct sr_binding *above)
{
    static const unsigned char looseness[SR_NETWORK_COUNT] = {
        [SR_NETWORK_NONE] = 0, [SR_NETWORK_ALLOW] = 1, [SR_NETWORK_HOST] = 2
    };
    (void)f;
    if (above->network != below->network)
        return looseness[above->network] < looseness[below->network];
    return sr_strv_within(&above->network_allow, &below->network_allow) &&
           string_equal(above->network_reason, below->network_reason);
}

const struct sr_policy_type sr_type_network = { network_parse, network_merge, network_tightens };

/* The groups of the filter's table that a policy may open. Engines are above this layer, so the
 * names stand here again; a test compares them. */
const char *const sr_policy_seccomp_groups[] = { "debug", "userns", NULL };

static int seccomp_group(struct sr_policy_reader *r, const cJSON *item, struct sr_binding *b)
{
    const char *s = sr_policy_read_string(r, item);
    if (!s)
        return -1;
    const char *const *g = sr_policy_seccomp_groups;
    while (*g && strcmp(*g, s) != 0)
        g++;
    if (!*g)
        return sr_policy_refuse(r, item, "policy.invalid.unsupported_value",
                                "\"%s\" is no group of the filter", s);
    if (!sr_strv_has(&b->seccomp_allow, s))
        sr_strv_add(&b->seccomp_allow, s);
    return 0;
}

static int seccomp_parse(struct sr_policy_reader *r, const struct sr_policy_field *f,
                         const cJSON *item, struct sr_binding *b)
{
    static const char *const keys[] = { "allow", "reason", NULL };
    if (!cJSON_IsObject(item))
        return sr_policy_refuse(r, item, "policy.invalid.type", "an object is expected: %s",
                                f->values);
    if (sr_policy_read_keys(r, item, keys) < 0)
        return -1;
    const cJSON *allow = sr_json_get(item, "allow"), *reason = sr_json_get(item, "reason");
    if (!allow)
        return sr_policy_refuse(r, item, "policy.invalid.missing", "\"allow\" is expected");
    if (!cJSON_IsArray(allow))
        return sr_policy_refuse(r, allow, "policy.invalid.type", "a list of groups is expected");
    for (const cJSON *m = allow->child; m; m = m->next)
        if (seccomp_group(r, m, b) < 0)
            return -1;
    if (b->seccomp_allow.n && !reason)
        return sr_policy_refuse(r, item, "policy.invalid.reason",
                                "a wider filter needs a \"reason\"");
    return reason ? sr_policy_read_reason(r, reason, "a wider filter", &b->seccomp_reason) : 0;
}

static void seccomp_merge(const struct sr_policy_field *f, struct sr_binding *dst,
                          const struct sr_binding *src)
{
    (void)f;
    sr_strv_copy(&dst->seccomp_allow, &src->seccomp_allow);
    free(dst->seccomp_reason);
    dst->seccomp_reason = sr_strdup(src->seccomp_reason);
}

static bool seccomp_tightens(const struct sr_policy_field *f, const struct sr_binding *below,
                             const struct sr_binding *above)
{
    (void)f;
    return sr_strv_within(&above->seccomp_allow, &below->seccomp_allow);
}

const struct sr_policy_type sr_type_seccomp = { seccomp_parse, seccomp_merge, seccomp_tightens };
