"""Judging streams by what the reader received: what is missing, and how late frames are."""
from typing import NamedTuple


class Verdict(NamedTuple):
    """What was found in one stream within the window."""
    wanted: int        # frames that had to come
    lost: int          # of those, how many did not come
    repeated: int      # frames that came although none was due
    late: list         # ms, one number per frame: behind the source, or behind the stream's own earliest frame
    fault: str         # why the stream counts as broken; empty if it does not


def quantile(numbers, part):
    """Returns the smallest number that is not exceeded by `part` of them; `None` without numbers."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


# A frame of sound may have the bytes of another one, a steady tone's every 320 ms, so it must also have its place beside
# the pictures. In ms: less than half a frame of sound, more than what rounding and the program's grid move it by.
_PLACE = 10
# The program's copy of a frame may be noted before the source's: one reader takes what hundreds of connections have.
_EARLIEST = 200_000_000


def copied(source, program, begin, end):
    """Judges a bypass: each frame of the source that came in the window must arrive in the program, once, unchanged.

    - Parameters begin, end: The window in ns of CLOCK_MONOTONIC.
    """
    copies = {}
    for frame in program.frames:
        if frame.kind != "c":
            copies.setdefault((frame.kind, frame.check, frame.size), []).append(frame)
    start = min((frame.arrival for frame in program.frames), default=0)
    wanted, missing, late, shift = 0, [], [], None
    for frame in source.frames:
        if frame.kind == "c" or frame.arrival < start - _EARLIEST:
            continue
        same = copies.get((frame.kind, frame.check, frame.size), [])
        # Pictures never repeat their bytes. Where one is found tells how far the program's timestamps are from the source's.
        copy = next((copy for copy in same if frame.kind == "v" or shift is not None
                     and abs(copy.time - frame.time - shift) <= _PLACE), None)
        if copy:
            same.remove(copy)
            shift = copy.time - frame.time if frame.kind == "v" else shift
        if not begin <= frame.arrival < end:
            continue
        wanted += 1
        if not copy:
            missing.append(frame)
        elif frame.kind == "v":
            late.append((copy.arrival - frame.arrival) / 1e6)
    extra = sum(begin <= frame.arrival < end and frame.kind != "c" for frame in program.frames) - wanted
    # The window cuts both streams at the same moment, so that some frames are on one side of its edges only.
    edges = 10
    faults = [source.fault or program.fault, *(_name(frame, begin) for frame in missing[:3])]
    return Verdict(wanted, len(missing), max(0, extra - edges), late, "; ".join(fault for fault in faults if fault))


def _name(frame, begin):
    """Returns what is known of a lost frame, so that it can be looked for in the recordings."""
    kind = "picture" if frame.kind == "v" else "sound"
    return f"lost: {kind} of {frame.time} ms, {frame.size} bytes, {(frame.arrival - begin) / 1e9:.1f} s into the window"


def paced(program, fps, begin, end):
    """Judges a mix: pictures must come at the canvas's rate for the whole window, each once, without a gap.

    Lateness is against the stream's own timestamps, from its earliest frame in the window.
    """
    interval = 1000 / fps
    frames = [frame for frame in program.frames if frame.kind == "v" and begin <= frame.arrival < end]
    wanted = round((end - begin) / 1e6 / interval)
    if len(frames) < 2:
        return Verdict(wanted, wanted - len(frames), 0, [], program.fault or "no pictures came")
    steps = [(later.time - earlier.time) / interval for earlier, later in zip(frames, frames[1:])]
    gaps = sum(max(0, round(step) - 1) for step in steps)
    repeated = sum(step < 0.5 for step in steps)
    # A stream that falls behind loses nothing at first: its frames come too late to be within the window.
    missing = wanted - len(frames) - repeated
    offsets = [frame.arrival / 1e6 - frame.time for frame in frames]
    earliest = min(offsets)
    return Verdict(wanted, max(gaps, missing if missing > 2 else 0), repeated, [at - earliest for at in offsets],
                   program.fault)


def together(verdicts):
    """Returns one verdict over several streams."""
    faults = [verdict.fault for verdict in verdicts if verdict.fault]
    return Verdict(sum(v.wanted for v in verdicts), sum(v.lost for v in verdicts), sum(v.repeated for v in verdicts),
                   [late for v in verdicts for late in v.late], "; ".join(faults[:3]))
