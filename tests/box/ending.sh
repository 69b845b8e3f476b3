#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ending: acceptance 37 and 38's smaller form. Whatever ends a run, nothing of it is left after two seconds.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

marker=6${RANDOM}66
marked() {
    local p
    for p in /proc/[0-9]*; do
        tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -qF "sleep $marker" && echo "${p#/proc/}"
    done 2>/dev/null
    return 0
}
nothing_left() {
    no_leftovers
    is "processes of the check" "$(marked | tr '\n' ' ')" ""
}
cleaned() { # the inventory in the record: all made, all removed
    isnt "inventory" "$(record cleanup)" "(absent)"
    lacks "inventory" "$(record cleanup)" '"state":"(left|made)"'
}

ends() { # ends SCRIPT EXIT STATUS
    project p
    sh_binding p Run "(setsid sleep $marker &); echo x >f; $1" '{"limits": {"wall": "1s"}}'
    run "$2" run --tree p Run
    is "status" "$(record status)" "$3"
    nothing_left
    cleaned
}
t "a37 success" ends 'exit 0' 0 passed
t "a37 failure" ends 'exit 5' 5 failed
t "a37 a time limit" ends "sleep $marker" 124 errored
t "a37 a signal of its own" ends 'kill -SEGV $$' 139 failed

running() { [ -n "$(marked)" ]; }
# A shell lets its background jobs ignore INT, and what is ignored is inherited: started with all signals at their default.
started() {
    exec $PY -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(s, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$SANDRUN" "$@"
}
interrupted() { # interrupted SIGNAL
    project p
    sh_binding p Run "(setsid sleep $marker &); trap '' TERM INT HUP; sleep $marker; sleep $marker"
    started run --tree p Run >"$work/stdout" 2>"$work/stderr" &
    local pid=$!
    wait_for 10 running || fail "it does not run" "$(cat "$work/stderr")"
    kill "-$1" $pid
    local start=$SECONDS
    wait $pid
    rc=$?
    below "seconds" $((SECONDS - start)) 6
    is "status" "$(record status)" errored
    matches "reason" "$(record reason)" "^(run\.)?interrupted$"
    is "decided" "$(record decided)" false
    is "record's exit is the exit" "$(record exit)" "$rc"
    isnt "exit" "$rc" 0
    nothing_left
    cleaned
}
t "a37 SIGINT" interrupted INT
t "a37 SIGTERM" interrupted TERM
t "a37 SIGHUP" interrupted HUP

killed() {
    project p
    sh_binding p Run "(setsid sleep $marker &); echo x >f; sleep $marker"
    sh_binding p Ok true
    "$SANDRUN" run --tree p Run >"$work/stdout" 2>"$work/stderr" &
    local pid=$!
    wait_for 10 running || fail "it does not run" "$(cat "$work/stderr")"
    kill -KILL $pid
    wait $pid 2>/dev/null
    wait_for 2 eval '! running' || fail "processes 2 s after kill -9: $(marked | tr '\n' ' ')"
    is "mounts" "$(grep -cF "$work" /proc/self/mountinfo)" 0
    # The next start sweeps what the dead run wrote down.
    run 0 run --tree p Ok
    nothing_left
}
t "a37 kill -9 of the supervisor: processes gone at once, the rest by the next start" killed

killed_everywhere() {
    project p
    sh_binding p Run "echo x >f; sleep 0.05"
    local i
    for i in $(seq 1 40); do
        "$SANDRUN" run --tree p Run >/dev/null 2>&1 &
        sleep "0.0$((i / 10))$((i % 10))"
        kill -KILL $! 2>/dev/null
        wait $! 2>/dev/null
    done
    run 0 clean
    nothing_left
    run 0 clean --json
    lacks "clean again" "$out" '"state": *"left"'
}
t "a37 kill -9 at forty moments, then clean" killed_everywhere

live_untouched() {
    project p
    sh_binding p Run "sleep 1.5; echo survived"
    "$SANDRUN" run -q --tree p Run >live.out 2>&1 &
    local pid=$!
    wait_for 5 eval 'ls "$XDG_STATE_HOME"/sandrun/live/* >/dev/null 2>&1' || fail "no live inventory while it runs"
    run 0 clean
    run 0 clean --older-than 1s
    wait $pid
    is "exit" $? 0
    is "output" "$(cat live.out)" survived
}
t "a37 clean touches no live run" live_untouched

many() {
    project p
    sh_binding p Run 'echo $$ >mine; sleep 0.5; ls; cat mine | wc -l'
    local pids=() i bad=0
    for i in $(seq 1 20); do
        "$SANDRUN" run -q --tree p Run >"o$i" 2>&1 &
        pids+=($!)
    done
    kill -KILL "${pids[3]}" "${pids[11]}"
    for i in $(seq 1 20); do
        wait "${pids[$((i - 1))]}" 2>/dev/null || bad=$((bad + 1))
    done
    is "runs that did not pass" "$bad" 2
    is "outputs" "$(cat o? o?? | sort | uniq -c | awk '{print $2}' | tr '\n' ' ')" "1 README mine sandrun.json "
    run 0 clean
    nothing_left
}
t "a38 twenty at once, two of them killed" many

state_is_private() {
    project p
    sh_binding p Ok 'echo hello'
    run 0 run --tree p Ok
    is "others may look into the state" "$(find "$XDG_STATE_HOME/sandrun" -perm /077 ! -type l | head -3)" ""
    local dir
    dir=$(dirname "$(newest_record)")
    is "the log" "$(cat "$dir/stdout.log")" hello
    chmod 777 "$XDG_STATE_HOME/sandrun"
    sr run --tree p Ok
    chmod 700 "$XDG_STATE_HOME/sandrun"
    is "a state directory open to all" "$rc" 125
    matches "stderr" "$err" 'state\.unsafe'
}
t "a37 the state is the caller's alone, and refused when it is not" state_is_private
summary
