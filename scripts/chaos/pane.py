"""The host's pane: which of the host's pictures a viewer saw, and for how long the same one.

A mixer repeats the last picture of a source that is late, in pictures of its own that come in time. Only the mark in the
host's picture tells those from new ones.
"""
import subprocess

from bench_media.canvas import Pane
from bench_media.marks import counter

_SIDE, _PERIOD = 5, 65536
# Grey of cells that are neither black nor white: there is no mark.
_UNCLEAR = range(80, 171)


def squares(scenes, user, canvas):
    """Returns where the mark of a user may be on the canvas, who has its size: alone, and in each of the scenes."""
    places = [Pane(0, 0, canvas.width, canvas.height)]
    places += [Pane(pane["x"], pane["y"], pane["width"], pane["height"]) for scene in scenes
               for pane in scene.get("panes", []) if pane["source"].startswith(f"{user}/")]
    found = dict.fromkeys(place.mark(canvas) for place in places if place.width > 0 and place.height > 0)
    return [(x, y, edge) for x, y, edge in found
            if edge >= 2 * _SIDE and 0 <= x <= canvas.width - edge and 0 <= y <= canvas.height - edge]


def number(picture, width, square, source):
    """Returns the counter of the mark in a square of a grey picture; `None` if there is no mark of this source."""
    x, y, edge = square
    middles = [(index + 0.5) * edge / _SIDE for index in range(_SIDE)]
    cells = [picture[int(y + down) * width + int(x + right)] for down in middles for right in middles]
    return None if any(grey in _UNCLEAR for grey in cells) else counter(cells, source)


def read(ffmpeg, path, canvas, places, source):
    """Returns the counter of the source's mark in each picture of a recording, `None` where it is not in any of the places."""
    child = subprocess.Popen(
        [ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "quiet", "-threads", "1", "-i", path, "-map", "0:v", "-vf",
         f"scale={canvas.width}:{canvas.height},format=gray", "-fps_mode", "passthrough", "-f", "rawvideo", "-"],
        stdout=subprocess.PIPE)
    numbers, places, size = [], list(places), canvas.width * canvas.height
    with child:
        while len(picture := child.stdout.read(size)) == size:
            found = None
            for index, place in enumerate(places):
                found = number(picture, canvas.width, place, source)
                if found is not None:
                    # The next picture has it at the same place, as a rule.
                    places.insert(0, places.pop(index))
                    break
            numbers.append(found)
    return numbers


def watch(pictures, begin, end):
    """Judges what was seen of the host between two times in ns. Returns fields of `Seen`. Pure.

    A picture without a readable mark, as during a transition, says nothing: it ends the time of the one before.

    - Parameter pictures: Arrival in ns and counter, or `None`, of each picture, in order.
    """
    still, repeated, since, before, read = 0.0, 0, None, None, 0

    def ends(at):
        return max(0, min(at, end) - max(since, begin)) / 1e6 if since is not None else 0.0
    for arrival, counted in pictures:
        if arrival > end:
            break
        if counted is not None and begin <= arrival:
            read += 1
            repeated += counted == before
        if counted is None or counted != before:
            still = max(still, ends(arrival))
            since = arrival if counted is not None else None
        before = counted
    still = max(still, ends(end))
    return {"still": still if read else None, "repeated": repeated}
