#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Refusing and answering: acceptance 1 to 6.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# policy DIR NAME JSON: a binding as it stands, unpinned, committed.
policy() {
    $PY "$top/tests/lib/binding.py" "$1/sandrun.json" "$2" "$3" || fail "binding.py"
    commit "$1"
}
codes() { record enforced.refusals.*.code | LC_ALL=C sort | tr '\n' ' '; }

unpinned_leaves_no_mark() {
    project p
    policy p Mark "{\"command\": [\"touch\", \"$PWD/p/mark\", \"$PWD/mark\"], \"executes\": true}"
    untouched "$PWD/p" run 120 run --staged --tree p Mark
    absent mark
    verdict blocked rootfs.unpinned 120
    is "decided" "$(record decided)" false
    is "refusals" "$(codes)" "rootfs.unpinned "
    matches "stderr names the code" "$err" 'rootfs\.unpinned'
    matches "stderr has the line to write" "$err" '"rootfs": *\{ *"host": *"sha256:[0-9a-f]{64}"'
}
t "a01 an unpinned staged binding: refused, nothing executed, the line to write is printed" unpinned_leaves_no_mark

uncontained_leaves_no_mark() {
    project p
    policy p Mark "{\"command\": [\"touch\", \"$PWD/mark\"], \"executes\": true, \"uncontained\": \"it was always so\"}"
    run 120 run --staged --tree p Mark
    absent mark
    verdict blocked binding.uncontained 120
    # The control: over reviewed code the same binding runs, as the policy says, and the record does not call it contained.
    run 0 run --tree p Mark
    present mark
    is "enforced.contained" "$(record enforced.contained)" false
    matches "the reason is repeated" "$(cat "$(newest_record)")" 'it was always so'
}
t "a01 an uncontained binding: refused when staged, run and marked as such when not" uncontained_leaves_no_mark

every_condition_is_named() {
    mkdir rw
    project p
    binding p Wide '["touch", "mark"]' "{
        \"tree\": {\"writes\": \"direct\"},
        \"mounts\": [{\"source\": \"$PWD/rw\", \"readonly\": false, \"reason\": \"shared\"}],
        \"network\": {\"host\": \"downloads\"},
        \"seccomp\": {\"allow\": [\"debug\"], \"reason\": \"gdb\"},
        \"env\": {\"pass_secret\": {\"API_TOKEN\": \"upload\"}}}"
    API_TOKEN=x run 120 run --staged --tree p Wide
    absent p/mark
    is "refusals" "$(codes)" "binding.uncontained.mount binding.uncontained.network binding.uncontained.seccomp binding.uncontained.secret binding.uncontained.writes "
    for code in mount network seccomp secret writes; do
        matches "stderr" "$err" "binding\\.uncontained\\.$code"
    done
    is "lines to write" "$(record 'enforced.refusals.*.line' | grep -c .)" 5
}
t "a01 every failed condition is named, with the line to write" every_condition_is_named

another_pin() {
    project p
    policy p Mark "{\"command\": [\"touch\", \"$PWD/mark\"], \"executes\": true, \"rootfs\": {\"host\": \"sha256:$(printf '%064d' 1)\"}}"
    run 120 run --staged --tree p Mark
    verdict blocked rootfs.pin_mismatch 120
    absent mark
}
t "a01 a pin that is another host's: refused" another_pin

# ---- 2: what the host lacks, made by hand ----

# broken SCRIPT ARGS...: an ordinary caller's sandrun in surroundings in which the script, with privilege over them, broke
# something first. The ids stay as they are, so that it is the same caller in a smaller world.
broken() {
    unshare --user --map-current-user --keep-caps --mount --kill-child sh -c \
        "$1; exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all \"\$0\" \"\$@\"" "$SANDRUN" "${@:2}" \
        >"$work/stdout" 2>"$work/stderr"
    rc=$?
    err=$(cat "$work/stderr")
}
refused_naming() { # refused_naming PRIMITIVE
    absent mark
    absent p/mark
    isnt "exit" "$rc" 0
    isnt "status" "$(record status)" passed
    isnt "status" "$(record status)" failed
    is "decided" "$(record decided)" false
    matches "exit is a refusal's or the sandbox's" "$rc" '^(120|125)$'
    matches "stderr names the primitive" "$err" "$1"
    matches "stderr says what to do" "$err" 'do: |write: '
}
# As root, one can lose the right to make namespaces without a user namespace in between; and never may that end with
# the check as the host's root, or on the host.
no_privilege() {
    project p
    sh_binding p Mark "touch '$PWD/mark' mark"
    setpriv --bounding-set="-$1" --inh-caps=-all "$SANDRUN" run --tree "$PWD/p" Mark >"$work/stdout" 2>"$work/stderr"
    rc=$?
    err=$(cat "$work/stderr")
    refused_naming 'CAP_SYS_ADMIN|user.namespace|id map|identity'
}
no_user_namespace() {
    project p
    sh_binding p Mark "touch '$PWD/mark' mark"
    # The control: in the same surroundings, unbroken, it runs.
    broken true run --tree "$PWD/p" Mark
    matches "the control's status (stderr: $err)" "$(record status)" '^(passed|failed)$'
    broken 'echo 0 >/proc/sys/user/max_user_namespaces' run --tree "$PWD/p" Mark
    refused_naming 'user.namespace'
}
[ "$(id -u)" -eq 0 ] || t "a02 no user namespace to be had: nothing executed, named" no_user_namespace

no_proc() {
    project p
    sh_binding p Mark "touch '$PWD/mark' mark"
    broken 'mount --bind /dev/null /proc/interrupts' run --tree "$PWD/p" Mark
    refused_naming 'proc'
}
[ "$(id -u)" -eq 0 ] || t "a02 a masked /proc: nothing executed, named" no_proc

no_mount_namespace() {
    project p
    sh_binding p Mark "touch '$PWD/mark' mark"
    broken 'echo 0 >/proc/sys/user/max_mnt_namespaces' run --tree "$PWD/p" Mark
    refused_naming 'mount'
}
[ "$(id -u)" -eq 0 ] || t "a02 no mount namespace to be had: nothing executed, named" no_mount_namespace

no_network_namespace() {
    project p
    sh_binding p Mark "touch '$PWD/mark' mark"
    broken 'echo 0 >/proc/sys/user/max_net_namespaces' run --tree "$PWD/p" Mark
    refused_naming 'net'
}
[ "$(id -u)" -eq 0 ] || t "a02 no network namespace to be had: nothing executed, named" no_network_namespace

if [ "$(id -u)" -eq 0 ]; then
    t "a02 root without CAP_SYS_ADMIN: nothing executed, named" no_privilege sys_admin
    t "a02 root without CAP_SETUID: nothing executed, named" no_privilege setuid
fi

# ---- 3, 4 ----

one_resolver() {
    project p
    sh_binding p Ok true
    run 0 plan --tree p --staged --json Ok
    local plan audit
    plan=$(json plan_digest)
    sr audit --tree p --staged --json
    audit=$(json 'bindings.*' | grep '"binding":"Ok"' | grep -oE '"plan_digest":"[^"]*"' | cut -d'"' -f4)
    run 0 run --tree p --staged Ok
    matches "a digest" "$plan" '^sha256:[0-9a-f]{64}$'
    is "audit's digest" "$audit" "$plan"
    is "the record's digest" "$(record plan_digest)" "$plan"
    run 0 run --tree p --staged Ok -- an argument
    isnt "with other arguments" "$(record plan_digest)" "$plan"
}
t "a03 plan, audit, run and record show one plan digest" one_resolver

edited_policy() {
    project p
    sh_binding p Test 'echo committed'
    run 0 plan --tree p --staged --json Test
    local before
    before=$(json plan_digest)
    $PY "$top/tests/lib/binding.py" p/sandrun.json Test "{\"command\": [\"touch\", \"$PWD/mark\"], \"uncontained\": \"mine now\"}" merge
    run 0 run --tree p --staged Test
    is "output" "$out" committed
    absent mark
    is "plan digest" "$(record plan_digest)" "$before"
    is "policy.edited" "$(record policy.edited)" true
    matches "stderr reports the difference" "$err" 'differs'
    is "not staged: the tree's file is meant" "$(cd p && "$SANDRUN" plan --json Test | grep -c '"uncontained": *"mine now"')" 1
}
t "a04 a policy edited in the tree changes nothing for a staged run, and is reported" edited_policy

no_trusted_source() {
    project p
    sh_binding p Test "touch '$PWD/mark'"
    cp p/sandrun.json outside.json
    rm -rf p/.git
    run 120 run --tree p --staged --json Test
    matches "stderr" "$err" 'policy\.untrusted'
    # A machine reads the answer too: a refused policy is an answer like any other.
    is "status in the JSON" "$(json status)" blocked
    is "reason in the JSON" "$(json reason)" policy.untrusted
    absent mark
    # A file in the tree is the model's, whatever it is called.
    run 120 run --tree p --staged --policy p/sandrun.json Test
    run 120 run --tree p --staged --policy "$PWD/p/../p/sandrun.json" Test
    ln -s p/sandrun.json link.json
    run 120 run --tree p --staged --policy link.json Test
    sr run --tree p --staged --policy outside.json Test
    matches "with a policy outside the tree (exit $rc)" "$(record status)" '^(passed|failed)$'
}
t "a04 staged without a commit: refused, unless the policy stands outside the tree" no_trusted_source

only_tighter() {
    project p
    sh_binding p Test 'echo ran' '{"limits": {"wall": "30s", "memory": "512MiB", "pids": 64}}'
    run 120 run --tree p --wall 10m Test
    matches "stderr" "$err" 'policy\.loosens'
    matches "the field is named" "$err" 'limits\.wall'
    run 120 run --tree p --memory 4GiB Test
    run 120 run --tree p --pids 65 Test
    lacks "nothing ran" "$out" ran
    run 0 run --tree p --wall 20s --memory 256MiB --pids 63 Test
    is "the tighter value counts" "$(record plan.canonical.limits.pids)" 63
}
t "a04 the command line tightens, and cannot loosen" only_tighter

# ---- 5, 6 ----

all_differ() {
    project p
    sh_binding p Exit 'exit 3'
    sh_binding p Signal 'kill -TERM $$'
    sh_binding p Slow 'sleep 60' '{"limits": {"wall": "500ms"}}'
    sh_binding p Idle 'echo .; sleep 60' '{"limits": {"idle": "500ms"}}'
    sh_binding p Loud 'yes' '{"limits": {"output": "64KiB"}}'
    binding p Missing '["no-such-command-anywhere"]'
    policy p Refused '{"command": ["true"], "executes": true}'
    : >seen
    local name want
    for want in Exit=failed:command.exit:3:true Signal=failed:command.signal:143:true Slow=errored:limit.wall:124:false \
        Idle=errored:limit.idle:124:false Loud=errored:limit.output:122:false \
        Missing=errored:command.not_found:127:false Refused=blocked:rootfs.unpinned:120:false; do
        name=${want%%=*}
        sr run --tree p "$name"
        is "$name" "$(record status):$(record reason):$rc:$(record decided)" "${want#*=}"
        echo "$(record status) $(record reason) $rc" >>seen
    done
    is "all differ" "$(sort -u seen | wc -l)" "$(wc -l <seen)"
}
t "a05 a failure, a signal, a timeout, silence, output, a missing command, a refusal: seven different answers" all_differ

# A caller who sees one of sandrun's own numbers can believe it: none comes from the command.
own_numbers() {
    project p
    sh_binding p Exit 'exit 0'
    local code given
    for code in 1 2 119 120 121 122 123 124 125 126 127 128 255; do
        case $code in 120 | 121 | 122 | 125) given=1 ;; *) given=$code ;; esac
        $PY "$top/tests/lib/binding.py" p/sandrun.json Exit "{\"command\": [\"sh\", \"-c\", \"exit $code\"]}" merge
        commit p
        run "$given" run --staged --tree p Exit
        verdict failed command.exit "$given"
        is "decided" "$(record decided)" true
        is "the command's own" "$(record reason_detail.end.code)" "$code"
        if [ "$given" = "$code" ]; then
            matches "the summary line" "$err" "Exit failed: exit $code \\(|Exit failed: exit $code in"
        else
            matches "the summary line" "$err" "Exit failed: exit $code, given as 1 "
        fi
    done
}
t "a05 no number that means something of sandrun's own comes from the command" own_numbers

own_lookup() {
    project p
    binding p Missing '["no-such-command-anywhere"]'
    run 127 run --tree p Missing
    verdict errored command.not_found 127
    matches "the places looked are named" "$err$(cat "$(newest_record)")" '/usr/local/bin.*/usr/bin'
    sh_binding p Child 'exit 127'
    run 127 run --tree p Child
    verdict failed command.exit 127
}
t "a06 a command that is not there, and a child that says 127" own_lookup

not_executed() {
    project p
    printf '#!/nowhere/at/all\n' >p/shebang
    printf 'just text, no program\n\001' >p/format
    printf '#!/bin/sh\n' >p/mode
    mkdir p/directory
    chmod 755 p/shebang p/format
    binding p Shebang '["./shebang"]'
    binding p Format '["./format"]'
    binding p Mode '["./mode"]'
    binding p Directory '["./directory"]'
    local name
    for name in Shebang Format Mode Directory; do
        run 126 run --tree p $name
        verdict errored command.not_executed 126
        is "$name decided" "$(record decided)" false
    done
    run 126 run --tree p Shebang
    matches "the interpreter is named" "$err" '/nowhere/at/all'
}
t "a06 a missing interpreter, a foreign format, no mode, a directory: errored, not failed" not_executed

foreign_docs() {
    run 125 run --tree /nonexistent/tree Test
    project p
    run 125 run --tree p Test
    matches "no policy: named" "$err" 'policy\.missing|sandrun\.json'
    echo '{"version": 1, "bindings": {"Test": {"comand": ["true"]}}}' >p/sandrun.json
    run 125 run --tree p Test
    matches "unknown key with its place" "$err" 'sandrun\.json:1:[0-9]+'
    matches "code" "$err" 'policy\.invalid\.unknown_key'
}
t "a05 a tree, a policy, a key that is not there: 125, named with file, line and column" foreign_docs

forged() { # forged HOW: a repository of the model's own in the tree, with a policy of its own
    project p
    sh_binding p Run 'echo reviewed'
    run 0 run --tree p --staged Run
    mv p/.git kept
    git init -q p/x && sed 's/reviewed/FORGED/' p/sandrun.json >p/x/sandrun.json && commit p/x
    mv p/x/.git p/x.git
    if [ "$1" = link ]; then ln -s x.git p/.git; else echo "gitdir: x.git" >p/.git; fi
    cp p/x/sandrun.json p/sandrun.json
    run 120 run --tree p --staged Run
    is "nothing ran" "$out" ""
    matches "code" "$err" 'policy\.untrusted'
}
# Any repository of this machine would do, if what the tree says of its own were believed.
foreign() { # foreign HOW: another repository, whose policy somebody did review, for another tree
    project p
    sh_binding p Run 'echo ours'
    project other
    sh_binding other Run 'echo THEIRS'
    mv p/.git kept
    if [ "$1" = link ]; then ln -s "$PWD/other/.git" p/.git; else echo "gitdir: $PWD/other/.git" >p/.git; fi
    run 125 run --tree p --staged Run
    is "nothing ran" "$out" ""
    matches "code" "$err" 'plan\.tree'
    matches "with what to do" "$err" '  do: '
}
t "a04 a link to a repository of another tree is no source of a policy" foreign link
t "a04 a gitfile to a repository of another tree is no source of a policy" foreign file
t "a04 a link to a repository that the model made is no source of a policy" forged link
t "a04 a gitfile to a repository that the model made is no source of a policy" forged file
summary
