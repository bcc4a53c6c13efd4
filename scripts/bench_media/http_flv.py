"""A viewer's side of HTTP-FLV: enough to note when each tag was complete."""
import socket

from .errors import BenchError


class Viewer:
    """A connection that gets a room's program over HTTP-FLV."""

    def __init__(self, port, room):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(f"GET /live/{room}.flv HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        self.socket.setblocking(False)
        # What has arrived; what of it is FLV, from its first tag on; whether it comes in chunks, once that is known.
        self.raw, self.flv, self.chunked, self.missing = bytearray(), bytearray(), None, 13

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    def read(self):
        """Returns the complete tags as (kind, timestamp in ms, body)."""
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise BenchError("the service closed a viewer's connection")
        self.raw += piece
        self._unwrap()
        if self.missing and len(self.flv) >= self.missing:
            del self.flv[:self.missing]
            self.missing = 0
        tags = []
        while not self.missing and len(self.flv) >= 11:
            end = 15 + int.from_bytes(self.flv[1:4], "big")
            if len(self.flv) < end:
                break
            tags.append((self.flv[0], int.from_bytes(self.flv[4:7], "big"), bytes(self.flv[11:end - 4])))
            del self.flv[:end]
        return tags

    def _unwrap(self):
        if self.chunked is None:
            head, mark, rest = self.raw.partition(b"\r\n\r\n")
            if not mark:
                return
            if head.split()[1] != b"200":
                raise BenchError(f"a viewer is answered {head.decode(errors='replace')}")
            self.chunked, self.raw = b"transfer-encoding: chunked" in head.lower(), rest
        if not self.chunked:
            self.flv += self.raw
            self.raw.clear()
        while self.chunked:
            size, mark, rest = self.raw.partition(b"\r\n")
            if not mark or len(rest) < int(size, 16) + 2:
                return
            self.flv += rest[:int(size, 16)]
            self.raw = rest[int(size, 16) + 2:]
