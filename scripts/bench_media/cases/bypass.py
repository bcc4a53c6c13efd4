"""Rooms with one participant each, copied: against as many `ffmpeg -c copy`."""
import time

from ..canvas import Canvas
from ..frames import copied, together
from ..measure import Window, ratio, row
from ..sides import Build, Copies, builds
from ..waiting import wait_until

NAME = "bypass"
ABOUT = "copying rooms, each from a publisher of its own, against ffmpeg -c copy"
DEFAULT_SECONDS = 20


def arguments(parser):
    parser.add_argument("--rooms", type=int, default=1, help="number of rooms and publishers (1)")
    parser.add_argument("--canvas", default="720x1280@20", help="size and rate of the publishers' pictures")
    parser.add_argument("--turns", action="store_true",
                        help="one side after the other instead of side by side: for many rooms")
    parser.add_argument("--apart", action="store_true",
                        help="publishers of its own for each side, so that no side gets a packet right after another")


def title(options):
    return f"bypass, {options.rooms} room{'s' * (options.rooms > 1)}{', publishers apart' * options.apart}"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    sides = [*builds(stage, canvas), Copies(stage)]
    hosts = {side.name: hosts_of(side.name, options) for side in sides}
    reader = stage.open_reader()
    for index in range(min(options.rooms, 4)):
        stage.sources.file(index % 4 + 1, canvas)
    publishers = []
    for index in range(options.rooms):
        # Once, where the sides share it.
        for host in dict.fromkeys(names[index] for names in hosts.values()):
            publishers.append(stage.sources.publish(host, index % 4 + 1, canvas))
            # Publishers of real rooms are not in step.
            time.sleep(0.037)
    time.sleep(1)
    for host in dict.fromkeys(host for names in hosts.values() for host in names):
        reader.add(host, stage.live(host))
    # The order in which the sides start changes their cost, with one room by a third and more.
    first = number % len(sides)
    sides = sides[first:] + sides[:first]
    turns = [[side] for side in sides] if options.turns else [sides]
    rows = {}
    try:
        for group in turns:
            rows |= _measure(stage, options, reader, group, hosts, publishers)
    finally:
        for side in sides:
            side.end()
        stage.processes.end(*publishers)
        reader.end()
    return {"rows": rows, "ratios": ratios(rows)}


def hosts_of(side, options):
    """Returns the names of a side's publishers, one for each room."""
    prefix = f"{side}-" if options.apart else ""
    return [f"{prefix}host{index}" for index in range(options.rooms)]


def ratios(rows):
    """Returns every build's figures over ffmpeg's, and over those of the build it is compared with."""
    result = {}
    for name in rows:
        if name != "ffmpeg":
            result[f"CPU, {name} / ffmpeg"] = ratio(rows, "cpu", name, "ffmpeg")
            result[f"memory, {name} / ffmpeg"] = ratio(rows, "memory", name, "ffmpeg")
    if "against" in rows:
        result["CPU, ours / against"] = ratio(rows, "cpu", "ours", "against")
        result["memory, ours / against"] = ratio(rows, "memory", "ours", "against")
    return result


def _measure(stage, options, reader, sides, hosts, publishers):
    rooms = [f"room{index}" for index in range(options.rooms)]
    for side in sides:
        for room in rooms:
            reader.add(f"{side.name}/{room}", stage.program(side.program(room)))
        if isinstance(side, Build):
            side.start()
        for room, host in zip(rooms, hosts[side.name]):
            side.open_room(room, host)
    began = time.monotonic_ns()

    def all_on_air():
        streams = reader.streams(began)
        return all(any(frame.kind == "v" for frame in streams[f"{side.name}/{room}"].frames)
                   for side in sides for room in rooms)
    wait_until(all_on_air, "not every program is on air", 30 + options.rooms, pause=1)
    # Waiting mixers have started by then, and nginx's buffers are as they stay.
    time.sleep(options.settle + options.rooms / 10)
    window = Window(stage, sides, options.seconds, publishers)
    streams = reader.streams(window.begin - 1_000_000_000)
    rows = {}
    for side in sides:
        verdict = together([copied(streams[host], streams[f"{side.name}/{room}"], window.begin, window.end)
                            for room, host in zip(rooms, hosts[side.name])])
        rows[side.name] = row(window, side, verdict, Build.MEDIA if isinstance(side, Build) else None)
        side.end()
    return rows
