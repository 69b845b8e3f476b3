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
summary
