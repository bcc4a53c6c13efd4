#!/usr/bin/env python3
"""Measures web pages as sources: the time until they are on air, the fidelity of frame rate, pixels, colour and sound, their cost
compared with the usual way in the same run, what viewers see when one crashes or hangs, and pages over a program.

The page is that of the tests (Tests/Support/TestPage.swift): a frame counter, and a flash and a beep each second. The usual way is
Chromium at 60 Hz on Xvfb with PulseAudio, captured by ffmpeg at the same rate and encoded with x264 `veryfast`.
"""
import argparse
import array
import contextlib
import http.server
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

from bench_media import marks
from bench_media.canvas import Canvas
from bench_media.errors import BenchError
from bench_media.processes import command_line, descendants, tail
from bench_media.service import Service
from bench_media.stage import ROOT, Stage, find_ffmpeg, free_port
from bench_media.usage import Account, total
from bench_media.waiting import wait_until

SOURCE = 3
CHROMIUM = "/usr/lib/chromium/chromium"
BACKGROUND = (0x20, 0x40, 0x60)
PATCHES = [(200, 40, 40), (40, 180, 60), (40, 60, 200), (255, 255, 255), (128, 128, 128), (220, 170, 140), (20, 120, 120),
           (250, 200, 30)]
PATCH = 40
ROWS = ("start", "picture", "cost", "failures", "overlay")
# Seconds from the start of a browser to the measurement of its cost: it has work of its own to do at first.
SETTLING = 15


def test_page(fps, more=""):
    """The page of the tests, at a rate, with patches of known colours at its left edge."""
    text = (ROOT / "Tests/Support/TestPage.swift").read_text()
    html = re.search(r'"""\n(.*?)\n\s*"""', text, re.DOTALL)[1]
    html = html.replace(r"\(rate)", str(fps)).replace(r"\(source)", str(SOURCE))
    patches = "".join(
        f'<div style="position:absolute;left:8px;top:{8 + row * (PATCH + 8)}px;width:{PATCH}px;height:{PATCH}px;'
        f'background:rgb{color}"></div>' for row, color in enumerate(PATCHES))
    return html.replace("</body>", patches + more + "</body>")


# Follows what `Pages.tell` says. It begins late: a page that waits for an answer has no idle network, and would go on air
# only after `pages.readyTimeout`.
FOLLOW = """<script>
async function follow(take) {
  await new Promise(done => setTimeout(done, 3000));
  for (let number = -1;;) {
    try {
      const news = await (await fetch("/next?after=" + number)).json();
      const isNew = number >= 0 && news.number !== number;
      number = news.number;
      if (isNew) take(news.text);
    } catch (error) { await new Promise(done => setTimeout(done, 200)); }
  }
}
</script>"""
# The call is answered before the loop begins, so the server knows the moment.
HANG = FOLLOW + """<script>
follow(() => {
  const call = new XMLHttpRequest();
  call.open("GET", "/hung?" + Math.random(), false);
  call.send();
  for (;;) {}
});
</script>"""
OVERLAY = """<!doctype html><html><body style="margin:0;background:rgb(255,0,0)">""" + FOLLOW + """<script>
follow(color => { document.body.style.background = color; });
%s</script></body></html>"""
MOVING = 'let n = 0; setInterval(() => { document.body.style.opacity = 0.9 + 0.1 * (n++ % 2); }, 100);'


class Pages:
    """A web server on loopback: pages by their paths, `/next`, which answers when `tell` is called, and `/hung`."""

    def __init__(self, pages):
        self.news = threading.Condition()
        self.text, self.number = "", 0
        self.hung = []    # when pages have said that they hang from now on, in ns
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                kind, body = "text/html; charset=utf-8", pages.get(path)
                if path == "/next":
                    kind, body = "application/json", outer.next(query.removeprefix("after="))
                elif path == "/hung":
                    outer.hung.append(time.monotonic_ns())
                    body = "now"
                self.send_response(404 if body is None else 200)
                data = (body or "").encode()
                self.send_header("Content-Type", kind)
                self.send_header("Cache-Control", "no-store")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    pass

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def next(self, after):
        """Returns the news once their number is another one, and the same after 10 s."""
        with self.news:
            self.news.wait_for(lambda: str(self.number) != after, timeout=10)
            return json.dumps({"number": self.number, "text": self.text})

    def tell(self, text):
        """Tells the pages that follow something; returns the time in ns."""
        with self.news:
            self.text, self.number = text, self.number + 1
            self.news.notify_all()
            return time.monotonic_ns()

    def hang(self):
        """Lets the page that follows hang; returns the time of it in ns."""
        count = len(self.hung)

        def has_hung():
            self.tell("hang")
            return len(self.hung) > count
        wait_until(has_hung, "the page does not hang", 15, pause=0.25)
        return self.hung[count]


# --- The service ------------------------------------------------------------------------------------------------------

def start_service(stage, options, canvas, warm=0):
    user = f"user: {options.user}, " if os.geteuid() == 0 else ""
    more = (f'ingest: {{ rtmp: {{ listen: "127.0.0.1:{free_port()}" }} }}\n'
            f"pages: {{ enabled: true, {user}warm: {warm}, cores: 0, freeMemory: 0 }}")
    return Service(stage, f"service-{canvas.name}-{warm}", options.binary, canvas, more)


def open_page(service, room, url, **fields):
    """Publishes a page; returns the time of the call in ns."""
    begin = time.monotonic_ns()
    service.call("POST", f"/v1/rooms/{room}/events", {
        "type": "stream.published", "user": "board", "role": "host", "kind": "page", "url": url, **fields})
    return begin


def page_state(service, room):
    pages = json.loads(service.call("GET", f"/v1/rooms/{room}")[1]).get("pages") or [{}]
    return pages[0].get("state")


def wait_for_air(service, room, seconds=60):
    wait_until(lambda: page_state(service, room) == "on-air", f"the page of {room} is not on air", seconds, pause=0.01)
    return time.monotonic_ns()


def wait_for_overlay(service, room, seconds=60):
    def is_there():
        pages = json.loads(service.call("GET", f"/v1/rooms/{room}")[1]).get("overlayPages") or [{}]
        return pages[0].get("state") == "on-air"
    wait_until(is_there, f"the page over {room} is not on air", seconds)


def page_workers(service):
    return [pid for pid in descendants(service.process.pid) if command_line(pid)[1:2] == ["page"]]


def renderers(worker):
    # The browser writes the whole command line of such a process into its first word.
    return [pid for pid in descendants(worker) if any("--type=renderer" in word for word in command_line(pid))]


# --- Rows -------------------------------------------------------------------------------------------------------------

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


class UsualWay:
    """Chromium at 60 Hz on Xvfb with PulseAudio, taken by ffmpeg with x264 `veryfast`."""

    def __init__(self, stage, options, canvas, url):
        self.stage = stage
        directory = stage.directory / f"usual-{free_port()}"
        directory.mkdir(mode=0o711)
        os.chmod(stage.directory, 0o711)
        self.user = options.user if os.geteuid() == 0 else None
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(directory, account.pw_uid, account.pw_gid)
        read, write = os.pipe()
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(directory),
                       "XDG_RUNTIME_DIR": str(directory), "PULSE_SERVER": f"unix:{directory}/pulse.sock",
                       "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:"}
        self.display = self._start(
            "xvfb", ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{canvas.width + 8}x{canvas.height + 8}x24", "-nolisten",
                     "tcp"], environment, pass_fds=(write,))
        os.close(write)
        # To its end: Xvfb writes the number and the line's end apart, and dies if it cannot write the second.
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        environment["DISPLAY"] = f":{number}"
        self.sound = self._start(
            "pulse", ["pulseaudio", "-n", "--exit-idle-time=-1", "--daemonize=no", "--use-pid-file=no", "--disable-shm=yes",
                      "-L", f"module-native-protocol-unix auth-anonymous=1 socket={directory}/pulse.sock",
                      "-L", "module-null-sink sink_name=page rate=48000 channels=2"], environment)
        wait_until(lambda: (directory / "pulse.sock").exists(), "pulseaudio does not start")
        self.browser = self._start(
            "chromium", [CHROMIUM, f"--user-data-dir={directory}/profile", "--kiosk", f"--app={url}",
                         f"--window-size={canvas.width},{canvas.height}", "--window-position=0,0", "--disable-gpu",
                         "--force-device-scale-factor=1", "--hide-scrollbars", "--no-first-run", "--no-default-browser-check",
                         "--autoplay-policy=no-user-gesture-required", "--disable-background-networking",
                         "--disable-component-update", "--disable-extensions", "--disable-dev-shm-usage",
                         "--password-store=basic"], environment)
        time.sleep(5)
        kbits = round(canvas.width * canvas.height * canvas.fps * 0.1 / 1000)
        self.path = stage.file(f"{directory.name}.flv")
        self.capture = self.stage.processes.start(
            "capture", [options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-y", "-f", "x11grab", "-draw_mouse", "0",
                        "-framerate", canvas.fps, "-video_size", f"{canvas.width}x{canvas.height}", "-i", f":{number}", "-f",
                        "pulse", "-i", "page.monitor", "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency",
                        "-pix_fmt", "yuv420p", "-b:v", f"{kbits}k", "-maxrate", f"{kbits}k", "-bufsize", f"{kbits}k", "-g",
                        2 * canvas.fps, "-c:a", "aac", "-b:a", "128k", "-f", "flv", self.path],
            env={**environment, "XDG_RUNTIME_DIR": str(directory)})

    def _start(self, name, arguments, environment, **more):
        drop = ["setpriv", "--reuid", self.user, "--regid", str(pwd.getpwnam(self.user).pw_gid), "--clear-groups"] if self.user else []
        return self.stage.processes.start(name, drop + arguments, env=environment, **more)

    @property
    def processes(self):
        roots = [self.display.pid, self.sound.pid, self.browser.pid, self.capture.pid]
        return [pid for root in roots for pid in [root, *descendants(root)]]

    def end(self):
        """Returns how many pictures were encoded per second."""
        for child in (self.display, self.sound, self.browser, self.capture):
            if child.poll() is not None:
                raise BenchError(f"the usual way has ended by itself, and cost nothing from then on: {tail(child)}")
        self.stage.processes.end(self.capture, self.browser, self.sound, self.display)
        answer = subprocess.run(
            ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", self.path],
            capture_output=True, text=True)
        times = [float(line.strip(",")) for line in answer.stdout.split() if line.strip(",") not in ("", "N/A")]
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0


def use(processes, duration):
    """Returns cores and MiB of a group of processes."""
    if not processes():
        raise BenchError("the processes to be measured are not there")
    account = Account(lambda: {"all": processes()})
    account.open()
    time.sleep(duration)
    result, doubts = account.close()
    for doubt in doubts:
        print(f"  doubtful: {doubt}", flush=True)
    return total(result, "cpu") / 100, total(result, "memory")


def rest(begin):
    """Waits until a browser that was started at `begin`, in ns, has settled."""
    time.sleep(max(0.0, SETTLING - (time.monotonic_ns() - begin) / 1e9))


def cost_of_page(stage, options, canvas, pages):
    """Returns cores and MiB of a page of the service."""
    service = start_service(stage, options, canvas)
    begin = open_page(service, "cost", pages.url("/page30"))
    wait_for_air(service, "cost")
    rest(begin)
    worker = page_workers(service)[0]
    found = use(lambda: [worker, *descendants(worker)], options.seconds)
    service.end()
    return found


def cost_of_usual_way(stage, options, canvas, pages):
    """Returns cores of the same page in the usual way, and its pictures per second."""
    begin = time.monotonic_ns()
    way = UsualWay(stage, options, canvas, pages.url("/page30"))
    rest(begin)
    cores, _ = use(lambda: way.processes, options.seconds)
    return cores, way.end()


def measure_cost(stage, options, table, pages):
    canvas = Canvas.parse("1280x720@30")
    ours, usual, memory, rates = [], [], [], []
    for number in range(options.runs):
        # Either side is first in turn: the speed of a shared machine changes from minute to minute.
        sides = [cost_of_page, cost_of_usual_way]
        found = {}
        for side in sides if number % 2 == 0 else sides[::-1]:
            found[side] = side(stage, options, canvas, pages)
        cores, mebibytes = found[cost_of_page]
        other, rate = found[cost_of_usual_way]
        rates.append(rate)
        ours.append(cores)
        usual.append(other)
        memory.append(mebibytes)
        print(f"  run {number + 1}: {cores:.2f} cores beside {other:.2f}, load {os.getloadavg()[0]:.1f}", flush=True)
    ratios = [mine / other for mine, other in zip(ours, usual)]
    table.add("1280x720@30: cores of a page", f"{statistics.median(ours):.2f} ({min(ours):.2f} to {max(ours):.2f})", "0.5",
              statistics.median(ours) <= 0.5)
    table.add("1280x720@30: cores of the usual way", f"{statistics.median(usual):.2f} ({min(usual):.2f} to {max(usual):.2f}), "
              f"{statistics.median(rates):.1f} pictures/s", "", None)
    table.add("1280x720@30: a page in parts of the usual way", f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
              "0.75", statistics.median(ratios) <= 0.75)
    table.add("1280x720@30: memory of a page", f"{statistics.median(memory):.0f} MiB", "512 MiB", statistics.median(memory) <= 512)


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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="The machine should have nothing else to do; on a busy one only ratios of one run mean something.")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/debug", metavar="DIR",
                        help="directory of mixorchestrator and mixworker (.build/debug)")
    parser.add_argument("--only", choices=ROWS, action="append", help="measure only this; repeatable")
    parser.add_argument("--runs", type=int, default=5, help="repetitions of starts, costs and failures (5)")
    parser.add_argument("--seconds", type=float, default=20, help="length of each measuring window (20)")
    parser.add_argument("--user", default="nobody", help="user of the browsers if this runs as root (nobody)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory, with all logs and recordings")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    options.ffmpeg = find_ffmpeg()
    for program in (CHROMIUM, "Xvfb", "pulseaudio", "setpriv"):
        if not shutil.which(program):
            sys.exit(f"bench-pages: {program} is missing: run deploy/setup.sh --pages")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    pages = Pages({"/page30": test_page(30), "/page20": test_page(20), "/hanging": test_page(30, HANG),
                   "/overlay": OVERLAY % "", "/moving": OVERLAY % MOVING})
    table = Table()
    begun = os.getloadavg()[0]
    try:
        with Stage(options) as stage:
            for row in options.only or ROWS:
                print(f"{row}:", flush=True)
                globals()[f"measure_{row}"](stage, options, table, pages)
    except BenchError as error:
        print(f"bench-pages: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        if table.rows:
            table.print()
            print(f"\nload of the machine: {begun:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end, "
                  f"{os.cpu_count()} cores")


if __name__ == "__main__":
    main()
