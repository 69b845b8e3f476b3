/* SPDX-License-Identifier: MIT */
/* Strict JSON: scan, let cJSON build the tree, join each item with the place where it stands. */
#include "base/json.h"

#include "base/json_scan.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The scanner met the values in this very order. */
static size_t join(struct sr_json_place *places, size_t n, size_t at, const cJSON *item)
{
    for (; item; item = item->next) {
        if (at >= n)
            return SIZE_MAX;
        places[at++].item = item;
        if (item->child && (at = join(places, n, at, item->child)) == SIZE_MAX)
            return SIZE_MAX;
    }
    return at;
}

static int compare_items(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct sr_json_place *)a)->item;
    uintptr_t y = (uintptr_t)((const struct sr_json_place *)b)->item;
    return x < y ? -1 : x > y;
}

int sr_json_parse(const char *name, const char *text, size_t len, size_t max,
                  enum sr_json_flags flags, struct sr_json *ret, struct sr_error *err)
{
    if (len > max)
        return sr_error_set(err, "json.size",
                            "%s:1:1: %zu bytes are more than the %zu that are read", name, len,
                            max);
    cleanup_free char *copy = sr_malloc(len + 1);
    if (len)
        memcpy(copy, text, len);
    copy[len] = '\0';
    cleanup_json_doc struct sr_json doc = { .name = sr_strdup(name) };
    if (sr_json_scan(name, copy, len, flags, &doc.places, &doc.n_places, err) < 0)
        return -1;
    doc.root = cJSON_ParseWithLengthOpts(copy, len + 1, NULL, 1);
    /* A disagreement of the two parsers is refused, whichever is right. */
    if (!doc.root || join(doc.places, doc.n_places, 0, doc.root) != doc.n_places)
        return sr_error_set(err, "json.syntax", "%s:1:1: the text cannot be read as JSON", name);
    qsort(doc.places, doc.n_places, sizeof *doc.places, compare_items);
    *ret = doc;
    doc = (struct sr_json){ 0 };
    return 0;
}

void sr_json_clear(struct sr_json *doc)
{
    cJSON_Delete(doc->root);
    free(doc->name);
    free(doc->places);
    *doc = (struct sr_json){ 0 };
}

void sr_json_deletep(cJSON **item)
{
    cJSON_Delete(*item);
    *item = NULL;
}

static const struct sr_json_place *place_of(const struct sr_json *doc, const cJSON *item)
{
    struct sr_json_place want = { .item = item };
    if (!doc->n_places)
        return NULL;
    return bsearch(&want, doc->places, doc->n_places, sizeof want, compare_items);
}

struct sr_json_where sr_json_where_value(const struct sr_json *doc, const cJSON *item)
{
    const struct sr_json_place *p = place_of(doc, item);
    return p ? p->value : (struct sr_json_where){ 0, 0 };
}

struct sr_json_where sr_json_where_key(const struct sr_json *doc, const cJSON *item)
{
    const struct sr_json_place *p = place_of(doc, item);
    return p ? p->key : (struct sr_json_where){ 0, 0 };
}

const cJSON *sr_json_get(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const char *sr_json_string(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(sr_json_get(object, key));
}

bool sr_json_u64(const cJSON *object, const char *key, uint64_t *ret)
{
    const cJSON *item = sr_json_get(object, key);
    if (!cJSON_IsNumber(item))
        return false;
    double v = item->valuedouble;
    if (signbit(v) || v > 9007199254740991.0 || v != (double)(uint64_t)v)
        return false;
    *ret = (uint64_t)v;
    return true;
}

bool sr_json_bool(const cJSON *object, const char *key, bool *ret)
{
    const cJSON *item = sr_json_get(object, key);
    if (!cJSON_IsBool(item))
        return false;
    *ret = cJSON_IsTrue(item);
    return true;
}
