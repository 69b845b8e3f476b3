#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shipped policies load, and what they declare can be contained here.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

preset() { # preset NAME
    project p
    local bindings='{}'
    [ "$1" != node_env ] || bindings='{"Test": {"command": ["npm", "test"]}}' # variables alone
    printf '{"version": 1, "extends": ["%s"], "bindings": %s}\n' "$1" "$bindings" >p/sandrun.json
    commit p
    sr audit --tree p --json
    matches "exit of audit (stderr: $err)" "$rc" '^(0|120)$'
    lacks "no binding is an error" "$(json bindings)" '"error"'
    matches "the shipped names are there" "$(json 'bindings.*.binding')" '^Test$'
    # Every limit is there, from the floor at least; nothing is open.
    local name
    for name in $(json 'bindings.*.binding'); do
        run 0 plan --tree p --json "$name"
        local limit
        for limit in wall_ns memory_bytes pids cpus_milli output_bytes disk_bytes files; do
            matches "$name's limit $limit" "$(json plan.canonical.limits.$limit)" '^[1-9][0-9]*$'
        done
        is "network of $name" "$(json plan.canonical.network.mode)" none
        is "writes of $name" "$(json plan.canonical.tree.writes)" hold
    done
}
found=0
for file in "$top"/policies/*.json; do
    name=$(basename "$file" .json)
    [ "$name" != floor ] || continue
    found=$((found + 1))
    t "the preset $name loads" preset "$name"
done
some() { below "presets missing: fewer than one" 0 "$found"; }
t "there are presets" some

unknown() {
    project p
    echo '{"version": 1, "extends": ["pyhton"]}' >p/sandrun.json
    run 125 audit --tree p
    matches "stderr" "$err" 'policy\.invalid\.unknown_preset'
}
t "an unknown preset is named" unknown

floor_only() {
    project p
    echo '{"version": 1}' >p/sandrun.json
    commit p
    run 125 run --staged --tree p Test
    matches "said so" "$err" 'policy\.no_binding'
}
t "a policy that declares nothing runs nothing" floor_only

red_audit() {
    project p
    sh_binding p Good true
    run 0 audit --tree p --staged --json
    sh_binding p Bad true '{"network": {"host": "because"}}'
    run 120 audit --tree p --staged --json
    is "contained" "$(json contained)" false
    matches "the reason is repeated" "$out" 'because'
    # A binding that only reads is listed, and does not make it red.
    $PY "$top/tests/lib/binding.py" p/sandrun.json Bad '{"executes": false}' merge
    commit p
    run 0 audit --tree p --staged --json
}
t "audit is red when a binding that executes is not contained" red_audit
each_entry_by_its_layer() {
    project p
    sh_binding p Test 'true' '{"env": {"set": {"OWN": "1"}}}'
    local page
    page=$("$SANDRUN" plan --tree p Test) || fail "plan"
    matches "the repository's own" "$page" '^ +(env\.set)? +OWN +\[repository, sandrun\.json\]$'
    lacks "and no other's with it" "$(grep -E '\[repository' <<<"$page")" 'OWN .*[A-Z]+ |[A-Z]+ OWN'
    matches "the floor's" "$page" '^ +(env\.set)? +[A-Z_ ]+ +\[floor\]$'
    run 0 plan --tree p --json Test
    is "JSON" "$($PY -c 'import json,sys; d={e["field"]: e["layer"] for e in json.load(open(sys.argv[1]))["plan"]["policy"]["provenance"]}
print(d["env.set.OWN"], sorted({v for k, v in d.items() if k.startswith("env.set.") and k != "env.set.OWN"}))' "$work/stdout")" "repository ['floor']"
}
t "plan names the layer of each variable, not the last one's for all" each_entry_by_its_layer

summary
