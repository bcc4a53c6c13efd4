"""From the event to the mix on air: the time from sending the event to the first mixed picture at a viewer.

The guest's stream can be decoded at once: it has a keyframe in every picture. Otherwise the distance of the guest's
keyframes would be measured.
"""
import os
import random
import sys
import time

from ..canvas import Canvas
from ..errors import Deadline
from ..frames import quantile
from ..measure import Load
from ..sides import builds
from ..stages import divided
from ..waiting import wait_until

NAME = "switch"
ABOUT = "from the event to the mix at a viewer, on an idle machine and with two busy processes per core"
DEFAULT_SECONDS = 20
DEFAULT_RUNS = 1
ROOM = "room"
# A join that takes longer, in s, has failed.
_PATIENCE = 20


def arguments(parser):
    parser.add_argument("--switches", type=int, default=30, help="joins in each condition (30)")
    parser.add_argument("--load", type=int, default=2,
                        help="busy processes per core in the second condition (2); 0: none")
    parser.add_argument("--canvas", default="720x1280@20", help="size and rate of all pictures (720x1280@20)")


def title(options):
    return f"switch, {options.switches} joins"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    publishers = [stage.sources.publish("host", 1, canvas),
                  stage.sources.publish("guest", 2, canvas, gop=1 / canvas.fps)]
    reader = stage.open_reader()
    sides, rows, busy = builds(stage, canvas), {}, []
    try:
        time.sleep(1)
        for side in sides:
            reader.add(side.name, stage.program(f"{side.name}-{ROOM}"))
            side.start()
            side.open_room(ROOM, "host")
            side.service.wait_for(ROOM, "bypass")
        time.sleep(options.settle)
        for side in sides:
            rows[f"{side.name} idle"] = _distribution(stage, options, reader, side, publishers)
        if options.load:
            busy = [stage.processes.start("busy", [sys.executable, "-c", "while True: pass"])
                    for _ in range(options.load * (os.cpu_count() or 1))]
            time.sleep(2)
            for side in sides:
                rows[f"{side.name} busy"] = _distribution(stage, options, reader, side, publishers)
    finally:
        stage.processes.end(*busy)
        for side in sides:
            side.end()
        stage.processes.end(*publishers)
        reader.end()
    ratios = {f"{part} ms, {name}": figures[f"late {part}"]
              for name, figures in rows.items() for part in ("p50", "p99")}
    return {"rows": rows, "ratios": ratios}


def _distribution(stage, options, reader, side, publishers):
    viewer, relay, parts, invalid, missed = [], [], [], [], 0
    machine = Load()
    for index in range(options.switches):
        time.sleep(random.uniform(1.0, 2.0))
        event = side.service.join(ROOM, "guest")
        try:
            task = side.service.wait_for(ROOM, "mix", 2, seconds=_PATIENCE)
            first = wait_until(lambda: _first_mixed(reader, side.name, event), "the viewer has no mix", _PATIENCE)
            switch = task["switches"][0]
            relay.append(switch["latencyMs"])
            viewer.append((first - event) / 1e6)
            # A build to compare with may not record stages.
            if "stages" in switch:
                parts.append(divided(switch, viewer[-1]))
        except Deadline:
            missed += 1
        time.sleep(random.uniform(1.0, 1.5))
        side.service.leave(ROOM, "guest")
        side.service.wait_for(ROOM, "bypass")
        stage.sources.check(publishers)
        if index % 10 == 9:
            print(f"    {side.name}: {index + 1} of {options.switches} switches", flush=True)
    fault = reader.streams()[side.name].fault
    if fault:
        invalid.append(fault)
    if missed:
        invalid.append(f"{missed} of {options.switches} joins were not on air within {_PATIENCE} s")
    return {**machine.figures(), "wanted": options.switches,
            "late p50": quantile(viewer, 0.5), "late p99": quantile(viewer, 0.99),
            "relay p50": quantile(relay, 0.5), "relay p99": quantile(relay, 0.99),
            "viewer ms": viewer, "relay ms": relay, "parts": parts, "invalid": invalid}


def _first_mixed(reader, name, since):
    """Returns the arrival of the first picture after a new video configuration, which a mix begins with."""
    configured = False
    for frame in reader.streams(since)[name].frames:
        if frame.kind == "c":
            configured = True
        elif configured and frame.kind == "v":
            return frame.arrival
    return None
