#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where a tree, a mount's target, a protected path and the state directory may lie: acceptance 2, 17, 26. The inner root has directories,
# links and mounts of its own, and people keep checkouts in all of these places.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

is_root() { [ "$(id -u)" -eq 0 ]; }

# PLACE | a tree there, root | ordinary caller | a mount's target there (whoever calls). "works", or the reason it is refused with.
# Root tries them all, for itself and for an ordinary caller, since only root can make them; an ordinary caller tries what it can make.
table='
/var/tmp/x        works works      works
/var/run/x        works works      works
/run/x            works works      works
/tmp/x            works works      works
/dev/shm/x        works works      works
/etc/x            works works      works
/usr/src/x        works works      plan.path
/lib/x            works works      plan.path
/opt/x            works works      plan.path
/srv/x            works works      works
/mnt/x            works works      works
/root/x           works plan.tree  works
/home/check/x     works works      works
/home/other/x     works works      works
/builds/x         works works      works
/github/workspace works works      works
'

made=()
# shellcheck disable=SC2317
places_end() {
    local i
    for ((i = ${#made[@]} - 1; i >= 0; i--)); do
        case ${made[i]} in tree:*) scrub "${made[i]#tree:}" ;; *) rmdir -- "${made[i]}" 2>/dev/null ;; esac
    done
    box_end
}
trap places_end EXIT

# The place itself, under a name that is ours alone; directories on the way that are not there are made, and go again.
make_place() { # make_place /var/tmp/x: its path in $place
    local dir=${1%/*} missing=()
    while [ ! -d "$dir" ]; do
        missing=("$dir" ${missing[@]+"${missing[@]}"})
        dir=${dir%/*}
        [ -n "$dir" ] || break
    done
    for dir in ${missing[@]+"${missing[@]}"}; do
        mkdir "$dir" && made+=("$dir")
    done
    place=${1%/*}/sandrun-places-$$-${1##*/}
}

# caller USER ARGS...: as sr, by root or by an ordinary caller.
caller() {
    local user=$1
    shift
    if [ "$user" = me ]; then
        sr "$@"
        return
    fi
    last_out=$work/stdout last_err=$work/stderr
    timeout -s KILL 60 setpriv --reuid 1001 --regid 1001 --clear-groups --inh-caps=-all \
        env HOME="$work/other-home" XDG_STATE_HOME="${state:-$work/other-state}" "$SANDRUN" "$@" >"$last_out" 2>"$last_err"
    rc=$?
    out=$(cat "$last_out")
    err=$(cat "$last_err")
}
if is_root; then
    mkdir -p "$work/other-home" "$work/other-state"
    chown 1001:1001 "$work/other-home" "$work/other-state"
fi
owned_by() { [ "$1" = me ] || chown -R 1001:1001 "$2"; }

# What of these the check can write: all four temporary places are as on a host, wherever the tree lies.
temporary='for d in /tmp /var/tmp /dev/shm ~; do echo x >"$d/t" || exit 9; done'

# One tree and one policy for all: only where they stand differs.
template() {
    project "$work/template"
    mkdir "$work/template/guarded" "$work/shown"
    sh_binding "$work/template" Test "$temporary; pwd; cat README; echo more >>README; echo new >new; (echo x >guarded/f) 2>/dev/null && exit 8; cat guarded/f" \
        '{"tree": {"protect": ["guarded"]}}'
    sh_binding "$work/template" State "$temporary; cat README; exit 3"
    sh_binding "$work/template" Mount "$temporary; cat /TARGET/f; (echo x >/TARGET/f) 2>/dev/null && exit 8; exit 0" \
        "{\"mounts\": [{\"source\": \"$work/shown\", \"target\": \"/TARGET\"}]}"
    echo kept >"$work/template/guarded/f"
    echo shown >"$work/shown/f"
    commit "$work/template"
}

changed() { $PY -c 'import json, sys; print(*(c["where"] + ":" + c["path"] for c in json.load(sys.stdin)["list"]))'; }

tree_at() { # tree_at USER PLACE works|REASON
    local user=$1 tree=$2 want=$3
    made+=("tree:$tree")
    cp -a "$work/template" "$tree"
    owned_by "$user" "$tree"
    tree_list "$tree" >"$work/before"
    caller "$user" run --staged --tree "$tree" Test
    if [ "$want" = works ]; then
        is "exit ($err)" "$rc" 0
        is "the tree is at its own path, what is protected is there" "$out" "$(cd "$tree" && pwd -P)
hello
kept"
        caller "$user" diff --json "$(sed -n 's/.*record \([0-9a-f]*\).*/\1/p' <<<"$err")"
        is "what was held" "$(changed <"$last_out")" "tree:README tree:new home:t"
    else
        matches "refused as" "$err" "\\($want, exit 125\\)|code: $want"
        matches "with what to do" "$err" '  do: '
    fi
    tree_list "$tree" >"$work/after"
    cmp -s "$work/before" "$work/after" || fail "the tree changed" "$(diff "$work/before" "$work/after")"
}

target_at() { # target_at USER PLACE works|REASON
    local user=$1 target=$2 want=$3
    sed "s:/TARGET:$target:g" "$work/template/sandrun.json" >policy.json
    cp -a "$work/template" p
    owned_by "$user" p
    caller "$user" run --staged --tree p --policy policy.json Mount
    [ -f "$target" ] || absent "$target"
    if [ "$want" = works ]; then
        is "exit ($err)" "$rc" 0
        is "output" "$out" shown
    else
        matches "refused as" "$err" "\\($want, exit 125[,)]"
        matches "with what to do" "$err" '  do: (write /usr/lib/|choose a target|choose another)'
    fi
}

state_at() { # state_at USER PLACE
    local user=$1
    state=$2
    made+=("tree:$state")
    cp -a "$work/template" p
    owned_by "$user" p
    mkdir "$state"
    owned_by "$user" "$state"
    local XDG_STATE_HOME=$state
    caller "$user" run --staged --tree p State
    is "exit ($err)" "$rc" 3
    caller "$user" doctor
    is "doctor's exit ($out)" "$rc" 0
    is "nothing is alive" "$(ls "$state/sandrun/live")" ""
}

wrong_kind() {
    local target
    for target in /etc/passwd /etc/hosts; do
        target_at me "$target" plan.path
        rm -rf p policy.json
    done
}

# A tree in one of the host's own paths, where the way to it is shut to others: nobody of the host cannot go there.
shut_way() {
    local dir=/opt/sandrun-places-$$-shut
    made+=("tree:$dir")
    mkdir -m 700 "$dir"
    cp -a "$work/template" "$dir/tree"
    run 125 run --staged --tree "$dir/tree" Test
    matches "refused by name" "$err" '\(plan\.tree, exit 125\)'
    matches "with what to do" "$err" "do: chmod o\\+x '$dir'"
    chmod 711 "$dir"
    run 0 run --staged --tree "$dir/tree" Test
    scrub "$dir"
}

state_in_tree() {
    cp -a "$work/template" p
    local before
    before=$(tree_list p)
    ln -s p/guarded link
    local place command
    for place in p p/state p/.local/state link link/x/y; do
        for command in "run --staged" plan audit "check" "image pin --host"; do
            # shellcheck disable=SC2086
            XDG_STATE_HOME=$PWD/$place sr $command --tree p $([ "$command" = audit ] || echo Test)
            is "exit of $command with $place" "$rc" 125
            matches "refused by name" "$err" 'state\.in_tree'
            matches "with what to do" "$err" '  do: .*XDG_STATE_HOME'
        done
    done
    is "the tree" "$(tree_list p)" "$before"
}

template
while read -r where root_tree other_tree target; do
    [ -n "$where" ] || continue
    if is_root; then
        make_place "$where"
        t "a17 $where: a tree there, root" tree_at me "$place" "$root_tree"
        scrub "$place"
        t "a17 $where: a tree there, ordinary caller" tree_at other "$place" "$other_tree"
        scrub "$place"
        t "a17 $where: a mount's target there, root" target_at me "$place" "$target"
        t "a17 $where: a mount's target there, ordinary caller" target_at other "$place" "$target"
        t "a17 $where: the state directory there, root" state_at me "$place"
        scrub "$place"
        [ "$other_tree" != works ] || t "a17 $where: the state directory there, ordinary caller" state_at other "$place"
        scrub "$place"
    else
        t "a17 $where: a mount's target there" target_at me "${where%/*}/sandrun-places-$$-x" "$target"
        case $where in /var/tmp/x | /tmp/x | /dev/shm/x) ;; *) continue ;; esac
        make_place "$where"
        t "a17 $where: a tree there" tree_at me "$place" "$other_tree"
        scrub "$place"
        t "a17 $where: the state directory there" state_at me "$place"
        scrub "$place"
    fi
done <<<"$table"
t "a17 a target that is a file inside, and a directory to stand there: refused" wrong_kind
! is_root || t "a17 a tree behind a directory of the host that is shut to others: refused, with what to do" shut_way
t "a26 the state directory in the tree: refused, and the tree is as it was" state_in_tree
summary
