# SPDX-License-Identifier: MIT
"""C sources for the checks: the files, and their text without comments and strings (line numbers kept)."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def _blank(match):
    text = match.group(0)
    if text.startswith('/'):
        return re.sub(r'[^\n]', ' ', text)
    return text[0] + ' ' * (len(text) - 2) + text[-1]


def files(*patterns):
    found = sorted(p for pattern in patterns for p in ROOT.glob(pattern))
    if not found:
        raise SystemExit(f'no file matches {patterns}')
    return found


def code(path):
    """Lines (number, text) of a file, comments and literals blanked."""
    text = _TOKEN.sub(_blank, path.read_text())
    return list(enumerate(text.split('\n'), 1))


def includes(path):
    for number, line in enumerate(path.read_text().split('\n'), 1):
        match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def name(path):
    return str(path.relative_to(ROOT))


def finish(faults):
    for fault in faults:
        print(fault)
    raise SystemExit(1 if faults else 0)
