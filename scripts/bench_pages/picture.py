"""How soon a page is on air, and how true its picture and sound are."""
import array
import statistics
import subprocess
import time

from bench_media import marks
from bench_media.canvas import Canvas
from bench_media.errors import BenchError
from bench_media.waiting import wait_until
from bench_pages.page import BACKGROUND, PATCH, PATCHES, SOURCE, open_page, page_workers, start_service, wait_for_air


def whole(stream, what):
    """Returns the frames of a stream; raises if its publisher left, since what follows is not in it."""
    if stream.fault:
        raise BenchError(f"{what}: the program cannot be judged: {stream.fault}")
    return stream.frames


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, value, limit, holds):
        """`holds`: whether the limit is kept; `None` without one."""
        self.rows.append((what, value, limit, {True: "yes", False: "NO", None: ""}[holds]))
        print(f"  {what}: {value}" + (f" (limit {limit}: {'kept' if holds else 'MISSED'})" if limit else ""), flush=True)

    def print(self):
        head = ("measured", "value", "limit", "kept")
        widths = [max(len(row[column]) for row in [head, *self.rows]) for column in range(4)]
        print()
        for row in [head, tuple("-" * width for width in widths), *self.rows]:
            print("| " + " | ".join(word.ljust(width) for word, width in zip(row, widths)) + " |")


def seconds(values):
    return f"{statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f}, {len(values)} times)"


def measure_start(stage, options, table, pages):
    canvas = Canvas.parse("1280x720@30")
    for name, warm, limit in (("cold", 0, 3.0), ("in a browser that waited", 1, 1.5)):
        service = start_service(stage, options, canvas, warm)
        delays, programs = [], []
        for number in range(options.runs):
            room = f"start-{number}"
            if warm:
                # Until the next browser waits: it is started two seconds after the last one was taken.
                time.sleep(8)
            begin = open_page(service, room, pages.url("/page30"))
            delays.append((wait_for_air(service, room) - begin) / 1e9)
            service.wait_for(room, "bypass")
            programs.append((time.monotonic_ns() - begin) / 1e9)
            service.close_room(room)
            wait_until(lambda: len(page_workers(service)) <= warm, "the page does not end")
        table.add(f"call to page on air, {name}", seconds(delays), f"{limit} s", max(delays) <= limit)
        table.add(f"call to page in the program, {name}", seconds(programs), "", None)
        service.end()


def decode(options, path, graph, pixel="gray", channel="v"):
    answer = subprocess.run(
        [options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1", "-i", path, "-map", "0:v", "-vf",
         graph, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", pixel, "-"], capture_output=True)
    if answer.returncode:
        raise BenchError(f"{path}: {answer.stderr.decode(errors='replace')[-300:]}")
    return answer.stdout


def one_frame(options, path, canvas, number=30):
    """A picture of a recording as RGB."""
    graph = f"select=eq(n\\,{number}),scale=in_color_matrix=bt709:in_range=tv:flags=accurate_rnd+full_chroma_int,format=rgb24"
    data = decode(options, path, graph, "rgb24")
    size = canvas.width * canvas.height * 3
    if len(data) != size:
        raise BenchError(f"{path}: the picture is not {canvas.width}x{canvas.height}")
    return lambda x, y: tuple(data[(y * canvas.width + x) * 3:(y * canvas.width + x) * 3 + 3])


def color_error(pixel, canvas):
    """The greatest difference of a colour from what the page has painted."""
    def mean(x, y, edge):
        points = [pixel(x + i, y + j) for i in range(edge) for j in range(edge)]
        return tuple(sum(point[channel] for point in points) / len(points) for channel in range(3))
    places = [((8 + 12, 8 + row * (PATCH + 8) + 12), color) for row, color in enumerate(PATCHES)]
    places += [((x, y), BACKGROUND) for x in (64, canvas.width - 17) for y in (1, canvas.height - 17)]
    return max(abs(found - wanted) for (x, y), color in places for found, wanted in zip(mean(x, y, 16), color))


def edge_error(pixel, canvas):
    """How many pixels the bar above the mark is from its place: 0 if every pixel of the page is one of the picture."""
    x, y, edge, cell = canvas.mark()
    top = y - 3 * cell
    background = sum(BACKGROUND) / 3

    def is_bar(px, py):
        return abs(sum(pixel(px, py)) / 3 - background) > 32

    def first(points):
        return next((index for index, point in enumerate(points) if is_bar(*point)), None)
    middle = (x + edge // 2, top + cell)
    found = (first([(px, middle[1]) for px in range(x - 8, x + 8)]),
             first([(px, middle[1]) for px in range(x + edge + 7, x + edge - 9, -1)]),
             first([(middle[0], py) for py in range(top - 8, top + 8)]),
             first([(middle[0], py) for py in range(top + 2 * cell + 7, top + 2 * cell - 9, -1)]))
    return 99 if None in found else max(abs(place - 8) for place in found)


def sound_offsets(options, path, canvas, frames):
    """Beep minus flash in ms, as a player presents them, for each second of a recording."""
    x, y, edge, cell = canvas.mark()
    bar = decode(options, path, f"format=gray,crop={edge}:{2 * cell}:{x}:{y - 3 * cell}:exact=1,scale=1:1:flags=area")
    times = [frame.time for frame in frames if frame.kind == "v"]
    flashes = [times[index] for index in range(1, min(len(bar), len(times))) if bar[index] > 127 >= bar[index - 1]]
    rate = 8000
    answer = subprocess.run(
        [options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-i", path, "-map", "0:a", "-af",
         f"bandpass=f={2000 + 400 * SOURCE}:width_type=h:w=400,aresample={rate}", "-ac", "1", "-f", "s16le", "-"],
        capture_output=True)
    sound = array.array("h", answer.stdout[:len(answer.stdout) // 2 * 2])
    starts = [frame.time for frame in frames if frame.kind == "a"]
    step = rate // 500
    levels = [max(map(abs, sound[at:at + step]), default=0) for at in range(0, len(sound), step)]
    loud, offsets = max(levels, default=0), []
    for index in range(1, len(levels)):
        if levels[index] >= loud / 2 > levels[index - 1]:
            # By the frame that contains it: a gap must not shift all that follows. A frame has 1024 samples at 48 kHz.
            number = min(int(index * 2 * 48 // 1024), len(starts) - 1)
            # The beep is half as loud as it becomes 10 ms after its beginning.
            beep = starts[number] + index * 2 - number * 1024 / 48 - 10
            near = min(flashes, key=lambda flash: abs(flash - beep), default=None)
            if near is not None and abs(beep - near) < 400:
                offsets.append(beep - near)
    return offsets


def distinct_rate(numbers, times):
    """How many different pictures of the page a second of a program has; unreadable ones count as none."""
    seen = [number for number in numbers if number is not None]
    changes = sum(later != earlier for earlier, later in zip(seen, seen[1:]))
    return 1000 * changes / (times[-1] - times[0])


def measure_picture(stage, options, table, pages):
    for text in ("720x1280@20", "1280x720@30"):
        canvas = Canvas.parse(text)
        service = start_service(stage, options, canvas)
        service.call("PUT", "/v1/rooms/picture", {"outputs": [{"id": "cdn", "url": stage.program(canvas.name)}]})
        open_page(service, "picture", pages.url(f"/page{canvas.fps}"))
        wait_for_air(service, "picture")
        service.wait_for("picture", "bypass")
        time.sleep(3)
        reader, path = stage.open_reader(), stage.file(f"{canvas.name}.flv")
        reader.add("page", stage.program(canvas.name), path)
        time.sleep(options.seconds + 2)
        frames = whole(reader.streams()["page"], text)
        reader.end()
        service.end()
        video = [frame for frame in frames if frame.kind == "v"]
        if len(video) < 2:
            raise BenchError(f"{text}: the program has {len(video)} pictures")
        rate = 1000 * (len(video) - 1) / (video[-1].time - video[0].time)
        table.add(f"{text}: pictures per second", f"{rate:.2f}", "± 2 %", abs(rate / canvas.fps - 1) <= 0.02)
        x, y, edge, _ = canvas.mark()
        numbers = marks.read(options, path, (x, y, edge), SOURCE)
        steps = [(after - before) % 65536 for before, after in zip(numbers, numbers[1:]) if None not in (before, after)]
        # A rate that is held with repeated pictures is not the page's.
        distinct = distinct_rate(numbers, [frame.time for frame in video])
        table.add(f"{text}: distinct pictures per second", f"{distinct:.2f}", "± 2 %", abs(distinct / canvas.fps - 1) <= 0.02)
        table.add(f"{text}: repeated, skipped and unreadable pictures",
                  f"{steps.count(0)}, {sum(step - 1 for step in steps if 1 < step < 100)}, {numbers.count(None)} of {len(numbers)}",
                  "", None)
        pixel = one_frame(options, path, canvas)
        away = edge_error(pixel, canvas)
        table.add(f"{text}: pixels that edges are from their place", str(away), "0", away == 0)
        error = color_error(pixel, canvas)
        table.add(f"{text}: greatest error of a colour", f"{error:.1f} of 255", "4", error <= 4)
        offsets = sound_offsets(options, path, canvas, frames)
        if offsets:
            table.add(f"{text}: sound after picture",
                      f"{statistics.median(offsets):.0f} ms ({min(offsets):.0f} to {max(offsets):.0f})", "± 60 ms",
                      max(map(abs, offsets)) <= 60)
            measure_drift(options, table, text, offsets, video)
        else:
            table.add(f"{text}: sound after picture", "no beep was heard", "± 60 ms", False)


def measure_drift(options, table, name, offsets, video):
    """What changes slowly: sound against picture, and the program's timestamps against time. Short windows show noise only."""
    if options.seconds < 60:
        return
    fifth = max(1, len(offsets) // 5)
    moved = statistics.median(offsets[-fifth:]) - statistics.median(offsets[:fifth])
    expected = int(options.seconds) - 2
    table.add(f"{name}: sound after picture, end less beginning, {len(offsets)} beeps", f"{moved:+.0f} ms", "± 20 ms",
              abs(moved) <= 20 and len(offsets) >= 0.9 * expected)
    # Each picture comes late by a different delay; the least of many is that of an idle moment.
    late = [frame.arrival / 1e6 - frame.time for frame in video]
    part = max(1, len(late) // 5)
    table.add(f"{name}: timestamps behind time, end less beginning", f"{min(late[-part:]) - min(late[:part]):+.0f} ms", "", None)
