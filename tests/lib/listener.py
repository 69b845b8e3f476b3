# SPDX-License-Identifier: MIT
"""listener.py OUT [PATH...]: answers "ping" with "pong" on TCP v4 and v6, UDP, an abstract name and the unix socket paths,
until killed; writes "tcp4=PORT tcp6=PORT udp4=PORT abstract=NAME" to OUT when it listens."""
import os
import selectors
import socket
import sys

out, paths = sys.argv[1], sys.argv[2:]
selector = selectors.DefaultSelector()
names = []


def listen(kind, family, type_, address):
    s = socket.socket(family, type_)
    s.bind(address)
    if type_ == socket.SOCK_STREAM:
        s.listen(16)
    selector.register(s, selectors.EVENT_READ, type_)
    if kind:
        name = s.getsockname()
        names.append(f'{kind}={name[1:].decode() if isinstance(name, bytes) else name[1]}')


listen('tcp4', socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 0))
listen('tcp6', socket.AF_INET6, socket.SOCK_STREAM, ('::1', 0))
listen('udp4', socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', 0))
listen('abstract', socket.AF_UNIX, socket.SOCK_STREAM, f'\0probe-{os.getpid()}')
for path in paths:
    listen(None, socket.AF_UNIX, socket.SOCK_STREAM, path)
    os.chmod(path, 0o777)
with open(out + '.new', 'w') as f:
    print(*names, file=f)
os.rename(out + '.new', out)
while True:
    for key, _ in selector.select():
        if key.data == socket.SOCK_DGRAM:
            data, peer = key.fileobj.recvfrom(16)
            key.fileobj.sendto(b'pong', peer)
        else:
            peer, _ = key.fileobj.accept()
            peer.settimeout(2)
            try:
                if peer.recv(16) == b'ping':
                    peer.send(b'pong')
            except OSError:
                pass
            peer.close()
