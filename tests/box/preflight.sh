#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Preflight: acceptance 27 and 28.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minor=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
patch=$(/usr/bin/python3 -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
site=.venv/lib/python$minor/site-packages

with_venv() {
    project p
    echo .venv/ >p/.gitignore
    /usr/bin/python3 -m venv --without-pip p/.venv
    mkdir -p "p/$site/installed"
    echo 'def main(): print("tool ran")' >"p/$site/installed/__init__.py"
    printf '#!%s/p/.venv/bin/python3\nimport installed\ninstalled.main()\n' "$PWD" >p/.venv/bin/tool
    chmod 755 p/.venv/bin/tool
    sh_binding p Mark "touch '$PWD/mark' && .venv/bin/tool || .venv/bin/tool"
}

# An ELF file of another machine, or for another loader, made by hand: 64-bit little endian, one PT_INTERP.
elf() { # elf FILE MACHINE INTERPRETER
    $PY - "$@" <<'PY'
import struct, sys
path, machine, interp = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode() + b'\0'
header = b'\x7fELF\2\1\1' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 3, machine, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
program = struct.pack('<IIQQQQQQ', 3, 4, 120, 120, 120, len(interp), len(interp), 1)
open(path, 'wb').write(header + program + interp)
PY
    chmod 755 "$1"
}

healthy() {
    with_venv
    untouched "$PWD/p" run 0 check --tree p --json Mark
    is "findings" "$(json findings)" "[]"
    binding p Tool '[".venv/bin/tool"]'
    run 0 run --staged --tree p Tool
    is "output" "$out" "tool ran"
    is "findings" "$(record preflight.findings)" "[]"
}
t "a27 a healthy environment: nothing found (the control of all that follow)" healthy

broken() { # broken CODE PATH-PATTERN SCRIPT-ON-THE-HOST
    with_venv
    (cd p && eval "$3") || fail "making it broken"
    untouched "$PWD/p" run 121 run --staged --tree p Mark
    verdict errored env.mismatch 121
    is "decided" "$(record decided)" false
    lacks "nothing ran" "$out" 'tool ran'
    absent mark
    matches "code of a finding" "$(record 'preflight.findings.*.code')" "^env\\.mismatch\\.($1)$"
    matches "path of a finding" "$(record 'preflight.findings.*.path')" "$2"
    isnt "one side" "$(record preflight.findings.0.expected)" ""
    isnt "other side" "$(record preflight.findings.0.found)" ""
    matches "stderr has one side" "$err" '^    expected: .'
    matches "and the other" "$err" '^    found: .'
    matches "stderr has the remedy" "$err" 'do: .'
    run 121 check --tree p Mark
}
t "a27 a dangling interpreter" broken interpreter_missing '\.venv/bin/python' 'ln -sf /usr/bin/python9.9 .venv/bin/python3'
t "a27 an interpreter link through a missing alias" broken interpreter_missing '\.venv/bin/python' \
    'ln -sf /opt/pythons/3.11/bin/python3 .venv/bin/python3'
t "a27 another minor version" broken interpreter_minor '\.venv' \
    "mv .venv/lib/python$minor .venv/lib/python3.4 && sed -i 's/^version.*/version = 3.4.1/' .venv/pyvenv.cfg"
t "a27 another patch version than pyvenv.cfg names" broken interpreter_patch '\.venv' \
    "sed -i 's/^version.*/version = $minor.99/' .venv/pyvenv.cfg"
t "a27 a console script whose first line leads nowhere" broken 'shebang|moved' '\.venv/bin' \
    "sed -i '1s:.*:#!/usr/nowhere/bin/python3:' .venv/bin/tool"
t "a27 an environment moved from another place" broken 'moved|shebang' '\.venv' \
    "sed -i '1s:.*:#!/usr/src/other-checkout/.venv/bin/python3:' .venv/bin/tool && printf '%s\n' '#!/usr/src/other-checkout/.venv/bin/python3' >.venv/bin/tool2 && chmod +x .venv/bin/tool2"
t "a27 an environment without pyvenv.cfg" broken incomplete '\.venv' 'rm .venv/pyvenv.cfg'
t "a27 an extension module for another machine" broken arch "installed/native" "elf '$site/installed/native.cpython-311-aarch64-linux-gnu.so' 8 /lib/ld.so.1"
t "a27 a program for another libc" broken libc '\.venv/bin/prog' 'elf .venv/bin/prog 62 /lib/ld-musl-x86_64.so.1'
t "a27 a native node module for another machine" broken arch 'node_modules' \
    'mkdir -p node_modules/x/build/Release && echo "{}" >node_modules/x/package.json && elf node_modules/x/build/Release/x.node 8 /lib/ld.so.1'

# Links out of the tree: installs that several working trees share.
linked() { # linked NAME CODE
    project p
    mkdir -p "shared/left-pad" "p/$(dirname "$1")"
    echo 'module.exports = 1' >shared/left-pad/index.js
    echo "/$1" >p/.gitignore
    ln -s "$PWD/shared" "p/$1"
    sh_binding p Use "cat '$1/left-pad/index.js'"
    untouched "$PWD/p" run 121 run --tree p Use
    verdict errored env.mismatch 121
    is "one finding" "$(record 'preflight.findings.*.path')" "$1"
    is "code" "$(record preflight.findings.0.code)" "$2"
    matches "both sides" "$(record preflight.findings.0.expected) $(record preflight.findings.0.found)" " -> .*shared no .*shared"
    run 121 check --tree p Use
    # what the remedy says is what helps
    local mounts
    mounts=$(record preflight.findings.0.remedy | grep -o '"mounts": .*')
    sh_binding p Use "cat '$1/left-pad/index.js'" "{$mounts}"
    run 0 run --tree p Use
    is "output" "$out" "module.exports = 1"
}
t "a27 node_modules that is a link out of the tree" linked node_modules env.mismatch.incomplete
t "a27 vendor/bundle that is a link out of the tree" linked vendor/bundle env.mismatch.incomplete

report() {
    with_venv
    sed -i "s/^version.*/version = $minor.99/" p/.venv/pyvenv.cfg
    binding p Tool '[".venv/bin/tool"]' '{"on_mismatch": "report"}'
    run 0 run --staged --tree p Tool
    is "it ran" "$out" "tool ran"
    verdict passed command.success 0
    is "and the finding is in the record" "$(record preflight.findings.0.code)" env.mismatch.interpreter_patch
}
t "a27 on_mismatch report: run, findings recorded" report

both_versions() {
    with_venv
    sed -i "s/^version.*/version = $minor.99/" p/.venv/pyvenv.cfg
    run 121 run --tree p Mark
    matches "stderr" "$err" "$minor\\.99"
    matches "stderr" "$err" "${patch//./\\.}"
}
t "a27 both versions are printed" both_versions

by_name() {
    with_venv
    binding p Tool '[".venv/bin/tool"]'
    run 0 run --staged --tree p Tool
    is "output" "$out" "tool ran"
    binding p Path '["tool"]' "{\"env\": {\"set\": {\"PATH\": \"$PWD/p/.venv/bin:/usr/bin:/bin\"}}}"
    run 0 run --staged --tree p Path
    is "output" "$out" "tool ran"
    sh_binding p Where 'pwd'
    run 0 run --staged --tree p Where
    is "the path inside is the path outside" "$out" "$PWD/p"
}
t "a28 console scripts of the tree's own environment run by name" by_name
summary
