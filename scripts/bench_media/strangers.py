"""Connections of attackers to an RTMP server, the same ones for the same seed."""
import os
import random
import socket
import time


def crafted(source):
    """Returns the beginning of a connection: garbage, a handshake with garbage behind it, or commands with faults."""
    handshake = b"\3" + source.randbytes(3072)
    connect = bytes.fromhex("030000000000191400000000020007636f6e6e656374003ff00000000000000500000009")
    play = bytes.fromhex("0300000000001614010000000200") + b"\4play" + bytes(9) + b"\5\2\0\1x"
    kind = source.randrange(6)
    if kind == 0:
        return source.randbytes(source.randrange(1, 4000))
    if kind == 1:
        return handshake[:source.randrange(1, 3073)]
    if kind == 2:
        return handshake + source.randbytes(source.randrange(1, 4000))
    if kind == 3:
        return handshake + connect + source.randbytes(500)
    if kind == 4:
        # The largest message there is, in chunks that never end.
        return handshake + connect + b"\x06\0\0\0\xff\xff\xff\x09\1\0\0\0" + source.randbytes(2000)
    broken = bytearray(handshake + connect + play)
    for _ in range(4):
        broken[source.randrange(3073, len(broken))] = source.randrange(256)
    return bytes(broken)


def attack(port, count, seed, seconds):
    """Makes crafted connections one after another, of which most end at once and some say nothing more.

    - Parameter seconds: Time over which they are spread evenly; 0: as fast as possible.
    """
    os.nice(19)
    source, opened, begun = random.Random(seed), [], time.monotonic()
    for index in range(count):
        time.sleep(max(0, begun + index * seconds / count - time.monotonic()))
        stranger = socket.create_connection(("127.0.0.1", port), 10)
        stranger.setblocking(False)
        try:
            stranger.send(crafted(source))
        except OSError:
            pass
        opened.append(stranger)
        if source.randrange(4) or len(opened) > 200:
            opened.pop(source.randrange(len(opened))).close()
