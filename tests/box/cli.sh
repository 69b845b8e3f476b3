#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command line, and input that is bad in every way it can be.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() { # usage PATTERN ARGS...: exit 125, on stderr a message, a code, something to do; nothing on stdout
    local pattern=$1
    shift
    run 125 "$@"
    matches "stderr of: sandrun $*" "$err" "$pattern"
    matches "a code" "$err" '(usage|policy|record|plan|state|binding)\.[a-z_]+'
    is "stdout" "$out" ""
}
bad_arguments() {
    project p
    sh_binding p Test true
    cd p || exit 1
    usage 'staged' run --stagd Test
    usage 'BINDING' run
    usage 'unexpected|Other' run Test Other
    usage 'wall' run --wall Test
    usage 'wall' run --wall
    usage 'wall' run --wall 10parsecs Test
    usage 'wall' run --wall -5s Test
    usage 'memory' run --memory 99999999999999999999GiB Test
    usage 'pids' run --pids 0x10 Test
    usage 'json' run --json=yes Test
    usage 'duplicate|twice' run --wall 1s --wall 2s Test
    usage 'runn' runn Test
    usage 'run' runn Test
    usage 'Test' run Tset
    usage 'COMMAND|unknown|frobnicate' help frobnicate
    usage 'RECORD' repro
    usage 'allow-drift' repro --allow-drift everything x
    usage 'host' image pin Test
    usage 'pin' image unpin Test
}
t "cli: unknown, missing, superfluous, malformed arguments: 125, named, nothing on stdout" bad_arguments

nothing_given() {
    sr
    isnt "exit" "$rc" 0
    matches "says what there is" "$out$err" 'run'
}
t "cli: no arguments at all" nothing_given

bad_trees() {
    project p
    sh_binding p Test true
    touch file
    mkdir unreadable
    usage 'file' run --tree file Test
    usage 'missing' run --tree missing Test
    sr run --tree / Test
    matches "a tree of / (exit $rc)" "$rc" '^(120|125)$'
    if [ "$(id -u)" -ne 0 ]; then
        chmod 000 unreadable
        usage 'unreadable' run --tree unreadable Test
        chmod 755 unreadable
        chmod 000 p/sandrun.json
        usage 'sandrun.json' run --tree p Test
        chmod 644 p/sandrun.json
    fi
    mkdir p/dir.json
    usage 'dir.json' run --tree p --policy p/dir.json Test
    mkfifo fifo
    usage 'fifo' run --tree p --policy fifo Test
    usage '/dev/zero' run --tree p --policy /dev/zero Test
    usage '/dev/null' run --tree p --policy /dev/null Test
}
t "cli: trees and policies that are no trees and no policies" bad_trees

near_names() {
    project p
    sh_binding p Integration true
    run 125 run --tree p Integartion
    matches "names what is near" "$err" 'Integration'
    run 125 run --tree p --wal 3s Integration
    matches "names the option that is near" "$err" '\-\-wall'
    run 125 diagnose
    run 125 docter
    matches "names the command that is near" "$err" 'doctor'
}
t "cli: a name that is nearly right is told the right one" near_names

bad_policy() { # bad_policy CODE TEXT
    project p
    printf '%b' "$2" >p/sandrun.json
    run 125 run --tree p Test
    matches "code" "$err" "policy\\.invalid\\.$1"
    matches "place" "$err" 'sandrun\.json:[0-9]+:[0-9]+'
    lacks "no control bytes" "$err" $'[\x01-\x08\x0e-\x1f]'
}
t "cli: policy with an unknown key" bad_policy unknown_key '{"version": 1, "bindngs": {}}'
t "cli: policy with a key twice" bad_policy duplicate_key '{"version": 1, "version": 1, "bindings": {}}'
t "cli: policy with an unsupported value" bad_policy unsupported_value '{"version": 1, "bindings": {"Test": {"command": ["true"], "on_repair": "ignore"}}}'
t "cli: policy of another version" bad_policy version '{"version": 2, "bindings": {}}'
t "cli: policy cut in the middle" bad_policy 'json' '{"version": 1, "bindings": {"Test": {"comm'
t "cli: policy with text behind its end" bad_policy 'json' '{"version": 1, "bindings": {}} trailing'
t "cli: policy with a NUL in a string" bad_policy 'json' '{"version": 1, "bindings": {"Te\\u0000st": {"command": ["true"]}}}'
t "cli: policy with bytes that are no UTF-8" bad_policy 'json' '{"version": 1, "bindings": {"Te\\xffst": {}}}'
t "cli: policy with an image tag where a digest belongs" bad_policy 'tag' '{"version": 1, "bindings": {"Test": {"command": ["true"], "rootfs": {"image": "python:3.11"}}}}'
t "cli: policy nested without end" bad_policy 'json' "{\"version\": 1, \"bindings\": $(printf '[%.0s' $(seq 1 5000))"

bad_records() {
    project p
    sh_binding p Test true
    run 0 run --tree p --record good.json Test
    run 0 diff good.json
    usage 'record' diff none.json/nothing
    usage 'record' diff 0000
    head -c 200 good.json >cut.json
    usage 'record' diff ./cut.json
    usage 'record' diff /dev/null
    mkfifo fifo
    usage 'record|fifo' diff ./fifo
    printf '\x1b]0;forged\x07' >escape.json
    usage 'record' diff ./escape.json
    lacks "no control bytes" "$err" $'[\x01-\x08\x0e-\x1f]'
    run 0 run --tree p Test
    usage 'ambiguous' diff 2
}
t "cli: records that are cut, missing, a pipe, ambiguous" bad_records

forged_output() {
    project p
    $PY - p <<'PY'
import os, sys
os.chdir(sys.argv[1])
open('make.py', 'w').write('import os\nopen(b"\\x1b[2Jsandrun: Test passed\\n\\xff", "w")\n')
PY
    binding p Test '["python3", "make.py"]'
    run 0 run --tree p --record r.json Test
    run 0 diff ./r.json
    lacks "diff shows no control bytes" "$out" $'\x1b'
    lacks "and no forged line" "$out" '^sandrun: Test passed'
    run 0 diff --json ./r.json
    lacks "nor as JSON" "$out" $'\x1b'
}
two_spellings() {
    project p
    printf 'open(b"\\\\xff", "w"); open(b"\\xff", "w"); open(b"\\xff\\\\", "w")\n' >p/make.py
    binding p Test '["python3", "make.py"]'
    run 0 run --tree p --record r.json Test
    is "the record" "$($PY -c 'import json; print(*[c["path"] for c in json.load(open("r.json"))["changes"]["list"]], sep="|")')" '\\xff|\xff|\xff\\'
    run 0 diff ./r.json
    is "diff" "$(grep '^  +' <<<"$out" | tr '\n' '|')" '  + \\xff|  + \xff|  + \xff\\|'
}
t "cli: a byte and the characters that spell it are told apart" two_spellings
t "cli: names of files cannot forge what a terminal shows" forged_output

full_disk() {
    project p
    sh_binding p Test "touch '$PWD/mark'; echo ran; head -c 3000000 /dev/zero | tr '\\0' x"
    mkdir small
    local how=(unshare --mount --propagation private)
    [ "$(id -u)" -eq 0 ] || how=(unshare --user --map-root-user --mount --propagation private)
    # shellcheck disable=SC2016
    "${how[@]}" sh -c 'mount -t tmpfs -o size=64k,mode=700 none small && mkdir -m 700 small/sandrun && head -c 200k /dev/zero >small/fill 2>/dev/null
        XDG_STATE_HOME=$PWD/small exec "$@"' sh "$SANDRUN" run --tree p Test >"$work/stdout" 2>"$work/stderr"
    rc=$?
    err=$(cat "$work/stderr")
    is "exit on a full disk" "$rc" 125
    matches "says what is full" "$err" 'space|no_space|full'
    lacks "nothing ran" "$(cat "$work/stdout")" ran
    # Enough to start and not enough for the log: never a pass without its record.
    # shellcheck disable=SC2016
    "${how[@]}" sh -c 'mount -t tmpfs -o size=1m,mode=700 none small && XDG_STATE_HOME=$PWD/small exec "$@"' sh "$SANDRUN" run --tree p Test \
        >"$work/stdout" 2>"$work/stderr"
    rc=$?
    isnt "exit when the log does not fit" "$rc" 0
    matches "says what is full" "$(cat "$work/stderr")" 'space|no_space|full'
}
t "cli: a full disk under the state: refused before anything runs, or said after" full_disk

closed_outputs() {
    project p
    sh_binding p Test 'echo hello'
    "$SANDRUN" plan --tree p Test >/dev/full 2>"$work/stderr"
    is "exit when stdout is full" $? 125
    "$SANDRUN" run --tree p Test >&- 2>&-
    is "exit with closed outputs" $? 0
    "$SANDRUN" run --tree p Test <&-
    is "exit with closed input" $? 0
}
t "cli: outputs that are full or closed" closed_outputs

help_texts() {
    run 0 help
    local command
    for command in run plan audit check image repro diff doctor clean init schema version; do
        matches "sandrun help lists" "$out" "(^| )$command( |$)"
    done
    for command in run plan audit check image repro diff doctor clean init schema version help; do
        run 0 help $command
        is "stderr" "$err" ""
        matches "usage" "$out" "sandrun $command"
        below "columns of help $command" "$(wc -L <"$work/stdout")" 101
        cp "$work/stdout" one
        run 0 $command --help
        is "help $command and $command --help" "$out" "$(cat one)"
    done
    run 0 version
    matches "version" "$out" '^sandrun [0-9]+\.[0-9]+\.[0-9]+'
    run 0 schema
    $PY -c 'import json, sys; json.load(sys.stdin)' <"$work/stdout" || fail "the schema is no JSON"
    run 0 help --man
    run 0 help --completion bash
    bash -n "$work/stdout" || fail "the completion does not parse"
}
t "cli: every command explains itself, on stdout, within 100 columns" help_texts

doctor() {
    run 0 doctor
    matches "doctor" "$out" 'a contained run works here'
    run 0 doctor --json
    is "contained" "$(json contained)" true
    lacks "answers" "$(json 'primitives.*.answer')" 'missing'
}
t "a41 doctor: a contained run works here" doctor

init() {
    project p
    printf '[project]\nname = "x"\nversion = "1"\n' >p/pyproject.toml
    run 0 init --tree p
    present p/sandrun.json
    commit p
    run 0 audit --tree p --staged
    cp p/sandrun.json kept
    sr init --tree p
    isnt "exit when there is one" "$rc" 0
    cmp -s kept p/sandrun.json || fail "it was replaced without --force"
}
t "cli: init writes a policy whose checks are contained" init

setuid_refused() {
    project p
    sh_binding p Test true
    cp "$SANDRUN" suid
    chmod 4755 suid
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid 1001 --regid 1001 --clear-groups env XDG_STATE_HOME=/nonexistent ./suid run --tree p Test >"$work/stdout" 2>"$work/stderr"
        matches "exit of a setuid sandrun" $? '^(120|125)$'
        matches "says so" "$(cat "$work/stderr")" 'setuid|set-user|privilege'
    else
        # Setuid to oneself gives nothing: it may run.
        ./suid run --tree p Test
        is "exit" $? 0
    fi
}
t "a13 sandrun refuses to work as a setuid program" setuid_refused

# ---- what a machine reads ----

# A former run's answer is never taken for this one's, however this one ends.
record_left() { # record_left EXIT REASON ARGS...: run with --record over a former pass
    local want=$1 reason=$2
    shift 2
    run 0 run --tree p --record r.json Test
    run "$want" run "$@" --json
    cmp -s r.json "$work/stdout" || fail "the copy is not what --json prints" "$(cat r.json)"
    isnt "status" "$($PY "$top/tests/lib/field.py" r.json status)" passed
    matches "reason" "$($PY "$top/tests/lib/field.py" r.json reason)" "$reason"
    is "exit" "$($PY "$top/tests/lib/field.py" r.json exit)" "$want"
}
former_records() {
    project p
    project unborn
    sh_binding p Test true
    record_left 125 policy.no_binding --tree p --record r.json Tset
    record_left 120 policy.loosens --tree p --record r.json --wall 23h Test
    record_left 125 plan.tree --tree missing --record r.json Test
    record_left 125 policy.missing --tree unborn --record r.json Test
    record_left 120 rootfs.pin_mismatch --tree p --policy wrong.json --record r.json Test
    record_left 125 usage.invalid_value --tree p --record r.json --wall 10parsecs Test
    record_left 125 usage.missing_argument --record=r.json --tree p
}
former() {
    printf '{"version": 1, "bindings": {"Test": {"command": ["true"], "rootfs": {"host": "sha256:%064d"}}}}' 7 >wrong.json
    former_records
}
t "cli: --record never leaves a former run's answer" former

no_record_replaced() {
    project p
    sh_binding p Test true
    cp p/sandrun.json kept
    usage 'no record' run --tree p --record p/sandrun.json Test
    cmp -s kept p/sandrun.json || fail "the policy was replaced by a record"
    run 125 run --record p/sandrun.json --tree p --wal 3s Test
    cmp -s kept p/sandrun.json || fail "the policy was replaced by an answer"
    : >empty
    run 0 run --tree p --record empty Test
    is "status" "$($PY "$top/tests/lib/field.py" empty status)" passed
}
t "cli: --record replaces records and nothing else" no_record_replaced

json_error() { # json_error CODE ARGS...: with --json the failure is a document too
    local code=$1
    shift
    sr "$@" --json
    isnt "exit of: sandrun $* --json" "$rc" 0
    matches "code of: sandrun $*" "$(json error.code)" "^$code\$"
    isnt "text of: sandrun $*" "$(json error.text)" ""
    matches "and on stderr" "$err" "$code"
}
json_errors() {
    project p
    sh_binding p Test true
    cd p || exit 1
    json_error policy.no_binding plan Tset
    json_error policy.no_binding check Tset
    json_error policy.no_binding image pin --host Tset
    json_error plan.tree audit --tree missing
    json_error 'record.*|state.*' diff 0000
    json_error 'record.*|state.*' repro 0000
    json_error usage.missing_option image pin
    json_error usage.unknown_option plan --stagd Test
    json_error usage.unexpected_argument doctor Test
    printf '{"schema": "x"}' >cut.json
    json_error record.schema diff ./cut.json
    json_error record.schema repro ./cut.json
    touch not-a-directory
    XDG_STATE_HOME=$PWD/not-a-directory json_error 'state.*' clean
    XDG_STATE_HOME=$PWD/not-a-directory json_error 'state.*' doctor
}
t "cli: with --json every command's failure is a JSON object on stdout" json_errors

two_sources() {
    project p
    sh_binding p Test 'touch ran'
    usage 'policy-ref' run --tree p --policy p/sandrun.json --policy-ref HEAD Test
    usage 'policy-ref' audit --tree p --policy p/sandrun.json --policy-ref HEAD
}
t "cli: --policy together with --policy-ref is refused" two_sources

nothing_to_audit() {
    project p
    printf '{"version": 1, "bindings": {}}' >p/sandrun.json
    usage 'nothing to audit' audit --tree p
    matches "code" "$err" 'policy.no_binding'
    json_error policy.no_binding audit --tree p
    run 0 help audit
    matches "help" "$out" 'no check at all'
}
t "cli: an audit of nothing is not green" nothing_to_audit

# diff's exits on damaged and forged records are those its help names.
forged_records() {
    project p
    sh_binding p Test true
    run 0 run --tree p --record good.json Test
    local d
    d=$($PY "$top/tests/lib/field.py" good.json plan_digest)
    sed "s/$d/sha256:$(printf %064d 7)/" good.json >forged.json
    run 120 diff forged.json
    matches "code" "$err" record.invalid.digest
    head -c 200 good.json >cut.json
    run 125 diff ./cut.json
    run 0 help diff
    matches "help" "$out" '^ *120 '
    matches "help" "$out" '^ *125 '
}
t "cli: diff on forged and damaged records exits as its help says" forged_records

# ---- pins: from a policy that has none yet to a run ----

# The README's first policy, as it stands there.
first_policy() {
    awk '/^## The first policy/ { on = 1 } on && /^```jsonc/ { copy = 1; next } copy && /^```/ { exit } copy' \
        "$top/README.md" >"$1"
    [ -s "$1" ] || fail "README.md has no first policy"
}
fill_pins() { # fill_pins DIR: as a person would, binding by binding
    $PY - "$1/sandrun.json" "$last_out" <<'PY'
import json, re, sys
text, pins = open(sys.argv[1]).read(), {p["binding"]: p["host"] for p in json.load(open(sys.argv[2]))["pins"]}
for name, digest in pins.items():
    text = re.sub(r'("%s": \{[^{}]*("rootfs": \{ "host": ))"sha256:\.\.\."' % name, r'\1"%s"' % digest, text, count=1)
open(sys.argv[1], "w").write(text)
PY
}
readme_policy() {
    project p
    first_policy p/sandrun.json
    commit p
    sr run --staged --tree p Test
    verdict blocked rootfs.unpinned 120
    matches "the line to write" "$err" '"rootfs": \{ "host": "sha256:[0-9a-f]{64}" \}'
    run 0 diff "$(record id)"
    run 0 image pin --tree p --host Test
    matches "the line to write" "$out" '"rootfs": \{ "host": "sha256:[0-9a-f]{64}" \}'
    run 0 image pin --tree p --host --json
    fill_pins p
    commit p
    run 0 plan --tree p --staged --json Test
    is "refusals of Test" "$(json 'refusals.*.code')" ""
    run 0 plan --tree p --staged --json Lint
    is "refusals of Lint" "$(json 'refusals.*.code')" ""
}
t "cli: the README's first policy leads to a pinned one" readme_policy

bad_pins() {
    project p
    local pin
    for pin in 'sha256:' 'sha256:....' 'sha256:abc' '...' 'sha1:...'; do
        printf '{"version": 1, "bindings": {"Test": {"command": ["true"], "rootfs": {"host": "%s"}}}}' "$pin" >p/sandrun.json
        run 125 image pin --tree p --host Test
        matches "code of $pin" "$err" policy.invalid.digest
        matches "a way out that works" "$err" 'write "sha256:\.\.\."'
    done
}
t "cli: a pin that is misspelt is told what to write so that it can be asked for" bad_pins

other_pins() {
    project p
    printf '{"version": 1, "bindings": {"Bad": {"command": ["true"], "mounts": [{"source": "%s/none"}]},
        "Good": {"command": ["true"]}, "Other": {"command": ["sh", "-c", "true"]}}}' "$PWD" >p/sandrun.json
    run 125 image pin --tree p --host
    matches "Good" "$out" '^Good'
    matches "Other" "$out" '^Other'
    matches "Bad" "$err" 'no pin for Bad'
    run 125 image pin --tree p --host --json
    is "pins" "$(json 'pins.*.binding')" "$(printf 'Good\nOther')"
    is "errors" "$(json 'errors.*.binding'):$(json 'errors.*.code')" "Bad:plan.path"
    run 125 image pin --tree p --host Bad
    run 0 image pin --tree p --host Good
}
t "cli: one binding that cannot be planned does not hide the pins of the others" other_pins

shared_pin() {
    project p
    printf '{"version": 1, "bindings": {"Test": {"command": ["sh", "-c", "true"]}, "Lint": {"command": ["git", "--version"]}}}' >p/sandrun.json
    run 0 image pin --tree p --host Test --json
    printf '{"version": 1, "defaults": {"rootfs": {"host": "%s"}}, "bindings": {"Test": {"command": ["sh", "-c", "true"]},
        "Lint": {"command": ["git", "--version"]}}}' "$(json 'pins.*.host')" >p/sandrun.json
    run 0 run --tree p Test
    run 120 run --tree p Lint
    matches "what the pin covers" "$err" 'git \(/[^ )]*git\)'
    matches "whose line it is" "$err" 'in bindings\.Lint: "rootfs"'
    run 0 check --tree p Lint
    matches "check says that a run would be blocked" "$out" 'would be blocked'
    matches "and why" "$out" 'rootfs\.pin_mismatch'
    run 0 check --tree p --json Lint
    is "as JSON" "$(json decision):$(json 'refusals.*.code')" refused:rootfs.pin_mismatch
    run 0 check --tree p Test
    lacks "and only then" "$out" 'blocked'
}
t "cli: one pin for bindings with other tools: the refusal says what a pin covers" shared_pin

offers() { # offers EXPECTED WORDS...: what bash offers for the last word
    local want=$1 got
    shift
    got=$(
        PATH=$(dirname "$SANDRUN"):$PATH
        . "$work/completion"
        COMP_WORDS=(sandrun "$@")
        COMP_CWORD=$#
        _sandrun
        echo "${COMPREPLY[*]}"
    )
    is "offered for: sandrun $*" "$got" "$want"
}
completion() {
    run 0 help --completion bash
    cp "$work/stdout" "$work/completion"
    project p
    sh_binding p Test true
    sh_binding p Lint true
    mkdir empty
    cd empty || exit 1
    mkdir sub
    touch file.json
    offers "doctor" doc
    offers "sub" run -C ''
    offers "sub" run --tree ''
    offers "sub" run --tree = ''
    offers "" run ''
    offers "Test Lint" run --tree ../p ''
    offers "Test Lint" run --tree = ../p ''
    offers "Lint" run -C ../p L
    offers "" run -C ../p Test ''
    offers "" run -C ../p Test -- ''
    offers "" run -C ../p Test -- --w
    offers "--wall" run -C ../p Test --w
    offers "" run -C ../p --wall ''
    offers "pin" image ''
    offers "" image pin --host ''
    offers "Test Lint" image pin --host -C ../p ''
    offers "file.json" diff f
}
t "cli: bash is offered what can stand there, and nothing else" completion

# ---- messages that say what is wrong, and whose it is ----

said() { # said PATTERN ARGS...: a failure, and its message
    local pattern=$1
    shift
    sr "$@"
    isnt "exit of: sandrun $*" "$rc" 0
    matches "stderr of: sandrun $*" "$err" "$pattern"
}
messages() {
    project p
    sh_binding p Test true '{"limits": {"wall": "10m"}}'
    said 'wall: 20m is more than the 10m of ' run --tree p --wall 20m Test
    said 'pids: 0 is not between' run --tree p --pids 0 Test
    said 'files: 0 is not between' run --tree p --files 0 Test
    said 'is too long to count' run --tree p --wall 99999999999999999999s Test
    said 'the bindings are: Test' run --tree p Deploy
    lacks "no guess" "$err" 'did you mean'
    said 'did you mean Test' run --tree p Tets
    said 'errored: the commit' run --tree p --policy-ref nowhere Test
    lacks "whose fault it is" "$err" 'sandrun failed'
    printf '\xef\xbb\xbf{"version": 1, "bindings": {}}' >p/sandrun.json
    said 'byte order mark' run --tree p Test
}
t "cli: messages name both sides, and do not blame sandrun" messages

edited_policy() {
    project p
    sh_binding p Test true
    $PY "$top/tests/lib/binding.py" p/sandrun.json Newer '{"command": ["true"]}'
    said 'was not used' run --staged --tree p Newer
    matches "code" "$err" policy.no_binding
    said 'the bindings are: Test' run --staged --tree p Newer
}
t "cli: a staged run of a binding that only the edited policy has says so" edited_policy

same_word() {
    project p
    sh_binding p Test true '{"network": {"host": "a test of words"}}'
    run 120 audit --tree p
    matches "audit" "$out" 'NOT contained'
    run 0 run --tree p Test
    matches "run" "$err" 'NOT contained'
}
t "cli: audit and run use the same word for what is not contained" same_word

control_titles() {
    run 0 doctor --json
    local titles
    titles=$(json 'primitives.*.title')
    is "titles that stand there twice" "$(sort <<<"$titles" | uniq -d)" ""
}
t "cli: doctor says of each thing what it is" control_titles
summary
