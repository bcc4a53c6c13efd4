"""Added latency of a bypass and of a mix: how much later a picture reaches a viewer than one of its source does.

A picture is known by its bytes in a bypass and by its mark in a mix. One reader notes both arrivals on one clock.
ffmpeg mixes twice: as anybody would call it, and `aligned`, told by how much the sources' timestamps differ.
"""
import time

from .. import marks
from ..canvas import Canvas
from ..ffmpeg import Jobs, copy_arguments, mix_arguments
from ..frames import copied, paced, quantile
from ..measure import Window, row
from ..service import panes
from ..sides import Build, builds
from .mix import ROOM

NAME = "latency"
ABOUT = "latency that a bypass and a mix of two add to their source, against ffmpeg"
DEFAULT_SECONDS = 20


def arguments(parser):
    parser.add_argument("--canvas", default="720x1280@20", help="size and rate of all pictures (720x1280@20)")


def title(options):
    return f"latency, {options.canvas}"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    people = ["person1", "person2"]
    publishers = [stage.sources.publish(name, index + 1, canvas) for index, name in enumerate(people)]
    reader = stage.open_reader()
    ours, jobs = builds(stage, canvas), Jobs(stage)
    rows = {}
    try:
        time.sleep(2)
        for name in people:
            reader.add(name, stage.live(name))
        names = {side.name: stage.file(f"{side.name}.flv") for side in (*ours, jobs)}
        for side in ours:
            reader.add(side.name, stage.program(f"{side.name}-{ROOM}"), names[side.name])
        reader.add("copy", stage.program("copy"))
        for way in ("ffmpeg", "aligned"):
            reader.add(way, stage.program(f"{way}-{ROOM}"), stage.file(f"{way}.flv"))
        _bypass(stage, options, reader, ours, jobs, people, publishers, rows)
        streams, window = _mix(stage, options, reader, ours, jobs, people, canvas, publishers)
    finally:
        for side in (*ours, jobs):
            side.end()
        stage.processes.end(*publishers)
        reader.end()
    arrivals = marks.published(stage.sources.file(1, canvas), streams[people[0]])
    square = window.places[0].mark(canvas)
    for name, side in [*((side.name, side) for side in ours), ("ffmpeg", jobs), ("aligned", jobs)]:
        figures = row(window, side, paced(streams[name], canvas.fps, window.begin, window.end),
                      Build.MEDIA if isinstance(side, Build) else None)
        frames = [frame for frame in streams[name].frames if frame.kind == "v"]
        counters = marks.read(options, stage.file(f"{name}.flv"), square, 1)[:len(frames)]
        late, lost, repeated = marks.delays(frames, counters, arrivals, window.begin, window.end)
        figures |= {"late p50": quantile(late, 0.5), "late p99": quantile(late, 0.99), "content lost": lost}
        if lost or repeated or len(late) < 0.9 * figures["wanted"]:
            figures["invalid"].append(
                f"{len(late)} pictures recognised of {figures['wanted']}, {lost} lost, {repeated} repeated")
        rows[f"mix {name}"] = figures
    return {"rows": rows, "ratios": _titles(rows, ours)}


def _titles(rows, ours):
    result = {}
    for name in [*(side.name for side in ours), "ffmpeg"]:
        for part in ("p50", "p99"):
            result[f"bypass {part} ms, {name}"] = rows[f"bypass {name}"][f"late {part}"]
    for name in [*(side.name for side in ours), "ffmpeg", "aligned"]:
        for part in ("p50", "p99"):
            result[f"mix {part} ms, {name}"] = rows[f"mix {name}"][f"late {part}"]
    for side in ours:
        mixed, copy = rows[f"mix {side.name}"], rows[f"bypass {side.name}"]
        if mixed["late p50"] is not None and copy["late p50"] is not None:
            result[f"mix over bypass, p50 ms, {side.name}"] = mixed["late p50"] - copy["late p50"]
    return result


def _bypass(stage, options, reader, ours, jobs, people, publishers, rows):
    for side in ours:
        side.start()
        side.open_room(ROOM, people[0])
        side.service.wait_for(ROOM, "bypass")
    jobs.start(copy_arguments(options, stage.live(people[0]), stage.program("copy")), "copy")
    jobs.wait_for(reader, "copy")
    time.sleep(options.settle)
    window = Window(stage, [*ours, jobs], options.seconds, publishers)
    streams = reader.streams()
    for side, name in [*((side, side.name) for side in ours), (jobs, "copy")]:
        verdict = copied(streams[people[0]], streams[name], window.begin, window.end)
        rows[f"bypass {side.name}"] = row(window, side, verdict, Build.MEDIA if isinstance(side, Build) else None)


def _mix(stage, options, reader, ours, jobs, people, canvas, publishers):
    jobs.end()
    for side in ours:
        side.service.join(ROOM, people[1])
        side.service.wait_for(ROOM, "mix", 2)
    places = panes(ours[0].service.task(ROOM))
    sources = [stage.live(name) for name in people]
    streams = reader.streams()
    begins = [min(frame.arrival / 1e9 - frame.time / 1e3 for frame in streams[name].frames) for name in people]
    # Real publishers' timestamps say nothing about each other: with these, ffmpeg is as fast as it can be.
    offsets = [begin - begins[0] for begin in begins]
    for way in ("ffmpeg", "aligned"):
        jobs.start(mix_arguments(options, sources, stage.program(f"{way}-{ROOM}"), canvas, places, canvas,
                                 *((offsets, time.monotonic() - begins[0]) if way == "aligned" else ())), way)
    jobs.wait_for(reader, "ffmpeg", "aligned")
    time.sleep(options.settle)
    window = Window(stage, [*ours, jobs], options.seconds, publishers)
    window.places = places
    return reader.streams(), window
