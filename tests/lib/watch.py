# SPDX-License-Identifier: MIT
"""watch.py DIR OUT: writes every creation, change, move and deletion below DIR to OUT, one a line, until the file
OUT.stop appears; OUT.ready says that the watching began. The proof that nothing was made, even for a moment."""
import ctypes
import os
import struct
import sys
import select

EVENTS = {0x2: 'modify', 0x4: 'attrib', 0x8: 'close_write', 0x40: 'moved_from', 0x80: 'moved_to', 0x100: 'create',
          0x200: 'delete', 0x400: 'delete_self', 0x800: 'move_self', 0x2000: 'unmount', 0x4000: 'overflow'}
# An unmount inside the caller's own namespace would be one of sandrun's mounts having been visible here.
MASK = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800

libc = ctypes.CDLL(None, use_errno=True)
root, out = os.fsencode(sys.argv[1]), sys.argv[2]
fd = libc.inotify_init1(0o2004000)
watched = {}


def watch(path):
    wd = libc.inotify_add_watch(fd, path, MASK)
    if wd < 0:
        raise OSError(ctypes.get_errno(), 'inotify_add_watch', path)
    watched[wd] = path
    for entry in os.scandir(path):
        if entry.is_dir(follow_symlinks=False):
            watch(entry.path)


watch(root)
log = open(out, 'w')
open(out + '.ready', 'w').close()
stopping = False
while True:
    ready = select.select([fd], [], [], 0.05)[0]
    if not ready:
        if stopping:
            break
        stopping = os.path.exists(out + '.stop')
        continue
    data = os.read(fd, 1 << 16)
    at = 0
    while at < len(data):
        wd, mask, _, length = struct.unpack_from('iIII', data, at)
        name = data[at + 16:at + 16 + length].rstrip(b'\0')
        at += 16 + length
        kinds = '+'.join(text for bit, text in EVENTS.items() if mask & bit) or hex(mask)
        path = os.path.join(watched.get(wd, b'?'), name)
        print(kinds, path.decode(errors='backslashreplace'), file=log, flush=True)
        if mask & 0x100 and os.path.isdir(path) and not os.path.islink(path):
            try:
                watch(path)
            except OSError:
                pass
