#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Python's own tools: venv, pytest, a Makefile that looks after an environment.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

with_pytest() {
    project p
    printf '.venv/\n__pycache__/\n.pytest_cache/\n' >p/.gitignore
    printf 'def test_one():\n    assert 1 + 1 == 2\n\ndef test_home(tmp_path):\n    (tmp_path / "f").write_text("x")\n' >p/test_it.py
    /usr/bin/python3 -m venv --without-pip --system-site-packages p/.venv
    commit p
}

pytest_healthy() {
    with_pytest
    binding p Test '[".venv/bin/python", "-m", "pytest", "-q"]'
    healthy p Test '2 passed'
    # The cache it wrote is held, and the next run finds the tree as it was.
    absent p/.pytest_cache
    printf 'def test_bad():\n    assert False\n' >p/test_bad.py
    commit p
    untouched "$PWD/p" run 1 run --staged --tree p Test
    verdict failed command.exit 1
    is "decided" "$(record decided)" true
}
t "a18 pytest: a healthy environment passes, and a failing test is a failing test" pytest_healthy

pytest_repairs() {
    with_pytest
    printf 'import shutil, sys\ndef test_clean():\n    shutil.rmtree(".venv/lib")\n' >p/test_clean.py
    binding p Test '[".venv/bin/python", "-m", "pytest", "-q", "test_clean.py"]'
    repaired p Test 'env\.(deleted|changed|rebuilt)' '\.venv'
}
t "a18 pytest: a test that deletes the environment it runs in" pytest_repairs

venv_clear() {
    with_pytest
    site=$(echo p/.venv/lib/python3*/site-packages)
    mkdir "$site/package" && echo x=1 >"$site/package/__init__.py"
    sh_binding p Check '.venv/bin/python -c "import package"'
    healthy p Check
    binding p Clear '["python3", "-m", "venv", "--clear", "--without-pip", ".venv"]'
    repaired p Clear 'env\.(rebuilt|changed|deleted)' '\.venv'
    matches "the loss is named" "$err$(cat "$(newest_record)")" 'site-packages/package/__init__\.py'
    healthy p Check
}
t "a18 python3 -m venv --clear: exit 0, every package lost, said so" venv_clear

# A wheel made by hand: there is no index here, and nothing to build it with is needed.
wheel() { # wheel DIR NAME
    $PY - "$1" "$2" <<'PY'
import sys, zipfile
name = sys.argv[2]
files = {f'{name}/__init__.py': 'value = 1\n',
         f'{name}-1.0.dist-info/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n',
         f'{name}-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
files[f'{name}-1.0.dist-info/RECORD'] = ''.join(f'{f},,\n' for f in files)
with zipfile.ZipFile(f'{sys.argv[1]}/{name}-1.0-py3-none-any.whl', 'w') as z:
    for f, text in files.items():
        z.writestr(f, text)
PY
}
pip_binding() { # pip_binding NAME TARGET PACKAGE
    sh_binding p "$1" "python3 -m pip install -q --no-index --no-deps --target $2 ./$3-1.0-py3-none-any.whl" '{"limits": {"wall": "90s"}}'
}
pip_target() {
    with_pytest
    wheel p alpha && wheel p beta
    /usr/bin/python3 -m pip install -q --no-index --no-deps --target p/packages p/alpha-1.0-py3-none-any.whl 2>/dev/null ||
        fail "pip could not install on the host"
    printf '/packages/\n' >>p/.gitignore
    commit p
    sh_binding p Use 'PYTHONPATH=packages python3 -c "import alpha" && echo x >packages/report.xml'
    healthy p Use
    pip_binding Site "$(cd p && echo .venv/lib/python3*/site-packages)" beta
    repaired p Site 'env\.changed' '^\.venv$'
    pip_binding More packages beta
    repaired p More 'env\.changed' '^packages$'
    pip_binding New vendor/py beta
    repaired p New 'env\.created' '^vendor/py$'
    # shellcheck disable=SC2088
    pip_binding Home '~/packages' beta
    repaired p Home 'env\.created' '^packages$'
    pip_binding Here . beta
    repaired p Here 'env\.created' '^\.$'
}
t "a20 pip install --target: into the environment, beside packages, into a new directory, HOME or the tree itself" pip_target

venv_clear_tree() {
    with_pytest
    binding p Clear '["python3", "-m", "venv", "--clear", "--without-pip", "."]'
    # It deletes the whole tree, .git included, and makes an environment of what is left.
    untouched "$PWD/p" sr run --staged --tree p Clear
    isnt "status" "$(record status)" passed
    isnt "exit" "$rc" 0
    present p/test_it.py
    present p/.git/HEAD
}
t "a18 python3 -m venv --clear on the tree itself: the sources survive on the host" venv_clear_tree

make_redoes() {
    with_pytest
    # The target is a link to a file of the system that is always older: the environment is made again each time.
    cat >p/Makefile <<'MK'
test: .venv/bin/python3
	.venv/bin/python3 -m pytest -q test_it.py
.venv/bin/python3: requirements.txt
	rm -rf .venv
	python3 -m venv --without-pip --system-site-packages .venv
check:
	.venv/bin/python3 -m pytest -q test_it.py
MK
    touch p/requirements.txt
    binding p Check '["make", "-s", "check"]'
    binding p Test '["make", "-s", "test"]'
    healthy p Check '2 passed'
    repaired p Test 'env\.(rebuilt|changed)' '\.venv'
    matches "although the tests passed" "$out" '2 passed'
}
t "a18 make: a target that resolves to an old system file rebuilds the environment" make_redoes

second_check() {
    with_pytest
    sh_binding p Lint 'rm -rf .venv && python3 -m venv --without-pip .venv'
    binding p Test '[".venv/bin/python", "-m", "pytest", "-q"]'
    repaired p Lint 'env\.(rebuilt|changed)' '\.venv'
    healthy p Test '2 passed'
}
t "a19 the check after one that rebuilt the environment finds pytest installed" second_check
summary
