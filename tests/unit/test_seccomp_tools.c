/* SPDX-License-Identifier: MIT */
/* Tools that must work under the filter, and the filter's cache. */
#include "base/fs.h"
#include "engine/native/seccomp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER SR_BUF(64 * 1024)

static void filter_get(int cache_fd, const char *group, struct sr_buf *ret)
{
    cleanup_strv struct sr_strv groups = { 0 };
    if (group)
        sr_strv_add(&groups, group);
    struct sr_error err = { 0 };
    cr_assert(sr_seccomp_filter(cache_fd, &groups, ret, &err) == 0, "%s", err.text);
}

static void remove_dir(const char *dir)
{
    struct sr_error err = { 0 };
    cr_expect(sr_remove_at(AT_FDCWD, dir, &err) == 0, "%s", err.text);
}

/* The exit status of a shell under the filter, in a directory of its own that is also HOME. */
static int run_script(const char *script)
{
    char dir[] = "/tmp/sandrun-tools-XXXXXX";
    cr_assert(mkdtemp(dir));
    struct sr_buf f = BUFFER;
    filter_get(-1, NULL, &f);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        if (chdir(dir) != 0 || setenv("HOME", dir, 1) != 0 ||
            setenv("GIT_CONFIG_NOSYSTEM", "1", 1) != 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || sr_seccomp_install(&f) != 0)
            _exit(200);
        execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
        _exit(201);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    sr_buf_clear(&f);
    remove_dir(dir);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 300 + WTERMSIG(status);
}

Test(seccomp_tools, python_processes_threads_sockets_locks)
{
    cr_expect_eq(
        run_script("cat > t.py <<'E'\n"
                   "import multiprocessing, os, shutil, socket, sqlite3, subprocess, tempfile, "
                   "threading, asyncio\n"
                   "def f(x): return x * x\n"
                   "if __name__ == '__main__':\n"
                   "    assert multiprocessing.Pool(2).map(f, [1, 2]) == [1, 4]\n"
                   "    assert subprocess.check_output(['echo', 'hi']) == b'hi\\n'\n"
                   "    t = threading.Thread(target=f, args=(1,)); t.start(); t.join()\n"
                   "    s = socket.create_server(('127.0.0.1', 0)); c = "
                   "socket.create_connection(s.getsockname())\n"
                   "    sqlite3.connect('d').execute('create table t(x)')\n"
                   "    shutil.copy2('/bin/sh', 'sh'); os.chmod('sh', 0o755)\n"
                   "    asyncio.run(asyncio.sleep(0.01)); tempfile.TemporaryFile().write(b'x')\n"
                   "E\npython3 t.py"),
        0);
}

Test(seccomp_tools, gcc_and_make)
{
    cr_expect_eq(
        run_script("printf '#include <stdio.h>\\nint main(void){puts(\"hi\");return 0;}\\n' > a.c\n"
                   "printf 'all: a b\\na b: a.c\\n\\tgcc -O2 -flto -o $@ a.c\\n' > Makefile\n"
                   "make -j2 >/dev/null && test \"$(./a)\" = hi && test \"$(./b)\" = hi"),
        0);
}

Test(seccomp_tools, git)
{
    cr_expect_eq(
        run_script("git init -q . && echo x > f && git add f\n"
                   "git -c user.name=a -c user.email=a@b commit -qm m && git gc -q && git fsck\n"
                   "git clone -q . other && test -f other/f"),
        0);
}

Test(seccomp_tools, node_files_children_workers_http)
{
    cr_expect_eq(
        run_script(
            "cat > t.js <<'E'\n"
            "const fs = require('fs'), cp = require('child_process'), http = require('http');\n"
            "const { Worker } = require('worker_threads');\n"
            "if (cp.execSync('echo hi').toString() !== 'hi\\n') process.exit(3);\n"
            "fs.promises.writeFile('x', 'y').then(() => new Worker('1', { eval: true }).on('exit', "
            "() => {\n"
            "  const s = http.createServer((q, r) => r.end('ok')).listen(0, '127.0.0.1', () =>\n"
            "    http.get({ port: s.address().port, host: '127.0.0.1' }, r => "
            "process.exit(r.statusCode === 200 ? 0 : 4)));\n"
            "}));\n"
            "setTimeout(() => process.exit(5), 20000);\n"
            "E\nnode t.js"),
        0);
}

/* The one tool of the list that a host may go without. */
Test(seccomp_tools, java_where_there_is_one)
{
    if (system("command -v java >/dev/null 2>&1") == 0)
        cr_expect_eq(run_script("java -Xmx64m -XX:+UseSerialGC -version 2>/dev/null"), 0);
}

/* The only file of a directory. */
static char *only_file(const char *dir)
{
    cleanup_dir DIR *d = opendir(dir);
    cr_assert(d);
    char *found = NULL;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        cr_assert_null(found, "a second file: %s", e->d_name);
        found = sr_path_join(dir, e->d_name);
    }
    return found;
}

static void file_change(const char *path, off_t at)
{
    cleanup_fd int fd = open(path, O_RDWR | O_CLOEXEC);
    char c;
    cr_assert_eq(pread(fd, &c, 1, at), 1);
    c = (char)(c ^ 1);
    cr_assert_eq(pwrite(fd, &c, 1, at), 1);
}

Test(seccomp_tools, cache_is_used_and_verified)
{
    char dir[] = "/tmp/sandrun-cache-XXXXXX";
    cr_assert(mkdtemp(dir));
    cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sr_buf plain = BUFFER, got = BUFFER;
    filter_get(-1, NULL, &plain);
    filter_get(fd, NULL, &got);
    cr_expect(plain.len == got.len && memcmp(plain.data, got.data, got.len) == 0);
    cleanup_free char *path = only_file(dir);
    cr_assert(path);
    struct stat first, second;
    cr_assert_eq(stat(path, &first), 0);
    cr_expect_eq(first.st_mode & 07777, 0600);

    filter_get(fd, NULL, &got);
    cr_assert_eq(stat(path, &second), 0);
    cr_expect_eq(first.st_ino, second.st_ino, "a good file is not written again");

    /* One bit anywhere - magic, key, sum, program - or a cut: made again, never used. */
    off_t spots[] = { 0, 20, 60, 100, first.st_size - 1 };
    for (size_t i = 0; i < sizeof spots / sizeof spots[0]; i++) {
        file_change(path, spots[i]);
        filter_get(fd, NULL, &got);
        cr_expect(plain.len == got.len && memcmp(plain.data, got.data, got.len) == 0, "spot %zu",
                  i);
    }
    cr_assert_eq(truncate(path, first.st_size - 8), 0);
    filter_get(fd, NULL, &got);
    cr_expect(plain.len == got.len && memcmp(plain.data, got.data, got.len) == 0);
    sr_buf_clear(&plain);
    sr_buf_clear(&got);
    remove_dir(dir);
}

/* A file with a right sum under another key's name: groups cannot be smuggled in by renaming. */
Test(seccomp_tools, cache_file_of_other_groups_is_not_taken)
{
    char dir[] = "/tmp/sandrun-cache-XXXXXX";
    cr_assert(mkdtemp(dir));
    cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sr_buf plain = BUFFER, got = BUFFER;
    filter_get(fd, NULL, &plain);
    cleanup_free char *path = only_file(dir);
    cr_assert_eq(unlink(path), 0);
    filter_get(fd, "userns", &got);
    cleanup_free char *other = only_file(dir);
    cr_assert_str_neq(path, other);
    cr_assert(plain.len != got.len || memcmp(plain.data, got.data, got.len) != 0);
    cr_assert_eq(rename(other, path), 0);
    filter_get(fd, NULL, &got);
    cr_expect(plain.len == got.len && memcmp(plain.data, got.data, got.len) == 0);
    sr_buf_clear(&plain);
    sr_buf_clear(&got);
    remove_dir(dir);
}
