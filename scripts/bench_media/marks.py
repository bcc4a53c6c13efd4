"""Finding each picture of a source in a program by the mark that it carries (`SourceMark` in Sources/ViewerProbe)."""
import bisect
import subprocess
import zlib

from .errors import BenchError

_SIDE, _PERIOD = 5, 65536


def counter(cells, source):
    """Returns the counter of a mark from the grey of its cells; `None` if it is not one of `source`."""
    word = sum((value > 127) << index for index, value in enumerate(cells))
    value, number, check = word & 0xFFFF, word >> 16 & 0xF, word >> 20
    return value if number == source and check == (value * 11 + source * 5 + 3) % 31 else None


def read(options, path, square, source):
    """Returns the counter in each picture of a recording, `None` where the mark of `source` is not in the square.

    - Parameter square: x, y and edge in pixels of the program.
    """
    x, y, edge = (round(number) for number in square)
    graph = f"format=gray,crop={edge}:{edge}:{x}:{y}:exact=1,scale={_SIDE}:{_SIDE}:flags=area"
    answer = subprocess.run(
        [options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1", "-i", path, "-map", "0:v",
         "-vf", graph, "-fps_mode", "passthrough", "-f", "rawvideo", "-"], capture_output=True)
    if answer.returncode:
        raise BenchError(f"{path} cannot be decoded: {answer.stderr.decode(errors='replace').strip()[-300:]}")
    size = _SIDE * _SIDE
    return [counter(answer.stdout[at:at + size], source) for at in range(0, len(answer.stdout), size)]


def published(path, stream):
    """Returns when the pictures of a published file arrived from the media server: a list of ns for each counter.

    The publisher copies the file, so a picture is known by its bytes.
    """
    data, position, numbers, count = path.read_bytes(), 13, {}, 0
    while position + 11 <= len(data):
        size = int.from_bytes(data[position + 1:position + 4], "big")
        body = data[position + 11:position + 11 + size]
        if data[position] == 9 and body[1] == 1:
            numbers[zlib.crc32(body[5:])] = count
            count += 1
        position += size + 15
    arrivals = {}
    for frame in stream.frames:
        if frame.kind == "v" and frame.check in numbers:
            arrivals.setdefault(numbers[frame.check], []).append(frame.arrival)
    return arrivals


def delays(frames, counters, arrivals, begin, end):
    """Compares the pictures of a program within a window with their publication.

    - Returns: The delays in ms, and how many of the source's pictures were lost and repeated in between.
    """
    late, shown = [], []
    for frame, number in zip(frames, counters):
        if not begin <= frame.arrival < end or number is None:
            continue
        shown.append(number)
        times = arrivals.get(number, ())
        at = bisect.bisect_right(times, frame.arrival + 20_000_000) - 1
        if at >= 0:
            late.append((frame.arrival - times[at]) / 1e6)
    steps = [(later - earlier) % _PERIOD for earlier, later in zip(shown, shown[1:])]
    lost = sum(step - 1 for step in steps if 1 < step < _PERIOD // 2)
    return late, lost, sum(step == 0 for step in steps)
