#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The escape ring: hostile programs, outside as root (where each attempt must come out OPEN, so that it proves something)
# and inside, called by root and by an ordinary user, where each must be HELD.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../box/lib.sh"
[ "$(id -u)" -eq 0 ] || { echo "the escape ring needs root for its controls"; echo "0 passed, 1 failed"; exit 1; }

probes=$top/build/escape
# shellcheck disable=SC2034
as_root=(env)
# shellcheck disable=SC2034
as_user=(setpriv --reuid 1001 --regid 1001 --clear-groups --inh-caps=-all
    env HOME="$work/user/home" XDG_STATE_HOME="$work/user/state" USER=tester LOGNAME=tester)

# ---- what there is to reach for ----

mkdir -p "$work/root" "$work/user/home" "$work/mounted/below" "$work/control" "$HOME/.ssh"
cp "$HOME/.gitconfig" "$work/user/home/"
echo "planted-secret" >"$HOME/.ssh/id_probe"
echo "planted-secret" >"$work/beside.txt"
echo "planted" >"$work/mounted/file"
chown -R 1001:1001 "$work/user" "$work/mounted"
chmod 644 "$HOME/.ssh/id_probe"
marker=98765.$$
sleep "$marker" &
victim=$!
sleep 98764 &
bystander=$!
cgroup_file=$(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs -writable 2>/dev/null | head -n 1)
shm_key=$((0x5a000000 + $$))
shm_id=$($PY - "$shm_key" <<'PY'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(int(sys.argv[1]), 4096, 0o1666))
PY
)
export PROBE_SECRET=planted-secret

# shellcheck disable=SC2317
end() {
    kill "$victim" "$bystander" $listeners 2>/dev/null
    ipcrm -m "$shm_id" 2>/dev/null
    box_end
}
trap end EXIT
listeners=""

make_tree() { # make_tree CALLER-NAME
    local -n as=as_$1
    local tree=$work/$1/tree
    "${as[@]}" mkdir -p "$tree/probes"
    install -m 755 "$probes"/* "$tree/probes/"
    [ "$1" = root ] || chown -R 1001:1001 "$tree"
    "${as[@]}" git -C "$tree" init -q
}
make_tree root
make_tree user
$PY "$top/tests/lib/listener.py" "$work/listening" "$work/beside.sock" "$work/mounted/in-mount.sock" "$work/root/tree/in-tree.sock" \
    "$work/user/tree/in-tree.sock" &
listeners=$!
wait_for 10 test -s "$work/listening" || { echo "no listener"; exit 1; }

# ---- the arguments: T stands for what differs between outside and inside ----

read -ra listening <"$work/listening"
# shellcheck disable=SC2034
{
    reach_args=("${listening[@]}" "unix=$work/beside.sock" "unix=$work/mounted/in-mount.sock" unix=T/in-tree.sock
    "read=$HOME/.ssh/id_probe" "read=$work/beside.txt" read=/etc/shadow read=/proc/kcore read=/proc/keys "list=$HOME"
    list=/run list=/root "env=PROBE_SECRET" "hostname=$(hostname)" "shm=$shm_key")
    process_args=(environ=T mem=T maps=T exe=T exe-write=T root=T cwd=T fd-list=T ptrace=T vm-read=T pidfd-getfd=T
    "signal=$bystander" "marker=$marker")
    write_args=(create=/ create=/usr create=/etc create=/usr/local/bin create=/var create=/dev "create=$work/mounted"
    "open=$cgroup_file" "open=$work/beside.txt" "open=$work/mounted/file" "chmod=$work/mounted/file" open=/etc/passwd
    open=/proc/sys/kernel/core_pattern open=/proc/sys/kernel/hostname open=/proc/sysrq-trigger
    reopen=/usr/bin/env reopen=/etc/passwd remount=/ remount=/usr remount=/proc)
    kernel_args=()
}

outside() { # outside PROGRAM: into control.PROGRAM
    local -n args=$1_args
    local tree=$work/root/tree
    (
        cd "$work/control" && exec 7</dev/null &&
            script -qec "'$probes/$1' $(printf '%q ' "${args[@]//=T/=$(target_outside "$1")}")" /dev/null </dev/null
    ) | tr -d '\r' | sed "s#=$(target_outside "$1")#=T#" >"$work/control.$1"
}
target_outside() { if [ "$1" = process ]; then echo "$victim"; else echo "$work/root/tree"; fi; }
target_inside() { if [ "$1" = process ]; then echo 1; else echo "$work/$2/tree"; fi; }

# The check is called with a terminal, with descriptors left open, with a planted environment.
inside() { # inside PROGRAM CALLER: into inside.PROGRAM.CALLER
    local -n args=$1_args as=as_$2
    local tree=$work/$2/tree target command
    target=$(target_inside "$1" "$2")
    command=$($PY -c 'import json,sys; print(json.dumps(sys.argv[1:]))' "./probes/$1" "${args[@]//=T/=$target}")
    "${as[@]}" $PY "$top/tests/lib/binding.py" "$tree/sandrun.json" "$1" "{\"command\": $command, \"executes\": true,
        \"mounts\": [{\"source\": \"$work/mounted\"}], \"limits\": {\"wall\": \"2m\"}}"
    local digest
    digest=$(cd "$tree" && "${as[@]}" "$SANDRUN" image pin --host "$1" --json | grep -oE '"host": *"sha256:[0-9a-f]{64}' | grep -oE 'sha256:.*' | head -1)
    "${as[@]}" $PY "$top/tests/lib/binding.py" "$tree/sandrun.json" "$1" "{\"rootfs\": {\"host\": \"$digest\"}}" merge
    "${as[@]}" git -C "$tree" add -A
    "${as[@]}" git -C "$tree" commit -qm "$1"
    (
        cd "$tree" && exec 7<"$work/beside.txt" 8<"$HOME" &&
            script -qec "$(printf '%q ' "${as[@]}" "$SANDRUN" run --staged "$1")" /dev/null </dev/null
    ) | tr -d '\r' | sed "s#=$target #=T #; s#=$target/#=T/#" >"$work/inside.$1.$2"
}

# A line "NAME HELD|OPEN DETAIL" of a file.
line() { grep -F -- "$2 " "$1" | awk -v n="$2" '$1 == n { print $2, $3, $4, $5; exit }'; }
held() { # held PROGRAM CALLER NAME
    local control seen
    control=$(line "$work/control.$1" "$3")
    case $control in
        OPEN*) ;;
        # The kernel of this host has no such thing: nothing to get through to, here.
        "HELD ENOSYS"* | "HELD EAFNOSUPPORT"* | "HELD EPROTONOSUPPORT"* | "HELD ESOCKTNOSUPPORT"* | "HELD EOPNOTSUPP"* | \
            "HELD ENOTTY"* | "HELD ENODEV"*) echo "this kernel lacks it" ;;
        "HELD ENOENT"*) [[ $3 == *=/proc/* ]] || fail "the control outside found nothing: $control" ;;
        *) fail "the control outside did not get through, so the probe proves nothing: $control" ;;
    esac
    seen=$(line "$work/inside.$1.$2" "$3")
    matches "inside: $3" "$seen" '^HELD '
}
# $last_out of the assertions is not ours here.
last_out="" last_err=""
complete() { # complete PROGRAM CALLER: the program came to its end inside, or nothing was proved
    grep -q '^END' "$work/inside.$1.$2" || fail "no END:" "$(tail -n 20 "$work/inside.$1.$2")"
}

for program in reach process write kernel; do
    outside "$program"
    for caller in root user; do
        inside "$program" "$caller"
        t "a13 $program runs to its end inside, called by $caller" complete "$program" "$caller"
        while read -r name _; do
            [ "$name" = END ] || t "a13 $caller: $program $name" held "$program" "$caller" "$name"
        done <"$work/control.$program"
    done
done

# ---- seen from outside ----

# host_ids MARKER: "uid gid" quadruples, as the host counts, of processes whose arguments carry the marker.
host_ids() {
    local p
    for p in /proc/[0-9]*; do
        tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -qF "sleep $1" || continue
        [ "$(readlink "$p/ns/pid")" != "$(readlink /proc/self/ns/pid)" ] || continue
        echo "$(awk '/^Uid:/ { u = $2" "$3" "$4" "$5 } /^Gid:/ { g = $2" "$3" "$4" "$5 } END { print u" "g }' "$p/status")"
    done 2>/dev/null
    return 0
}
never_root() { # never_root CALLER OWNER
    local -n as=as_$1
    local tree=$work/$1/owned-$2 mark=$((RANDOM + 100000)).5 seen ids pid
    mkdir -p "$tree" && cp -r "$work/$1/tree/.git" "$tree/" && chown -R "$2:$2" "$tree" && chmod 755 "$tree"
    cat >"$tree/sandrun.json" <<JSON
{ "version": 1, "bindings": { "Sleep": { "command": ["sleep", "$mark"], "executes": true } } }
JSON
    chown "$2:$2" "$tree/sandrun.json"
    local digest
    digest=$(cd "$tree" && "${as[@]}" "$SANDRUN" image pin --host Sleep --json | grep -oE '"host": *"sha256:[0-9a-f]{64}' | grep -oE 'sha256:.*' | head -1)
    $PY "$top/tests/lib/binding.py" "$tree/sandrun.json" Sleep "{\"rootfs\": {\"host\": \"$digest\"}}" merge
    "${as[@]}" "$SANDRUN" run --tree "$tree" Sleep >"$work/sleep.log" 2>&1 &
    pid=$!
    wait_for 10 eval '[ -n "$(host_ids '"$mark"')" ]' || { kill "$pid"; fail "the check was not to be found" "$(cat "$work/sleep.log")"; }
    ids=$(host_ids "$mark")
    kill "$pid"
    wait "$pid" 2>/dev/null
    for seen in $ids; do
        isnt "an id of the check on the host ($ids)" "$seen" 0
    done
}
t "a12 no process of a check has host uid 0: root caller, root's tree" never_root root 0
t "a12 no process of a check has host uid 0: root caller, tree of 1001" never_root root 1001
t "a12 no process of a check has host uid 0: ordinary caller" never_root user 1001

kill_all() {
    project p
    sh_binding p Kill 'kill -9 -1; echo still here'
    sr run --tree p Kill
    kill -0 "$victim" || fail "a process of the host is dead"
    is "the command itself goes on" "$out" "still here"
}
t "a13 kill -9 -1 inside reaches nobody outside" kill_all

untouched_host() {
    is "beside.txt" "$(cat "$work/beside.txt")" planted-secret
    is "mounted/file" "$(cat "$work/mounted/file")" planted
    lacks "output of the checks" "$(cat "$work"/inside.*)" planted-secret
    is "made beside the trees" "$(find "$work" -maxdepth 2 -name '.probe*')" ""
}
t "a09 what was planted is unread and unchanged" untouched_host
summary
