"""The reader of all streams: a process that plays sources and programs and notes when each frame was complete.

One process and one clock for everything, so that the times of a frame at its source and in a program can be compared.
"""
import json
import marshal
import os
import pathlib
import selectors
import subprocess
import sys
import time
import zlib
from typing import NamedTuple

from .errors import BenchError
from .processes import tail


class Frame(NamedTuple):
    """A frame, or a decoder configuration, as it arrived."""
    kind: str        # v, a: a frame of the track; c: a video configuration
    time: int        # timestamp in ms
    arrival: int     # CLOCK_MONOTONIC in ns
    size: int        # bytes of payload
    check: int       # CRC-32 of the payload
    key: bool


class Stream(NamedTuple):
    """What was received of one stream."""
    frames: list
    fault: str       # why the stream cannot be judged; empty if it can


class Reader:
    """Starts and asks the reading process."""

    def __init__(self, stage):
        self.stage = stage
        here = pathlib.Path(__file__).resolve().parent.parent
        self.process = stage.processes.start(
            "reader", [sys.executable, "-m", "bench_media.reader"], cwd=here, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def add(self, name, url, record=None):
        """Plays a stream from now on. `record` is the path of an FLV file to write."""
        self._ask({"do": "add", "name": name, "url": url, "record": str(record) if record else None})

    def streams(self, since=0):
        """Returns what has arrived since a time in ns, by name."""
        path = self.stage.directory / "streams"
        self._ask({"do": "dump", "path": str(path), "since": since})
        with open(path, "rb") as file:
            streams = marshal.load(file)
        os.remove(path)
        return {name: Stream([Frame(*frame) for frame in frames], fault) for name, (frames, fault) in streams.items()}

    def end(self):
        """Ends the process; recordings are complete afterwards."""
        self._ask({"do": "end"})
        self.process.wait()

    def _ask(self, command):
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except OSError:
            answer = ""
        if answer != "ok":
            raise BenchError(f"reader: {answer or tail(self.process)}")


class _Watched:
    """A stream that is being played."""

    def __init__(self, url, record):
        from .rtmp import Player
        self.player, self.frames, self.fault = Player(url), [], ""
        self.file = open(record, "wb", buffering=1 << 20) if record else None
        self.arrivals = open(f"{record}.arrivals", "w") if record else None
        if self.file:
            self.file.write(b"FLV\1\5\0\0\0\x09\0\0\0\0")

    def take(self, now):
        for kind, stamp, body in self.player.read():
            if kind == 20:
                if b"UnpublishNotify" in body:
                    self.fault = "the publisher left"
                continue
            if kind == 18 or len(body) < 2:
                continue
            if self.file:
                head = bytes([kind]) + len(body).to_bytes(3, "big") + (stamp & 0xFFFFFF).to_bytes(3, "big")
                size = (11 + len(body)).to_bytes(4, "big")
                self.file.write(head + bytes([stamp >> 24]) + bytes(3) + body + size)
                self.arrivals.write(f"{now}\n")
            if body[1] == 0 and (kind == 9 or body[0] >> 4 == 10):
                if kind == 9:
                    self.frames.append(("c", stamp, now, len(body), zlib.crc32(body), False))
                continue
            skip, name = (5, "v") if kind == 9 else (2, "a")
            key = kind == 9 and body[0] >> 4 & 7 == 1
            self.frames.append((name, stamp, now, len(body) - skip, zlib.crc32(body[skip:]), key))

    def close(self):
        self.player.close()
        if self.file:
            self.file.close()
            self.arrivals.close()


def serve():
    """Plays streams and answers commands until told to end."""
    streams, poll = {}, selectors.DefaultSelector()
    poll.register(sys.stdin.buffer.raw, selectors.EVENT_READ)
    pending = b""
    while True:
        for event, _ in poll.select():
            if event.data is not None:
                watched = streams[event.data]
                try:
                    watched.take(time.monotonic_ns())
                except ConnectionError as error:
                    watched.fault = str(error)
                    poll.unregister(watched.player)
                continue
            piece = os.read(0, 1 << 16)
            if not piece:
                return
            pending += piece
            while b"\n" in pending:
                line, _, pending = pending.partition(b"\n")
                if not _obey(json.loads(line), streams, poll):
                    return


def _obey(command, streams, poll):
    answer = "ok"
    if command["do"] == "add":
        try:
            watched = _Watched(command["url"], command["record"])
            streams[command["name"]] = watched
            poll.register(watched.player, selectors.EVENT_READ, command["name"])
        except (OSError, BenchError) as error:
            answer = f"{command['url']}: {error}"
    elif command["do"] == "dump":
        since = command["since"]
        with open(command["path"], "wb") as file:
            marshal.dump({name: ([frame for frame in watched.frames if frame[2] >= since], watched.fault)
                          for name, watched in streams.items()}, file)
    else:
        for watched in streams.values():
            watched.close()
    print(answer, flush=True)
    return command["do"] != "end"


if __name__ == "__main__":
    serve()
