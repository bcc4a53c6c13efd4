"""How many mixes of two the machine holds: one more at a time until a frame is lost or comes too late at a viewer."""
import time

from ..canvas import Canvas, Pane
from ..errors import BenchError
from ..ffmpeg import Jobs, mix_arguments
from ..frames import paced, quantile, together
from ..measure import Window
from ..service import panes
from ..sides import builds
from ..waiting import wait_until

NAME = "density"
ABOUT = "mixes of two, added until the first lost or late frame at a viewer; ours and ffmpeg one after the other"
DEFAULT_SECONDS = 10
DEFAULT_RUNS = 1


def arguments(parser):
    parser.add_argument("--canvas", default="720x1280@20", help="size and rate of all pictures (720x1280@20)")
    parser.add_argument("--limit", type=float, default=250, metavar="MS",
                        help="a mix is late when 1 %% of its pictures are later than this, from its earliest one (250)")
    parser.add_argument("--most", type=int, default=40, help="mixes at which the search ends (40)")


def title(options):
    return f"density, mixes of 2, {options.canvas}"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    publishers = [stage.sources.publish(f"person{index}", index, canvas) for index in (1, 2)]
    time.sleep(1)
    sides = [*builds(stage, canvas), Jobs(stage)]
    if number % 2:
        sides.reverse()
    rows, places = {}, []
    try:
        for side in sides:
            if not hasattr(side, "service"):
                add = _mixes_of_ffmpeg(stage, options, side, canvas, places)
            else:
                side.start()
                add = _mixes_of_ours(stage, side, places)
            rows[side.name] = _fill(stage, options, side, add, canvas, publishers)
            side.end()
            time.sleep(3)
    finally:
        for side in sides:
            side.end()
        stage.processes.end(*publishers)
    ratios = {f"mixes, {name}": figures["mixes"] for name, figures in rows.items()}
    for name in rows:
        if name != "ffmpeg":
            others = rows["ffmpeg"]["mixes"]
            ratios[f"mixes, {name} / ffmpeg"] = rows[name]["mixes"] / others if others else None
    return {"rows": rows, "ratios": ratios}


def _mixes_of_ours(stage, side, places):
    def add(room):
        side.open_room(room, "person1")
        side.service.wait_for(room, "bypass")
        side.service.join(room, "person2")
        places[:] = panes(side.service.wait_for(room, "mix", 2, seconds=60))
    return add


def _mixes_of_ffmpeg(stage, options, side, canvas, places):
    def add(room):
        # The usual places, if ffmpeg comes first.
        known = places or side_by_side(canvas)
        side.start(mix_arguments(options, [stage.live("person1"), stage.live("person2")],
                                 stage.program(f"{side.name}-{room}"), canvas, known, canvas))
    return add


def side_by_side(canvas):
    """Returns the places of two people in the layout `bench`, for sources of the canvas's shape."""
    half = canvas.width // 2
    height = canvas.height // 2
    return [Pane(x, (canvas.height - height) // 2, half, height) for x in (0, half)]


def _fill(stage, options, side, add, canvas, publishers):
    """Adds mixes until one is not whole; returns the row with the number of mixes that were."""
    reader = stage.open_reader()
    rooms, steps = [], []
    try:
        while len(rooms) < options.most:
            room = f"room{len(rooms)}"
            reader.add(room, stage.program(f"{side.name}-{room}"))
            try:
                add(room)
                wait_until(lambda: any(frame.kind == "v" for frame in reader.streams()[room].frames),
                           "no mix comes", 60, 0.5)
            except BenchError as error:
                steps.append({"mixes": len(rooms) + 1, "why": str(error)})
                break
            rooms.append(room)
            time.sleep(options.settle)
            window = Window(stage, [side], options.seconds, publishers)
            streams = reader.streams(window.begin)
            verdicts = [paced(streams[name], canvas.fps, window.begin, window.end) for name in rooms]
            verdict = together(verdicts)
            late = max(quantile(verdict.late, 0.99) or 0 for verdict in verdicts)
            step = {"mixes": len(rooms), "lost": verdict.lost, "late p99": late, "fault": verdict.fault}
            steps.append(step | window.figures(side.name))
            print(f"    {side.name}: {len(rooms)} mixes, machine {window.load['machine busy']:.0f} % busy, "
                  f"{verdict.lost} frames lost, p99 of lateness {late:.0f} ms{verdict.fault and ', ' + verdict.fault}",
                  flush=True)
            if not is_whole(step, options.limit):
                break
    finally:
        reader.end()
    return row(steps, options.limit, options.most)


def is_whole(step, limit):
    """Returns whether each of a step's mixes came, stayed connected, lost nothing and was at most `limit` ms late."""
    return not (step.get("why") or step["fault"] or step["lost"]) and step["late p99"] <= limit


def row(steps, limit, most):
    """Returns a side's row: the figures of its last whole step, all steps, and why it proves no density, if so.

    most: mixes at which the search ends.
    """
    best = next((step for step in reversed(steps) if is_whole(step, limit)), {})
    mixes, invalid = best.get("mixes", 0), []
    if not mixes:
        invalid.append(f"not one mix is whole: {_fault(steps[-1])}" if steps else "no mix was tried")
    elif mixes >= most:
        invalid.append(f"all {most} mixes are whole: raise --most")
    return {**best, "mixes": mixes, "steps": steps, "invalid": invalid}


def _fault(step):
    return step.get("why") or step["fault"] or f"{step['lost']} frames lost, p99 of lateness {step['late p99']:.0f} ms"
