#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Limits that were reached on the way: each is listed, none is the code's fault, and what a success means is the policy's to say.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Eight children of which six outgrow the limit; the parent waits for all and exits with what it was told to. Each child that
# outgrows it does so alone, so that exactly those die, wherever a group is held by one bound.
children() { # children DIR
    cat >"$1/children.py" <<'PYTHON'
import os, sys
for i in range(8):
    pid = os.fork()
    if pid == 0:
        if i not in (2, 5):
            try:
                block = bytearray(256 << 20)
            except MemoryError:
                os._exit(1)
        os._exit(0)
    os.waitpid(pid, 0)
print("done", flush=True)
sys.exit(int(sys.argv[1]))
PYTHON
}
memory() { # memory DIR NAME EXIT [ON_REACHED]: a binding of the above
    binding "$1" "$2" "[\"/usr/bin/python3\", \"-B\", \"children.py\", \"$3\"]" "{\"limits\": {\"memory\": \"64MiB\"${4:+, \"on_reached\": \"$4\"}}}"
}
# Here a group holds memory and counts; else the record must name what nobody can tell.
grouped() { [ "$(record enforced.limits."$1".weaker)" = false ]; }
unknowable() { # unknowable LIMIT
    matches "unknowable" "$(record 'enforced.unknowable.*.limit' | tr '\n' ' ')" "(^| )$1( |\$)"
    is "reached" "$(record 'enforced.reached')" '[]'
}
reached() { # reached LIMIT BOUND HOLDER-REGEX TIMES-REGEX: the newest record lists it, and nothing else
    is "limits reached" "$(record 'enforced.reached.*.limit')" "$1"
    is "bound of $1" "$(record 'enforced.reached.*.bound')" "$2"
    matches "holder of $1" "$(record 'enforced.reached.*.by')" "^($3)\$"
    matches "times of $1" "$(record 'enforced.reached.*.times')" "^($4)\$"
}

# ---- memory ----

reported() {
    project p
    children p
    memory p Test 0
    run 0 run --tree p Test
    verdict passed command.success 0
    is "means" "$(record plan.canonical.limits.on_reached)" report
    if grouped memory; then
        reached memory 64MiB 'cgroup v[12]' 6
        is "told by" "$(record 'enforced.reached.*.told_by')" kernel
        matches "first" "$(record 'enforced.reached.*.first_ns')" '^[0-9]+$'
        matches "summary" "$err" 'limits\.memory \(64MiB, held by cgroup v[12]\) was reached 6 times'
    else
        unknowable memory
    fi
    is "the parent went on" "$out" done
}
t "a14 six of eight children killed, the parent exits 0: passed, and the limit is listed" reported

staged_success() {
    project p
    children p
    memory p Test 0
    sr run --tree p --staged Test
    is "means" "$(record plan.canonical.limits.on_reached)" error
    if grouped memory; then
        verdict errored limit.memory 122
        is "decided" "$(record decided)" false
        matches "times" "$(record 'enforced.reached.*.times')" '^[1-9]'
        matches "summary" "$err" 'limits\.memory \(64MiB'
    else # it cannot be judged: it is said, beside the pass
        verdict passed command.success 0
        unknowable memory
        matches "summary" "$err" 'whether limits\.memory was reached is not known here: RLIMIT_DATA'
    fi
    run 0 plan --tree p --staged Test
    matches "plan" "$out" 'limits\.on_reached +error +\[default of a staged run\]'
    run 0 plan --tree p Test
    matches "plan" "$out" 'limits\.on_reached +report +\[default of a run that is not staged\]'
}
t "a14 the same, staged: errored limit.memory, nothing decided" staged_success

# A failing parent, by either word of the policy: never the code's fault where it can be known.
failed() { # failed ON_REACHED [--staged]
    project p
    children p
    memory p Test 3 "$1"
    sr run --tree p ${2:+"$2"} Test
    is "means" "$(record plan.canonical.limits.on_reached)" "$1"
    if grouped memory; then
        verdict errored limit.memory 122
        is "decided" "$(record decided)" false
    else
        verdict failed command.exit 3
        unknowable memory
        matches "summary" "$err" 'whether limits\.memory was reached is not known here: RLIMIT_DATA'
    fi
}
t "a14 the parent fails, on_reached report: errored" failed report
t "a14 the parent fails, on_reached error: errored" failed error
t "a14 the parent fails, staged, on_reached report: errored" failed report --staged

chosen() {
    project p
    children p
    memory p Loose 0 report
    memory p Strict 0 error
    run 0 run --tree p --staged Loose
    verdict passed command.success 0
    is "it is in the record" "$(record plan.canonical.limits.on_reached)" report
    ! grouped memory || reached memory 64MiB 'cgroup v[12]' 6
    run 0 plan --tree p --staged Loose
    matches "and in the plan" "$out" 'limits\.on_reached +report +\[repository, HEAD:sandrun\.json\]'
    sr run --tree p Strict
    ! grouped memory || verdict errored limit.memory 122
    # the command line goes one way
    sr run --tree p --on-reached error Loose
    ! grouped memory || verdict errored limit.memory 122
    run 120 run --tree p --on-reached report Strict
    matches "refused" "$err" 'policy\.loosens'
}
t "a14 on_reached is the policy's choice, and the command line may only make it error" chosen

untold() { # a policy that the model wrote into the tree does not choose
    project p
    children p
    memory p Test 0 error
    $PY "$top/tests/lib/binding.py" p/sandrun.json Test '{"limits": {"on_reached": "report"}}' merge
    sr run --tree p --staged Test
    is "means" "$(record plan.canonical.limits.on_reached)" error
    ! grouped memory || verdict errored limit.memory 122
}
t "a14 a staged run takes on_reached from the commit" untold

below_all() { # much, and never too much at one time
    project p
    binding p Test '["/usr/bin/python3", "-B", "-c", "for i in range(4):\n    with open(\"/tmp/f\", \"wb\") as f:\n        f.write(bytes(8 << 20))"]' '{"limits": {"memory": "64MiB", "disk": "16MiB"}}'
    run 0 run --tree p --staged Test
    is "reached" "$(record enforced.reached)" '[]'
    matches "counted beside" "$(record usage.memory_at_bound)" '^([0-9]+|None|null)$'
}
t "a14 below its limits nothing was reached" below_all

# ---- processes, disk, files ----

pids() {
    project p
    cat >p/forks.py <<'PYTHON'
import os, time
refused = 0
for i in range(64):
    try:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
    except BlockingIOError:
        refused += 1
print(refused)
PYTHON
    binding p Test '["/usr/bin/python3", "-B", "forks.py"]' '{"limits": {"pids": 32}}'
    run 0 run --tree p Test
    verdict passed command.success 0
    if grouped pids; then
        reached pids 32 'cgroup v[12]' '[0-9]+'
        is "times" "$(record 'enforced.reached.*.times')" "$out"
        matches "summary" "$err" 'limits\.pids \(32, held by cgroup v[12]\) was reached'
        run 122 run --tree p --staged Test
        verdict errored limit.pids 122
    else
        unknowable pids
    fi
}
t "a14 forks refused and tolerated: listed, with how often; staged errored" pids

full() { # full LIMIT BOUND SCRIPT MEMBERS: fills it, holds it for a moment, removes it, exits 0
    project p
    sh_binding p Test "$3" "$4"
    run 0 run --tree p Test
    verdict passed command.success 0
    reached "$1" "$2" tmpfs 1
    is "told by" "$(record 'enforced.reached.*.told_by')" sampling
    local first last
    first=$(record 'enforced.reached.*.first_ns') last=$(record 'enforced.reached.*.last_ns')
    below "first is no later than last" "$first" $((last + 1))
    below "last is within the run" "$last" "$(record timing.run_ns)"
    run 122 run --tree p --staged Test
    verdict errored "limit.$1" 122
}
t "a14 a full disk, tolerated: listed with times; staged errored" \
    full disk 16MiB 'head -c 100000000 /dev/zero >/tmp/big; sleep 0.3; rm /tmp/big; true' '{"limits": {"disk": "16MiB"}}'
t "a14 no more files, tolerated: listed with times; staged errored" \
    full files 500 'i=0; while [ $i -lt 1000 ]; do true 2>/dev/null >/tmp/f$i; i=$((i+1)); done; sleep 0.3; rm /tmp/f*; true' '{"limits": {"files": 500}}'

several() {
    project p
    sh_binding p Test 'head -c 100000000 /dev/zero >/tmp/big; i=0; while [ $i -lt 1000 ]; do true >/tmp/f$i; i=$((i+1)); done; sleep 0.2; exit 7' '{"limits": {"disk": "16MiB", "files": 500}}'
    run 122 run --tree p Test
    verdict errored limit.disk 122
    is "each is listed" "$(record 'enforced.reached.*.limit' | tr '\n' ' ')" "disk files "
    is "how the command ended is kept" "$(record reason_detail.end.kind) $(record reason_detail.end.code)" "exited 7"
    matches "and said" "$err" 'the command itself exited 7'
}
t "a14 several limits are all listed, and the first cause is the reason" several

ended_by_it() {
    project p
    sh_binding p Test 'sleep 20' '{"limits": {"wall": "1s", "on_reached": "report"}}'
    run 124 run --tree p Test
    verdict errored limit.wall 124
    reached wall 1s supervisor 1
    sh_binding p Loud 'yes' '{"limits": {"output": "64KiB", "on_reached": "report"}}'
    run 122 run --tree p Loud
    verdict errored limit.output 122
    reached output 64KiB supervisor 1
}
t "a14 a limit that ends the run is an error by either word" ended_by_it

# ---- what follows from it ----

nothing_kept() {
    project p
    sh_binding p Strict 'head -c 100000000 /dev/zero >/tmp/big; sleep 0.2; rm /tmp/big; echo kept >out' \
        '{"limits": {"disk": "16MiB", "on_reached": "error"}, "tree": {"writes": "keep", "keep": ["out"]}}'
    sh_binding p Loose 'head -c 100000000 /dev/zero >/tmp/big; sleep 0.2; rm /tmp/big; echo kept >out' \
        '{"limits": {"disk": "16MiB", "on_reached": "report"}, "tree": {"writes": "keep", "keep": ["out"]}}'
    run 122 run --tree p Strict
    absent p/out
    run 0 run --tree p Loose
    is "kept" "$(cat p/out)" kept
}
t "a14 nothing is kept of a run that a limit made errored" nothing_kept

repaired() { # the limit has to change first; reported, it is no cause and the repair is
    project p
    mkdir -p p/.venv/bin && printf 'home = /usr/bin\n' >p/.venv/pyvenv.cfg && echo x >p/.venv/bin/tool
    echo .venv >p/.gitignore
    local script='head -c 100000000 /dev/zero >/tmp/big; sleep 0.2; rm /tmp/big; rm -rf .venv'
    sh_binding p Strict "$script" '{"limits": {"disk": "16MiB", "on_reached": "error"}, "on_mismatch": "report"}'
    sh_binding p Loose "$script" '{"limits": {"disk": "16MiB", "on_reached": "report"}, "on_mismatch": "report"}'
    run 122 run --tree p Strict
    verdict errored limit.disk 122
    run 121 run --tree p Loose
    verdict errored env.repaired 121
    is "the limit is listed all the same" "$(record 'enforced.reached.*.limit')" disk
}
t "a18 a repair after a reached limit" repaired

uncontained() { # no sandbox, so no filesystem of the run's own: what cannot be told there is named
    project p
    sh_binding p Test 'true' '{"uncontained": "reviewed by people"}'
    run 0 run --tree p Test
    matches "unknowable" "$(record 'enforced.unknowable.*.limit' | tr '\n' ' ')" 'disk files .*open_files'
    is "disk is held by" "$(record enforced.limits.disk.by)" rlimit
    is "files are held by" "$(record enforced.limits.files.by)" none
}
t "a14 outside the sandbox disk and files are named as not known" uncontained
summary
