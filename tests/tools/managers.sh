#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Package managers for Python that look after an environment by themselves: poetry, pdm, tox.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# `python` on PATH, as in the usual images: without it poetry only complains.
with_python_on_path() { # with_python_on_path DIR
    mkdir -p "$1/tools"
    ln -s /usr/bin/python3 "$1/tools/python"
}
path_of() { printf '{"env": {"set": {"PATH": "%s/tools:/usr/bin:/bin"}}, "on_mismatch": "report", "limits": {"wall": "90s"}}' "$PWD/$1"; }

poetry_project() { # poetry_project IN-PROJECT
    tool poetry
    project p
    cat >p/pyproject.toml <<'TOML'
[tool.poetry]
name = "shop"
version = "0.1.0"
description = ""
authors = []
[tool.poetry.dependencies]
python = "^3.9"
TOML
    printf '.venv/\n' >p/.gitignore
    [ "$1" = no ] || printf '[virtualenvs]\nin-project = true\n' >p/poetry.toml
    with_python_on_path p
    (cd p && export PATH="$PWD/tools:$PATH" && POETRY_VIRTUALENVS_IN_PROJECT=true poetry install -q -n --no-root) ||
        fail "poetry could not build the environment on the host"
    local site
    site=$(echo p/.venv/lib/python3*/site-packages)
    mkdir "$site/installed" && echo 'print("installed")' >"$site/installed/__init__.py"
    commit p
}
poetry_in_project() {
    poetry_project yes
    binding p Lint '["poetry", "run", "python", "-c", "import installed"]' "$(path_of p)"
    healthy p Lint installed
    dangle p/.venv
    binding p Run '["poetry", "run", "python", "-c", "print(1)"]' "$(path_of p)"
    repaired p Run 'env\.(rebuilt|changed|replaced)' '\.venv'
    present p/.venv/lib/python3*/site-packages/installed/__init__.py
    # The default: seen before anything runs.
    $PY "$top/tests/lib/binding.py" p/sandrun.json Run '{"on_mismatch": "block"}' merge
    commit p
    mismatch p Run
}
t "a18 poetry run with a dangling interpreter recreates .venv, rc 0" poetry_in_project

poetry_elsewhere() {
    poetry_project no
    dangle p/.venv
    binding p Run '["poetry", "run", "python", "-c", "print(1)"]' "$(path_of p | sed 's/"set": {/"set": {"POETRY_VIRTUALENVS_IN_PROJECT": "false", /')"
    repaired p Run 'env\.created' 'pypoetry/virtualenvs'
    matches "it is in HOME" "$(record changes.repairs.0)" '"where":"home"|"in_home":true'
}
t "a20 poetry builds a second environment under HOME: no pass" poetry_elsewhere

pdm_run() {
    tool pdm
    project p
    printf '[project]\nname = "shop"\nversion = "0.1.0"\nrequires-python = ">=3.9"\ndependencies = []\n' >p/pyproject.toml
    printf '.venv/\n.pdm.toml\n.pdm-python\n' >p/.gitignore
    (cd p && export PDM_CHECK_UPDATE=0 && pdm venv create /usr/bin/python3 && pdm use -f .venv/bin/python) >pdm.log 2>&1 ||
        fail "pdm could not build the environment on the host" "$(cat pdm.log)"
    local site
    site=$(echo p/.venv/lib/python3*/site-packages)
    mkdir "$site/installed" && echo 'print("installed")' >"$site/installed/__init__.py"
    commit p
    binding p Lint '["pdm", "run", "python", "-c", "import installed"]' "$report"
    healthy p Lint installed
    dangle p/.venv
    binding p Run '["pdm", "run", "python", "-c", "print(1)"]' "$report"
    repaired p Run 'env\.(rebuilt|changed|replaced)' '\.venv'
    present p/.venv/lib/python3*/site-packages/installed/__init__.py
    $PY "$top/tests/lib/binding.py" p/sandrun.json Run '{"on_mismatch": "block"}' merge
    commit p
    mismatch p Run
}
t "a18 pdm run with a dangling interpreter cleans and rebuilds .venv, rc 0" pdm_run

tox_recreates() {
    tool tox
    project p
    printf '[tox]\nenvlist = py\nskipsdist = true\nskip_missing_interpreters = false\n[testenv]\nsitepackages = true\ncommands = python -m pytest -q\n' >p/tox.ini
    printf '.tox/\n__pycache__/\n.pytest_cache/\n' >p/.gitignore
    printf 'def test(): pass\n' >p/test_it.py
    (cd p && tox -q) >tox.log 2>&1 || fail "tox could not build the environment on the host" "$(cat tox.log)"
    commit p
    binding p Test '["tox", "-q"]' "$report"
    healthy p Test '1 passed'
    # Another set of dependencies: deleted first, then there is no network to install from.
    sed -i 's/^sitepackages.*/&\ndeps = no-such-package/' p/tox.ini
    commit p
    binding p Deps '["tox", "-q"]' '{"on_mismatch": "report", "limits": {"wall": "2m"}, "env": {"set": {"PIP_RETRIES": "0"}}}'
    repaired p Deps 'env\.' '\.tox'
    binding p Recreate '["tox", "-q", "-r"]' "$report"
    git -C p revert --no-edit -n HEAD~2 2>/dev/null || sed -i '/^deps/d' p/tox.ini
    commit p
    repaired p Recreate 'env\.' '\.tox'
}
t "a18 tox recreates its environment: with other dependencies offline, and on request" tox_recreates
summary
