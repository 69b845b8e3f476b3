#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# npm, which empties node_modules before it knows whether it can fill it again.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

npm_project() {
    tool npm
    project p
    mkdir dep
    echo '{"name": "dep", "version": "1.0.0", "main": "i.js"}' >dep/package.json
    echo 'module.exports = 41' >dep/i.js
    (cd dep && npm pack -s --pack-destination ../p) >/dev/null || fail "npm pack"
    echo '{"name": "app", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {"dep": "file:dep-1.0.0.tgz"}}' >p/package.json
    echo 'if (require("dep") !== 41) process.exit(1); console.log("node test ran")' >p/test.js
    echo node_modules/ >p/.gitignore
    (cd p && npm install --offline --no-audit --no-fund -s) || fail "npm install on the host"
    commit p
}
npm_healthy() {
    npm_project
    binding p Test '["npm", "test", "--silent"]'
    healthy p Test 'node test ran'
}
t "a18 npm test with whole node_modules passes" npm_healthy

npm_ci_rebuilds() {
    npm_project
    binding p Ci '["npm", "ci", "--offline", "--no-audit", "--no-fund"]' "$report"
    repaired p Ci 'env\.rebuilt' 'node_modules'
}
t "a18 npm ci from local tarballs rebuilds node_modules, rc 0" npm_ci_rebuilds

npm_ci_empties() {
    npm_project
    mkdir -p p/node_modules/far
    echo '{"name": "far", "version": "1.0.0", "main": "i.js"}' >p/node_modules/far/package.json
    $PY - p <<'PY'
import json, sys
for name in ('package.json', 'package-lock.json'):
    path = f'{sys.argv[1]}/{name}'
    d = json.load(open(path))
    d.get('packages', {}).get('', d)['dependencies']['far'] = '1.0.0'
    d['dependencies' if 'packages' not in d else 'x'] = d.get('dependencies', {})
    d.pop('x', None)
    if 'packages' in d:
        d['packages']['node_modules/far'] = {'version': '1.0.0', 'resolved': 'https://registry.invalid/far/-/far-1.0.0.tgz',
                                             'integrity': 'sha512-' + 'A' * 86 + '=='}
    json.dump(d, open(path, 'w'))
PY
    commit p
    binding p Ci '["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=0"]' "$report"
    repaired p Ci 'env\.(deleted|rebuilt|changed)' 'node_modules'
    present p/node_modules/dep/i.js
    present p/node_modules/far/package.json
    binding p Test '["npm", "test", "--silent"]'
    healthy p Test 'node test ran'
}
t "a18 npm ci offline empties a good node_modules and fails: not a failing test" npm_ci_empties

npm_install() {
    npm_project
    rm -rf p/node_modules
    binding p Install '["npm", "install", "--offline", "--no-audit", "--no-fund"]' "$report"
    repaired p Install 'env\.created' 'node_modules'
}
t "a20 npm install makes node_modules where none were: no pass" npm_install

# lint-staged stashes, applies, adds and commits while it works. From the registry, into a project of its own.
lint_staged() {
    tool npm
    project p
    printf '/node_modules/\n' >p/.gitignore
    echo '{"name": "app", "version": "1.0.0", "lint-staged": {"*.js": "node format.mjs"}}' >p/package.json
    cat >p/format.mjs <<'JS'
import fs from "node:fs";
for (const f of process.argv.slice(2)) fs.writeFileSync(f, fs.readFileSync(f, "utf8").replace(/ *= */g, " = "));
JS
    echo 'x = 0' >p/a.js
    echo 'y = 0' >p/b.js
    (cd p && npm install --no-save --no-audit --no-fund -s lint-staged@15.5.2) || fail "npm install lint-staged"
    printf '#!/bin/sh\nexec node_modules/.bin/lint-staged\n' >p/.git/hooks/pre-commit
    chmod 755 p/.git/hooks/pre-commit
    git -C p add -A && git -C p commit -qnm files
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null
    sh_binding p Lint 'node_modules/.bin/lint-staged && cat a.js b.js && git diff --cached && git stash list'
    sh_binding p Commit 'git commit -qm formatted && git show HEAD:a.js && cat a.js b.js && git status --short'
    unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
    # A staged file that the formatter changes, edited again since, and an edit that is not staged.
    echo 'x=1' >p/a.js
    git -C p add a.js
    printf 'x=1\nx=2\n' >p/a.js
    echo 'y=1' >p/b.js
}
lint_staged_runs() {
    lint_staged
    healthy p Lint
    matches "the staged version is formatted" "$out" '^\+x = 1$'
    lacks "what is not staged is left alone" "$out" 'y = 1'
    matches "what is not staged is left alone" "$out" '^x=2$'
    lacks "no stash is left" "$out" 'stash@'
    is "the index" "$(class_of .git/index)" "git.index tree"
    matches "classes" "$(classes)" 'git\.internal git\.objects source\.tracked'
    is "the index on the host" "$(git -C p show :a.js)" 'x=1'
}
t "g20 lint-staged: stashes, formats and adds, and the host's index is what it was" lint_staged_runs

lint_staged_commits() {
    lint_staged
    healthy p Commit
    matches "the commit is formatted" "$out" '^x = 1$'
    matches "what was not staged is still there" "$out" '^y=1$'
    is "HEAD moved inside alone" "$(git -C p log --format=%s -1)" change
    is "HEAD inside" "$(class_of .git/logs/HEAD)" "git.refs tree"
}
t "g20 git commit with lint-staged as its hook" lint_staged_commits
summary
