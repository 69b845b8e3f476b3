#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No secret in a record: acceptance 40.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Everything below the state root but the logs.
state_without_logs() { find "$XDG_STATE_HOME" -type f ! -name '*.log' -exec cat {} +; }
has_not() { # has_not WORD...
    local word
    for word; do
        lacks "the state outside the logs" "$(state_without_logs | tr -d '\0')" "$word"
    done
}

nowhere() {
    project p
    sh_binding p Test 'test -n "$GIVEN" && test -n "$PASSED" && test "$1$2" != "" ; exit 0' \
        '{"env": {"set": {"GIVEN": "planted-by-set"}, "pass": ["PASSED"]}}'
    echo planted-in-a-file >p/file
    commit p
    PASSED=planted-by-pass OTHER=planted-outside run 0 run --staged --tree p --record copy.json Test -- --password planted-in-argv
    has_not planted-by-set planted-by-pass planted-in-argv planted-outside planted-in-a-file
    lacks "the copy" "$(cat copy.json)" planted
    matches "names are there" "$(cat copy.json)" GIVEN
    matches "names are there" "$(cat copy.json)" PASSED
    run 0 plan --tree p --json Test
    lacks "the plan" "$out" planted-by
    run 0 plan --tree p Test
    lacks "the plan for people" "$out" planted-by
}
t "a40 environment, argv, files: in no record, in no plan" nowhere

printed() {
    project p
    sh_binding p Test 'echo "token=$PASSED"; echo "token=$PASSED" >&2; echo "$PASSED" >written; exit 1' '{"env": {"pass": ["PASSED"]}}'
    PASSED=planted-and-printed run 1 run --staged --tree p Test
    has_not planted-and-printed
    local dir
    dir=$(dirname "$(newest_record)")
    matches "its own log" "$(cat "$dir/stdout.log")" planted-and-printed
    matches "its own log" "$(cat "$dir/stderr.log")" planted-and-printed
}
t "a40 what the command printed stands in its log, and only there" printed

failing() {
    project p
    binding p Test '["no-such-command"]' '{"env": {"pass": ["PASSED"]}}'
    PASSED=planted-by-pass run 127 run --staged --tree p Test -- planted-in-argv
    has_not planted-by-pass planted-in-argv
    lacks "stderr" "$err" planted
    binding p Killed '["sh", "-c", "kill -9 $$"]' '{"env": {"pass": ["PASSED"]}}'
    PASSED=planted-by-pass run 137 run --staged --tree p Killed -- planted-in-argv
    has_not planted-by-pass planted-in-argv
}
t "a40 a run that fails says no more" failing

secret_names() {
    project p
    sh_binding p Test true '{}'
    local name
    for name in API_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD GITHUB_TOKEN NPM_TOKEN SSH_AUTH_SOCK; do
        $PY "$top/tests/lib/binding.py" p/sandrun.json Test "{\"env\": {\"pass\": [\"$name\"]}}" merge
        sr run --tree p Test
        is "$name" "$rc" 125
        matches "$name" "$err" 'policy\.invalid\.secret_name'
    done
}
t "a40 a name that looks like a secret needs pass_secret and its reason" secret_names

private_files() {
    project p
    sh_binding p Test 'echo hello'
    run 0 run --tree p --record copy.json Test
    matches "nobody else may write the copy" "$(stat -c %a copy.json)" '^6[04][04]$'
    ln -s elsewhere link.json
    sr run --tree p --record link.json Test
    absent elsewhere
    is "a record through a link" "$rc" 125
}
t "a40 the record's copy is never written through a link" private_files
summary
