"""A player's side of RTMP: enough to receive streams from nginx-rtmp and to note when each message was complete."""
import os
import select
import socket
import struct
import urllib.parse

from .errors import BenchError

AUDIO, VIDEO, DATA, COMMAND = 8, 9, 18, 20
_HEADER_LENGTHS = (11, 7, 3, 0)
_QUICKACK = getattr(socket, "TCP_QUICKACK", 12)


def _amf(value):
    if value is None:
        return b"\5"
    if isinstance(value, (int, float)):
        return b"\0" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\2" + struct.pack(">H", len(value)) + value.encode()
    fields = b"".join(struct.pack(">H", len(key)) + key.encode() + _amf(item) for key, item in value.items())
    return b"\3" + fields + b"\0\0\x09"


class _Lane:
    """The state of one chunk stream."""

    __slots__ = ("time", "delta", "length", "kind", "extended", "parts", "missing")

    def __init__(self):
        self.time = self.delta = self.length = self.kind = self.missing = 0
        self.extended, self.parts = False, []


class Player:
    """One connection that plays one stream. `read` returns what has arrived since it was last called."""

    def __init__(self, url, timeout=10):
        parts = urllib.parse.urlsplit(url)
        app, _, name = parts.path.lstrip("/").partition("/")
        self.url, self.chunk, self.lanes, self.buffer = url, 128, {}, bytearray()
        self.socket = socket.create_connection((parts.hostname, parts.port or 1935), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._shake_hands()
        place = {"app": app, "flashVer": "LNX 9,0,124,2", "tcUrl": f"rtmp://{parts.netloc}/{app}"}
        self._command(3, 0, "connect", 1, place)
        self._wait_for("_result")
        self._command(3, 0, "createStream", 2, None)
        self._wait_for("_result")
        self._command(8, 1, "play", 0, None, name, -2000)
        self.socket.setblocking(False)

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    def read(self):
        """Returns the complete messages as (kind, timestamp in ms, body).

        - Raises: `ConnectionError` if the server has closed.
        """
        while True:
            try:
                piece = self.socket.recv(1 << 18)
            except BlockingIOError:
                break
            if not piece:
                raise ConnectionError(f"{self.url}: the server closed the connection")
            self.buffer += piece
            if len(piece) < 1 << 18:
                break
        return self._messages()

    # MARK: Connection

    def _shake_hands(self):
        self.socket.sendall(b"\3" + bytes(8) + os.urandom(1528))
        answer = b""
        while len(answer) < 3073:
            self.socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
            piece = self.socket.recv(3073 - len(answer))
            if not piece:
                raise BenchError(f"{self.url}: the server closed during the handshake")
            answer += piece
        self.socket.sendall(answer[1:1537])

    def _command(self, lane, stream, *values):
        self._send(lane, COMMAND, stream, b"".join(_amf(value) for value in values))

    def _send(self, lane, kind, stream, body):
        header = struct.pack(">B3s3sB", lane, bytes(3), len(body).to_bytes(3, "big"), kind) + struct.pack("<I", stream)
        pieces = [body[at:at + 128] for at in range(0, len(body), 128)]
        self.socket.setblocking(True)
        self.socket.sendall(header + bytes([0xC0 | lane]).join(pieces))

    def _wait_for(self, word):
        while True:
            self.socket.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
            select.select([self.socket], [], [], 10)
            self.socket.setblocking(False)
            for kind, _, body in self.read():
                if kind == COMMAND and bytes(body[3:3 + len(word)]) == word.encode():
                    return

    # MARK: Chunks

    def _messages(self):
        buffer, position, messages = self.buffer, 0, []
        end = len(buffer)
        while position < end:
            begin, first = position, buffer[position]
            form, lane = first >> 6, first & 63
            at = position + 1
            if lane < 2:
                if end - at < lane + 1:
                    break
                lane = buffer[at] + 64 + (buffer[at + 1] << 8 if lane else 0)
                at += 1 + (first & 63)
            state = self.lanes.get(lane)
            if state is None:
                state = self.lanes[lane] = _Lane()
            if end - at < _HEADER_LENGTHS[form]:
                break
            stamp, extended = state.delta, state.extended
            length, kind = state.length, state.kind
            if form < 3:
                stamp = int.from_bytes(buffer[at:at + 3], "big")
                extended = stamp == 0xFFFFFF
                if form < 2:
                    length, kind = int.from_bytes(buffer[at + 3:at + 6], "big"), buffer[at + 6]
            at += _HEADER_LENGTHS[form]
            if extended:
                if end - at < 4:
                    break
                stamp = int.from_bytes(buffer[at:at + 4], "big")
                at += 4
            missing = state.missing or length
            size = min(missing, self.chunk)
            if end - at < size:
                break
            if not state.missing:
                state.time = stamp if form == 0 else state.time + stamp
                # After a complete header the next delta is not its absolute time, as nginx has it.
                state.delta = stamp if form else 0
            state.length, state.kind, state.extended = length, kind, extended
            state.parts.append(bytes(buffer[at:at + size]))
            state.missing = missing - size
            position = at + size
            if not state.missing:
                body = state.parts[0] if len(state.parts) == 1 else b"".join(state.parts)
                state.parts = []
                if kind in (AUDIO, VIDEO, DATA, COMMAND):
                    messages.append((kind, state.time & 0xFFFFFFFF, body))
                else:
                    self._control(kind, body)
            assert position > begin
        del buffer[:position]
        return messages

    def _control(self, kind, body):
        if kind == 1:
            self.chunk = int.from_bytes(body[:4], "big")
        elif kind == 4 and body[:2] == b"\0\6":
            self._send(2, 4, 0, b"\0\7" + body[2:6])
            self.socket.setblocking(False)
