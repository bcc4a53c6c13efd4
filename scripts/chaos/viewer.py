"""A viewer of the program, who connects again when the server closes."""
import collections
import threading
import time
import zlib

from bench_media.reader import Frame
from bench_media.rtmp import Player


# Time in ns for which pictures are kept, more than any fault takes.
_KEPT = 180_000_000_000


class Viewer(threading.Thread):
    """Plays an address until `stop`. `frames` and `notices` grow at their ends only."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.frames, self.notices = url, [], []
        # Pictures and their configurations with arrival and timestamp, and the last configuration that is not among them.
        self._pictures, self._header, self._lock = collections.deque(), None, threading.Lock()
        self._over = threading.Event()
        self.start()

    def stop(self):
        self._over.set()
        self.join(5)

    def record(self, path, begin, end):
        """Writes the pictures from the last keyframe before `begin` until `end` as FLV; returns their times of arrival."""
        with self._lock:
            kept, header = list(self._pictures), self._header
        keys = [index for index, (_, _, body) in enumerate(kept) if body[0] >> 4 & 7 == 1 and body[1] == 1]
        start = next((index for index in reversed(keys) if kept[index][0] <= begin), keys[0] if keys else len(kept))
        headers = [body for _, _, body in kept[:start] if body[1] == 0] or ([header] if header else [])
        wanted = [entry for entry in kept[start:] if entry[0] <= end]
        if wanted and headers:
            wanted.insert(0, (wanted[0][0], wanted[0][1], headers[-1]))
        with open(path, "wb") as file:
            file.write(b"FLV\1\1\0\0\0\x09\0\0\0\0")
            for _, stamp, body in wanted:
                file.write(b"\x09" + len(body).to_bytes(3, "big") + (stamp & 0xFFFFFF).to_bytes(3, "big")
                           + bytes([stamp >> 24 & 0xFF]) + bytes(3) + body + (11 + len(body)).to_bytes(4, "big"))
        return [arrival for arrival, _, body in wanted if body[1] == 1]

    def _keep(self, arrival, stamp, body):
        with self._lock:
            self._pictures.append((arrival, stamp, body))
            while arrival - self._pictures[0][0] > _KEPT:
                old = self._pictures.popleft()
                self._header = old[2] if old[2][1] == 0 else self._header

    def run(self):
        player, isFirst = None, True
        while not self._over.is_set():
            try:
                if player is None:
                    player = Player(self.url)
                    if not isFirst:
                        self.notices.append(time.monotonic_ns())
                    isFirst = False
                self._take(player)
            except (OSError, ConnectionError):
                player = None
                time.sleep(0.05)
        if player:
            player.close()

    def _take(self, player):
        import select
        if not select.select([player], [], [], 0.1)[0]:
            return
        messages, now = player.read(), time.monotonic_ns()
        for kind, stamp, body in messages:
            if kind == 20 and b"NetStream.Play.PublishNotify" in body:
                self.notices.append(now)
            if kind not in (8, 9) or len(body) < 2:
                continue
            if kind == 9:
                self._keep(now, stamp, body)
            if body[1] == 0 and (kind == 9 or body[0] >> 4 == 10):
                if kind == 9:
                    self.frames.append(Frame("c", stamp, now, len(body), 0, False))
                continue
            skip, name = (5, "v") if kind == 9 else (2, "a")
            self.frames.append(Frame(
                name, stamp, now, len(body) - skip, zlib.crc32(body[skip:]), kind == 9 and body[0] >> 4 & 7 == 1))
