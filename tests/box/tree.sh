#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The truth about the tree: acceptance 18 to 26.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A project with an environment that works, ignored by git, as people have them.
with_environment() { # with_environment DIR
    project "$1"
    printf '.venv/\nbuild/\n*.log\n__pycache__/\n.pytest_cache/\n' >"$1/.gitignore"
    printf 'def test(): pass\n' >"$1/test_it.py"
    /usr/bin/python3 -m venv --without-pip "$1/.venv"
    local site
    site=$(echo "$1"/.venv/lib/python3*/site-packages)
    mkdir -p "$site/installed"
    printf 'value = 1\n' >"$site/installed/__init__.py"
    printf 'value = 2\n' >"$site/installed/more.py"
    commit "$1"
}
repaired() { # repaired CLASS PATTERN-OF-PATH
    verdict errored env.repaired 121
    is "decided" "$(record decided)" false
    matches "class of a repair" "$(record 'changes.repairs.*.class')" "$1"
    matches "path of a repair" "$(record 'changes.repairs.*.path')" "$2"
    matches "stderr names the environment" "$err" "$2"
}

harmless() { # harmless SCRIPT
    with_environment p
    sh_binding p Work "$1"
    untouched "$PWD/p" run 0 run --staged --tree p Work
    verdict passed command.success 0
    is "repairs" "$(record changes.repairs)" "[]"
}
paths_of() { # paths_of KIND: of the newest record's changes
    $PY - "$(newest_record)" "$1" <<'PY'
import json, sys
def walk(v):
    if isinstance(v, dict):
        if v.get('kind') == sys.argv[2] and 'path' in v:
            print(v['path'])
        for c in v.values():
            walk(c)
    elif isinstance(v, list):
        for c in v:
            walk(c)
walk(json.load(open(sys.argv[1]))['changes'])
PY
}

# The shape of a repair, always with exit 0: what the exit says must not matter.
repair() { # repair CLASS PATH-PATTERN SCRIPT
    with_environment p
    sh_binding p Fix "$3" '{"limits": {"wall": "60s"}}'
    untouched "$PWD/p" run 121 run --staged --tree p Fix
    repaired "$1" "$2"
}
t "a20 an environment emptied" repair 'env\.(deleted|rebuilt)' '\.venv' 'rm -rf .venv/* && exit 0'
t "a20 an environment removed" repair 'env\.deleted' '\.venv' 'rm -rf .venv'
t "a20 an environment renamed away" repair 'env\.(deleted|replaced|created)' '\.venv|old' 'mv .venv old || { cp -a .venv old && rm -rf .venv; }'
t "a20 an environment replaced by a link" repair 'env\.replaced' '\.venv' 'cp -a .venv /tmp/v && rm -rf .venv && ln -s /tmp/v .venv'
t "a20 an environment rebuilt with the same names" repair 'env\.(rebuilt|changed)' '\.venv' \
    'cp -a .venv /tmp/v && rm -rf .venv && cp -a /tmp/v .venv && cd .venv/lib/python3*/site-packages && echo "value = 3" >installed/more.py'
t "a20 an environment rebuilt empty" repair 'env\.(rebuilt|deleted)' '\.venv' 'rm -rf .venv && mkdir .venv'
t "a20 an environment rebuilt by its own tool" repair 'env\.(rebuilt|changed|deleted)' '\.venv' 'python3 -m venv --without-pip --clear .venv'
t "a20 an environment built anew elsewhere in the tree" repair 'env\.created' 'deep/er/venv2' 'python3 -m venv --without-pip deep/er/venv2'
t "a20 an environment built in HOME" repair 'env\.created' 'envs/x' 'mkdir -p ~/.cache/envs && python3 -m venv --without-pip ~/.cache/envs/x'
t "a20 node_modules made anew" repair 'env\.created' 'node_modules' 'mkdir -p node_modules/a && echo "{}" >node_modules/a/package.json'
t "a21 one package added to site-packages" repair 'env\.changed' '\.venv' \
    'cd .venv/lib/python3*/site-packages && mkdir newpkg && echo x=1 >newpkg/__init__.py'
t "a21 one file of a package removed" repair 'env\.(changed|deleted)' '\.venv' 'rm .venv/lib/python3*/site-packages/installed/more.py'

# However much else changed, what happened to an environment is told. Floods: names that moved, directories with marks
# (what has no room at all: the unit tests).
flooded() { # flooded PREPARE CLASS PATH-PATTERN SCRIPT
    with_environment p
    printf 'd/\n' >>p/.gitignore
    $PY -c "$1" || fail "preparing"
    sh_binding p Fix "$4" '{"limits": {"wall": "120s", "files": 600000, "memory": "6GiB", "disk": "4GiB"}}'
    SR_TIMEOUT=150 run 121 run --staged --tree p Fix
    repaired "$2" "$3"
}
t "a20 an environment gutted while twelve thousand directories are renamed" flooded \
    'import os
for i in range(12000): os.makedirs(f"p/d/{i}"); open(f"p/d/{i}/f", "w").close()' \
    'env\.(deleted|changed)' '\.venv' 'mv d zz; rm -rf .venv/lib .venv/bin'
# In a tree that is an overlay made by root the command can write user.overlay.* itself; by an ordinary user it cannot.
t "a20 an environment rebuilt behind marks of the command's own making" flooded '' 'env\.(rebuilt|changed)' '\.venv' \
    'python3 -c "import os
for i in range(12000):
    os.mkdir(f\"m{i}\")
    try: os.setxattr(f\"m{i}\", \"user.overlay.opaque\", b\"y\")
    except OSError: pass"; cp -a .venv /tmp/v; rm -rf .venv; cp -a /tmp/v .venv'
invented() {
    with_environment p
    mkdir p/d && touch p/d/1 p/d/2 p/d/3
    commit p
    sh_binding p Work 'python3 -c "import os
for d in \".venv\", \".venv/lib\", \"d\":
    for name, value in (\"opaque\", b\"y\"), (\"redirect\", b\"/.git\"), (\"whiteout\", b\"y\"):
        try: os.setxattr(d, \"user.overlay.\" + name, value)
        except OSError: pass"'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    verdict passed command.success 0
    is "repairs" "$(record changes.repairs)" "[]"
    is "deleted" "$(paths_of deleted)" ""
}
t "a21 overlay marks that the command writes invent no losses" invented

# What an installer leaves where things are loaded from is a repair, wherever that is.
t "a21 a module that is bytecode alone" repair 'env\.changed' '\.venv' 'cd .venv/lib/python3*/site-packages && echo x >evil.pyc'
t "a20 an environment made in the cache of another" repair 'env\.created' '\.venv/\.mypy_cache/v' \
    'mkdir -p .venv/.mypy_cache && python3 -m venv --without-pip .venv/.mypy_cache/v'
t "a20 packages installed for the user" repair 'env\.created' '\.local/lib/python3' \
    'd=$(python3 -m site --user-site); mkdir -p "$d/x" && echo y=1 >"$d/x/__init__.py"'
t "a20 gems installed for the user" repair 'env\.created' '\.local/share/gem' 'mkdir -p ~/.local/share/gem/ruby/3.1.0/gems/x && echo y >~/.local/share/gem/ruby/3.1.0/gems/x/x.rb'
t "a20 eggs fetched into the tree" repair 'env\.created' '\.eggs' 'mkdir -p .eggs/x.egg && echo y=1 >.eggs/x.egg/x.py'

# Directories that shut out their owner, wherever the run could make them.
t "a24 the tree without permissions" harmless 'touch new; chmod 0 .'
t "a24 HOME without permissions" harmless 'mkdir -p ~/d; touch ~/d/f; chmod 0 ~/d ~'
t "a24 directories that can be listed and not searched" harmless 'mkdir -p x/y ~/x/y; touch x/y/f ~/x/y/f; chmod 0 x/y; chmod 444 x; chmod 444 ~/x'
shut_and_told() {
    with_environment p
    mkdir p/d && touch p/d/1
    commit p
    sh_binding p Work 'echo x >d/new; mkdir e; touch e/f; chmod 0 d e'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    matches "what lies in them" "$(paths_of added | tr '\n' ' ')" 'd/new .*e/f'
    is "mode of d" "$(paths_of mode)" d
    matches "the modes as the command left them" "$(record changes)" '"mode":"040000"'
    lacks "modes that the reading made" "$(record changes)" '"mode":"040700"'
}
t "a24 directories without permissions are read and told as they were left" shut_and_told
t "a20 an environment gutted and shut" repair 'env\.(deleted|changed)' '\.venv' 'rm -rf .venv/lib; chmod 0 .venv .'

reported_not_judged() {
    with_environment p
    sh_binding p Fix 'rm -rf .venv' '{"on_repair": "report"}'
    untouched "$PWD/p" run 0 run --staged --tree p Fix
    verdict passed command.success 0
    matches "it is still listed" "$(record 'changes.repairs.*.class')" 'env\.deleted'
}
t "a20 on_repair report: listed, not judged" reported_not_judged

failing_repair() {
    with_environment p
    sh_binding p Fix 'rm -rf .venv; exit 7'
    untouched "$PWD/p" run 121 run --staged --tree p Fix
    repaired 'env\.deleted' '\.venv'
}
t "a18 a command that destroyed its environment and failed is not a failing test" failing_repair

second_finds_it() {
    with_environment p
    binding p First '["rm", "-rf", ".venv"]'
    binding p Second '[".venv/bin/python", "-c", "import installed.more; print(installed.more.value)"]'
    run 121 run --staged --tree p First
    run 0 run --staged --tree p Second
    is "output of the second" "$out" 2
    verdict passed command.success 0
}
t "a19 the second check finds the environment as it was installed" second_finds_it

t "a21 bytecode in the environment and beside the sources" harmless \
    'python3 -m compileall -q .venv test_it.py && ls __pycache__ >/dev/null'
t "a21 tool caches and a build log" harmless \
    'mkdir -p .pytest_cache/v .mypy_cache/3.11 build && echo x >.pytest_cache/v/x && echo x >.mypy_cache/3.11/x && echo x >build.log && echo x >build/out'
t "a21 touched times" harmless 'find . -path ./.git -prune -o ! -type l -exec touch {} +'
t "a21 git refreshes its index" harmless 'touch README test_it.py; GIT_OPTIONAL_LOCKS=1 git status >/dev/null'
t "a21 modes changed and changed back" harmless 'chmod 700 .venv/pyvenv.cfg && chmod 644 .venv/pyvenv.cfg'


# However the tree is held; sandrun.json pins the host, so what changes the tree comes last.
root_mode() { # root_mode WHAT OPTIONS... : run over p, whose own directory the command shuts to others
    local what=$1
    shift
    run 0 run --tree p "$@" Work
    is "mode, $what" "$(paths_of mode)" .
    is "all changes, $what" "$(record changes.total)" 1
    matches "before and after, $what" "$(record changes.list)" '"before":\{"mode":"040755".*"after":\{"mode":"040711"'
    sr diff "$(basename "$(dirname "$(newest_record)")")"
    matches "diff, $what" "$out" '^  m \.$'
}
root_modes() {
    project p
    sh_binding p Work 'chmod 711 .'
    untouched "$PWD/p" root_mode held --staged
    sh_binding p Nothing 'touch x; rm x'
    chmod 3755 p
    run 0 run --tree p Nothing
    is "changes in a setgid and sticky tree" "$(record changes.list)" "[]"
    chmod 0755 p && chmod g-s p
    sh_binding p Work 'chmod 711 .' '{"tree": {"writes": "direct"}}'
    root_mode direct
    chmod 755 p
    $PY "$top/tests/lib/binding.py" p/sandrun.json Work '{"command": ["sh", "-c", "chmod 711 ."], "executes": true, "uncontained": "to see"}'
    root_mode uncontained
}
t "a22 the mode of the tree's own directory is told, however the tree is held" root_modes

listed_one_by_one() {
    project p
    mkdir -p p/d/e p/old/f
    touch p/d/1 p/d/e/2 p/d/e/3 p/old/f/4 p/stay
    commit p
    sh_binding p Work 'rm -rf d && mkdir d && echo new >d/new; mv old moved 2>/dev/null || { cp -a old moved && rm -rf old; }'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    local deleted
    deleted=$(paths_of deleted | LC_ALL=C sort | tr '\n' ' ')
    for path in d/1 d/e/2 d/e/3 old/f/4; do
        matches "deleted" " $deleted" " $path "
    done
    local added
    added=" $(paths_of added | tr '\n' ' ')"
    matches "added" "$added" ' d/new '
    matches "added" "$added" ' moved/f/4 '
}
t "a22 files lost under emptied and renamed directories are listed one by one" listed_one_by_one

bytes_not_times() {
    project p
    printf 'aaaa' >p/bytes
    printf 'bbbb' >p/times
    commit p
    binding p Work '["python3", "-c", "import os\nst = os.stat(\"bytes\")\nopen(\"bytes\", \"w\").write(\"zzzz\")\nos.utime(\"bytes\", ns=(st.st_atime_ns, st.st_mtime_ns))\nd = open(\"times\").read()\nopen(\"times\", \"w\").write(d)\nos.utime(\"times\", (1, 1))"]'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    is "modified" "$(paths_of modified)" bytes
    is "changes" "$(record changes.total)" 1
}
t "a22 other bytes with the same size and time are a change; other times with the same bytes are none" bytes_not_times

tracked_rewritten() {
    with_environment p
    echo 'lock 1' >p/poetry.lock
    commit p
    sh_binding p Work 'echo "lock 2" >poetry.lock; echo new >untracked.txt'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    verdict passed command.success 0
    is "repairs" "$(record changes.repairs)" "[]"
    matches "the lock file is reported as tracked source" "$(record changes)" '"path":"poetry.lock"[^}]*"class":"source\.tracked"|"class":"source\.tracked"[^}]*"path":"poetry.lock"'
    sr diff "$(basename "$(dirname "$(newest_record)")")"
    matches "diff shows it" "$out" 'poetry\.lock'
}
t "a23 a tracked file rewritten with exit 0 is reported and is no repair" tracked_rewritten

odd_entries() {
    project p
    mkdir p/ro
    echo x >p/ro/f
    mkfifo p/pipe
    ln p/README p/hard
    ln -s loop p/loop
    truncate -s 1G p/sparse
    $PY -c 'import socket; socket.socket(socket.AF_UNIX).bind("p/sock")'
    printf 'sparse\n' >p/.gitignore
    commit p
    chmod 555 p/ro
    cat >p/work.py <<'PY'
import os
os.mkfifo('pipe2'); os.link('README', 'hard2'); os.symlink('loop2', 'loop2')
os.remove('pipe'); os.remove('loop')
os.mkdir('ro2'); open('ro2/f', 'w').close(); os.chmod('ro2', 0o555)
open('hard', 'a').write('y')
# Deeper than a path can say.
for i in range(1200):
    os.mkdir('deep'); os.chdir('deep')
print(i + 1)
PY
    commit p
    binding p Work '["python3", "work.py"]'
    SR_TIMEOUT=60 untouched "$PWD/p" run 0 run --staged --tree p Work
    is "depth made" "$out" 1200
    verdict passed command.success 0
    matches "the new pipe is listed" "$(paths_of added)" '^pipe2$'
    matches "the lost pipe is listed" "$(paths_of deleted)" '^pipe$'
    is "cleanup" "$(record cleanup | grep -c '"left"')" 0
    chmod 755 p/ro
}
t "a24 pipes, sockets, sparse files, hardlinks, read-only directories, loops, depth: finished and cleaned" odd_entries

linked_environment() {
    project p
    /usr/bin/python3 -m venv --without-pip p/envs/dev
    printf '/envs/\n/.venv\n' >p/.gitignore
    ln -s envs/dev p/.venv
    commit p
    sh_binding p Remove 'rm .venv'
    sh_binding p Lead 'ln -sfn /opt/other .venv'
    sh_binding p Use '.venv/bin/python3 -c "print(1)"'
    untouched "$PWD/p" run 121 run --tree p Remove
    verdict errored env.repaired 121
    is "repair" "$(record changes.repairs.0.class) $(record changes.repairs.0.path)" "env.deleted .venv"
    untouched "$PWD/p" run 121 run --tree p Lead
    is "repair" "$(record changes.repairs.0.class) $(record changes.repairs.0.path)" "env.replaced .venv"
    run 0 run --tree p Use
}
t "a20 an environment that is a link: removed or led elsewhere is a repair" linked_environment

host_edits() {
    project p
    sh_binding p Work 'touch started 2>/dev/null; echo mine >mine; sleep 1.5'
    "$SANDRUN" run --tree p Work >/dev/null 2>&1 &
    local pid=$!
    sleep 0.7
    echo "edited by a person" >p/README
    echo "new by a person" >p/person
    wait $pid
    is "exit" $? 0
    lacks "changes" "$(paths_of modified; paths_of added)" 'README|person'
    matches "changes" "$(paths_of added)" '^mine$'
    is "the person's edit" "$(cat p/README)" "edited by a person"
}
t "a25 what a person edits during the run is not blamed on the command" host_edits

two_at_once() {
    project p
    sh_binding p A 'echo a >who; sleep 1; cat who; ls'
    sh_binding p B 'sleep 0.3; ls who 2>/dev/null && echo "SAW A"; echo b >who; sleep 0.5; cat who'
    "$SANDRUN" run -q --tree p A >a 2>&1 &
    local one=$!
    "$SANDRUN" run -q --tree p B >b 2>&1 &
    wait $one && wait $! || fail "exit" "$(cat a b)"
    is "A" "$(tr '\n' ' ' <a)" "a README sandrun.json who "
    is "B" "$(cat b)" "b"
    absent p/who
}
t "a25 two runs on one tree do not see each other" two_at_once

watched() { # watched COMMAND...: no event below p while it runs, and the watcher sees what it must
    $PY "$top/tests/lib/watch.py" "$PWD/p" "$PWD/events" &
    local watcher=$!
    wait_for 10 test -e events.ready || fail "no watcher"
    "$@"
    sleep 0.1
    # The control: an event of ours must arrive, or the watching proved nothing.
    touch p/control
    sleep 0.1
    touch events.stop
    wait $watcher
    matches "the control" "$(cat events)" 'create .*/p/control'
    is "events in the host tree" "$(grep -v '/p/control$' events | head -20)" ""
    rm -f p/control
}
busy='rm -rf d .venv; mkdir d; echo x >d/x; mv README moved; echo y >>test_it.py; chmod 700 .; python3 -m venv --without-pip .venv; ln -s /etc e; mkdir -p a/b/c; git status >/dev/null; git add -A; git commit -qm inside; sleep 0.2'
nothing_in_the_tree() {
    with_environment p
    mkdir p/d && touch p/d/1
    commit p
    sh_binding p Busy "$busy"
    watched untouched "$PWD/p" run 121 run --staged --tree p Busy
}
t "a26 nothing appears in the host tree, watched while a busy command runs" nothing_in_the_tree

killed_at() {
    local delay
    for delay in 0.001 0.003 0.005 0.007 0.009 0.012 0.015 0.018 0.022 0.027 0.033 0.04 0.05 0.07 0.1 0.2 0.4 0.7; do
        "$SANDRUN" run --staged --tree p Busy >/dev/null 2>&1 &
        sleep $delay
        kill -KILL $! 2>/dev/null
        wait $! 2>/dev/null
    done
}
nothing_after_kill() {
    with_environment p
    sh_binding p Busy "$busy"
    watched untouched "$PWD/p" killed_at
    # The next start sweeps; then nothing is left.
    sr clean
    is "exit of clean" "$rc" 0
    no_leftovers
}
t "a26 nothing appears in the host tree when the supervisor is killed, at many moments" nothing_after_kill

kept_paths() {
    project p
    sh_binding p Work 'echo "<xml/>" >junit.xml; echo other >other; ln -s /etc/passwd link' '{"tree": {"writes": "keep", "keep": ["junit.xml", "link"]}}'
    run 0 run --staged --tree p Work
    is "what was to be kept" "$(cat p/junit.xml)" "<xml/>"
    absent p/other
    absent p/link
    is "what came back, and what did not" "$(record 'changes.kept.*.path' | tr '\n' ' ')" "junit.xml link "
    isnt "why the link did not" "$(record changes.kept.1.refused)" ""
    is "the link was refused" "$(record changes.kept.1.kept)" false
    sh_binding p None 'echo x >new 2>/dev/null && echo WRITTEN; exit 0' '{"tree": {"writes": "none"}}'
    untouched "$PWD/p" run 0 run --staged --tree p None
    is "output" "$out" ""
}
t "a26 writes: keep brings back what is listed and nothing else; none is read-only" kept_paths
summary
