# SPDX-License-Identifier: MIT
"""field.py FILE PATH: the value at a dotted path ("verdict.reason", "refusals.0.code", "changes.*.path"); strings bare,
else compact JSON; a "*" prints one line an element. A path that is not there: exit 1 and "(absent)"."""
import json
import sys


def walk(value, steps):
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step == '*':
        for child in value.values() if isinstance(value, dict) else value:
            yield from walk(child, rest)
    elif isinstance(value, list):
        yield from walk(value[int(step)], rest)
    else:
        yield from walk(value[step], rest)


with open(sys.argv[1], encoding='utf-8', errors='surrogateescape') as f:
    document = json.load(f)
try:
    for found in walk(document, [s for s in sys.argv[2].split('.') if s]):
        print(found if isinstance(found, str) else json.dumps(found, separators=(',', ':'), ensure_ascii=True))
except (KeyError, IndexError, TypeError, ValueError):
    print('(absent)')
    raise SystemExit(1)
