"""Glass to glass over WebRTC: from a picture that a browser draws to the same picture on its screen, over WHIP and WHEP.

The page draws numbered pictures, publishes them, plays the room's program, and reads the numbers: one clock for both ends.
"""
import http.client
import http.server
import json
import pathlib
import shutil
import threading
import time

from ..canvas import Canvas
from ..errors import BenchError, Deadline
from ..frames import quantile
from ..measure import Window, row
from ..processes import tail
from ..sides import Build
from ..stage import free_port
from ..waiting import wait_until

NAME = "glass"
ABOUT = "glass to glass over WHIP and WHEP, in one Chromium: by the number in each picture"
DEFAULT_SECONDS = 20
DEFAULT_RUNS = 3
ROOM = "glass"
PAGE = pathlib.Path(__file__).resolve().parents[1] / "glass.html"


def arguments(parser):
    parser.add_argument("--canvas", default="640x360@30", help="size and rate of the pictures (640x360@30)")


def title(options):
    return f"glass to glass over WebRTC, {options.canvas}"


def run(stage, options, number):
    canvas = Canvas.parse(options.canvas)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        raise BenchError("chromium is not installed: run deploy/setup.sh --tests")
    side, server, browser = Build(stage, "ours", options.binary, canvas), None, None
    try:
        side.start(f'ingest: {{ rtmp: {{ listen: "127.0.0.1:{free_port()}" }} }}', "webrtc: { whip: on, whep: on }")
        server = Server(side.service.port)
        query = (f"width={canvas.width}&height={canvas.height}&fps={canvas.fps}"
                 f"&settle={options.settle}&seconds={options.seconds}")
        browser = stage.processes.start("chromium", [
            # Containers and root have no user namespaces for its sandbox. It shows only this page.
            chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
            "--no-first-run", "--autoplay-policy=no-user-gesture-required", "--enable-logging=stderr",
            f"--user-data-dir={stage.file(f'chromium-{number}')}", f"http://127.0.0.1:{server.port}/?{query}"])
        side.service.wait_for(ROOM, "bypass", seconds=60)
        time.sleep(options.settle)
        window = Window(stage, [side], options.seconds)
        try:
            result = wait_until(lambda: server.result, "no result from the page", 90, 0.5)
        except Deadline as late:
            raise BenchError(f"{late}: {tail(browser)}") from late
    finally:
        if browser:
            stage.processes.end(browser)
        if server:
            server.end()
        side.end()
    shown, ratios = judge(result)
    return {"rows": {side.name: joined(row(window, side, None), shown)}, "ratios": ratios}


def joined(use, shown):
    """Returns the side's figures with those of the page, and the reasons of both against the run."""
    return use | shown | {"invalid": [*use["invalid"], *shown["invalid"]]}


def judge(result):
    """Returns the figures of the page's result with what makes it invalid, and the ratios."""
    if "error" in result:
        return {"invalid": [result["error"]]}, {}
    delays, drawn = result["delays"], result["drawn"]
    # Pictures that were on their way at the beginning and at the end.
    lost, invalid = max(0, drawn - len(delays)), []
    if not delays or lost > 0.1 * drawn:
        invalid.append(f"{len(delays)} of {drawn} pictures recognised, {result['unread']} without a number")
    figures = {"wanted": drawn, "lost": lost, "late p50": quantile(delays, 0.5), "late p99": quantile(delays, 0.99),
               "size": result["size"], "invalid": invalid}
    return figures, {"glass to glass p50 ms": figures["late p50"], "glass to glass p99 ms": figures["late p99"],
                     "pictures shown, share": len(delays) / drawn if drawn else None}


class Server:
    """Serves the page, passes its offers on to the service, and keeps its result: for the page, all is one origin."""

    def __init__(self, service):
        self.result = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                is_page = self.path.partition("?")[0] == "/"
                self._answer(200 if is_page else 404, "text/html", PAGE.read_bytes() if is_page else b"")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/result":
                    outer.result = json.loads(body)
                    return self._answer(204, "text/plain", b"")
                connection = http.client.HTTPConnection("127.0.0.1", service, timeout=30)
                try:
                    connection.request("POST", self.path, body, {"Content-Type": "application/sdp"})
                    answer = connection.getresponse()
                    self._answer(answer.status, answer.headers.get("Content-Type", "text/plain"), answer.read())
                finally:
                    connection.close()

            def _answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()
