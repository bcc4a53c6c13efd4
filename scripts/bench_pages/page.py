"""The pages of the measurements, and the service that shows them."""
import http.server
import json
import os
import re
import threading
import time

from bench_media.processes import command_line, descendants
from bench_media.service import Service
from bench_media.stage import ROOT, free_port
from bench_media.waiting import wait_until

SOURCE = 3
CHROMIUM = "/usr/lib/chromium/chromium"
BACKGROUND = (0x20, 0x40, 0x60)
PATCHES = [(200, 40, 40), (40, 180, 60), (40, 60, 200), (255, 255, 255), (128, 128, 128), (220, 170, 140), (20, 120, 120),
           (250, 200, 30)]
PATCH = 40
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
