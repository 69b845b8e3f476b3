/* SPDX-License-Identifier: MIT */
/* The texts that a load has gathered, and the two places they come from besides the repository.
 * Private to load*.c. */
#ifndef SR_POLICY_LOAD_H
#define SR_POLICY_LOAD_H

#include "sandrun/policy.h"

struct sr_policy_loader {
    const struct sr_policy_request *req;
    struct sr_error *err;
    struct sr_policy_source *sources; /* path and text are owned by owned */
    size_t n_sources;
    char **owned;
    size_t n_owned, cap_owned;
};

/* Copies path and text. */
void sr_policy_loader_add(struct sr_policy_loader *l, enum sr_layer layer, const char *path,
                          const char *text, size_t len);
void sr_policy_loader_clear(struct sr_policy_loader *l);

/* DIR/NAME.json of req->policy_dir, or the built-in copy; ctx is the loader. NULL when there is
 * none or it cannot be read. */
const char *sr_policy_shipped(void *ctx, const char *name, size_t *ret_len);
/* DIR's *.json in the order of their names, as the organisation's layer. No such directory: no such
 * layer. policy.unsafe: others than root and the caller could have written it. */
SR_CHECK int sr_policy_load_directory(struct sr_policy_loader *l, const char *dir);

#endif
