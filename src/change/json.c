/* SPDX-License-Identifier: MIT */
/* The change set as the record carries it. */
#include "change/set.h"

#include "base/mem.h"

#include <stdio.h>

/* The whole list may hold 200,000 entries; a record that long helps nobody, and the counts stay
 * whole. */
enum { JSON_LIST_MAX = 10000 };

static const char *where(const char *path, bool in_home)
{
    return in_home ? "home" : path[0] == '/' ? "git" : "tree";
}

static cJSON *state_json(const struct sr_entry_state *s)
{
    char mode[16], digest[SR_DIGEST_TEXT];
    if (s->mode == 0)
        return NULL;
    cJSON *o = sr_json_object();
    snprintf(mode, sizeof mode, "%06o", (unsigned)s->mode);
    sr_json_add_string(o, "mode", mode);
    sr_json_add_u64(o, "size", s->size);
    if (s->has_digest) {
        sr_sha256_text(s->digest, digest);
        sr_json_add_string(o, "digest", digest);
    }
    return o;
}

static cJSON *change_json(const struct sr_change *c)
{
    cJSON *o = sr_json_object(), *before = state_json(&c->before), *after = state_json(&c->after);
    sr_json_add_path(o, "path", c->path);
    sr_json_add_string(o, "where", where(c->path, c->in_home));
    sr_json_add_string(o, "kind", sr_change_kind_name(c->kind));
    sr_json_add_string(o, "class", sr_change_class_name(c->cls));
    if (c->target)
        sr_json_add_path(o, "target", c->target);
    if (before)
        sr_json_add(o, "before", before);
    if (after)
        sr_json_add(o, "after", after);
    return o;
}

static cJSON *repair_json(const struct sr_repair *r)
{
    cJSON *o = sr_json_object(), *examples = sr_json_array();
    sr_json_add_string(o, "class", sr_change_class_name(r->cls));
    sr_json_add_path(o, "path", r->path);
    sr_json_add_string(o, "where", where(r->path, r->in_home));
    sr_json_add_string(o, "ecosystem", r->ecosystem);
    sr_json_add_u64(o, "lost", r->lost);
    sr_json_add_u64(o, "added", r->added);
    sr_json_add_u64(o, "modified", r->modified);
    for (size_t i = 0; i < r->examples.n; i++)
        sr_json_append_path(examples, r->examples.v[i]);
    sr_json_add(o, "examples", examples);
    return o;
}

static cJSON *classes_json(const struct sr_changeset *set)
{
    cJSON *o = sr_json_object();
    for (int c = 0; c < SR_CLASS_COUNT; c++)
        if (set->by_class[c])
            sr_json_add_u64(o, sr_change_class_name((enum sr_change_class)c), set->by_class[c]);
    return o;
}

cJSON *sr_changeset_json(const struct sr_changeset *set)
{
    cJSON *o = sr_json_object(), *repairs = sr_json_array(), *list = sr_json_array();
    size_t listed = set->n < JSON_LIST_MAX ? set->n : JSON_LIST_MAX;
    sr_json_add_u64(o, "total", set->total);
    sr_json_add_u64(o, "listed", listed);
    sr_json_add_bool(o, "truncated", set->total > listed);
    if (set->overflow)
        sr_json_add_bool(o, "overflow", true);
    if (set->tracking[0])
        sr_json_add_string(o, "tracking", set->tracking);
    sr_json_add(o, "by_class", classes_json(set));
    for (size_t i = 0; i < set->n_repairs; i++)
        sr_json_append(repairs, repair_json(&set->repairs[i]));
    sr_json_add(o, "repairs", repairs);
    for (size_t i = 0; i < listed; i++)
        sr_json_append(list, change_json(&set->v[i]));
    sr_json_add(o, "list", list);
    return o;
}
