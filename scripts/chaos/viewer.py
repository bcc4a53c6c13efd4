"""A viewer of the program, who connects again when the server closes."""
import threading
import time
import zlib

from bench_media.reader import Frame
from bench_media.rtmp import Player


class Viewer(threading.Thread):
    """Plays an address until `stop`. `frames` and `notices` grow at their ends only."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.frames, self.notices = url, [], []
        self._over = threading.Event()
        self.start()

    def stop(self):
        self._over.set()
        self.join(5)

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
            if body[1] == 0 and (kind == 9 or body[0] >> 4 == 10):
                if kind == 9:
                    self.frames.append(Frame("c", stamp, now, len(body), 0, False))
                continue
            skip, name = (5, "v") if kind == 9 else (2, "a")
            self.frames.append(Frame(
                name, stamp, now, len(body) - skip, zlib.crc32(body[skip:]), kind == 9 and body[0] >> 4 & 7 == 1))
