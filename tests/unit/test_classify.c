/* SPDX-License-Identifier: MIT */
/* Classes and repairs: the truth about the tree, case by case, over real overlays and over
 * manifests. */
#include "change/set.h"
#include "change_rig.h"

#define INSTALL(dir, name)                                                                         \
    "mkdir -p " dir "/" name " " dir "/" name "-1.dist-info; echo x > " dir "/" name               \
    "/__init__.py; echo pip > " dir "/" name "-1.dist-info/INSTALLER; echo y > " dir "/" name      \
    "-1.dist-info/RECORD"

/* A tree as developers have it: sources under no git, a venv, node_modules, a tox environment. */
#define TREE                                                                                       \
    "mkdir -p src .venv/bin .venv/lib/python3.11/site-packages/pkg "                               \
    ".venv/lib/python3.11/site-packages/two;"                                                      \
    "mkdir -p node_modules/a node_modules/b node_modules/.bin .tox/py/lib;"                        \
    "printf 'home = /usr/bin\\nversion = 3.11.2\\n' > .venv/pyvenv.cfg; cp .venv/pyvenv.cfg "      \
    ".tox/py/;"                                                                                    \
    "ln -s /usr/bin/python3 .venv/bin/python; echo '#!x' > .venv/bin/tool;"                        \
    "for p in pkg two; do for f in __init__ m n o; do echo $p $f > "                               \
    ".venv/lib/python3.11/site-packages/$p/$f.py; done; done;"                                     \
    "for p in a b; do echo $p > node_modules/$p/index.js; echo '{}' > "                            \
    "node_modules/$p/package.json; done;"                                                          \
    "echo '{}' > node_modules/.package-lock.json; echo 1 > .tox/py/lib/x; echo s > src/main.py; "  \
    "echo m > Makefile;" INSTALL("layer", "one") "; echo h > layer/handler.py;"

/* Puts the venv back, byte for byte, from a copy outside. */
#define SAVE  "cp -a .venv /tmp/sandrun-saved-$$ && "
#define SAVED "/tmp/sandrun-saved-$$"

struct repair_case {
    const char *command, *want;
};

static const struct repair_case repairs[] = {
    /* nothing, and what is harmless */
    { "true", "" },
    { "mkdir -p .venv/lib/python3.11/site-packages/pkg/__pycache__; echo x > "
      ".venv/lib/python3.11/site-packages/pkg/__pycache__/m.cpython-311.pyc",
      "" },
    { "mkdir node_modules/.cache; echo x > node_modules/.cache/y", "" },
    { "find . -exec touch -h {} +", "" },
    { "mkdir .pytest_cache; echo > .pytest_cache/CACHEDIR.TAG; echo log > build.log", "" },
    { "mkdir .tox/log; echo x > .tox/log/1; mkdir .tox/py/log; echo x > .tox/py/log/2", "" },
    { "mkdir -p fresh/node_modules/.cache/v; echo x > fresh/node_modules/.cache/v/y", "" },
    { "mkdir -p .tox/.pkg/lib; echo x > .tox/.pkg/lib/y", "" },
    /* packages in a directory of any name: what pip --target leaves; sources may lie beside them */
    { INSTALL("new", "one"), "env.created:new:python" },
    { INSTALL("target/dir", "one"), "env.created:target/dir:python" },
    { INSTALL(".", "one"), "env.created:.:python" },
    { INSTALL("layer", "two"), "env.changed:layer:python" },
    { "rm -r layer/one layer/one-1.dist-info", "env.deleted:layer:python" },
    { "rm -r layer", "env.deleted:layer:python" },
    { "mv layer layer2", "env.deleted:layer:python env.created:layer2:python" },
    { "rm -r layer; " INSTALL("layer", "one"), "env.rebuilt:layer:python" },
    { "echo edited > layer/handler.py; echo x > layer/report.xml", "" },
    { "mkdir -p build/one.dist-info; echo x > build/one.dist-info/METADATA", "" },
    { INSTALL(".cache/unpacked", "one"), "" },
    { "mkdir -p layer/node_modules/x; echo > layer/node_modules/x/index.js",
      "env.created:layer/node_modules:node_modules" },
    { "echo home = /x > layer/pyvenv.cfg", "env.changed:layer:python" },
    /* deleted */
    { "rm -r .venv", "env.deleted:.venv:venv" },
    { "rm -r node_modules", "env.deleted:node_modules:node_modules" },
    { "find .venv -mindepth 1 -delete", "env.deleted:.venv:venv" },
    { "rm -r .venv; mkdir .venv", "env.deleted:.venv:venv" },
    { "rm -r node_modules; mkdir node_modules", "env.deleted:node_modules:node_modules" },
    { "rm -r node_modules/* node_modules/.[a-z]*", "env.deleted:node_modules:node_modules" },
    { "rm .venv/pyvenv.cfg", "env.deleted:.venv:venv" },
    { "rm -r .tox", "env.deleted:.tox/py:tox" },
    { "mv .venv /tmp/sandrun-moved-$$ && rm -r /tmp/sandrun-moved-$$", "env.deleted:.venv:venv" },
    /* renamed away: gone from where it was, and new where it is */
    { "mv .venv old", "env.deleted:.venv:venv env.created:old:venv" },
    /* rebuilt */
    { SAVE "rm -r .venv && cp -a " SAVED " .venv; rm -r " SAVED, "env.rebuilt:.venv:venv" },
    { SAVE "find .venv -mindepth 1 -delete; cp -a " SAVED "/. .venv; rm -r " SAVED,
      "env.rebuilt:.venv:venv" },
    { "rm -r .venv; mkdir .venv; printf 'home = /usr/bin\\nversion = 3.11.2\\n' > .venv/pyvenv.cfg",
      "env.rebuilt:.venv:venv" },
    { "rm -r .venv; mkdir .venv; : > .venv/pyvenv.cfg; echo n > .venv/new",
      "env.rebuilt:.venv:venv" },
    { "python3 -m venv --without-pip --clear .venv && sed -i 's/^version.*/version = 3.11.2/; "
      "s/^home.*/home = \\/usr\\/bin/' .venv/pyvenv.cfg",
      "env.rebuilt:.venv:venv" },
    { "rm -r node_modules/*; mkdir node_modules/a node_modules/b; echo a > "
      "node_modules/a/index.js; echo c > node_modules/b/index.js",
      "env.rebuilt:node_modules:node_modules" },
    { "rm -r .tox/py; mkdir -p .tox/py/lib; echo 1 > .tox/py/lib/x; printf 'home = "
      "/usr/bin\\nversion = 3.11.2\\n' > .tox/py/pyvenv.cfg",
      "env.rebuilt:.tox/py:tox" },
    /* replaced */
    { "rm -r .venv; ln -s /usr .venv", "env.replaced:.venv:venv" },
    { "rm -r .venv; echo file > .venv", "env.replaced:.venv:venv" },
    { "rm -r .venv; mkdir .venv; printf 'home = /opt\\nversion = 3.12.1\\n' > .venv/pyvenv.cfg",
      "env.replaced:.venv:venv" },
    { "sed -i 's/3.11.2/3.11.9/' .venv/pyvenv.cfg", "env.replaced:.venv:venv" },
    /* created */
    { "mkdir other; printf 'home = /usr/bin\\n' > other/pyvenv.cfg; mkdir other/bin; echo x > "
      "other/bin/y",
      "env.created:other:venv" },
    { "mkdir -p sub/node_modules/left-pad; echo x > sub/node_modules/left-pad/index.js",
      "env.created:sub/node_modules:node_modules" },
    { "mkdir -p .nox/tests; echo 'home = /x' > .nox/tests/pyvenv.cfg",
      "env.created:.nox/tests:nox" },
    /* changed */
    { "mkdir .venv/lib/python3.11/site-packages/three; echo x > "
      ".venv/lib/python3.11/site-packages/three/__init__.py",
      "env.changed:.venv:venv" },
    { "rm -r .venv/lib/python3.11/site-packages/two", "env.changed:.venv:venv" },
    { "echo changed > .venv/lib/python3.11/site-packages/pkg/m.py", "env.changed:.venv:venv" },
    { "chmod 600 .venv/bin/tool", "env.changed:.venv:venv" },
    { "ln -sf /usr/bin/true .venv/bin/python", "env.changed:.venv:venv" },
    { "mkdir node_modules/c; echo x > node_modules/c/index.js",
      "env.changed:node_modules:node_modules" },
    { "echo '# x' >> .venv/pyvenv.cfg", "env.changed:.venv:venv" },
    { "rm node_modules/a/index.js; mkdir -p .venv/lib/python3.11/site-packages/pkg/__pycache__; "
      "touch .venv/lib/python3.11/site-packages/pkg/__pycache__/x.pyc",
      "env.changed:node_modules:node_modules" },
};

static const char *const mounts[] = { "redirect_dir=on", "", "userxattr" };

Test(classify, a20_repairs_over_overlays)
{
    for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
        for (size_t k = 0; k < sizeof mounts / sizeof *mounts; k++) {
            struct rig r = rig_case(TREE, mounts[k], repairs[i].command);
            cleanup_free char *got = repairs_text(&r.set);
            cr_expect_str_eq(got, repairs[i].want, "%s [%s]\n got:  %s\n want: %s",
                             repairs[i].command, mounts[k], got, repairs[i].want);
            rig_down(&r);
        }
    }
}

/* As a direct run has it: only manifests of the tree, before and after. */
Test(classify, a20_repairs_from_manifests_alone)
{
    struct sr_snapshot_options so = { .content = true, .index_dirfd = -1 };
    for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
        struct rig r = rig_make(TREE);
        struct sr_manifest *before, *after;
        cr_assert_eq(sr_snapshot(r.lower_fd, &so, &before, &r.err), 0, "%s", r.err.text);
        rig_sh(&r, "lower", repairs[i].command);
        cr_assert_eq(sr_snapshot(r.lower_fd, &so, &after, &r.err), 0, "%s", r.err.text);
        cr_assert_eq(sr_manifest_diff(before, after, false, &r.set, &r.err), 0);
        struct sr_classify_options o = { .tree_fd = -1, .after_fd = r.lower_fd, .before = before };
        cr_assert_eq(sr_changes_classify(&r.set, &o, &r.err), 0);
        cleanup_free char *got = repairs_text(&r.set);
        bool digest_only =
            strstr(repairs[i].command, "# x") != NULL; /* which key changed is not in a manifest */
        const char *want = digest_only ? "env.replaced:.venv:venv" : repairs[i].want;
        /* anew with another identity: a manifest shows that it was made anew */
        if (strstr(repairs[i].command, "3.12.1"))
            want = "env.rebuilt:.venv:venv";
        cr_expect_str_eq(got, want, "%s\n got:  %s\n want: %s", repairs[i].command, got, want);
        sr_manifest_free(before);
        sr_manifest_free(after);
        rig_down(&r);
    }
}

/* Copy mode: a copy that the command wrote to, against the tree. */
Test(classify, a20_repairs_from_a_copy)
{
    for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
        struct rig r = rig_make(TREE);
        rig_sh(&r, ".", "rmdir upper && cp -a lower upper");
        cleanup_fd int after = openat(r.root_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct sr_snapshot_options so = { .content = false, .index_dirfd = -1 };
        struct sr_manifest *fresh;
        cr_assert_eq(sr_snapshot(after, &so, &fresh, &r.err), 0, "%s", r.err.text);
        rig_sh(&r, "upper", repairs[i].command);
        cr_assert_eq(sr_tree_compare(r.lower_fd, after, &r.set, &r.err), 0, "%s", r.err.text);
        cr_assert_eq(sr_tree_anew(fresh, after, &r.set, &r.err), 0, "%s", r.err.text);
        sr_manifest_free(fresh);
        struct sr_classify_options o = { .tree_fd = r.lower_fd, .after_fd = after };
        cr_assert_eq(sr_changes_classify(&r.set, &o, &r.err), 0);
        cleanup_free char *got = repairs_text(&r.set);
        cr_expect_str_eq(got, repairs[i].want, "%s\n got:  %s\n want: %s", repairs[i].command, got,
                         repairs[i].want);
        rig_down(&r);
    }
}

static const struct {
    const char *tree, *command, *want;
} special[] = {
    /* ruins: built again where something was left of one */
    { "mkdir -p .venv/lib/python3.11; echo x > .venv/lib/python3.11/y",
      "echo 'home = /x' > .venv/pyvenv.cfg", "env.rebuilt:.venv:venv" },
    { "mkdir .venv", "echo 'home = /x' > .venv/pyvenv.cfg", "env.created:.venv:venv" },
    { "mkdir node_modules", "mkdir node_modules/a; echo x > node_modules/a/index.js",
      "env.created:node_modules:node_modules" },
    { "mkdir node_modules", "rmdir node_modules", "env.deleted:node_modules:node_modules" },
    /* builds write where they build */
    { "mkdir -p target/debug; touch target/.rustc_info.json; echo 1 > target/debug/x",
      "echo 2 > target/debug/x; echo 3 > target/debug/y", "" },
    { "mkdir -p target/debug; touch target/.rustc_info.json; echo 1 > target/debug/x",
      "rm -r target/debug; mkdir target/debug; echo 3 > target/debug/y", "" },
    { "mkdir -p target/debug; touch target/.rustc_info.json; echo 1 > target/debug/x",
      "rm -r target", "env.deleted:target:cargo" },
    { "true", "mkdir -p target/debug; touch target/.rustc_info.json", "" },
    { "mkdir obj; echo '/a' > obj/project.assets.json", "echo x > obj/y", "" },
    { "mkdir obj; echo '/a' > obj/project.assets.json", "echo '/b' > obj/project.assets.json",
      "env.replaced:obj:dotnet" },
    /* an environment within a directory that goes */
    { "mkdir -p sub/.venv/lib; touch sub/.venv/pyvenv.cfg; echo x > sub/y", "rm -r sub",
      "env.deleted:sub/.venv:venv" },
    { "mkdir -p sub/.venv/lib; touch sub/.venv/pyvenv.cfg; echo x > sub/y", "mv sub bus",
      "env.created:bus/.venv:venv env.deleted:sub/.venv:venv" },
    /* a venv made of the tree itself, which clears everything that lay there */
    { "mkdir src; echo s > src/main.py",
      "rm -r src; mkdir bin lib; echo 'home = /x' > pyvenv.cfg; echo x > bin/y",
      "env.created:.:venv" },
    { "mkdir src bin; echo s > src/main.py; echo 'home = /x' > pyvenv.cfg; echo x > bin/y",
      "echo t > src/main.py", "" },
    /* the store that node_modules was linked from moved */
    { "mkdir -p node_modules/a; echo 'storeDir: /one' > node_modules/.modules.yaml; echo x > "
      "node_modules/a/i.js",
      "echo 'storeDir: /two' > node_modules/.modules.yaml",
      "env.replaced:node_modules:node_modules" },
    /* environments that are links: removed, led elsewhere, made into something of the command's own
     */
    { "ln -s /opt/e .venv", "rm .venv", "env.deleted:.venv:venv" },
    { "ln -s /opt/e .venv", "ln -sfn /opt/f .venv", "env.replaced:.venv:venv" },
    { "ln -s /opt/e .venv", "rm .venv; mkdir .venv; echo 'home = /x' > .venv/pyvenv.cfg",
      "env.replaced:.venv:venv" },
    { "ln -s /opt/e .venv", "rm .venv; mkdir .venv", "env.replaced:.venv:venv" },
    { "ln -s /opt/e .venv", "rm .venv; echo x > .venv", "env.replaced:.venv:venv" },
    { "ln -s /opt/e .venv", "mv .venv old", "env.deleted:.venv:venv" },
    { "ln -s /opt/e .venv", "rm .venv; ln -s /opt/e .venv", "" },
    { "mkdir -p a/b; ln -s /opt/e a/b/node_modules", "rm a/b/node_modules",
      "env.deleted:a/b/node_modules:node_modules" },
    { "mkdir a; ln -s /opt/e a/node_modules", "rm -r a",
      "env.deleted:a/node_modules:node_modules" },
    { "mkdir vendor .tox; ln -s /opt/e vendor/bundle; ln -s /opt/f .tox/py",
      "ln -sfn x vendor/bundle; rm .tox/py",
      "env.deleted:.tox/py:tox env.replaced:vendor/bundle:bundler" },
    { "ln -s /opt/e .tox", "rm .tox", "env.deleted:.tox:tox" },
    /* and what only looks like one */
    { "ln -s settings env; ln -s x target; ln -s x .tox-old", "rm env target .tox-old", "" },
    { "echo x > node_modules", "rm node_modules", "" },
    /* a module may be bytecode alone; beside its source it is a cache */
    { "mkdir v; touch v/pyvenv.cfg v/a.py", "echo x > v/evil.pyc", "env.changed:v:venv" },
    { "mkdir v; touch v/pyvenv.cfg v/a.pyc", "echo x > v/a.pyc", "env.changed:v:venv" },
    { "mkdir v; touch v/pyvenv.cfg v/a.pyo", "rm v/a.pyo", "env.changed:v:venv" },
    { "mkdir v; touch v/pyvenv.cfg v/a.py v/b.py v/b.pyc", "echo x > v/a.pyc; rm v/b.pyc", "" },
    { "mkdir v; touch v/pyvenv.cfg v/a.py v/a.pyc", "rm v/a.py; echo x > v/a.pyc",
      "env.changed:v:venv" },
    /* made where a tool's cache would lie */
    { "mkdir .venv; touch .venv/pyvenv.cfg .venv/a", "mkdir -p .venv/.mypy_cache/v/bin; touch .venv/.mypy_cache/v/pyvenv.cfg",
      "env.created:.venv/.mypy_cache/v:venv" },
    { "mkdir -p node_modules/a; touch node_modules/a/i.js",
      "mkdir -p node_modules/.cache/v; touch node_modules/.cache/v/pyvenv.cfg",
      "env.created:node_modules/.cache/v:venv" },
    { "mkdir -p node_modules/a; touch node_modules/a/i.js",
      "mkdir -p node_modules/.cache/node_modules/x; touch node_modules/.cache/node_modules/x/i.js",
      "env.created:node_modules/.cache/node_modules:node_modules" },
    { "mkdir -p node_modules/a; touch node_modules/a/i.js",
      "mkdir -p node_modules/.cache/babel; touch node_modules/.cache/babel/i.json", "" },
    { "true", "mkdir -p __pycache__/v; touch __pycache__/v/pyvenv.cfg", "env.created:__pycache__/v:venv" },
    { "mkdir .eggs; touch .eggs/README.txt", "mkdir .eggs/x.egg; touch .eggs/x.egg/i.py", "env.created:.eggs:eggs" },
    /* names that sort between a directory and what is below it */
    { "mkdir -p v v-x; touch v/pyvenv.cfg v-x/pyvenv.cfg; echo 1 > v/f; echo 1 > v-x/f; echo 1 > "
      "v.y",
      "echo 2 > v/f; echo 2 > v-x/f; echo 2 > v.y", "env.changed:v:venv env.changed:v-x:venv" },
};

Test(classify, a20_special_cases)
{
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        struct rig r = rig_case(special[i].tree, "redirect_dir=on", special[i].command);
        cleanup_free char *got = repairs_text(&r.set);
        cr_expect_str_eq(got, special[i].want, "%s\n got:  %s\n want: %s", special[i].command, got,
                         special[i].want);
        rig_down(&r);
    }
}

Test(classify, a22_a_repair_counts_the_files_lost)
{
    struct rig r = rig_case(TREE, "", "rm -r .venv");
    cr_assert_eq(r.set.n_repairs, 1);
    cr_assert_eq(r.set.repairs[0].lost, 11);
    cr_assert_eq(r.set.repairs[0].added, 0);
    cr_assert_eq(r.set.repairs[0].examples.n, 8);
    cr_assert_eq(strncmp(r.set.repairs[0].examples.v[0], ".venv/", 6), 0);
    rig_down(&r);
}

Test(classify, a20_an_environment_in_home)
{
    struct rig r = rig_make("true");
    rig_sh(&r, "upper",
           "mkdir -p .cache/pypoetry/virtualenvs/x-py3.11/bin; echo 'home = /x' > "
           ".cache/pypoetry/virtualenvs/x-py3.11/pyvenv.cfg;"
           "mkdir -p .npm/_cacache; echo x > .npm/_cacache/y; echo h > .python_history");
    cr_assert_eq(sr_tree_added(r.upper_fd, true, NULL, &r.set, &r.err), 0);
    rig_classify(&r);
    cleanup_free char *got = repairs_text(&r.set);
    cr_assert_str_eq(got, "env.created:~/.cache/pypoetry/virtualenvs/x-py3.11:venv");
    cr_assert_eq(change_at(&r.set, ".npm/_cacache/y")->cls, SR_CLASS_CACHE);
    rig_down(&r);
}

/* Whatever fills the list, environments are told; and what is lost is said. */
Test(classify, a20_a_flood_hides_no_environment)
{
    struct sr_entry_state file = { .mode = 0100644 };
    struct rig r = rig_make("mkdir -p .venv/bin; touch .venv/pyvenv.cfg; echo x > .venv/bin/python");
    for (size_t i = 0; i < SR_CHANGES_MAX + 10; i++)
        sr_set_add(&r.set, sr_asprintf("f%zu", i), false, NULL, &file, NULL);
    cr_assert(r.set.overflow);
    cr_assert_eq(r.set.n, SR_CHANGES_MAX);
    sr_set_add(&r.set, sr_strdup(".venv/bin/python"), false, &file, NULL, NULL);
    sr_set_add(&r.set, sr_strdup(".venv/pyvenv.cfg"), false, &file, NULL, NULL);
    rig_classify(&r);
    cleanup_free char *got = repairs_text(&r.set);
    cr_assert_str_eq(got, "env.deleted:.venv:venv");
    cr_assert_eq(r.set.total, SR_CHANGES_MAX + 12);
    rig_down(&r);
}

Test(classify, what_has_no_room_is_an_overflow_and_never_silent)
{
    struct sr_changeset set = { 0 };
    struct sr_entry_state file = { .mode = 0100644 };
    char *path = sr_calloc(1, 1 << 20);
    memset(path, 'a', (1 << 20) - 1);
    size_t n = SR_SET_BYTES_MAX >> 20;
    for (size_t i = 0; i < n; i++)
        sr_set_add(&set, sr_strdup(path), false, NULL, &file, NULL);
    cr_assert_not(set.overflow);
    sr_set_add(&set, sr_strdup(path), false, NULL, &file, NULL);
    cr_assert(set.overflow);
    cr_assert_eq(set.n, n);
    sr_changeset_clear(&set);
    for (size_t i = 0; i < SR_MARKS_MAX; i++)
        cr_assert_eq(sr_set_mark(&set, "d", false, SR_MARK_ANEW), i);
    cr_assert_not(set.overflow);
    cr_assert_eq(sr_set_mark(&set, "d", false, SR_MARK_ANEW), SR_NO_MARK);
    cr_assert(set.overflow);
    sr_changeset_clear(&set);
    free(path);
}

Test(classify, more_repairs_than_a_record_holds_are_an_overflow)
{
    struct rig r = rig_case("true", "", "python3 -c \"import os\nfor i in range(4100):\n "
                            "os.makedirs('%d/node_modules/x' % i); open('%d/node_modules/x/i.js' % i, 'w')\"");
    cr_assert_eq(r.set.n_repairs, SR_REPAIRS_MAX);
    cr_assert(r.set.overflow);
    rig_down(&r);
}

static const struct {
    const char *command, *path;
    enum sr_change_class want;
} classes[] = {
    { "echo x > new.py", "new.py", SR_CLASS_SOURCE_UNTRACKED },
    { "echo x > src/tracked.py", "src/tracked.py", SR_CLASS_SOURCE_TRACKED },
    { "rm src/tracked.py", "src/tracked.py", SR_CLASS_SOURCE_TRACKED },
    { "echo lock > poetry.lock", "poetry.lock", SR_CLASS_SOURCE_TRACKED },
    { "mkdir __pycache__; echo x > __pycache__/a.pyc", "__pycache__/a.pyc", SR_CLASS_CACHE },
    { "echo x > a.pyc", "a.pyc", SR_CLASS_SOURCE_UNTRACKED },
    { "echo x > src/tracked.pyc", "src/tracked.pyc", SR_CLASS_CACHE },
    { "echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit", SR_CLASS_GIT_HOOKS },
    { "mkdir -p sub/.git; echo x > sub/.git/config", "sub/.git/config", SR_CLASS_GIT_CONFIG },
    { "echo x > .git/config", ".git/config", SR_CLASS_GIT_CONFIG },
    { "mkdir sub; echo 'gitdir: ../x' > sub/.git", "sub/.git", SR_CLASS_GIT_CONFIG },
    { "git tag v1", ".git/refs/tags/v1", SR_CLASS_GIT_REFS },
    { "git branch node_modules/x", ".git/refs/heads/node_modules/x", SR_CLASS_GIT_REFS },
    { "echo y > .git/COMMIT_EDITMSG", ".git/COMMIT_EDITMSG", SR_CLASS_GIT_INTERNAL },
    { "git rm -q --cached poetry.lock && git pack-refs --all", ".git/packed-refs",
      SR_CLASS_GIT_REFS },
    { "touch -d 2001-01-01 src/tracked.py; git status > /dev/null", ".git/index", SR_CLASS_CACHE },
    { "echo more >> src/tracked.py; git add -A", ".git/index", SR_CLASS_GIT_INDEX },
    { "echo x > .envrc", ".envrc", SR_CLASS_DEFERRED },
    { "mkdir -p a/.vscode; echo x > a/.vscode/tasks.json", "a/.vscode/tasks.json",
      SR_CLASS_DEFERRED },
    { "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml", ".github/workflows/ci.yml",
      SR_CLASS_DEFERRED },
    { "echo x > src/conftest.py", "src/conftest.py", SR_CLASS_DEFERRED },
    { "echo x > evil.pth", "evil.pth", SR_CLASS_DEFERRED },
    { "echo x > Makefile", "Makefile", SR_CLASS_SOURCE_UNTRACKED },
    { "ln -s /etc/passwd l", "l", SR_CLASS_ESCAPE },
    { "ln -s ../x l", "l", SR_CLASS_ESCAPE },
    { "ln -s ../../x src/l", "src/l", SR_CLASS_ESCAPE },
    { "ln -s ../x src/l", "src/l", SR_CLASS_SOURCE_UNTRACKED },
    { "ln -s src m; ln -s m/../../x l", "l", SR_CLASS_ESCAPE },
    { "ln -s src l", "l", SR_CLASS_SOURCE_UNTRACKED },
};

Test(classify, a23_classes)
{
    static const char tree[] = "git -c init.defaultBranch=main init -q . && mkdir src && echo t > "
                               "src/tracked.py && echo l > poetry.lock && git add -A && "
                               "git -c user.name=n -c user.email=e commit -q -m x";
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct rig r = rig_case(tree, "", classes[i].command);
        const struct sr_change *c = change_at(&r.set, classes[i].path);
        cr_assert_not_null(c, "%s", classes[i].command);
        cr_expect_eq(c->cls, classes[i].want, "%s: %s", classes[i].command,
                     sr_change_class_name(c->cls));
        cr_expect_eq(r.set.n_repairs, 0);
        rig_down(&r);
    }
}

Test(classify, a_repository_that_cannot_be_read_is_said_and_is_no_failure)
{
    struct rig r = rig_case("mkdir -p .git/objects .git/refs; echo 'ref: refs/heads/main' > "
                            ".git/HEAD; echo garbage > .git/index",
                            "", "echo x > f");
    cr_assert_eq(change_at(&r.set, "f")->cls, SR_CLASS_SOURCE_UNTRACKED);
    cr_assert_eq(strncmp(r.set.tracking, "git.", 4), 0, "%s", r.set.tracking);
    rig_down(&r);
}

Test(classify, an_absolute_link_into_the_tree_does_not_leave_it)
{
    struct rig r = rig_make("mkdir src");
    cleanup_free char *script =
        sr_asprintf("ln -s %s/lower/src in; ln -s %s/lower/../x out; ln -s %s/lower-x near", r.dir,
                    r.dir, r.dir);
    rig_run(&r, "", script);
    rig_read(&r);
    rig_classify(&r);
    cr_assert_eq(change_at(&r.set, "in")->cls, SR_CLASS_SOURCE_UNTRACKED);
    cr_assert_eq(change_at(&r.set, "out")->cls, SR_CLASS_ESCAPE);
    cr_assert_eq(change_at(&r.set, "near")->cls, SR_CLASS_ESCAPE);
    rig_down(&r);
}

Test(classify, json_spells_everything_safely)
{
    struct rig r = rig_case(TREE, "", "rm -r .venv; echo x > \"$(printf 'bad\\377\\033[31m')\"");
    cJSON *j = sr_changeset_json(&r.set);
    cleanup_free char *text = sr_json_compact(j);
    cr_assert_not_null(strstr(text, "\"by_class\":{\"env.deleted\":"));
    cr_assert_not_null(strstr(text, "\"ecosystem\":\"venv\""));
    cr_assert_null(strchr(text, 033));
    cr_assert_null(strchr(text, 0377));
    cr_assert_eq((size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(j, "list")), r.set.n);
    cJSON_Delete(j);
    rig_down(&r);
}

Test(classify, an_unchanged_upper_asks_nothing)
{
    struct rig r = rig_make("true");
    struct sr_classify_options o = { .tree_fd = -1, .after_fd = -1, .tree = "/nonexistent" };
    rig_read(&r);
    cr_assert_eq(sr_changes_classify(&r.set, &o, &r.err), 0);
    cr_assert_eq(r.set.total, 0);
    cr_assert_eq(r.set.tracking[0], '\0');
    rig_down(&r);
}
