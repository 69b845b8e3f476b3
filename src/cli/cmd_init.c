/* SPDX-License-Identifier: MIT */
/* sandrun init: a sandrun.json from what the repository is made of, with this host's pins, loaded
 * to be sure. */
#include "base/fs.h"
#include "cli/commands.h"
#include "cli/init.h"
#include "cli/print.h"
#include "sandrun/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLICY_NAME "sandrun.json"

struct init {
    const char *tree;
    bool force;
    int tree_fd;
    struct init_found found;
    struct sr_strv absent; /* tools that this host lacks */
};

struct pin_request {
    struct sr_run_request req;
    struct sr_state *state;
    struct sr_resolved resolved;
};

/* ---- the pins: asked of the resolver with a draft that stands outside the tree ---- */

static int draft_write(const char *dir, const struct init_found *found, struct sr_error *err)
{
    cleanup_buf struct sr_buf text = SR_BUF(INIT_FILE_MAX);
    cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sr_error_sys(err, "init.draft", "opening %s", dir);
    init_text(found, &text);
    return sr_file_write_at(fd, POLICY_NAME, text.data, text.len, 0600, err);
}

static void absent_note(struct init *in, const struct sr_plan *plan)
{
    for (size_t i = 0; i < plan->pin_lines.n; i++) {
        const char *line = plan->pin_lines.v[i];
        size_t len = strlen(line);
        if (strncmp(line, "tool ", 5) == 0 && len > 12 && strcmp(line + len - 7, " absent") == 0) {
            cleanup_free char *tool = sr_strndup(line + 5, len - 12);
            if (!sr_strv_has(&in->absent, tool))
                sr_strv_add(&in->absent, tool);
        }
    }
}

static char *command_comment(const struct sr_binding *b)
{
    struct sr_buf text = SR_BUF(4096);
    sr_buf_puts(&text, "the preset's:");
    for (size_t i = 0; i < b->command.n; i++)
        sr_buf_printf(&text, " %s", b->command.v[i]);
    return sr_buf_steal(&text);
}

/* Bindings of the presets are pinned too: they exist for this repository as soon as it extends
 * them. */
static struct init_check *check_for(struct init_found *f, const struct sr_binding *b)
{
    static const char *const known[] = { "Test", "Validate", "Lint" };
    for (size_t i = 0; i < f->n_checks; i++)
        if (strcmp(f->checks[i].name, b->name) == 0)
            return &f->checks[i];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], b->name) == 0) {
            cleanup_free char *why = command_comment(b);
            init_check_add(f, known[i], why, (const char *const[]){ NULL });
            return &f->checks[f->n_checks - 1];
        }
    return NULL; /* a binding of the organisation's own, which pins it where it is declared */
}

static int pin_ask(struct init *in, struct pin_request *q, const struct sr_binding *b,
                   struct sr_error *err)
{
    struct sr_plan plan = { 0 };
    struct init_check *check =
        b->uncontained || b->rootfs == SR_ROOTFS_IMAGE ? NULL : check_for(&in->found, b);
    int r = 0;
    if (!check)
        return 0;
    if (sr_resolve_binding(&q->req, q->state, &q->resolved, b->name, &plan, err) < 0)
        return sr_error_wrap(err, "pinning %s", b->name);
    if (!plan.pin_observed || strlen(plan.pin_observed) >= sizeof check->pin)
        r = sr_error_set(err, "rootfs.pin_unverified",
                         "the fingerprint of this host for %s could not be computed", b->name);
    else
        memcpy(check->pin, plan.pin_observed, strlen(plan.pin_observed) + 1);
    absent_note(in, &plan);
    sr_plan_clear(&plan);
    return r;
}

static int pins_resolve(struct init *in, const char *draft, struct sr_state *state,
                        struct sr_error *err)
{
    struct pin_request q = {
        .req = { .tree = in->tree, .policy_file = draft, .environ_in = environ }, .state = state
    };
    int r = 0;
    if (sr_resolve(&q.req, state, &q.resolved, err) < 0)
        return -1;
    for (size_t i = 0; r == 0 && i < q.resolved.loaded.policy.n_bindings; i++)
        r = pin_ask(in, &q, &q.resolved.loaded.policy.bindings[i], err);
    sr_resolved_clear(&q.resolved);
    return r;
}

static int pins_ask(struct init *in, const char *dir, struct sr_error *err)
{
    cleanup_state struct sr_state state = {
        .root_fd = -1, .runs_fd = -1, .live_fd = -1, .cache_fd = -1
    };
    cleanup_free char *draft = sr_path_join(dir, POLICY_NAME);
    if (draft_write(dir, &in->found, err) < 0 || sr_state_open(&state, err) < 0)
        return -1;
    return pins_resolve(in, draft, &state, err);
}

static int pins_find(struct init *in, struct sr_error *err)
{
    const char *tmp = getenv("TMPDIR");
    cleanup_free char *dir =
        sr_asprintf("%s/sandrun-init-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
    struct sr_error ignored = { 0 };
    int r;
    if (!mkdtemp(dir))
        return sr_error_sys(err, "init.draft", "making a directory like %s", dir);
    r = pins_ask(in, dir, err);
    if (sr_remove_at(AT_FDCWD, dir, &ignored) < 0)
        cli_warning("%s", ignored.text);
    return r;
}

/* ---- the file ---- */

static int policy_exists(const struct init *in, struct sr_error *err)
{
    sr_error_set(err, "init.exists", "writing %s/%s: it is there already", in->tree, POLICY_NAME);
    return sr_error_hint(err, "sandrun init --force replaces it");
}

/* A new file belongs to who owns the tree, also when root writes it. By descriptor: a name in a
 * tree that others can write to may be another file by now. */
static int policy_create(struct init *in, const struct sr_buf *text, struct sr_error *err)
{
    cleanup_fd int fd = openat(in->tree_fd, POLICY_NAME,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    struct stat st;
    if (fd < 0)
        return errno == EEXIST ? policy_exists(in, err)
                               : sr_error_sys(err, "init.write", "making %s/%s", in->tree, POLICY_NAME);
    if (fstat(in->tree_fd, &st) < 0 || (geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) < 0) ||
        sr_write_all(fd, text->data, text->len) < 0 || fsync(fd) < 0) {
        sr_error_sys(err, "init.write", "writing %s/%s", in->tree, POLICY_NAME);
        (void)unlinkat(in->tree_fd, POLICY_NAME, 0);
        return -1;
    }
    return 0;
}

static int policy_write(struct init *in, struct sr_error *err)
{
    cleanup_buf struct sr_buf text = SR_BUF(INIT_FILE_MAX);
    struct stat st;
    init_text(&in->found, &text);
    if (in->force && fstatat(in->tree_fd, POLICY_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return sr_file_write_at(in->tree_fd, POLICY_NAME, text.data, text.len, 0644, err);
    return policy_create(in, &text, err);
}

static int policy_verify(const struct init *in, struct sr_error *err)
{
    cleanup_free char *tree = realpath(in->tree, NULL);
    struct sr_policy_request req = { .tree = tree };
    struct sr_policy_loaded loaded = { 0 };
    if (!tree)
        return sr_error_sys(err, "init.tree", "finding the tree %s", in->tree);
    if (sr_policy_load(&req, &loaded, err) < 0)
        return sr_error_wrap(err, "loading what was written");
    sr_policy_loaded_clear(&loaded);
    return 0;
}

static int init_all(struct init *in, struct sr_error *err)
{
    struct stat st;
    in->tree_fd = open(in->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (in->tree_fd < 0)
        return sr_error_sys(err, "init.tree", "opening the tree %s", in->tree);
    /* Looked at first, so that nothing is computed in vain; O_EXCL is what decides. */
    if (!in->force && fstatat(in->tree_fd, POLICY_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return policy_exists(in, err);
    init_detect(in->tree_fd, &in->found);
    if (pins_find(in, err) < 0 || policy_write(in, err) < 0)
        return -1;
    return policy_verify(in, err);
}

static int init_print(const struct init *in)
{
    cleanup_page struct cli_page p = cli_page_on(STDOUT_FILENO);
    const struct init_found *f = &in->found;
    cli_line(&p, CLI_GOOD, "%s/%s is written", in->tree, POLICY_NAME);
    for (size_t i = 0; i < f->n_checks; i++)
        cli_line(&p, CLI_PLAIN, "  %s: %s", f->checks[i].name,
                 f->checks[i].command.n ? f->checks[i].why : "the preset's command");
    for (size_t i = 0; i < f->problems.n; i++)
        cli_line(&p, CLI_WARN, "  %s", f->problems.v[i]);
    for (size_t i = 0; i < in->absent.n; i++)
        cli_line(&p, CLI_WARN,
                 "  %s was not found on this host: install it, then sandrun image pin --host",
                 in->absent.v[i]);
    if (f->n_checks == 0)
        cli_line(&p, CLI_WARN, "  nothing was recognised: fill in the command and the pin of Test");
    else
        cli_line(&p, CLI_PLAIN, "next: read it, sandrun plan %s, sandrun run %s, and commit it",
                 f->checks[0].name, f->checks[0].name);
    return cli_page_done(&p, 0);
}

int cli_init(const struct cli_args *args)
{
    const char *tree = cli_arg(args, "tree");
    struct init in = { .tree = tree ? tree : ".", .force = cli_flag(args, "force"), .tree_fd = -1 };
    struct sr_error err = { 0 };
    int status = init_all(&in, &err) < 0 ? cli_error(&err) : init_print(&in);
    init_found_clear(&in.found);
    sr_strv_clear(&in.absent);
    sr_closep(&in.tree_fd);
    return status;
}
