# SPDX-License-Identifier: MIT
"""treedigest.py DIR [--list]: a digest of everything below DIR: names, types, modes, owners, sizes, bytes, extended
attributes, link targets, inode numbers, modification and change times. Equal digests: nobody wrote there."""
import hashlib
import os
import stat
import sys


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(st.st_mode):
        return b''
    digest = hashlib.sha256()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME)
    except PermissionError:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with open(fd, 'rb') as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest().encode()


def attributes(path):
    names = sorted(os.listxattr(path, follow_symlinks=False))
    return b','.join(os.fsencode(n) + b'=' + os.getxattr(path, n, follow_symlinks=False) for n in names)


def entries(root):
    pending = [b'.']
    while pending:
        name = pending.pop()
        path = os.path.join(root, name)
        st = os.lstat(path)
        yield b'|'.join((name, b'%o %d %d %d %d %d %d' % (st.st_mode, st.st_uid, st.st_gid, st.st_size, st.st_ino,
                                                          st.st_mtime_ns, st.st_ctime_ns),
                         attributes(path), content(path, st)))
        if stat.S_ISDIR(st.st_mode):
            pending += sorted((os.path.join(name, child) for child in os.listdir(path)), reverse=True)


def main():
    lines = sorted(entries(os.fsencode(sys.argv[1])))
    if '--list' in sys.argv:
        sys.stdout.buffer.write(b''.join(repr(line).encode() + b'\n' for line in lines))
    print(hashlib.sha256(b'\0'.join(lines)).hexdigest(), len(lines))


main()
