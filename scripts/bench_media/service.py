"""One build of the service under measurement: `mixorchestrator serve` with its relays and mixers."""
import http.client
import json
import shutil
import time

from .canvas import Pane
from .errors import BenchError
from .processes import command_line, descendants, tail
from .stage import ROOT, free_port
from .waiting import wait_until

# The overload steps would reduce frame rates on a busy machine, which looks like a cheap mix. Admission would refuse
# rooms. All other settings are the defaults.
_CONFIGURATION = """\
http: {{ listen: "127.0.0.1:{port}" }}
data: {data}
layouts: {layouts}
worker: {worker}
admission: {{ cores: 0 }}
overload: {{ highestLevel: 0 }}
rooms: {{ canvas: {{ width: {width}, height: {height}, fps: {fps}, background: "#000000" }} }}
log: {{ level: warning }}
{more}
"""

# What ffmpeg's side of a comparison composes: columns for two, equal tiles without gaps for more.
_LAYOUT = {
    "arrangements": [
        {"when": {"people": {"max": 1}}, "algorithm": "solo"},
        {"when": {"people": 2}, "algorithm": "side-by-side"},
        {"algorithm": "grid"},
    ],
}


class Service:
    """A side of a comparison."""

    def __init__(self, stage, name, binaries, canvas, more=""):
        self.stage, self.name, self.binaries = stage, name, binaries
        self.scenes = []    # every scene that `task` has seen on air
        for program in ("mixorchestrator", "mixworker"):
            if not (binaries / program).exists():
                raise BenchError(f"{binaries / program} is missing: build it, or name its directory with --binary")
        directory = stage.file(f"{name}-{free_port()}")
        directory.mkdir()
        layouts = directory / "layouts"
        shutil.copytree(ROOT / "layouts", layouts, ignore=shutil.ignore_patterns("pictures"))
        (layouts / "bench.json").write_text(json.dumps(_LAYOUT))
        self.port = free_port()
        configuration = directory / "mixorchestrator.yaml"
        configuration.write_text(_CONFIGURATION.format(
            port=self.port, data=directory / "data", layouts=layouts, worker=binaries / "mixworker",
            width=canvas.width, height=canvas.height, fps=canvas.fps, more=more))
        self.process = stage.processes.start(
            name, [binaries / "mixorchestrator", "serve", "--config", configuration])
        wait_until(self._is_ready, f"{name}: the service does not answer")

    def _is_ready(self):
        if self.process.poll() is not None:
            raise BenchError(f"{self.name}: the service ended: {tail(self.process, 5)}")
        try:
            return self.call("GET", "/readyz", None, good=(200, 503))[0] == 200
        except OSError:
            return False

    def call(self, method, path, body=None, good=range(200, 300), headers=None):
        """Calls the service; returns status and answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            text = json.dumps(body) if body is not None else None
            kind = {"Content-Type": "application/json"} if text else {}
            connection.request(method, path, text, kind | (headers or {}))
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status not in good:
            raise BenchError(f"{self.name}: {method} {path}: {answer.status} {data.decode(errors='replace')}")
        return answer.status, data

    def open_room(self, room, host, output):
        """Makes a room with one output and puts its host on air."""
        self.call("PUT", f"/v1/rooms/{room}",
                  {"host": host, "layout": "bench", "outputs": [{"id": "cdn", "url": output}]})
        self.join(room, host, role="host")

    def join(self, room, user, role="guest", stream=None):
        """Reports that a participant publishes `live/{stream}`; returns the time of the event in ns."""
        begin = time.monotonic_ns()
        self.call("POST", f"/v1/rooms/{room}/events", {
            "type": "stream.published", "user": user, "role": role, "url": self.stage.live(stream or user)})
        return begin

    def leave(self, room, user):
        begin = time.monotonic_ns()
        self.call("POST", f"/v1/rooms/{room}/events", {"type": "stream.unpublished", "user": user})
        return begin

    def close_room(self, room):
        self.call("DELETE", f"/v1/rooms/{room}")

    def task(self, room):
        """Returns the room's task, with what is on air; empty before it exists."""
        status, data = self.call("GET", f"/v1/tasks/auto-{room}", good=(200, 404))
        task = json.loads(data) if status == 200 else {}
        if task.get("scene") and task["scene"] not in self.scenes:
            self.scenes.append(task["scene"])
        return task

    def wait_for(self, room, wanted, people=None, seconds=30):
        """Waits until the room's program is a bypass or a mix of so many people; returns the task."""
        def is_there():
            task = self.task(room)
            on_air = task.get("onAir") == wanted
            return task if on_air and (people is None or len(panes(task)) == people) else None
        return wait_until(is_there, f"{self.name}: room {room} is not on air as {wanted}", seconds)

    def groups(self):
        """Returns the processes by what they are. Relays and mixers are found wherever they are in the tree."""
        groups = {"service": [self.process.pid]}
        for pid in descendants(self.process.pid):
            words = command_line(pid)
            kind = words[1] if len(words) > 1 and words[0].endswith("mixworker") else "other"
            groups.setdefault(kind, []).append(pid)
        return groups

    def end(self):
        self.stage.processes.end(self.process, patience=30)


def panes(task):
    """Returns the panes of the scene on air, in the order of their participants' names."""
    scene = task.get("scene") or {}
    found = sorted(scene.get("panes", []), key=lambda pane: pane["source"])
    return [Pane(pane["x"], pane["y"], pane["width"], pane["height"]) for pane in found if pane.get("isLive", True)]
