#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that write to .git: git works inside, what it did is listed by class, and the host's repository is what it was.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

simple() { # simple SCRIPT CLASSES
    project p
    in_git p "$1" "${2:-}"
}

t "g01 git commit" simple 'echo more >>README; git commit -qam inside; test "$(git log --format=%s -1)" = inside; git diff --quiet HEAD' \
    "git.index git.internal git.objects git.refs source.tracked"
t "g01 git stash and git stash pop" simple 'echo more >>README; git stash -q; ! grep more README; git stash list | grep -q stash; git stash pop -q; grep more README'
stashed() {
    project p
    in_git p 'echo more >>README; git stash -q'
    is "the stash" "$(class_of .git/refs/stash)" "git.refs tree"
    git -C p rev-parse -q --verify refs/stash && fail "there is a stash on the host"
    return 0
}
t "g01 git stash that is not taken back" stashed
t "g01 git tag, light and annotated" simple 'git tag v1; git tag -a -m two v2; git describe | grep -qx v2' "git.objects git.refs"
t "g01 git worktree add" simple 'git worktree add -q wt -b other; cd wt; echo x >x; git add x; git commit -qm there; git -C .. log --format=%s -1 other | grep -qx there; git worktree list | grep -c . | grep -qx 2'
t "g01 git gc and git gc --auto" simple 'for i in 1 2 3; do echo $i >f; git add f; git commit -qm $i; done; git config gc.auto 1; git gc --auto -q; git gc -q --prune=now; git fsck --strict; ls .git/objects/pack/*.pack; test "$(git rev-list --count HEAD)" = 5'
# An ordinary caller's overlay gives a linked file another inode number than its source has, and git takes that for an attack.
is_root && links='' || links=--no-hardlinks
t "g01 git clone of the tree into the tree, and a push back" simple "git clone -q $links . copy; "'cd copy; git log -1 --format=%s; echo y >y; git add y; git commit -qm y; git push -q origin HEAD:pushed; git -C .. rev-parse pushed'
t "g01 git rebase, merge and reset" simple 'git checkout -qb side; echo s >s; git add s; git commit -qm s; git checkout -q main; echo m >m; git add m; git commit -qm m; git rebase -q main side; git checkout -q main; git merge -q --no-ff -m merged side; git reset -q --hard HEAD~1; test ! -e s'
t "g01 a branch that is called node_modules is no environment" simple 'git branch node_modules/x; git branch vendor/bundle/y; git rev-parse node_modules/x' "git.refs"
t "g01 git init below the tree" simple 'git init -q sub; cd sub; echo z >z; git add z; git commit -qm z; git log -1 --format=%s'

# The identity is the weakest there is: what the repository says stands over it.
identity() {
    project p
    in_git p 'git commit -q --allow-empty -m x; git log -1 --format="%an %ae"'
    is "nobody's" "$out" "check check@sandrun.invalid"
    git -C p config user.email own@example.invalid
    in_git p 'git commit -q --allow-empty -m x; git log -1 --format="%an %ae"'
    is "the repository's" "$out" "check own@example.invalid"
}
t "g01 a commit has an identity, and the repository's own stands over it" identity

executed_later() {
    project p
    in_git p 'printf "#!/bin/sh\ntouch ran\n" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.fsmonitor ./evil; echo "* filter=x" >.git/info/attributes' \
        "git.config git.hooks"
    is "hook" "$(class_of .git/hooks/pre-commit)" "git.hooks tree"
    is "config" "$(class_of .git/config)" "git.config tree"
    is "attributes" "$(class_of .git/info/attributes)" "git.config tree"
    absent p/.git/hooks/pre-commit
    sr diff "$(basename "$(dirname "$(newest_record)")")"
    matches "diff" "$out" '^git\.hooks: 1$'
    matches "diff" "$out" '\+ \.git/hooks/pre-commit'
    # Such a hook works inside, for git runs it there.
    in_git p 'printf "#!/bin/sh\ntouch ran\n" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -q --allow-empty -m x; test -e ran'
    absent p/ran
}
t "g02 a hook and configuration are classes of their own, and are not on the host" executed_later

refreshed() {
    project p
    in_git p 'touch -d 2001-01-01 README; GIT_OPTIONAL_LOCKS=1 git status >/dev/null' cache
    in_git p 'touch -d 2001-01-01 README; git status >/dev/null' ""
    is "changes" "$(record changes.total)" 0
}
t "g02 an index that was only refreshed is a cache" refreshed

removed() {
    project p
    in_git p 'rm -rf .git; git init -q -b other; git add -A; git commit -qm anew'
    is "config" "$(class_of .git/HEAD)" "git.refs tree"
    git -C p rev-parse -q --verify main >/dev/null || fail "the branch is gone on the host"
}
t "g02 a repository removed and made anew" removed

explicit() {
    project p
    sh_binding p Work 'git commit -q --allow-empty -m x' '{"tree": {"protect": [".git"]}}'
    untouched "$PWD/p" sr run --staged --tree p Work
    isnt "exit" "$rc" 0
    is "changes" "$(record changes.total)" 0
    sh_binding p Work 'git status --short; echo x >new' '{"tree": {"protect": [".git"]}}'
    run 0 run --staged --tree p Work
    matches "seen from inside" "$(record enforced.controls)" '1 protected path'
}
t "g03 a policy that protects .git gets a read-only one" explicit

protected_link() {
    project p
    mkdir p/real && echo a >p/real/f && ln -s real p/link
    commit p
    sh_binding p Work 'rm link 2>/dev/null || echo stays; mv link moved 2>/dev/null || echo stays; echo b >link/f; readlink link' '{"tree": {"protect": ["link", "no/such"]}}'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    is "output" "$out" "stays
stays
real"
    is "changes" "$(record 'changes.list.*.path')" real/f
}
t "g03 a protected link stays where it leads" protected_link

behind_link() {
    project p
    mkdir p/real && echo a >p/real/f && ln -s real p/link
    commit p
    sh_binding p Work 'echo ran' '{"tree": {"protect": ["link/f"]}}'
    run 125 run --staged --tree p Work
    is "nothing ran" "$out" ""
    matches "named" "$err" 'plan\.protect'
    matches "with what to do" "$err" '  do: name in tree.protect'
}
t "g03 a path behind a link cannot be protected, and is not passed over" behind_link

read_only() {
    project p
    sh_binding p Work 'git log --format=%s -1; touch .git/x 2>/dev/null || echo shut' '{"tree": {"writes": "none"}}'
    untouched "$PWD/p" run 0 run --staged --tree p Work
    is "output" "$out" "change
shut"
}
t "g03 writes: none" read_only

kept() {
    project p
    mkdir p/out
    git -C p/out init -q sub
    touch p/out/f
    printf 'out/sub/\n' >p/.gitignore
    commit p
    local git own
    git=$(tree_digest p/out/sub/.git)
    sh_binding p Work 'echo r >out/report; git commit -qam x; echo evil >out/sub/.git/hooks/post-checkout; git -C out/sub config core.fsmonitor ./evil; mkdir -p out/new/.GIT; echo c >out/new/.GIT/config; echo "gitdir: ../sub/.git" >out/.git' \
        '{"tree": {"writes": "keep", "keep": ["out"]}}'
    own=$(tree_digest p/.git)
    run 0 run --staged --tree p Work
    is "the report" "$(cat p/out/report)" r
    is "the repository" "$(tree_digest p/.git)" "$own"
    is "the nested one" "$(tree_digest p/out/sub/.git)" "$git"
    absent p/out/.git
    absent p/out/new/.GIT
    matches "told" "$(record changes.kept)" 'out/sub/\.git/hooks/post-checkout'
    matches "told" "$(record changes.kept)" "git's own"
    $PY "$top/tests/lib/binding.py" p/sandrun.json Work '{"tree": {"writes": "keep", "keep": ["out/sub/.git/refs"]}}' merge
    run 125 run --tree p Work
    matches "refused by name" "$err" 'policy\.invalid\.path'
    matches "refused by name" "$err" 'out/sub/\.git/refs'
}
t "g04 writes: keep brings nothing of .git back" kept

direct() {
    project p
    mkdir -p p/deep/er
    git -C p/deep/er init -q nested
    printf '/deep/\n/made\n' >p/.gitignore
    commit p
    local script='echo w >made; touch .git/x 2>/dev/null || echo shut; mv .git away 2>/dev/null || echo stays; touch deep/er/nested/.git/x 2>/dev/null || echo shut; rm -rf deep/er/nested/.git 2>/dev/null; ls -d deep/er/nested/.git/HEAD; touch deep/er/nested/free'
    sh_binding p Work "$script" '{"tree": {"writes": "direct"}}'
    sr plan --tree p Work
    matches "the plan says so" "$out" 'tree\.protect +\.git'
    local git nested
    git=$(tree_digest p/.git) nested=$(tree_digest p/deep/er/nested/.git)
    run 0 run --tree p Work
    is "output" "$out" "shut
stays
shut
deep/er/nested/.git/HEAD"
    is "the repository" "$(tree_digest p/.git)" "$git"
    is "the nested one" "$(tree_digest p/deep/er/nested/.git)" "$nested"
    present p/made
    present p/deep/er/nested/free
    is "in the record's plan" "$(record plan.canonical.tree.protect)" '[".git"]'
    run 120 run --staged --tree p Work
}
t "g05 writes: direct leaves every .git read-only" direct

direct_elsewhere() { # direct_elsewhere link|file: the repository of the tree under another name in the tree
    project p
    mv p/.git p/x.git
    if [ "$1" = link ]; then ln -s x.git p/.git; else echo "gitdir: x.git" >p/.git; fi
    printf '/x.git/\n' >p/.gitignore
    sh_binding p Work 'touch x.git/x 2>/dev/null || echo shut; rm .git 2>/dev/null || echo stays; echo x >made' '{"tree": {"writes": "direct"}}'
    git -C p rm -q --cached -r x.git 2>/dev/null
    run 0 run --policy p/sandrun.json --tree p Work
    is "output" "$out" "shut
stays"
    present p/made
}
t "g05 writes: direct, where .git is a link into the tree" direct_elsewhere link
t "g05 writes: direct, where .git is a file that leads into the tree" direct_elsewhere file

renames() {
    project p
    mkdir -p p/d/e && echo 1 >p/d/e/f
    commit p
    in_git p 'git mv d/e/f g; git commit -qm moved; git branch -m main renamed; git branch a/b; git branch -m a/b c; git remote add a /nowhere; git remote rename a b; git config remote.b.url | grep -q nowhere'
    # Whole directories of the tree: an ordinary caller's overlay has no redirects, and says EXDEV.
    ! is_root || in_git p 'git mv d moved; git commit -qm moved; test -e moved/e/f'
}
t "g06 git mv, and branches and remotes renamed" renames

locked() {
    project p
    in_git p 'touch .git/index.lock; ! git add README 2>/dev/null; rm .git/index.lock; echo x >x; git add x; git commit -qm x; touch .git/left.lock'
    is "one that is left" "$(class_of .git/left.lock)" "git.internal tree"
    absent p/.git/left.lock
}
t "g06 lock files stay inside" locked
summary
