"""What a viewer noticed of a fault, from the frames that arrived. Pure."""
from typing import NamedTuple

MS = 1_000_000
# An AAC frame of 1024 samples at 48 kHz, in ms.
AUDIO_MS = 1024 / 48


class Seen(NamedTuple):
    """What a viewer noticed between a fault and the time at which all was well again."""
    freeze: float       # ms, longest time without a picture
    back: float         # ms from the fault to the picture that ended it
    audio: float        # ms, longest hole in the timestamps of the sound, beyond the length of a frame
    lost: int           # pictures that are missing in the timestamps
    backward: int       # timestamps that go back or stand still
    jump: float         # ms, greatest step of a picture's timestamp
    reconnects: int     # times at which the publisher came back, or the viewer had to connect anew
    still: float | None = None   # ms, longest time for which pictures showed the same one of the host; `None` if unknown
    repeated: int = 0   # pictures that showed the same one of the host as the picture before


class Limits(NamedTuple):
    """Limits of `Seen`; `None` where there is none. Everything is always counted and shown."""
    freeze: float | None = None
    lost: int | None = None
    reconnects: int | None = None
    still: float | None = None
    audio: float | None = None
    step: float | None = None   # ms, of `Seen.jump`
    continues: bool = True      # timestamps never go back, and jump no further than the picture froze and a second

    def broken(self, seen):
        """Returns in words what is not kept."""
        words = []
        if self.freeze is not None and seen.freeze > self.freeze:
            words.append(f"frozen for {seen.freeze:.0f} ms, limit {self.freeze:.0f}")
        if self.lost is not None and seen.lost > self.lost:
            words.append(f"{seen.lost} pictures lost, limit {self.lost}")
        if self.reconnects is not None and seen.reconnects > self.reconnects:
            words.append(f"{seen.reconnects} reconnects, limit {self.reconnects}")
        if self.still is not None and seen.still is not None and seen.still > self.still:
            words.append(f"the host's picture stood for {seen.still:.0f} ms, limit {self.still:.0f}")
        if self.audio is not None and seen.audio > self.audio:
            words.append(f"a hole of {seen.audio:.0f} ms in the sound, limit {self.audio:.0f}")
        if self.step is not None and seen.jump > self.step:
            words.append(f"pictures are {seen.jump:.0f} ms apart, limit {self.step:.0f}")
        if self.continues and seen.backward:
            words.append(f"{seen.backward} timestamps go back")
        if self.continues and seen.jump > seen.freeze + 1000:
            words.append(f"timestamps jump by {seen.jump:.0f} ms")
        return words


def judge(frames, notices, begin, end, fps):
    """Judges the time from a fault to `end`, both in ns of CLOCK_MONOTONIC.

    - Parameters frames: All that arrived, in order. notices: arrival times of reconnects.
    """
    interval = 1000 / fps
    freeze, back, lost, backward, jump, audio = 0.0, 0.0, 0, 0, 0.0, 0.0
    last = {}
    for frame in frames:
        if frame.kind == "c":
            continue
        before, last[frame.kind] = last.get(frame.kind), frame
        # What was before the fault is not its own.
        if before is None or frame.arrival < begin or before.arrival > end:
            continue
        step = frame.time - before.time
        if step <= 0:
            backward += 1
        if frame.kind == "a":
            audio = max(audio, step - AUDIO_MS)
            continue
        waited = (min(frame.arrival, end) - max(before.arrival, begin - interval * MS)) / MS
        if waited > freeze:
            freeze, back = waited, (min(frame.arrival, end) - begin) / MS
        jump = max(jump, step)
        lost += max(0, round(step / interval) - 1)
    pictures = last.get("v")
    if pictures is None or (end - pictures.arrival) / MS > freeze:
        freeze = (end - (pictures.arrival if pictures else begin)) / MS
        back = (end - begin) / MS
    # A picture that comes in time ends nothing.
    back = back if freeze > 3 * interval else 0.0
    reconnects = sum(begin <= at <= end for at in notices)
    return Seen(freeze, back, max(0.0, audio), lost, backward, jump, reconnects)
