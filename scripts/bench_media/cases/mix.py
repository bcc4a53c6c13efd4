"""Mixes: against ffmpeg's scale, overlay and amix, and against what the codecs alone need."""
import json
import subprocess
import time

from .. import marks
from ..canvas import Canvas
from ..ffmpeg import Floor, Jobs, mix_arguments
from ..frames import paced
from ..measure import Window, ratio, row
from ..service import panes
from ..sides import Build, builds

NAME = "mix"
ABOUT = "mixing the people of one room, against ffmpeg (scale, overlay, amix, x264, aac) and against the codecs alone"
DEFAULT_SECONDS = 20
ROOM = "room"


def arguments(parser):
    parser.add_argument("--people", type=int, default=2, choices=range(2, 10), metavar="N",
                        help="people in the room (2)")
    parser.add_argument("--canvas", default="720x1280@20",
                        help="size and rate of the mix and of the publishers' pictures (720x1280@20)")


def title(options):
    return f"mix of {options.people}, {options.canvas}"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    people = [f"person{index + 1}" for index in range(options.people)]
    files = [stage.sources.file(index + 1, canvas) for index in range(options.people)]
    publishers = []
    for index, name in enumerate(people):
        publishers.append(stage.sources.publish(name, index + 1, canvas))
        # Four beeps at once are more than full scale: the mixer bends their peaks, which the probe takes for a click.
        time.sleep(1 / options.people)
    reader = stage.open_reader()
    ours, jobs, floor = builds(stage, canvas), Jobs(stage), None
    recordings = {side.name: stage.file(f"{side.name}.flv") for side in (*ours, jobs)}
    try:
        time.sleep(2)
        for side in (*ours, jobs):
            reader.add(side.name, stage.program(f"{side.name}-{ROOM}"), recordings[side.name])
        places = [on_air(side, people) for side in ours][0]
        sources = [stage.live(name) for name in people]
        jobs.start(mix_arguments(options, sources, stage.program(f"ffmpeg-{ROOM}"), canvas, places, canvas))
        floor = Floor(stage, sources, files, canvas, places, canvas)
        jobs.wait_for(reader, "ffmpeg")
        time.sleep(options.settle)
        encoded = floor.frames()
        window = Window(stage, [*ours, jobs, floor], options.seconds, publishers)
        encoded = [after - before for before, after in zip(encoded, floor.frames())]
        streams = reader.streams()
        scenes = [side_scene for side in ours for side_scene in back_to_bypass(side, people)]
        time.sleep(1)
    finally:
        for side in (*ours, jobs, *([floor] if floor else [])):
            side.end()
        stage.processes.end(*publishers)
        reader.end()
    rows = {}
    for side in (*ours, jobs):
        verdict = paced(streams[side.name], canvas.fps, window.begin, window.end)
        counted = Build.MEDIA if isinstance(side, Build) else None
        rows[side.name] = judge_content(options, row(window, side, verdict, counted), recordings[side.name],
                                        streams[side.name], window, places[0].mark(canvas))
    for side in ours:
        complaints = judge_seams(stage, side, recordings[side.name], scenes, options.people, canvas)
        rows[side.name]["invalid"] += complaints
        if complaints:
            # The next run writes to the same file. Numbered as the runs are shown.
            recordings[side.name].rename(stage.file(f"{side.name}-seams-{number + 1}.flv"))
    rows["floor"] = row(window, floor, None)
    rows["floor"]["cpu"] = Floor.cost(window.use["floor"])
    wanted = canvas.fps * encoded[1]
    # It reports every half second.
    if abs(encoded[0] - wanted) > 0.6 * canvas.fps:
        rows["floor"]["invalid"].append(f"{encoded[0]} pictures encoded instead of {wanted:.0f}")
    return {"rows": rows, "ratios": ratios(rows)}


def ratios(rows):
    result = {}
    for name in rows:
        if name not in ("ffmpeg", "floor"):
            result[f"CPU, {name} / ffmpeg"] = ratio(rows, "cpu", name, "ffmpeg")
            result[f"CPU, {name} / floor"] = ratio(rows, "cpu", name, "floor")
            result[f"memory, {name} / ffmpeg"] = ratio(rows, "memory", name, "ffmpeg")
    result["CPU, ffmpeg / floor"] = ratio(rows, "cpu", "ffmpeg", "floor")
    if "against" in rows:
        result["CPU, ours / against"] = ratio(rows, "cpu", "ours", "against")
    return result


def on_air(side, people):
    """Starts a build and its room and brings everybody on air; returns their panes."""
    side.start()
    side.open_room(ROOM, people[0])
    side.service.wait_for(ROOM, "bypass")
    time.sleep(2)
    for name in people[1:]:
        side.service.join(ROOM, name)
    return panes(side.service.wait_for(ROOM, "mix", len(people)))


def back_to_bypass(side, people):
    """Lets the guests leave; returns all scenes that were seen on air."""
    for name in people[1:]:
        side.service.leave(ROOM, name)
    side.service.wait_for(ROOM, "bypass")
    time.sleep(1)
    return side.service.scenes


def judge_content(options, figures, recording, stream, window, square):
    """Adds what the marks of the host say: pictures lost or repeated within the mix."""
    frames = [frame for frame in stream.frames if frame.kind == "v"]
    counters = marks.read(options, recording, square, 1)[:len(frames)]
    _, lost, repeated = marks.delays(frames, counters, {}, window.begin, window.end)
    read = sum(counter is not None for frame, counter in zip(frames, counters)
               if window.begin <= frame.arrival < window.end)
    figures |= {"content lost": lost, "content repeated": repeated, "marks read": read}
    if lost or repeated:
        figures["invalid"].append(f"the host's pictures: {lost} lost, {repeated} repeated")
    if read < 0.95 * figures["wanted"]:
        figures["invalid"].append(f"only {read} of {figures['wanted']} pictures show the host's mark")
    return figures


def judge_seams(stage, side, recording, scenes, people, canvas):
    """Lets the probe judge the recording within the demo's limits; returns its complaints."""
    path, report = stage.file(f"{side.name}-scenes.json"), stage.file(f"{side.name}-report.json")
    path.write_text(json.dumps(scenes))
    words = [stage.options.binary / "mixworker", "probe", recording, "--scene", path, "--json", report,
             "--expect-switches", "2"]
    for number in range(1, people + 1):
        words += ["--publisher", f"{number}:{canvas.width}x{canvas.height}@{canvas.fps}"]
    answer = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if not report.exists():
        return [f"the probe fails: {answer.stderr.strip()[-300:]}"]
    found = json.loads(report.read_text())
    report.unlink()
    complaints = [*found["failures"], *(text for change in found["switches"] for text in change["failures"])]
    return [f"seams: {'; '.join(complaints)}"] if complaints else []
