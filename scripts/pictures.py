#!/usr/bin/env python3
"""Makes the pictures of docs/pictures: starts the service with two participants on air, and takes screenshots of every page.

  make build && scripts/pictures.py
  scripts/pictures.py --only watch publish --out /tmp/pictures

Each page is shown at the size of a phone and of a desktop. Exit status 1 if a page logged an error.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from screenshots import Chromium, complaints, shoot

ROOT = Path(__file__).resolve().parent.parent
ROOM = "late-night"
PEOPLE = ("Alice", "Bob")
COMMENTS = (("Dora", "Hello everybody!"), ("Eli", "Great show tonight"), ("Zoë", "Greetings from Łódź"))

# A word that no key has: the editor names line and column.
BREAK_THE_TEXT = """
(async () => {
  const area = document.querySelector("textarea");
  area.focus();
  area.setSelectionRange(area.value.indexOf('"algorithm"') + 1, area.value.indexOf('"algorithm"') + 10);
  document.execCommand("insertText", false, "algorythm");
})()
"""

# Pages in the order in which they are taken: name, address, JavaScript before the picture.
PAGES = (
    ("console-rooms", "/console#/rooms", None),
    ("console-room", f"/console#/rooms/{ROOM}", None),
    ("console-layouts", "/console#/layouts", None),
    ("console-editor", "/console#/layouts/host-and-strip", BREAK_THE_TEXT),
    ("console-webhooks", "/console#/webhooks", None),
    ("console-service", "/console#/service", None),
    ("watch", f"/watch/{ROOM}", None),
    ("embed", f"/embed/{ROOM}", None),
    ("publish", "/publish/green-room#user=carol", None),
)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Show:
    """The service with people on air, on free ports of loopback. Ends them at the end of the block."""

    def __init__(self, binaries):
        self.binaries, self.children = binaries, []
        self.directory = Path(tempfile.mkdtemp(prefix="pictures."))
        self.address, self.rtmp = f"http://127.0.0.1:{free_port()}", free_port()

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        self.start(
            "mixorchestrator", "serve", "--listen", self.address.removeprefix("http://"), "--data", self.directory / "data",
            "--layouts", ROOT / "layouts",
            MIXORCHESTRATOR_INGEST_RTMP_LISTEN=f"127.0.0.1:{self.rtmp}", MIXORCHESTRATOR_INGEST_PLAY="on",
            MIXORCHESTRATOR_WEBRTC_WHIP="on", MIXORCHESTRATOR_WEBRTC_WHEP="on", MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL="0")
        log = self.directory / "mixorchestrator.log"
        self.wait("the service's RTMP server", lambda: "RTMP ingest on " in log.read_text())
        # A stream key like any other; its room has no program.
        self.call("PUT", "/v1/rooms/cdn", {"outputs": []})
        cdn = f"rtmp://127.0.0.1:{self.rtmp}/live/cdn__{ROOM}"
        self.call("PUT", f"/v1/rooms/{ROOM}", {"host": "alice", "layout": "side-by-side", "outputs": [{"id": "cdn", "url": cdn}]})
        self.call("POST", "/v1/subscriptions", {"url": f"http://127.0.0.1:{free_port()}/hooks", "events": ["stream.*", "task.stateChanged"]})
        for number, name in enumerate(PEOPLE, 1):
            self.start(
                "mixworker", "publish", f"rtmp://127.0.0.1:{self.rtmp}/live/{ROOM}__{name.lower()}", "--id", number, "--gop", 1,
                "--size", "960x540", "--person", name)
            self.wait(f"{name} on air", lambda: self.on_air() == ("bypass" if number == 1 else "mix"))
        for name, text in COMMENTS:
            self.call("POST", f"/v1/rooms/{ROOM}/messages", {"user": name.lower(), "name": name, "text": text})
        # The first who asks for a picture of a room has to wait for it.
        self.wait("a picture of the room", self.has_picture)

    def start(self, program, *arguments, **environment):
        with open(self.directory / f"{program}.log", "ab") as log:
            self.children.append(subprocess.Popen(
                [self.binaries / program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **environment}))

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.address + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"pictures: {method} {path}: {error.code} {error.read().decode(errors='replace')}") from error

    def has_picture(self):
        try:
            with urllib.request.urlopen(f"{self.address}/v1/tasks/auto-{ROOM}/thumbnail.jpg", timeout=10):
                return True
        except urllib.error.HTTPError:
            return False

    def on_air(self):
        """Mode of the room's program; None without one."""
        tasks = self.call("GET", f"/v1/tasks?room={ROOM}")["tasks"]
        return tasks[0].get("onAir") if tasks else None

    def wait(self, what, condition):
        deadline = time.monotonic() + 60
        while not condition():
            if any(child.poll() is not None for child in self.children):
                raise SystemExit(f"pictures: a process has ended:\n{self.logs()}")
            if time.monotonic() > deadline:
                raise SystemExit(f"pictures: {what}: not within a minute\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"--- {log.name}\n" + log.read_text()[-1500:] for log in self.directory.glob("*.log"))

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def smaller(file):
    """Gives a picture a palette of its own, which pages of few colours do not show."""
    reduced = file.with_suffix(".small.png")
    filters = "split[a][b];[a]palettegen=reserve_transparent=0[p];[b][p]paletteuse=dither=sierra2_4a"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", file, "-vf", filters, "-frames:v", "1", reduced], check=True)
    reduced.replace(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, default=ROOT / ".build/debug", help="directory of the binaries (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures", help="output directory (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=[name for name, _, _ in PAGES], help="only these pages")
    parser.add_argument("--seconds", type=float, default=8, help="seconds from opening a page to the screenshot (default: %(default)s)")
    parser.add_argument("--scheme", choices=("dark", "light"), default="dark", help="colour scheme (default: %(default)s)")
    arguments = parser.parse_args()
    for program in ("mixorchestrator", "mixworker"):
        if not os.access(arguments.binaries / program, os.X_OK):
            raise SystemExit(f"pictures: {arguments.binaries / program} is missing: run `make build`")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with Show(arguments.binaries) as show:
        browser = Chromium(devices=True)
        try:
            for name, path, script in PAGES:
                if arguments.only and name not in arguments.only:
                    continue
                for size in ("phone", "desktop"):
                    file = arguments.out / f"{name}-{size}.png"
                    shoot(browser, show.address + path, size, arguments.scheme, file, arguments.seconds, script)
                    smaller(file)
            # Chromium tells of every answer that is a refusal; the pages show those themselves.
            found = sorted({text for text in complaints(browser.events) if not text.startswith("Failed to load resource")})
        finally:
            browser.close()
    for complaint in found:
        print(f"pictures: {complaint}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
