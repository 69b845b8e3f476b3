#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Linked worktrees and submodules, whose repository lies outside the tree: held like the tree, and as byte-identical afterwards.
# shellcheck source=tests/box/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

linked() {
    project main
    git -C main worktree add -q ../linked
    printf 'x\n' >linked/x
    TOP=$PWD/main in_git linked 'echo more >>README; git commit -qam inside; git tag v1; git stash list; test "$(git log --format=%s -1)" = inside' \
        "git.index git.internal git.objects git.refs source.tracked"
    is "its index" "$(class_of "$PWD/main/.git/worktrees/linked/index")" "git.index git"
    is "a tag" "$(class_of "$PWD/main/.git/refs/tags/v1")" "git.refs git"
    is "how" "$(record enforced.git_mode)" overlay
    isnt "HEAD on the host" "$(git -C linked log --format=%s -1)" inside
    sr diff "$(basename "$(dirname "$(newest_record)")")"
    matches "diff" "$out" "\+ $PWD/main/\.git/refs/tags/v1"
    TOP=$PWD/main in_git linked 'git gc -q --prune=now; git worktree prune --expire now; echo evil >"$(git rev-parse --git-common-dir)/hooks/post-checkout"; git branch -q other; git worktree add -q /tmp/third other; cd /tmp/third; echo t >t; git add t; git commit -qm third'
    is "a hook" "$(class_of "$PWD/main/.git/hooks/post-checkout")" "git.hooks git"
    git -C main status --porcelain >/dev/null && git -C linked status --porcelain >/dev/null || fail "broken on the host"
    git -C main fsck >/dev/null 2>&1 || fail "damaged on the host"
    TOP=$PWD/main in_git linked 'touch -d 2001-01-01 README; GIT_OPTIONAL_LOCKS=1 git status >/dev/null' cache
}
t "g10 a linked worktree: its repository is held too" linked

submodule() {
    project main
    project super
    git -C super -c protocol.file.allow=always submodule add -q "$PWD/main" libs/sub
    commit super
    TOP=$PWD/super
    # The tree is the submodule: its repository lies in the superproject's.
    sh_binding super/libs/sub Work 'echo more >>README && git commit -qam inside && git tag v1 && git stash list && git log --format=%s -1'
    commit super
    untouched "$PWD/super" run 0 run --staged --tree super/libs/sub Work
    is "output" "$out" inside
    is "its index" "$(class_of "$PWD/super/.git/modules/libs/sub/index")" "git.index git"
    is "classes" "$(classes)" "git.index git.internal git.objects git.refs source.tracked"
    # The tree is the superproject.
    in_git super 'cd libs/sub; echo more >>README; git commit -qam inside; cd ../..; git submodule status | grep -q "^+"; git commit -qam moved'
    is "the submodule's index" "$(class_of .git/modules/libs/sub/index)" "git.index tree"
    in_git super 'git submodule deinit -q -f libs/sub; test ! -e libs/sub/README; git -c protocol.file.allow=always submodule update -q --init --no-fetch; test -e libs/sub/README'
}
t "g10 a submodule, seen from itself and from its superproject" submodule

within() {
    project main
    git -C main worktree add -q .git/wt
    TOP=$PWD/main in_git main/.git/wt 'echo more >>README; git commit -qam inside; git log --format=%s -1; pwd'
    is "output" "$out" "inside
$PWD/main/.git/wt"
}
t "g10 a worktree that stands in its repository's own directory" within

outside_shut() { # outside_shut WRITES-OR-PROTECT: read-only where the tree's own .git would be
    project main
    git -C main worktree add -q ../linked
    printf '/made\n' >linked/.gitignore
    sh_binding linked Work 'git log --format=%s -1; git tag v1 2>/dev/null || echo shut' "{\"tree\": $1}"
    untouched "$PWD/main" run 0 run --tree linked Work
    is "output" "$out" "change
shut"
    is "how" "$(record enforced.git_mode)" null
    sr plan --tree linked Work
    matches "the plan says so" "$out" "$PWD/main/\.git \(read-only\)"
}
t "g11 a repository outside the tree, writes: none" outside_shut '{"writes": "none"}'
t "g11 a repository outside the tree, writes: direct" outside_shut '{"writes": "direct"}'
t "g11 a repository outside the tree, protected" outside_shut '{"protect": [".git"]}'

outside_kept() {
    project main
    git -C main worktree add -q ../linked
    sh_binding linked Work 'echo r >report; git tag v1; git add report; git commit -qm x' '{"tree": {"writes": "keep", "keep": ["report"]}}'
    untouched "$PWD/main" run 0 run --staged --tree linked Work
    is "the report" "$(cat linked/report)" r
    is "kept" "$(record 'changes.kept.*.path')" report
}
t "g11 a repository outside the tree, writes: keep" outside_kept

# Where the filesystem carries no second overlay, or no idmapped mounts.
on_overlay() {
    mkdir mnt up
    local prepare='cd "$0" && mount -t tmpfs none up && mkdir up/l up/u up/w && mount -t overlay -o lowerdir=up/l,upperdir=up/u,workdir=up/w none mnt'
    project seed
    git -C seed worktree add -q ../tree
    sh_binding tree Work 'echo more >>README && git commit -qam inside && git tag v1 && git log --format=%s -1'
    # shellcheck disable=SC2016
    in_mounts "$prepare"' && cp -a seed/. mnt/ && echo "gitdir: $0/mnt/.git/worktrees/tree" >tree/.git &&
        ./digest mnt/.git >before && "$1" run --staged --tree "$0/tree" Work && ./digest mnt/.git >after && cmp before after' "$PWD" \
        >"$work/stdout" 2>"$work/stderr"
    rc=$?
    is "exit (stderr: $(cat "$work/stderr"))" "$rc" 0
    is "output" "$(cat "$work/stdout")" inside
    is "a tag" "$(class_of "$PWD/mnt/.git/refs/tags/v1")" "git.refs git"
    is "its index" "$(class_of "$PWD/mnt/.git/worktrees/tree/index")" "git.index git"
    ! is_root || is "how" "$(record enforced.git_mode)" copy
}
with_digest() {
    printf '#!/bin/sh\nexec %s "%s" "$1"\n' "$PY" "$top/tests/lib/treedigest.py" >digest
    chmod +x digest
    "$@"
}
t "g12 a repository outside the tree on an overlay" with_digest on_overlay

mounted_below() {
    project main
    git -C main worktree add -q ../linked
    sh_binding linked Work 'git log -1'
    # shellcheck disable=SC2016
    in_mounts 'mount -t tmpfs none "$0/main/.git/info" && "$1" run --tree "$0/linked" Work' "$PWD" >"$work/stdout" 2>"$work/stderr"
    is "exit" $? 120
    matches "refused by name" "$(cat "$work/stderr")" 'engine\.unavailable.*main/\.git/info|main/\.git/info'
    matches "code" "$(cat "$work/stderr")" 'tree_submount'
}
t "g12 something mounted in a repository outside the tree is refused by name" mounted_below

owned_by_another() {
    is_root || return 0
    project p
    sh_binding p Work 'set -e; echo more >>README; git commit -qam inside; git gc -q; stat -c %u .git README; git log --format=%s -1'
    project main
    git -C main worktree add -q ../linked
    sh_binding linked Work 'set -e; echo more >>README; git commit -qam inside; git tag v1; stat -c %u README; git log --format=%s -1'
    chown -R -h 1001:1001 p main linked
    git config --global --add safe.directory "$PWD/p"
    git config --global --add safe.directory "$PWD/linked"
    untouched "$PWD/p" run 0 run --tree p Work
    is "in the tree" "$out" "1001
1001
inside"
    untouched "$PWD/main" run 0 run --tree linked Work
    is "outside the tree" "$out" "1001
inside"
}
t "g13 a repository of another owner, for a root caller" owned_by_another

summary
