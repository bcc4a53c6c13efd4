"""Publishers over WebRTC, some of them in one mix: what each of them costs."""
import time

from ..canvas import Canvas
from ..frames import paced
from ..measure import Window, row
from ..sides import Build
from ..stage import free_port
from ..waiting import wait_until

NAME = "webrtc"
ABOUT = "publishers over WHIP, some of them in one mix, the others in rooms of their own: processor time of each"
DEFAULT_SECONDS = 20
DEFAULT_RUNS = 3


def arguments(parser):
    parser.add_argument("--publishers", type=int, default=12, help="number of publishers (12)")
    parser.add_argument("--people", type=int, default=4, help="how many of them are in the mix (4)")
    parser.add_argument("--canvas", default="1280x720@30", help="size and rate of all pictures (1280x720@30)")


def title(options):
    return f"webrtc, {options.publishers} publishers, {options.people} in a mix, {options.canvas}"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    places = [("mix" if index < options.people else f"room{index}", f"host{index}") for index in range(options.publishers)]
    # The clients are programs of a service of its own: what they cost is no part of the figures.
    clients = Build(stage, "clients", options.binary, canvas)
    side = Build(stage, "ours", options.binary, canvas)
    publishers, reader = [], stage.open_reader()
    try:
        clients.start()
        side.start(f'ingest: {{ rtmp: {{ listen: "127.0.0.1:{free_port()}" }} }}', "webrtc: { whip: on }")
        side.service.call("PUT", "/v1/rooms/mix", {
            "host": "host0", "layout": "bench", "outputs": [{"id": "cdn", "url": stage.program("ours-mix")}]})
        for index, (room, user) in enumerate(places):
            publishers.append(stage.sources.publish(user, index % 4 + 1, canvas, gop=1))
            clients.service.open_room(f"of-{user}", user, f"whip://127.0.0.1:{side.service.port}/whip/{room}/{user}")
            side.service.wait_for(room, "mix" if 0 < index < options.people else "bypass",
                                  index + 1 if 0 < index < options.people else None, seconds=60)
        reader.add("mix", stage.program("ours-mix"))
        wait_until(lambda: any(frame.kind == "v" for frame in reader.streams()["mix"].frames), "no mix comes", 30, 0.5)
        time.sleep(options.settle)
        window = Window(stage, [side], options.seconds, publishers)
        verdict = paced(reader.streams(window.begin)["mix"], canvas.fps, window.begin, window.end)
        rows = {side.name: row(window, side, verdict)}
    finally:
        for one in (side, clients):
            one.end()
        stage.processes.end(*publishers)
        reader.end()
    use = rows[side.name]["groups"]
    each = {"CPU % per publisher, whip": ["whip"], "CPU % per publisher, whip and ingest": ["whip", "ingest"]}
    ratios = {name: sum(use[group]["cpu"] for group in groups) / options.publishers for name, groups in each.items()}
    ratios["PSS MiB per publisher, whip"] = use["whip"]["memory"] / options.publishers
    return {"rows": rows, "ratios": ratios}
