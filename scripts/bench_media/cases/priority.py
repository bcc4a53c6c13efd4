"""Lateness on a busy machine: a bypass and a mix of two beside processes that never sleep, two per core.

With --against, a second build has the same room in the same seconds.
"""
import os
import sys
import time

from ..canvas import Canvas
from ..frames import copied, paced, quantile
from ..measure import Window, row
from ..sides import Build, builds

NAME = "priority"
ABOUT = "lateness of a bypass and of a mix beside busy processes"
DEFAULT_SECONDS = 20
DEFAULT_RUNS = 3
_MIX, _COPY = "mix", "copy"


def arguments(parser):
    parser.add_argument("--load", type=int, default=2, help="busy processes per core (2)")
    parser.add_argument("--canvas", default="720x1280@20", help="size and rate of all pictures (720x1280@20)")


def title(options):
    return f"priority, {options.load} busy processes per core"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    people = ["host", "guest"]
    publishers = [stage.sources.publish(name, index + 1, canvas) for index, name in enumerate(people)]
    reader, sides, rows, busy = stage.open_reader(), builds(stage, canvas), {}, []
    try:
        time.sleep(1)
        reader.add("host", stage.live("host"))
        for side in sides:
            side.start()
            for room in (_COPY, _MIX):
                reader.add(f"{side.name}-{room}", stage.program(f"{side.name}-{room}"))
                side.open_room(room, "host")
            side.service.wait_for(_COPY, "bypass")
            side.service.join(_MIX, "guest")
            side.service.wait_for(_MIX, "mix", 2)
        time.sleep(options.settle)
        busy = [stage.processes.start("busy", [sys.executable, "-c", "while True: pass"])
                for _ in range(options.load * (os.cpu_count() or 1))]
        time.sleep(2)
        window = Window(stage, sides, options.seconds, publishers)
        streams = reader.streams()
    finally:
        stage.processes.end(*busy)
        for side in sides:
            side.end()
        stage.processes.end(*publishers)
        reader.end()
    for side in sides:
        verdicts = {
            _COPY: copied(streams["host"], streams[f"{side.name}-{_COPY}"], window.begin, window.end),
            _MIX: paced(streams[f"{side.name}-{_MIX}"], canvas.fps, window.begin, window.end)}
        for room, verdict in verdicts.items():
            figures = row(window, side, verdict, Build.MEDIA)
            figures["late max"] = quantile(verdict.late, 1)
            if room == _MIX:
                # Frames that a mix leaves out for want of time are what is measured.
                figures["invalid"] = []
                figures["frames left out"] = verdict.lost
            rows[f"{side.name} {room}"] = figures
    ratios = {f"{name} {part.removeprefix('late ')} ms": figures[part]
              for name, figures in rows.items() for part in ("late p50", "late p99", "late max")}
    ratios |= {f"{side.name} mix, frames left out": rows[f"{side.name} {_MIX}"]["frames left out"] for side in sides}
    return {"rows": rows, "ratios": ratios}
