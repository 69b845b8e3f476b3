# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The harness of the black-box tests. A test file sources it, defines functions, names them with `t`, ends with `summary`:
#
#     t "a01 what must be true" function_name
#
# Each function runs in a subshell, in a directory of its own ($PWD) that is removed afterwards, with a state root and a
# HOME that belong to the file. The first failed assertion ends the test; it says what was expected and what was seen.
# Nothing is ever skipped: what cannot run here fails.

set -uo pipefail
export LC_ALL=C.UTF-8 TZ=UTC
unset CDPATH GIT_DIR GIT_WORK_TREE VIRTUAL_ENV PYTHONPATH PYTHONHOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME
umask 022

lib_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$lib_dir/../.." && pwd)
# The distribution's tools, not a version manager's shims: those stand in homes that no check can see.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
PY="/usr/bin/python3 -B"

test_file=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/sandrun-box-$test_file.XXXXXX") || exit 1
work=$(cd "$work" && pwd -P)
chmod 755 "$work"
mkdir -p "$work/home" "$work/bin"
export HOME=$work/home XDG_STATE_HOME=$work/state
# A copy: the checkout may stand where an ordinary user cannot look.

install -m 755 "${SANDRUN:-$top/build/sandrun}" "$work/bin/sandrun" || exit 1
SANDRUN=$work/bin/sandrun

git config --global user.name tester
git config --global user.email tester@example.invalid
git config --global init.defaultBranch main
git config --global advice.detachedHead false
git config --global gc.auto 0

passed=0
failed=0

# Removal that copes with read-only directories of tests.
scrub() {
    [ ! -e "$1" ] || { chmod -R u+rwX "$1" 2>/dev/null; rm -rf -- "$1"; }
}
# shellcheck disable=SC2317
box_end() {
    local status=$?
    cd / || true
    scrub "$work"
    exit $status
}
trap box_end EXIT
trap 'exit 143' INT TERM HUP

t() { # t NAME FUNCTION [ARGS...]
    local name=$1 status dir p
    shift
    dir=$(mktemp -d "$work/t.XXXXXX") && chmod 755 "$dir"
    (
        set -uo pipefail
        trap - EXIT
        cd "$dir" || exit 99
        "$@"
    ) >"$work/log" 2>&1 </dev/null
    status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
        printf 'ok   %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'FAIL %s (exit %d)\n' "$name" "$status"
        # A test that ended in its middle may have left its own runs behind: they are not the next test's fault.
        for p in $(own_processes); do kill -KILL "$p" 2>/dev/null; done
        tail -n "${BOX_LINES:-40}" "$work/log" | cut -c 1-600 | sed 's/^/     /'
    fi
    scrub "$dir"
}

summary() {
    # Whatever a run made must be gone when the file ends: one more test of every file.
    t "a37 nothing is left behind by $test_file" no_leftovers
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

# ---- assertions: each ends the test ----

fail() {
    printf '%s\n' "$@"
    show_last
    exit 1
}
show_last() {
    [ ! -s "${last_err:-}" ] || { echo "-- stderr:"; head -c 1500 "$last_err"; }
    [ ! -s "${last_out:-}" ] || { echo "-- stdout:"; head -c 1500 "$last_out"; }
    local r
    r=$(newest_record) && [ -n "$r" ] && {
        echo "-- record: $(for k in status reason decided exit; do printf '%s=%s ' $k "$($PY "$top/tests/lib/field.py" "$r" $k)"; done)"
    }
}
is() { # is WHAT SEEN EXPECTED
    [ "$2" = "$3" ] || fail "$1" "  expected: $3" "  seen:     $2"
}
isnt() { # isnt WHAT SEEN NOT-EXPECTED
    [ "$2" != "$3" ] || fail "$1" "  seen, and must not be: $2"
}
matches() { # matches WHAT TEXT EXTENDED-REGEX
    grep -qE -- "$3" <<<"$2" || fail "$1" "  expected a match of: $3" "  seen: $2"
}
lacks() { # lacks WHAT TEXT EXTENDED-REGEX
    ! grep -qE -- "$3" <<<"$2" || fail "$1" "  expected no match of: $3" "  seen: $2"
}
absent() {
    [ ! -e "$1" ] && [ ! -L "$1" ] || fail "$1 exists and must not"
}
present() {
    [ -e "$1" ] || fail "$1 does not exist"
}
below() { # below WHAT NUMBER LIMIT
    [ "$2" -lt "$3" ] || fail "$1" "  expected below: $3" "  seen: $2"
}

# ---- running sandrun ----

# sr ARGS...: exit status in $rc, output in $out and $err. A run that hangs is killed and seen as 137.
sr() {
    last_out=$work/stdout last_err=$work/stderr
    timeout -s KILL "${SR_TIMEOUT:-60}" "$SANDRUN" "$@" >"$last_out" 2>"$last_err"
    rc=$?
    # shellcheck disable=SC2034
    out=$(tr -d '\0' <"$last_out")
    # shellcheck disable=SC2034
    err=$(tr -d '\0' <"$last_err")
}
# A sanitizer's finding is never an expected exit.
run() { # run EXIT ARGS...: sr, and its exit must be EXIT
    local want=$1
    shift
    sr "$@"
    is "exit of: sandrun $*" "$rc" "$want"
}

newest_record() {
    local newest
    newest=$(ls -1 "$XDG_STATE_HOME/sandrun/runs" 2>/dev/null | LC_ALL=C sort | tail -n 1)
    [ -n "$newest" ] && [ -f "$XDG_STATE_HOME/sandrun/runs/$newest/record.json" ] &&
        printf '%s\n' "$XDG_STATE_HOME/sandrun/runs/$newest/record.json"
}
record() { # record PATH: of the newest run
    local file
    file=$(newest_record) || { echo "(no record)"; return 1; }
    $PY "$top/tests/lib/field.py" "$file" "$1"
}
verdict() { # verdict STATUS REASON [EXIT]: of the newest record and of the last sr
    is "status" "$(record status)" "$1"
    matches "reason" "$(record reason)" "^$2\$"
    is "record's exit is the exit" "$(record exit)" "$rc"
    [ -z "${3:-}" ] || is "exit" "$rc" "$3"
}
json() { # json PATH: of the last sr's stdout
    $PY "$top/tests/lib/field.py" "$last_out" "$1"
}

# ---- projects ----

# project DIR: an empty git repository with a first commit.
project() {
    mkdir -p -- "$1"
    git -C "$1" init -q
    printf 'hello\n' >"$1/README"
    git -C "$1" add -A
    git -C "$1" commit -qm "first"
}
# binding DIR NAME COMMAND-JSON [MEMBERS-JSON]: declares it, pins the host for it, commits.
binding() {
    local dir=$1 name=$2 command=$3 more=${4:-"{}"}
    $PY "$top/tests/lib/binding.py" "$dir/sandrun.json" "$name" "{\"command\": $command, \"executes\": true}" || fail "binding.py"
    $PY "$top/tests/lib/binding.py" "$dir/sandrun.json" "$name" "$more" merge || fail "binding.py"
    pin "$dir" "$name"
    commit "$dir"
}
pin() { # pin DIR NAME
    local digest
    digest=$(cd -- "$1" && "$SANDRUN" image pin --host "$2" --json 2>"$work/stderr" |
        $PY -c 'import json,sys; d=json.load(sys.stdin); print(d["pins"][0]["host"])')
    [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || fail "sandrun image pin --host $2 --json gave no pin: $digest" "$(cat "$work/stderr")"
    $PY "$top/tests/lib/binding.py" "$1/sandrun.json" "$2" "{\"rootfs\": {\"host\": \"$digest\"}}" merge
}
commit() { # commit DIR [MESSAGE]
    git -C "$1" add -A && git -C "$1" commit -qm "${2:-change}" --allow-empty || fail "git commit in $1"
}
# sh_binding DIR NAME SCRIPT [MEMBERS-JSON]: a binding that runs a shell script given inline.
sh_binding() {
    binding "$1" "$2" "$($PY -c 'import json,sys; print(json.dumps(["sh", "-c", sys.argv[1]]))' "$3")" "${4:-"{}"}"
}

tree_digest() { $PY "$top/tests/lib/treedigest.py" "$1"; }
tree_list() { $PY "$top/tests/lib/treedigest.py" "$1" --list; }
# untouched DIR COMMAND...: the command may not change one byte, mode, time or inode below DIR.
untouched() {
    local dir=$1
    shift
    tree_list "$dir" >"$work/before"
    "$@"
    tree_list "$dir" >"$work/after"
    cmp -s "$work/before" "$work/after" ||
        fail "the host tree changed:" "$(diff "$work/before" "$work/after" | cut -c 1-300 | head -20)"
}

# ---- mounts ----

is_root() { [ "$(id -u)" -eq 0 ]; }
# A mount namespace of our own for tests that mount: as root directly, else with a user namespace around it.
in_mounts() { # in_mounts SCRIPT DIR: the script finds DIR as $0 and a sandrun of the same caller as $1
    if is_root; then
        unshare --mount --propagation private sh -c "$1" "$2" "$SANDRUN"
        return
    fi
    # The privilege over the new mounts is the script's alone; the ids stay as they are.
    printf '#!/bin/sh\nexec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "%s" "$@"\n' "$SANDRUN" >"$work/bin/plain"
    chmod 755 "$work/bin/plain"
    unshare --user --map-current-user --keep-caps --mount --propagation private sh -c "$1" "$2" "$work/bin/plain"
}

# ---- what changed ----

classes() { # of the newest record, each once
    record changes.by_class | $PY -c 'import json,sys; print(" ".join(sorted(json.load(sys.stdin))))'
}
class_of() { # class_of PATH: its class, and where it stands
    $PY - "$(newest_record)" "$1" <<'PYTHON'
import json, sys
for c in json.load(open(sys.argv[1]))['changes']['list']:
    if c['path'] == sys.argv[2]:
        print(c['class'], c['where'])
PYTHON
}
# in_git DIR SCRIPT [CLASSES]: passes inside, changes these classes, and touches nothing below $TOP (DIR, when it is not set).
in_git() {
    sh_binding "$1" Work "set -e; $2"
    untouched "${TOP:-$PWD/$1}" run 0 run --staged --tree "$1" Work
    verdict passed command.success 0
    [ -z "${3:-}" ] || is "classes" "$(classes)" "$3"
}

# ---- leftovers ----

own_processes() { # those that execute this file's own copy of the binary
    local p
    for p in /proc/[0-9]*; do
        [ "$(readlink "$p/exe" 2>/dev/null)" = "$SANDRUN" ] && echo "${p#/proc/}"
    done
    return 0
}
leftovers() {
    # Every trace a run of this file could leave: processes of our binary, mounts, cgroups and scratch of the runs' names.
    local p
    for p in $(own_processes); do
        echo "process $p: $(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")"
    done
    grep -F "$work" /proc/self/mountinfo | sed 's/^/mount /'
    own_cgroups | sed 's/^/cgroup /'
    # A live file that never got its name belongs to a run that made nothing yet.
    find "$XDG_STATE_HOME/sandrun/live" -mindepth 1 2>/dev/null | sed 's/^/live /'
    find "$XDG_STATE_HOME/sandrun" -mindepth 1 -maxdepth 3 ! -path '*/runs' ! -path '*/runs/*' ! -path '*/live*' \
        ! -path '*/cache*' 2>/dev/null | grep -v '/lock$' | sed 's/^/scratch /'
    local id
    for id in $(ls "$XDG_STATE_HOME/sandrun/runs" 2>/dev/null); do
        find /tmp /dev/shm /run /var/tmp -maxdepth 2 -name "*$id*" 2>/dev/null
    done | sed 's/^/scratch /'
}
# cgroups named after a run of this file's state root
own_cgroups() {
    local id
    for id in $(ls "$XDG_STATE_HOME/sandrun/runs" 2>/dev/null | tail -n 40); do
        find /sys/fs/cgroup -type d -name "*$id*" 2>/dev/null
    done | sort -u | head -5
}
no_leftovers() {
    local i left=""
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        left=$(leftovers)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    fail "left after 2 s (round $i):" "$left"
}
wait_for() { # wait_for SECONDS COMMAND...: until it succeeds
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.05
    done
}
