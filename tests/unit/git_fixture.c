/* SPDX-License-Identifier: MIT */
/* Repositories made by the git program itself. */
#include "git_fixture.h"

#include "base/fs.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void fixture_make(struct fixture *f)
{
    snprintf(f->dir, sizeof f->dir, "/tmp/sr-git-XXXXXX");
    cr_assert_not_null(mkdtemp(f->dir));
    snprintf(f->tree, sizeof f->tree, "%s/tree", f->dir);
}

void fixture_init(struct fixture *f, const char *format)
{
    char script[128];
    fixture_make(f);
    snprintf(script, sizeof script, "git init -q -b main --object-format=%s tree", format);
    fixture_sh(f, ".", script);
}

void fixture_remove(struct fixture *f)
{
    struct sr_error err = { 0 };
    cr_assert_eq(sr_remove_at(AT_FDCWD, f->dir, &err), 0, "%s", err.text);
}

static void child_run(const struct fixture *f, const char *where, const char *script, int out)
{
    char home[128], path[512];
    snprintf(home, sizeof home, "HOME=%s", f->dir);
    snprintf(path, sizeof path, "PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    char *env[] = { home,
                    path,
                    (char[]){ "GIT_CONFIG_NOSYSTEM=1" },
                    (char[]){ "LC_ALL=C" },
                    (char[]){ "GIT_AUTHOR_NAME=a" },
                    (char[]){ "GIT_AUTHOR_EMAIL=a@example.com" },
                    (char[]){ "GIT_COMMITTER_NAME=c" },
                    (char[]){ "GIT_COMMITTER_EMAIL=c@example.com" },
                    (char[]){ "GIT_AUTHOR_DATE=1700000000 +0000" },
                    (char[]){ "GIT_COMMITTER_DATE=1700000000 +0000" },
                    NULL };
    char *argv[] = { (char[]){ "sh" }, (char[]){ "-ec" }, sr_strdup(script), NULL };
    if (chdir(f->dir) == 0 && chdir(where) == 0 && dup2(out, 1) >= 0)
        execve("/bin/sh", argv, env);
    _exit(126);
}

char *fixture_out(const struct fixture *f, const char *where, const char *script)
{
    int p[2], status;
    cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0)
        child_run(f, where, script, p[1]);
    close(p[1]);
    cleanup_buf struct sr_buf b = SR_BUF(64 << 20);
    char chunk[4096];
    for (ssize_t n; (n = read(p[0], chunk, sizeof chunk)) > 0;)
        sr_buf_add(&b, chunk, (size_t)n);
    close(p[0]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", script,
              (unsigned)status);
    while (b.len && b.data[b.len - 1] == '\n')
        b.data[--b.len] = '\0';
    return sr_buf_steal(&b);
}

void fixture_sh(const struct fixture *f, const char *where, const char *script)
{
    free(fixture_out(f, where, script));
}

void fixture_history(const struct fixture *f)
{
    fixture_sh(
        f, "tree",
        "echo '{\"version\": 1}' > sandrun.json; mkdir -p src/deep; echo one > src/deep/file; : > "
        "empty\n"
        "ln -s src/deep link; seq 1 3000 > big; git add .; git commit -qm one; git tag light\n"
        "i=0; while [ $i -lt 12 ]; do i=$((i+1)); echo line $i >> big; sed -i \"${i}00s/$/ x/\" "
        "big\n"
        "git commit -qam \"n $i\"; done; git tag -a -m note v1; git -c advice.nestedTag=false tag "
        "-a -m again v1.1 v1\n"
        "git checkout -q -b side HEAD~3; echo side > side; git add side; git commit -qm side\n"
        "git checkout -q main; git merge -q --no-ff -m merge side; git branch feature/x HEAD~1\n"
        "git update-ref refs/remotes/origin/main HEAD~2; git symbolic-ref refs/remotes/origin/HEAD "
        "refs/remotes/origin/main");
}

struct sr_git *fixture_open(const struct fixture *f, const char *tree)
{
    struct sr_error err = { 0 };
    struct sr_git *g = NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->dir, tree);
    cr_assert_eq(sr_git_open(path, &g, &err), 0, "%s: %s", err.code, err.text);
    return g;
}

void assert_resolves(const struct fixture *f, const char *tree, const char *rev)
{
    struct sr_error err = { 0 };
    char script[256], hex[SR_GIT_HEX_MAX];
    snprintf(script, sizeof script, "git rev-parse --verify -q '%s^{commit}'", rev);
    cleanup_free char *want = fixture_out(f, tree, script);
    cleanup_git struct sr_git *g = fixture_open(f, tree);
    cr_assert_eq(sr_git_resolve(g, rev, hex, &err), 0, "%s: %s: %s", rev, err.code, err.text);
    cr_assert_str_eq(hex, want, "%s", rev);
}

void assert_fails(const struct fixture *f, const char *tree, const char *rev, const char *code)
{
    struct sr_error err = { 0 };
    char hex[SR_GIT_HEX_MAX] = "untouched";
    cleanup_git struct sr_git *g = fixture_open(f, tree);
    cr_assert_eq(sr_git_resolve(g, rev, hex, &err), -1, "%s resolved to %s", rev, hex);
    cr_assert_str_eq(err.code, code, "%s: %s", rev, err.text);
    cr_assert_str_eq(hex, "untouched");
}

/* "COMMIT MODE HASH PATH" */
static bool blob_line(const struct fixture *f, const char *tree, struct sr_git *g, const char *line)
{
    struct sr_error err = { 0 };
    char commit[SR_GIT_HEX_MAX], mode[8], hash[SR_GIT_HEX_MAX], path[128], script[128];
    cr_assert_eq(sscanf(line, "%64s %7s %64s %127s", commit, mode, hash, path), 4, "%s", line);
    cleanup_buf struct sr_buf b = SR_BUF(1 << 20);
    int rc = sr_git_blob(g, commit, path, 1 << 20, &b, &err);
    if (strcmp(mode, "120000") == 0) {
        cr_assert_eq(rc, -1);
        cr_assert_str_eq(err.code, "git.type");
        return false;
    }
    cr_assert_eq(rc, 0, "%s: %s: %s", line, err.code, err.text);
    /* The bytes hash to the name that git lists, by git's own reckoning. */
    int n = snprintf(script, sizeof script, "%s/blob", f->dir);
    cr_assert_gt(n, 0);
    FILE *out = fopen(script, "w");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(b.data, 1, b.len, out), b.len);
    fclose(out);
    snprintf(script, sizeof script, "git hash-object -t blob --no-filters %s/blob", f->dir);
    cleanup_free char *got = fixture_out(f, tree, script);
    cr_assert_str_eq(got, hash, "%s", line);
    return true;
}

size_t assert_all_blobs(const struct fixture *f, const char *tree)
{
    cleanup_free char *list =
        fixture_out(f, tree,
                    "for c in $(git rev-list --all); do git ls-tree -r $c | while read m t h p; do "
                    "echo $c $m $h $p; done; done | sort -u -k3,4");
    cleanup_git struct sr_git *g = fixture_open(f, tree);
    size_t n = 0;
    char *save = NULL;
    for (char *line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        n += blob_line(f, tree, g, line);
    return n;
}
