#!/usr/bin/env python3
"""Takes screenshots of pages of a running service in Chromium, and reports the errors that the pages log.

  make run                                                    # in another terminal; publish as in the README
  scripts/screenshots.py http://127.0.0.1:8080 /watch/show    # to screenshots/watch-show.{size}-{scheme}.png

Each page is shown at the size of a phone and of a desktop, dark and light. Exit status 1 if a page logged an error.
"""

import argparse
import base64
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {"phone": (390, 844, 2, True), "desktop": (1440, 900, 1, False)}
SCHEMES = ("dark", "light")


class Chromium:
    """Chromium without a window, driven over the DevTools protocol on a pair of pipes: messages end with a zero byte.

    With `devices`, every page may use a camera and a microphone, which are not real.
    """

    def __init__(self, devices=False):
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        if not executable:
            raise SystemExit("screenshots: chromium is not installed: run deploy/setup.sh --tests")
        self.profile = tempfile.mkdtemp(prefix="screenshots.")
        self.number, self.rest, self.events = 0, b"", []
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # High numbers first, so that 3 and 4 are free for it.
        high = [os.dup2(fd, number) for fd, number in ((commands, 103), (answers, 104))]

        def place():
            os.dup2(103, 3)
            os.dup2(104, 4)

        fakes = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"] if devices else []
        self.process = subprocess.Popen(
            [
                executable, *fakes, "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio", "--no-first-run",
                "--hide-scrollbars", "--autoplay-policy=no-user-gesture-required", "--remote-debugging-pipe",
                f"--user-data-dir={self.profile}", "about:blank",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place, pass_fds=(3, 4, 103, 104))
        for fd in (commands, answers, *high):
            os.close(fd)

    def call(self, method, session=None, within=30, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + within
        while True:
            answer = self.receive(deadline)
            if answer is None:
                raise SystemExit(f"screenshots: Chromium does not answer {method}")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"screenshots: {method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self, deadline):
        """The next message; None at the deadline."""
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                return None
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise SystemExit("screenshots: Chromium has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def wait(self, seconds):
        deadline = time.monotonic() + seconds
        while (event := self.receive(deadline)) is not None:
            self.events.append(event)

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)


def complaints(events):
    """What pages logged as errors."""
    for event in events:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            yield details.get("exception", {}).get("description", details["text"])
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            yield f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}"
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            yield " ".join(str(value.get("value", value.get("description"))) for value in parameters["args"])


def shoot(browser, url, size, scheme, file, seconds, script=None):
    width, height, scale, is_mobile = SIZES[size]
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log"):
        browser.call(f"{domain}.enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=height, deviceScaleFactor=scale, mobile=is_mobile)
    browser.call("Emulation.setTouchEmulationEnabled", session, enabled=is_mobile)
    browser.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    if error := browser.call("Page.navigate", session, url=url).get("errorText"):
        raise SystemExit(f"screenshots: {url}: {error}")
    browser.wait(seconds)
    if script:
        browser.call("Runtime.evaluate", session, expression=script, userGesture=True, awaitPromise=True)
        browser.wait(0.7)
    image = browser.call("Page.captureScreenshot", session, format="png")["data"]
    file.write_bytes(base64.b64decode(image))
    browser.call("Target.closeTarget", targetId=target)
    print(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("service", help="address of the service, such as http://127.0.0.1:8080")
    parser.add_argument("paths", nargs="+", help="paths of pages, such as /watch/demo")
    parser.add_argument("--out", type=Path, default=Path("screenshots"), help="output directory (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6, help="seconds from opening the page to the screenshot (default: %(default)s)")
    parser.add_argument("--script", help="JavaScript to run before the screenshot")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    browser = Chromium()
    try:
        for path in arguments.paths:
            name = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "index"
            for size in arguments.sizes:
                for scheme in arguments.schemes:
                    file = arguments.out / f"{name}.{size}-{scheme}.png"
                    shoot(browser, arguments.service.rstrip("/") + path, size, scheme, file, arguments.seconds, arguments.script)
        found = sorted(set(complaints(browser.events)))
    finally:
        browser.close()
    for complaint in found:
        print(f"screenshots: {complaint}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
