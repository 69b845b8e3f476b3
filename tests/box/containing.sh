#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Containing, as seen from inside: acceptance 9 to 12 and 14 to 17.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

nothing_of_the_caller() {
    project p
    mkdir -p "$HOME/.ssh"
    echo secret-key >"$HOME/.ssh/id_rsa"
    echo secret-beside >beside
    cat >p/look.sh <<'SH'
cat ../beside 2>/dev/null && echo "READ beside"
ls -A .. | grep -v '^p$' | sed 's/^/BESIDE /'
cat "$1/.ssh/id_rsa" 2>/dev/null && echo "READ key"
cat ~/.ssh/id_rsa 2>/dev/null && echo "READ key by home"
ls -A ~ | sed 's/^/HOME HAS /'
env | cut -d= -f1 | sort
SH
    binding p Look "[\"sh\", \"look.sh\", \"$HOME\"]"
    PYTHONPATH=/x PYTHONSTARTUP=/x NODE_OPTIONS=--x NODE_PATH=/x GIT_AUTHOR_NAME=x LD_LIBRARY_PATH=/x SSL_CERT_FILE=/x \
        https_proxy=http://x VIRTUAL_ENV=/x CI=true TOKEN=secret-variable EDITOR=x run 0 run --tree p --staged Look
    lacks "output" "$out" 'secret-|READ|BESIDE|HOME HAS'
    is "names in the environment" \
        "$(grep -vE '^(HOME|USER|LOGNAME|PATH|TMPDIR|LANG|PWD|OLDPWD|SHLVL|_|SHELL|TERM|TZ|GIT_CONFIG_(COUNT|NOSYSTEM|KEY_[0-9]+|VALUE_[0-9]+)|GIT_OPTIONAL_LOCKS|GIT_TERMINAL_PROMPT|PYTHONDONTWRITEBYTECODE)$' <<<"$out")" ""
}
t "a09 a file beside the tree, the caller's home, the caller's environment: absent" nothing_of_the_caller

identity() {
    project p
    binding p Who '["python3", "-c", "import os, getpass, pwd; print(os.environ[\"HOME\"], os.environ[\"USER\"], os.environ[\"LOGNAME\"], getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir); open(os.path.expanduser(\"~/f\"), \"w\"); print(os.stat(\".\").st_uid == os.getuid())"]'
    run 0 run --tree p --staged Who
    is "who" "$out" "/home/check check check check /home/check
True"
}
t "a09 HOME is private, the names are neutral, getpass works, the tree is the command's own" identity

listed_variables() {
    project p
    sh_binding p Env 'echo "$GIVEN|$PASSED|$UNSET|$LANG"' '{"env": {"set": {"GIVEN": "g"}, "pass": ["PASSED"]}}'
    PASSED=p UNSET=u run 0 run --tree p Env
    is "output" "$out" "g|p||C.UTF-8"
}
t "a09 what the policy lists arrives, and nothing else" listed_variables

network_inside() {
    project p
    cat >p/net.py <<'PY'
import socket, threading
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    threading.Thread(target=lambda: server.accept()[0].send(b'hi')).start()
    client = socket.create_connection(server.getsockname()[:2], 2)
    assert client.recv(2) == b'hi', address
assert socket.gethostbyname('localhost') == '127.0.0.1'
assert socket.gethostbyname(socket.gethostname()).startswith('127.')
import time
start = time.monotonic()
for target in ('192.0.2.1', '8.8.8.8', '169.254.169.254'):
    try:
        socket.create_connection((target, 80), 5)
        print('CONNECTED', target)
    except OSError:
        pass
assert time.monotonic() - start < 1, 'not at once'
try:
    socket.gethostbyname('example.org'); print('RESOLVED')
except OSError:
    pass
print('names and loopback work')
PY
    binding p Net '["python3", "net.py"]'
    run 0 run --tree p --staged Net
    is "output" "$out" "names and loopback work"
}
t "a10 loopback v4 and v6 and the own name work; the world is unreachable at once" network_inside

recursive_readonly() {
    project p
    mkdir -p shared/below
    cat >p/write.sh <<'SH'
for d; do
    if (echo x >"$d/probe") 2>/dev/null; then echo "WRITABLE $d"; fi
done
cat "$1/file" "$1/below/file"
SH
    binding p Write "[\"sh\", \"write.sh\", \"$PWD/shared\", \"$PWD/shared/below\"]" "{\"mounts\": [{\"source\": \"$PWD/shared\"}]}"
    echo top >shared/file
    # shellcheck disable=SC2016
    in_mounts 'mount -t tmpfs none "$0/shared/below" && echo low >"$0/shared/below/file" && "$1" run --tree "$0/p" --staged Write' \
        "$PWD" >"$work/stdout" 2>"$work/stderr"
    rc=$?
    # An ordinary caller's mounts are locked together with those below, where the kernel may allow no view of them: then refused.
    if ! is_root && [ "$rc" -eq 125 ]; then
        matches "refused by name" "$(record reason)" '^engine\.unavailable\.'
        is "nothing ran" "$(cat "$work/stdout")" ""
        return
    fi
    is "exit (stderr: $(cat "$work/stderr"))" "$rc" 0
    is "output" "$(cat "$work/stdout")" "top
low"
}
t "a11 an extra mount is read-only also where something is mounted below it" recursive_readonly

writable_places() {
    project p
    cat >p/write.sh <<'SH'
try() { (echo x >"$1/.probe") 2>/dev/null && echo "$1"; }
for d in / /usr /usr/bin /usr/local/bin /etc /bin /lib /var /var/tmp /opt /srv /mnt /root /home /run /sys /proc /dev \
    . /tmp /dev/shm ~; do
    try "$d"
done
SH
    binding p Write '["sh", "write.sh"]'
    run 0 run --tree p --staged Write
    is "writable" "$(tr '\n' ' ' <<<"$out")" "/var/tmp . /tmp /dev/shm /home/check "
    absent /var/tmp/.probe
    absent p/.probe
    absent "$HOME/.probe"
    absent /tmp/.probe
}
t "a11 only the tree, /tmp, /var/tmp, /dev/shm and HOME are writable, and none of it is the host's" writable_places

read_errors() {
    project p
    binding p Write '["python3", "-c", "import errno\nfor p in (\"/usr/x\", \"/etc/passwd\", \"/x\"):\n    try:\n        open(p, \"w\"); print(\"OPEN\", p)\n    except OSError as e:\n        print(errno.errorcode[e.errno])"]'
    run 0 run --tree p Write
    lacks "errors" "$out" 'OPEN'
    is "errors" "$(grep -cE '^(EROFS|EACCES)$' <<<"$out")" 3
}
t "a11 a write elsewhere is EROFS or EACCES" read_errors

owner() {
    project p
    chmod 755 p
    is_root && chown -R 1001:1001 p
    git config --global --add safe.directory "$PWD/p"
    sh_binding p Write 'echo x >new && mkdir d && echo y >d/f && stat -c "%u %g" new d d/f . && id -u && test "$(stat -c %u new)" = "$(stat -c %u .)"'
    is_root && chown -R 1001:1001 p
    run 0 run --tree p --staged Write
    is "one owner of all" "$(head -4 <<<"$out" | sort -u | wc -l)" 1
    is "changes" "$(record changes.total)" 3
}
t "a12 the command writes into a tree of another owner, and the files are that owner's" owner

# ---- 14: limits ----

limits_hold() {
    project p
    binding p Memory '["python3", "-c", "print(\"partial\", flush=True); b = [bytearray(1 << 20) for i in range(4096)]"]' '{"limits": {"memory": "64MiB"}}'
    sh_binding p Pids 'echo partial; i=0; while [ $i -lt 200 ]; do sleep 20 & i=$((i+1)); done; wait' '{"limits": {"pids": 32, "wall": "20s"}}'
    sh_binding p Disk 'echo partial; head -c 100000000 /dev/zero >big' '{"limits": {"disk": "16MiB"}}'
    sh_binding p Tmp 'echo partial; head -c 100000000 /dev/zero >/tmp/big' '{"limits": {"disk": "16MiB"}}'
    sh_binding p Files 'echo partial; i=0; while [ $i -lt 5000 ]; do : >f$i || exit 1; i=$((i+1)); done' '{"limits": {"files": 500}}'
    sh_binding p Output 'echo partial; yes' '{"limits": {"output": "1MiB", "wall": "30s"}}'
    local name want
    for want in Memory=limit.memory Pids=limit.pids Disk=limit.disk Tmp=limit.disk Files='limit.(files|disk)' Output=limit.output; do
        name=${want%%=*}
        sr run --tree p $name
        # Without a cgroup of our own, memory and processes are held by rlimits: they hold, the record says that they are
        # weaker, and the kernel does not tell who ran into them.
        local limit=${name,,}
        if [ "$(record "enforced.limits.$limit.weaker")" = true ]; then
            is "$name is held by" "$(record "enforced.limits.$limit.by")" rlimit
            isnt "status of $name" "$(record status)" passed
            continue
        fi
        is "$name exit" "$rc" 122
        verdict errored "${want#*=}" 122
        matches "$name keeps its partial output" "$out" '^partial'
    done
    below "bytes of output let through" "$(wc -c <"$work/stdout")" 1200000
}
t "a14 memory, processes, disk, files, output: the limit holds and is named, partial output is kept" limits_hold

forks() {
    project p
    binding p Bomb '["python3", "-c", "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"]' '{"limits": {"pids": 64, "wall": "2s"}}'
    local start=$SECONDS
    sr run --tree p Bomb
    matches "exit" "$rc" '^(122|124)$'
    below "seconds" $((SECONDS - start)) 10
    no_leftovers
}
t "a14 a fork bomb ends with the run" forks

# ---- 15, 16 ----

processes_with() { # processes whose arguments have the word
    local p
    for p in /proc/[0-9]*; do
        tr '\0' ' ' <"$p/cmdline" | grep -qw -- "$1" && echo "${p#/proc/}"
    done 2>/dev/null
    return 0
}
stubborn() {
    project p
    local mark=7${RANDOM}77
    sh_binding p Slow "trap '' TERM HUP INT; (setsid sh -c \"trap '' TERM; while :; do echo tick >>tick; sleep 0.1; : $mark; done\" &) ; (setsid sleep $mark &); while :; do sleep 1; done" '{"limits": {"wall": "1s"}}'
    local start=$SECONDS
    run 124 run --tree p Slow
    verdict errored limit.wall 124
    below "seconds" $((SECONDS - start)) 9
    is "processes left" "$(processes_with "$mark" | tr '\n' ' ')" ""
    absent p/tick
}
t "a15 a command that ignores TERM and leaves daemons: all gone after the time limit" stubborn

signals_as_on_a_host() {
    project p
    sh_binding p Pid 'test $$ -ne 1 && test $PPID -ge 1 && echo $$'
    run 0 run --tree p Pid
    isnt "pid" "$out" 1
    sh_binding p Kill 'kill -KILL $$'
    run 137 run --tree p Kill
    verdict failed command.signal 137
    binding p Abort '["python3", "-c", "import os; os.abort()"]'
    run 134 run --tree p Abort
    verdict failed command.signal 134
    sh_binding p Term 'kill -TERM $$; sleep 5'
    run 143 run --tree p Term
    # Orphans are reaped: none of these may still be a zombie.
    sh_binding p Zombies 'i=0; while [ $i -lt 20 ]; do (true & exec true) ; i=$((i+1)); done; sleep 0.3; cat /proc/[0-9]*/stat | cut -d")" -f2 | grep -c "^ Z"'
    sr run --tree p Zombies
    is "zombies" "$out" 0
}
t "a16 not PID 1: kill, abort, TERM and zombies as on a host" signals_as_on_a_host

daemon_holds_stdout() {
    project p
    sh_binding p Daemon '(setsid sleep 30 &); echo done'
    local start=$SECONDS
    run 0 run --tree p Daemon
    is "output" "$out" "done"
    below "seconds" $((SECONDS - start)) 4
    verdict passed command.success 0
}
t "a16 a daemon that holds stdout does not delay the end" daemon_holds_stdout

last_bytes() {
    project p
    sh_binding p Last 'printf x; printf y >&2; exit 3'
    local i
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        run 3 run --quiet --tree p Last
        is "stdout of round $i" "$(cat "$work/stdout")" x
        is "stderr of round $i" "$(cat "$work/stderr")" y
    done
}
t "a16 the last bytes without a newline arrive, each time" last_bytes

much_output() {
    project p
    sh_binding p Much 'head -c 25000000 /dev/zero | tr "\0" a; head -c 25000000 /dev/zero | tr "\0" b >&2' '{"limits": {"output": "64MiB"}}'
    run 0 run --tree p Much
    is "bytes of stdout" "$(wc -c <"$work/stdout")" 25000000
    is "record" "$(record output.stdout.bytes)" 25000000
    is "record" "$(record output.stderr.bytes)" 25000000
    # A reader that stops reading neither hangs the run nor changes its verdict.
    "$SANDRUN" run --tree p Much 2>/dev/null | head -c 10 >/dev/null
    wait_for 20 test "$(record status)" = passed || fail "status with a reader that went away: $(record status)"
}
t "a16 50 MB of output, and a reader that goes away" much_output

standard_input() {
    project p
    sh_binding p Read 'cat; echo end; test -t 0 && echo TTY'
    sr run --tree p Read
    is "output" "$out" end
}
t "a16 standard input is empty and no terminal" standard_input

# ---- 17 ----

odd_path() { # odd_path NAME
    project "$1"
    printf 'x' >"$1/$1.txt" 2>/dev/null
    sh_binding "$1" Ok 'cat README && pwd && echo new >new && git status --porcelain | grep -q "?? new" && echo seen'
    cd -- "$1" || fail "cd"
    run 0 run --staged Ok
    is "output" "$out" "hello
$PWD
seen"
    absent new
}
# Objects borrowed from a repository outside the tree: mounts of the plan, but of a staged run, where the tree may not choose what of
# this machine is shown; there it is refused by name, and what the refusal says to do works.
borrowed() { # borrowed CLONE-OPTIONS...
    project main
    git clone -q "$@" main p || fail "git clone"
    present p/.git/objects/info/alternates
    sh_binding p Log 'git fsck && git log --format=%s -1 --skip 1'
    untouched "$PWD/p" run 0 run --tree p Log
    is "history inside" "$out" first
    is "the mount" "$(record plan.canonical.mounts.0.source) $(record plan.canonical.mounts.0.readonly)" "$PWD/main/.git/objects true"
    matches "who set it" "$(record policy.provenance)" "\"field\":\"mounts\.$PWD/main/\.git/objects\",\"layer\":\"tree\""
    sr plan --tree p Log
    matches "the plan" "$out" "$PWD/main/\.git/objects .*read-only.*objects/info/alternates"
    sh_binding p Write "touch '$PWD/main/.git/objects/x'"
    sr run --tree p Write
    isnt "writing into the store" "$rc" 0
    absent main/.git/objects/x
    cp -a p q
    untouched "$PWD/p" run 121 run --staged --tree p Log
    verdict errored env.mismatch 121
    is "code" "$(record 'preflight.findings.*.code')" env.mismatch.git_alternates
    matches "the store" "$err" "$PWD/main/\.git/objects"
    local mounts remedy
    remedy=$(record preflight.findings.0.remedy)
    mounts=$(grep -o '"mounts": .*' <<<"$remedy")
    sh_binding p Log 'git fsck && git log --format=%s -1 --skip 2' "{$mounts}"
    run 0 run --staged --tree p Log
    is "history inside" "$out" change
    (cd q && eval "$(grep -o 'git repack -a -d && rm "$([^)]*)"' <<<"$remedy")") || fail "git repack"
    absent q/.git/objects/info/alternates
    run 0 run --staged --tree q Log
    is "history inside" "$out" change
}
t "a17 git clone --shared: shown, and refused when staged; both ways out work" borrowed --shared
t "a17 git clone --reference: likewise" borrowed --no-local --reference main
no_store() { # no_store PATH: named by a tree, is not shown for that
    project p
    sh_binding p Look "ls -d '$1' && echo SEEN"
    printf '%s\n' "$1" >p/.git/objects/info/alternates
    run 121 run --tree p Look
    verdict errored env.mismatch 121
    lacks "output" "$out" SEEN
}
secret_directory() {
    mkdir -p secret/pack && echo x >secret/pack/x
    no_store "$PWD/secret"
}
t "a17 a directory that is no object store is not shown because a tree names it" secret_directory
t "a17 nor is a home" no_store "$HOME"
worktree_borrowed() {
    project main
    git clone -q --shared main far || fail "git clone"
    git -C far worktree add -q ../p -b side || fail "git worktree"
    sh_binding p Log 'git log --format=%s -1 --skip 1'
    run 0 run --tree p Log
    is "history inside" "$out" first
    run 121 run --staged --tree p Log
    verdict errored env.mismatch 121
}
t "a17 a linked worktree of a repository that borrows" worktree_borrowed

t "a17 a path with spaces" odd_path 'with two spaces'
t "a17 a path with commas" odd_path 'lower=a,upper=b'
t "a17 a path with colons" odd_path 'a:b::c'
t "a17 a path with backslashes" odd_path 'a\b\\c\040'
t "a17 a path with quotes and a dollar" odd_path "a'b\"c\$HOME\`d"
t "a17 a path with a leading dash" odd_path '-rf'
t "a17 a path with UTF-8" odd_path 'Prüfung-検査'

worked_or_refused() { # worked_or_refused NAME: JSON may not be able to carry it
    project "$1"
    printf '{"version": 1, "bindings": {"Ok": {"command": ["cat", "README"], "executes": true}}}' >"$1/sandrun.json"
    cd -- "$1" || fail "cd"
    pin . Ok
    commit .
    sr run --staged Ok
    if [ "$rc" -eq 0 ]; then
        is "output" "$out" hello
        is "status" "$(record status)" passed
    else
        matches "exit" "$rc" '^(120|125)$'
        matches "refused by name" "$err" 'plan\.path|path'
    fi
    lacks "no control character reaches the terminal" "$err" $'\x1b'
}
t "a17 a path with a newline: works, or is refused by name" worked_or_refused $'new\nline'
t "a17 a path with bytes that are no UTF-8: works, or is refused by name" worked_or_refused $'raw\xff\xfebytes'
t "a17 a path with an escape sequence: works, or is refused by name" worked_or_refused $'esc\x1b[31mred'

symlinked_tree() {
    project real
    sh_binding real Ok 'cat README; pwd'
    ln -s real link
    run 0 run --staged --tree link Ok
    is "output" "$out" "hello
$PWD/real"
}
t "a17 a symlinked tree" symlinked_tree

other_filesystem() { # other_filesystem MOUNT-COMMAND (with $0 the directory)
    project seed
    sh_binding seed Ok 'cat README; rm -r d; mkdir d; echo new >d/new; ls d'
    mkdir seed/d mnt up
    echo old >seed/d/old
    commit seed
    # shellcheck disable=SC2016
    in_mounts "cd \"\$0\" && $1"' && cp -a seed/. mnt/ && "$1" run --staged --tree "$0/mnt" Ok && cat mnt/d/old' "$PWD" \
        >"$work/stdout" 2>"$work/stderr"
    rc=$?
    is "exit (stderr: $(cat "$work/stderr"))" "$rc" 0
    is "output" "$(cat "$work/stdout")" "hello
new
old"
    matches "both sides are listed" "$(record changes)" 'd/old'
}
t "a17 a tree on tmpfs" other_filesystem 'mount -t tmpfs none mnt'
t "a17 a tree on an overlay" other_filesystem 'mount -t tmpfs none up && mkdir up/l up/u up/w && mount -t overlay -o lowerdir=up/l,upperdir=up/u,workdir=up/w none mnt'

worktree_and_submodule() {
    project main
    sh_binding main Ok 'git status --porcelain && git log --oneline -1 | cut -d" " -f2- && git rev-parse --is-inside-work-tree'
    git -C main worktree add -q ../linked
    untouched "$PWD/main" run 0 run --staged --tree linked Ok
    is "in a linked worktree" "$out" "change
true"
    project super
    git -C super -c protocol.file.allow=always submodule add -q "$PWD/main" sub
    commit super
    untouched "$PWD/super" run 0 run --staged --tree super/sub Ok
    is "in a submodule" "$out" "change
true"
}
t "a17 a linked worktree and a submodule" worktree_and_submodule

# What a service of the host keeps in the toolchain's own directories: only root can put it there to try.
host_service() {
    project p
    local spot=/usr/local/lib/sandrun-test-$$ secret=/opt/sandrun-test-$$
    mkdir -m 755 "$spot" && mkdir -m 700 "$secret" && mkfifo -m 666 "$spot/fifo" || fail "cannot prepare"
    echo key >"$secret/key" && chmod 600 "$secret/key"
    $PY "$top/tests/lib/listener.py" "$PWD/ports" "$spot/socket" >"$work/heard" 2>&1 &
    local listener=$!
    trap 'kill $listener; rm -rf "$spot" "$secret"; trap - RETURN' RETURN
    wait_for 5 test -S "$spot/socket" || fail "no listener: $(cat "$work/heard")"
    chmod 777 "$spot/socket"
    $PY -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])' "$spot/socket" || fail "the control: it cannot be reached outside either"
    cat >p/reach.py <<'PYTHON'
import os, socket, sys
spot, secret = sys.argv[1:]
def attempt(name, f):
    try:
        f()
        print("OPEN", name)
    except OSError as e:
        print("held", name, e.strerror)
attempt("socket", lambda: socket.socket(socket.AF_UNIX).connect(spot + "/socket"))
attempt("fifo", lambda: os.open(spot + "/fifo", os.O_WRONLY | os.O_NONBLOCK))
attempt("secret", lambda: open(secret + "/key").read())
attempt("secret directory", lambda: os.listdir(secret))
PYTHON
    binding p Reach "[\"python3\", \"reach.py\", \"$spot\", \"$secret\"]"
    run 0 run --tree p --staged Reach
    lacks "reached" "$out" OPEN
    is "attempts" "$(grep -c held <<<"$out")" 4
}
! is_root || t "a09 a10 sockets, FIFOs and private files of services below /usr/local and /opt" host_service

# A file of the listed parts of /etc that the host keeps to itself; in a mount namespace of its own, so that the host has nothing of it.
shut_file() {
    project p
    binding p Read '["cat", "/etc/timezone"]'
    cp /etc/timezone shut && chmod 600 shut
    run 0 run --tree p Read
    # shellcheck disable=SC2016
    in_mounts 'mount --bind "$0/shut" /etc/timezone && "$1" run --tree "$0/p" Read' "$PWD" >"$work/stdout" 2>"$work/stderr"
    rc=$?
    is "exit (stderr: $(cat "$work/stderr"))" "$rc" 1
    matches "refused" "$(cat "$work/stderr")" 'Permission denied'
}
! is_root || t "a09 a file of /etc that the host keeps to itself stays shut" shut_file

chosen_source() { # a mount's source that the model chooses: in the tree, or a link there
    project p
    mkdir p/data && echo seen >p/data/file
    binding p Look '["ls", "/data"]' "{\"mounts\": [{\"source\": \"$PWD/p/data\", \"target\": \"/data\"}]}"
    run 0 run --tree p Look
    is "a person's own run" "$out" file
    rm -r p/data && ln -s / p/data
    run 125 run --tree p --staged Look
    matches "reason" "$err" 'code: plan\.path'
    is "nothing ran" "$out" ""
}
t "a04 a09 a mount whose source the model could choose is refused" chosen_source

umasks() {
    project p
    binding p Ok '["sh", "-c", "touch f && cat f"]'
    local mask
    for mask in 077 027 0177 0777; do
        (umask $mask && run 0 run --tree p --staged Ok) || fail "umask $mask"
    done
}
t "a02 whatever the caller's umask" umasks

surroundings() { # what a caller may have set before
    project p
    binding p Ok '["sh", "-c", "echo done"]'
    $PY -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$SANDRUN" run --tree p Ok >"$work/stdout" 2>"$work/stderr" || fail "SIGCHLD ignored: $(cat "$work/stderr")"
    ! is_root || chrt -f 10 "$SANDRUN" run --tree p Ok >"$work/stdout" 2>"$work/stderr" || fail "a real-time caller: $(cat "$work/stderr")"
    (ulimit -f 1 && "$SANDRUN" run --tree p Ok >/dev/null 2>"$work/stderr")
    is "with ulimit -f" $? 125
    matches "says why" "$(cat "$work/stderr")" 'File too large'
}
t "a05 SIGCHLD ignored, a real-time caller, a small ulimit -f: answered, never a death by signal" surroundings
summary
