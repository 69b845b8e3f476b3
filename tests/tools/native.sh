#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make, gcc and git, which write into the tree as a matter of course.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

c_project() {
    project p
    cat >p/Makefile <<'MK'
prog: main.o part.o
	gcc -o $@ $^
%.o: %.c
	gcc -c -o $@ $<
	echo compiled $<
test: prog
	./prog
MK
    printf 'int part(void);\n#include <stdio.h>\nint main(void) { printf("answer %%d\\n", part()); return part() != 42; }\n' >p/main.c
    printf 'int part(void) { return 42; }\n' >p/part.c
    printf '*.o\nprog\n' >p/.gitignore
    commit p
}
compiles() {
    c_project
    binding p Test '["make", "-s", "test"]'
    healthy p Test 'compiled main.c'
    matches "it ran" "$out" 'answer 42'
    absent p/prog
    binding p Gcc '["gcc", "-o", "prog", "main.c", "part.c"]'
    healthy p Gcc
    # A failing compiler is the code's fault.
    echo 'int part(void) { return }' >p/part.c
    commit p
    untouched "$PWD/p" run 2 run --staged --tree p Test
    verdict failed command.exit 2
}
t "a18 make and gcc compile inside, nothing stays in the tree, a compile error is a failure" compiles

not_stale() {
    c_project
    make -s -C p prog >/dev/null
    # A source newer by less than a second than its object: times that lost their nanoseconds would test a stale program.
    touch -d '2024-01-01 00:00:00.300' p/main.o p/main.c
    touch -d '2024-01-01 00:00:00.500' p/part.o
    touch -d '2024-01-01 00:00:00.700' p/part.c
    touch -d '2024-01-01 00:00:00.600' p/prog
    commit p
    binding p Test '["make", "-s", "test"]'
    healthy p Test 'compiled part.c'
    lacks "and only that is compiled" "$out" 'compiled main.c'
}
t "a21 times are exact to the nanosecond inside: make neither rebuilds all nor tests what is stale" not_stale

git_works() {
    c_project
    binding p Status '["git", "status", "--porcelain"]'
    touch p/main.c
    healthy p Status
    is "a clean tree is clean" "$out" ""
    echo '/* more */' >>p/main.c
    run 0 run --staged --tree p Status
    is "an edit is seen" "$out" " M main.c"
    sh_binding p Describe 'git log --oneline | wc -l && git ls-files | wc -l && git diff --stat HEAD'
    healthy p Describe
}
t "a21 git status inside sees what git sees outside; its index refresh is no change" git_works

git_destroys() {
    c_project
    git -C p worktree add -q ../linked
    git -C p branch precious
    local before
    before=$(git -C p rev-parse HEAD)
    # shellcheck disable=SC2016
    sh_binding p Wreck 'git worktree prune --expire now; git branch -D precious; git gc -q --prune=now; echo evil >.git/hooks/post-checkout; git config core.fsmonitor ./evil; git clean -qfdx; git reset -q --hard HEAD~1'
    untouched "$PWD/p" run 0 run --staged --tree p Wreck
    verdict passed command.success 0
    isnt "HEAD moved only by our own commit" "$before" ""
    git -C p rev-parse -q --verify precious >/dev/null || fail "the branch is gone on the host"
    git -C linked status >/dev/null || fail "the linked worktree is broken on the host"
    absent p/.git/hooks/post-checkout
    # It did all of it to a repository of its own, and each kind is told.
    matches "classes" "$(classes)" 'git\.config git\.hooks git\.index git\.internal git\.objects git\.refs'
    is "the hook" "$(class_of .git/hooks/post-checkout)" "git.hooks tree"
}
t "a18 git that prunes, deletes and configures inside changes nothing outside" git_destroys
summary
