#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Repeating: acceptance 39.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

recorded() {
    project p
    sh_binding p Test 'cat README; exit 3'
    run 3 run --staged --tree p --record first.json Test
}
same() {
    recorded
    sr repro first.json
    is "exit" "$rc" 0
    is "record of the second run" "$(record status):$(record exit)" "failed:3"
    is "plan digest" "$(record plan_digest)" "$($PY "$top/tests/lib/field.py" first.json plan_digest)"
    # By the start of the run's id, too.
    local id
    id=$($PY "$top/tests/lib/field.py" first.json id)
    run 0 repro "$id"
    run 0 repro "${id:0:30}"
}
t "a39 the same plan, the same result: exit 0" same

# What real tools leave: logs named after the time, caches, artefacts with a date inside.
stamped() {
    project p
    sh_binding p Test 'now=$(date +%s%N); mkdir -p ~/.npm/_logs .pytest_cache; echo $now >~/.npm/_logs/$now-debug-0.log
        echo $now >.pytest_cache/lastfailed; echo $now >report.txt; exit 3'
    run 3 run --staged --tree p --record first.json Test
    run 0 repro first.json
    matches "says so" "$err" 'the same result'
}
t "a39 time stamps in names of caches and in changed files are no difference" stamped

differs() {
    project p
    sh_binding p Test 'test -e /dev/shm/../../proc/self && exit $(( $(date +%N | cut -c1-9 | sed "s/^0*//") % 100 + 1 ))'
    sr run --staged --tree p --record first.json Test
    local i
    for i in 1 2 3 4 5; do
        sr repro first.json
        [ "$rc" -eq 0 ] || break
    done
    is "exit" "$rc" 1
    matches "the difference is listed" "$out$err" 'exit: [0-9]+ -> [0-9]+'
}
t "a39 another result: exit 1, each difference a line" differs

# Two codes that are given as the same number are two results all the same.
own_code() {
    project p
    mkdir state
    echo 121 >state/code
    sh_binding p Test 'exit $(cat /srv/code/code)' "{\"mounts\": [{\"source\": \"$PWD/state\", \"target\": \"/srv/code\"}]}"
    run 1 run --staged --tree p --record first.json Test
    run 0 repro first.json
    echo 122 >state/code
    run 1 repro first.json
    matches "the difference is listed" "$out$err" 'end.code: 121 -> 122'
}
t "a39 the command's own exit code is what is compared" own_code

drifted() { # drifted WHAT SCRIPT
    recorded
    eval "$2"
    sr repro first.json
    is "exit (stderr: $err)" "$rc" 120
    matches "named" "$err$out" "$1"
    lacks "nothing ran" "$out" hello
}
t "a39 the policy moved on: refused by name" drifted 'policy' \
    '$PY "$top/tests/lib/binding.py" p/sandrun.json Test "{\"command\": [\"sh\", \"-c\", \"exit 0\"]}" merge; commit p'
t "a39 the tree moved on: refused by name" drifted 'tree' 'echo more >>p/README; commit p'
t "a39 another pin in the record: refused by name" drifted 'pin|plan|record' \
    '$PY - <<PY
import json, re
text = open("first.json").read()
d = json.loads(text)
pin = re.search(r"sha256:[0-9a-f]{64}", json.dumps(d["pin"])).group(0)
open("first.json", "w").write(text.replace(pin, "sha256:" + "0" * 64))
PY'
t "a39 another plan digest in the record: refused by name" drifted 'plan|record' \
    'd=$($PY "$top/tests/lib/field.py" first.json plan_digest); sed -i "s/$d/sha256:$(printf %064d 7)/" first.json'

# A tree whose name is no UTF-8: the record spells it, and the spelling leads back.
strange_names() {
    local dir
    for dir in $'t\xff\xfe' 't\xff' $'umlaut-\xc3\xa4'; do
        project "$dir"
        sh_binding "$dir" Test 'cat README; exit 3'
        run 3 run --staged --tree "$dir" --record first.json Test
        run 0 repro first.json
        matches "says so" "$err" 'the same result'
        scrub "$dir"
    done
}
t "a39 a tree with a name of any bytes" strange_names

allowed_drift() {
    recorded
    echo more >>p/README
    commit p
    sr repro --allow-drift tree first.json
    matches "it ran" "$rc" '^[01]$'
    is "status" "$(record status)" failed
}
t "a39 drift that was allowed by name" allowed_drift


# A commit carries the time, and the names of its objects follow.
committed() {
    project p
    sh_binding p Test 'echo more >>README; git commit -qam inside; git gc -q; echo x >x; git add x; git commit -qm two'
    run 0 run --staged --tree p --record first.json Test
    sleep 1.1
    run 0 repro first.json
    matches "says so" "$err" 'the same result'
}
t "a39 objects of git that carry the time are no difference" committed
arguments_are_not_recorded() {
    project p
    sh_binding p Test 'echo "$@"; exit 0' '{}'
    run 0 run --staged --tree p --record first.json Test -- first-argument
    lacks "the record" "$(cat first.json)" first-argument
    sr repro first.json
    isnt "without the arguments" "$rc" 0
    run 0 repro first.json -- first-argument
}
t "a39 arguments must be given again, and must be the same" arguments_are_not_recorded

damaged() { # damaged SCRIPT
    recorded
    eval "$1"
    sr repro first.json
    is "exit" "$rc" 125
    matches "named" "$err" 'record\.'
    lacks "nothing ran" "$out" hello
}
t "a39 a cut record" damaged 'head -c 300 first.json >cut && mv cut first.json'
t "a39 an empty record" damaged ': >first.json'
t "a39 a record of another schema" damaged 'sed -i "s:sandrun.record/1:sandrun.record/99:" first.json'
t "a39 a record with a key twice" damaged 'sed -i "1s/{/{\"id\":\"x\",/" first.json'
t "a39 a record that lacks a key" damaged '$PY -c "import json; d = json.load(open(\"first.json\")); del d[\"plan\"]; json.dump(d, open(\"first.json\", \"w\"))"'
summary
