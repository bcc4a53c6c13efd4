"""Sizes and rates of pictures."""
import re
from typing import NamedTuple

from .errors import BenchError


class Canvas(NamedTuple):
    width: int
    height: int
    fps: int

    @classmethod
    def parse(cls, text):
        match = re.fullmatch(r"(\d+)x(\d+)@(\d+)", text)
        if not match:
            raise BenchError(f"{text}: expected WIDTHxHEIGHT@FPS, as in 720x1280@20")
        return cls(*map(int, match.groups()))

    def __str__(self):
        return f"{self.width}x{self.height}@{self.fps}"

    @property
    def name(self):
        return f"{self.width}x{self.height}-{self.fps}"

    @property
    def bitrate(self):
        """Video bit rate of a mix in kbit/s as the relay chooses it: 0.1 bit per pixel."""
        return min(max(self.width * self.height * self.fps // 10, 400_000), 8_000_000) // 1000

    def mark(self):
        """Returns x, y and edge of the square of 5 × 5 cells in a publisher's picture, and the edge of a cell."""
        cell = max(2, min(self.width, self.height) // 40 * 2)
        edge = 5 * cell
        return (self.width - edge) // 2 & ~1, (self.height - edge) // 2 & ~1, edge, cell


class Pane(NamedTuple):
    """A place on the canvas that one source covers."""
    x: int
    y: int
    width: int
    height: int

    def cut(self, source):
        """Returns the part of the source's picture that is shown, as x, y, width and height; centred, even."""
        scale = max(self.width / source.width, self.height / source.height)
        width, height = (min(limit, round(size / scale / 2) * 2) for size, limit in
                         ((self.width, source.width), (self.height, source.height)))
        return (source.width - width) // 4 * 2, (source.height - height) // 4 * 2, width, height

    def mark(self, source):
        """Returns x, y and edge of the source's mark on the canvas, as real numbers."""
        cut_x, cut_y, width, height = self.cut(source)
        x, y, edge, _ = source.mark()
        return (self.x + (x - cut_x) * self.width / width, self.y + (y - cut_y) * self.height / height,
                edge * self.width / width)
