# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of real tools share. Each tool has its healthy control, which must pass inside and leave the record without
# a repair, and its repair, which must be errored env.repaired whatever the tool's own exit was, with the host tree untouched.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../box/lib.sh"
unset PYENV_ROOT NODE_OPTIONS

tool() { # tool NAME: it is there, or the test fails; nothing is skipped
    command -v "$1" >/dev/null || fail "$1 is not installed: scripts/deps test"
}
# The whole tree without git's own directory: binding() commits between the runs.
healthy() { # healthy DIR NAME [OUTPUT-PATTERN]
    SR_TIMEOUT=100 untouched "$PWD/$1" run 0 run --staged --tree "$1" "$2"
    verdict passed command.success 0
    is "repairs of the healthy run" "$(record changes.repairs)" "[]"
    [ -z "${3:-}" ] || matches "output" "$out" "$3"
}
repaired() { # repaired DIR NAME CLASS PATH-PATTERN
    SR_TIMEOUT=100 untouched "$PWD/$1" run 121 run --staged --tree "$1" "$2"
    verdict errored env.repaired 121
    is "decided" "$(record decided)" false
    matches "class" "$(record 'changes.repairs.*.class')" "$3"
    matches "path" "$(record 'changes.repairs.*.path')" "$4"
}
# mismatch DIR NAME: the default, before anything runs.
mismatch() {
    SR_TIMEOUT=100 untouched "$PWD/$1" run 121 run --staged --tree "$1" "$2"
    verdict errored env.mismatch 121
}
# An interpreter that was there when the environment was built and is gone here.
dangle() { # dangle ENVIRONMENT
    local link=$1/bin/python
    [ -L "$link" ] && [ "$(readlink "$link")" != python3 ] || link=$1/bin/python3
    ln -sfn /usr/local/bin/python3.11.16 "$link"
}
report='{"on_mismatch": "report", "limits": {"wall": "90s"}}'
