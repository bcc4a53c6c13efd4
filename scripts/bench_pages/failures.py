"""What viewers see when a page fails, and how soon a page over a program changes."""
import contextlib
import os
import signal
import sys
import time

from bench_media import marks
from bench_media.canvas import Canvas
from bench_media.errors import BenchError
from bench_media.processes import command_line, descendants
from bench_media.waiting import wait_until
from bench_pages.cost import use
from bench_pages.page import SOURCE, open_page, page_workers, renderers, start_service, wait_for_air, wait_for_overlay
from bench_pages.picture import decode, seconds, whole


def measure_failures(stage, options, table, pages):
    canvas = Canvas.parse("1280x720@30")
    service = start_service(stage, options, canvas)
    for kind, limit in (("crash", 0.5), ("hang", 2.0)):
        cards, lasts, returns, lost = [], [], [], []
        for number in range(options.runs):
            room = f"{kind}-{number}"
            service.call("PUT", f"/v1/rooms/{room}", {"outputs": [{"id": "cdn", "url": stage.program(room)}]})
            open_page(service, room, pages.url("/hanging" if kind == "hang" else "/page30"))
            wait_for_air(service, room)
            service.wait_for(room, "bypass")
            time.sleep(4)
            reader, path = stage.open_reader(), stage.file(f"{room}.flv")
            reader.add("page", stage.program(room), path)
            time.sleep(3)
            if kind == "crash":
                begin = time.monotonic_ns()
                # One of them shows the page, others wait for one.
                for renderer in renderers(page_workers(service)[0]):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(renderer, signal.SIGKILL)
            else:
                begin = pages.hang()
            time.sleep(14)
            stream = reader.streams()["page"]
            reader.end()
            if stream.fault:
                lost.append(f"{room}: {stream.fault}")
            seen = times_of_failure(options, room, stream, path, canvas, begin)
            for times, value in zip((lasts, cards, returns), seen):
                times += [] if value is None else [value]
            service.close_room(room)
            wait_until(lambda: not page_workers(service), "the page does not end")
        if lasts:
            table.add(f"{kind}: last picture of the page", seconds(lasts), "", None)
        table.add(f"{kind}: card", seconds(cards) if cards else "none was seen", f"{limit} s",
                  len(cards) == options.runs and max(cards) <= limit)
        table.add(f"{kind}: page again", seconds(returns) if returns else "it was not seen", "", None)
        table.add(f"{kind}: connections of the destination that ended", "; ".join(lost) or "0", "0", not lost)
    service.end()


def times_of_failure(options, room, stream, path, canvas, begin):
    """When the destination got the last picture of the page, the first one without it, and the page again: s after `begin`.

    `None` for what was not seen. The page counts as seen only if the pictures just before are its own: what is unreadable
    from the start is not the card.
    """
    frames = [frame for frame in stream.frames if frame.kind == "v"]
    x, y, edge, _ = canvas.mark()
    shown = list(zip(frames, marks.read(options, path, (x, y, edge), SOURCE)))
    before = [mark for frame, mark in shown if frame.arrival < begin][-2 * canvas.fps:]
    after = [(frame, mark) for frame, mark in shown if frame.arrival >= begin]
    readable = len(before) - before.count(None)
    if len(before) < canvas.fps // 2 or readable < 0.9 * len(before):
        raise BenchError(f"{room}: before the failure, the page's mark is in {readable} of {len(before)} pictures")
    if len({mark for mark in before if mark is not None}) < 2:
        raise BenchError(f"{room}: the page did not move before the failure")

    def time_of(frame):
        return (frame.arrival - begin) / 1e9
    card = next((index for index, (_, mark) in enumerate(after) if mark is None), None)
    if card is None:
        gap = max((later.arrival - earlier.arrival for (earlier, _), (later, _) in zip(shown, shown[1:])), default=0)
        print(f"  {room}: the page was never off the air; longest gap {gap / 1e9:.2f} s", flush=True)
        return None, None, None
    back = next((frame for frame, mark in after[card:] if mark is not None), None)
    return (time_of(after[card - 1][0]) if card else None, time_of(after[card][0]), time_of(back) if back else None)


def measure_overlay(stage, options, table, pages):
    canvas = Canvas.parse("1280x720@30")
    service = start_service(stage, options, canvas)
    figures = {}
    for name, path in (("none", None), ("still", "/overlay"), ("moving", "/moving")):
        overlays = [] if path is None else [
            {"page": pages.url(path), "x": 0.25, "y": 0.75, "width": 0.5, "height": 0.2, "opacity": 1}]
        service.call("PUT", f"/v1/layouts/over-{name}", {"overlays": overlays, "arrangements": [{"algorithm": "solo"}]})
        room = f"over-{name}"
        service.call("PUT", f"/v1/rooms/{room}", {
            "layout": f"over-{name}", "policy": {"bypass": "never"}, "outputs": [{"id": "cdn", "url": stage.program(room)}]})
        open_page(service, room, pages.url("/page30"))
        wait_for_air(service, room)
        service.wait_for(room, "mix")
        if path:
            wait_for_overlay(service, room)
        time.sleep(6)
        mixers = service.groups().get("mixer", [])
        pages_over = [pid for pid in page_workers(service) if "--headless=new" in " ".join(
            word for child in descendants(pid) for word in command_line(child))]
        figures[name], _ = use(lambda: mixers, options.seconds)
        if path:
            showing, memory = use(lambda: [pid for root in pages_over for pid in [root, *descendants(root)]], options.seconds)
            table.add(f"page over a program, {name}: cores of its browser", f"{showing:.2f}, {memory:.0f} MiB", "", None)
            table.add(f"page over a program, {name}: cores of the mixer",
                      f"{figures[name]:.2f}, {figures['none']:.2f} without it", "", None)
        if name == "still":
            measure_change(stage, options, table, pages, room, canvas)
        service.close_room(room)
        # A page over a program stays for 10 s: in the next measurement there must be one only.
        wait_until(lambda: not page_workers(service), "the pages do not end", 40)
    service.end()


def measure_change(stage, options, table, pages, room, canvas):
    """From the moment in which the page learns of a change to the first picture of the program that shows it."""
    reader, path = stage.open_reader(), stage.file(f"{room}.flv")
    reader.add("page", stage.program(room), path)
    time.sleep(2)
    changes = []
    for number in range(max(10, options.runs)):
        changes.append(pages.tell(("rgb(0,0,255)", "rgb(255,0,0)")[number % 2]))
        time.sleep(1.2 + 0.037 * number)
    frames = [frame for frame in whole(reader.streams()["page"], room) if frame.kind == "v"]
    reader.end()
    x, y = canvas.width // 2 - 8, int(canvas.height * 0.85) - 8
    data = decode(options, path, f"crop=16:16:{x}:{y}:exact=1,scale=1:1:flags=area,format=rgb24", "rgb24")
    colors = [(data[at] > 128, data[at + 2] > 128) for at in range(0, len(data), 3)]
    delays = []
    for number, (begin, end) in enumerate(zip(changes, changes[1:] + [sys.maxsize])):
        wanted = (number % 2 == 1, number % 2 == 0)
        shown = next((frame for frame, color in zip(frames, colors) if begin <= frame.arrival < end and color == wanted), None)
        if shown:
            delays.append((shown.arrival - begin) / 1e9)
    what = f"page over a program: change to picture, {len(delays)} of {len(changes)} seen"
    table.add(what, seconds(delays) if delays else "none was seen", "all seen", len(delays) == len(changes))
