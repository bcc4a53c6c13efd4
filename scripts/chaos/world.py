"""The room on air: who publishes, who is in it, and which processes work for it."""
import os
import pathlib
import random
import shutil
import signal
import socket
import threading
import time

from bench_media.canvas import Canvas
from bench_media.errors import BenchError, Deadline
from bench_media.processes import command_line, descendants
from bench_media.service import Service
from bench_media.stage import free_port
from bench_media.usage import processor_seconds
from bench_media.waiting import wait_until

from . import pane
from .viewer import Viewer

ROOM = "show"
CANVAS = Canvas(360, 640, 20)
LAYOUTS = ("auto", "side-by-side", "grid", "host-and-strip", "picture-in-picture")


class Door:
    """A destination between a relay and the media server, which can be shut."""

    def __init__(self, port):
        self.target, self.pairs, self.shut = port, [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Ends all connections, and every new one at once, until `open`."""
        self.shut = True
        for one in self.pairs:
            for end in one:
                self._end(end)
        self.pairs = []

    def open(self):
        self.shut = False

    @staticmethod
    def _end(end):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

    def _accept(self):
        while True:
            inner, _ = self.listener.accept()
            if self.shut:
                inner.close()
                continue
            try:
                outer = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                inner.close()
                continue
            self.pairs.append((inner, outer))
            for one, other in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, one, other):
        try:
            while piece := one.recv(1 << 16):
                other.sendall(piece)
        except OSError:
            pass
        self._end(one)
        self._end(other)


class World:
    def __init__(self, stage, binaries, seed):
        self.stage, self.random = stage, random.Random(seed)
        self.door = Door(stage.rtmp)
        self.publishers = {name: stage.sources.publish(name, number, CANVAS)
                           for number, name in enumerate(("alice", "bob", "carol"), 1)}
        self.publishers["eve"] = self._hostile()
        self.ingest = free_port()
        self.service = Service(
            stage, "service", binaries, CANVAS, f'ingest: {{ rtmp: {{ listen: "127.0.0.1:{self.ingest}" }} }}')
        self.guests = set()
        self.last_relay_loss = 0.0
        self.layout = "side-by-side"
        outputs = [{"id": "cdn", "url": stage.program(ROOM)},
                   {"id": "other", "url": f"rtmp://127.0.0.1:{self.door.port}/cdn/other"}]
        self.service.call("PUT", f"/v1/rooms/{ROOM}", {"host": "alice", "layout": self.layout, "outputs": outputs})
        self.service.call("PUT", f"/v1/rooms/{ROOM}/recording", {})
        self.service.call("PUT", f"/v1/rooms/{ROOM}/hls", {"enableVOD": False, "renditions": [{"height": 360}]})
        self.service.join(ROOM, "alice", role="host")
        self.service.wait_for(ROOM, "bypass", seconds=60)
        self.viewer = Viewer(stage.program(ROOM))
        wait_until(lambda: any(frame.kind == "v" for frame in self.viewer.frames), "the viewer sees nothing", 20)

    def end(self):
        self.viewer.stop()
        for child in list(self.stage.processes.children.values()):
            child.send_signal(signal.SIGCONT)
        self.stage.processes.end(self.service.process, patience=15)

    def _hostile(self):
        """Publishes a stream whose pictures and sounds have wrong bytes, in packets that are in order."""
        ffmpeg = self.stage.options.ffmpeg
        return self.stage.processes.start("publish-eve", [
            ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "quiet", "-re", "-stream_loop", "-1", "-i",
            self.stage.sources.file(2, CANVAS), "-c", "copy", "-bsf:v", "noise=amount=200", "-bsf:a",
            "noise=amount=50", "-flvflags", "no_duration_filesize", "-f", "flv", self.stage.live("eve")])

    def publish_directly(self, user):
        """Publishes to the service's own RTMP server, and thereby joins the room; returns the process."""
        return self.stage.processes.start(f"publish-{user}", [
            self.stage.options.ffmpeg, "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-re",
            "-stream_loop", "-1", "-i", self.stage.sources.file(3, CANVAS), "-c", "copy", "-flvflags",
            "no_duration_filesize", "-f", "flv", f"rtmp://127.0.0.1:{self.ingest}/live/{ROOM}__{user}"])

    # MARK: People and layouts

    def join(self, user):
        self.guests.add(user)
        self.service.join(ROOM, user)

    def leave(self, user):
        self.guests.discard(user)
        self.service.leave(ROOM, user)

    def change_layout(self):
        """Changes the layout alone: a PUT of the room would end its recording and its HLS."""
        self.layout = self.random.choice([name for name in LAYOUTS if name != self.layout])
        self.service.call("PATCH", f"/v1/tasks/auto-{ROOM}", {"layout": self.layout}, headers={"If-Match": "*"})

    def want(self, mixed):
        """Brings the program into a mix of people who are sane, or into a bypass."""
        if mixed and not self.guests:
            self.join(self.random.choice(["bob", "carol"]))
        for user in list(self.guests) if not mixed else []:
            self.leave(user)
        self.settle()

    @property
    def mode(self):
        return "mix" if self.guests else "bypass"

    def is_live(self, user):
        """Returns whether the relay receives a stream of this user, whether or not the layout shows it."""
        sources = self.service.task(ROOM).get("sources") or []
        return any(source["id"].startswith(f"{user}/") and source["state"] == "live" for source in sources)

    def host_pane(self, begin, end):
        """Returns what the viewer saw of the host's pictures between two times in ns, as fields of `Seen`."""
        recording = self.stage.file("pane.flv")
        arrivals = self.viewer.record(recording, begin, end)
        numbers = pane.read(self.stage.options.ffmpeg, recording, CANVAS,
                            pane.squares(self.service.scenes, "alice", CANVAS), 1)
        # A picture that cannot be decoded is missing, and which one is not known.
        return pane.watch(zip(arrivals, numbers), begin, end) if len(arrivals) == len(numbers) else {}

    # MARK: What is there

    def processes(self, kind):
        """Returns the processes of a kind, which may have lost their parents."""
        found = []
        for pid in descendants(os.getpid()):
            words = command_line(pid)
            if len(words) > 1 and words[0].endswith("mixworker") and words[1] == kind:
                found.append(pid)
        return found

    def process(self, kind):
        """Returns the process of a kind that works most: a mixer that only waits uses no time."""
        wait_until(lambda: self.processes(kind), f"there is no {kind}", 15)

        def used():
            return {pid: processor_seconds(pid) for pid in self.processes(kind)}
        before = used()
        time.sleep(0.3)
        after = used()
        candidates = {pid: after[pid] - before[pid] for pid in before if pid in after}
        if not candidates:
            raise Deadline(f"there is no {kind}")
        return max(candidates, key=candidates.get)

    def restart_service(self):
        """Starts the service anew with the same configuration."""
        old, service = self.service.process, self.service
        service.process = self.stage.processes.start("service", old.args)
        wait_until(service._is_ready, "the service does not answer after its restart", 30)

    def settle(self, seconds=30):
        """Waits until the program is what it should be, and pictures have come for 1.5 s from now on without a gap."""
        step, begin = 1.5e9 / CANVAS.fps, time.monotonic_ns()
        time.sleep(1.5)
        self.service.wait_for(ROOM, self.mode, seconds=seconds)

        def is_steady():
            now = time.monotonic_ns()
            since = max(begin, now - 1_500_000_000)
            late = [frame.arrival for frame in self.viewer.frames[-400:] if frame.kind == "v" and frame.arrival > since]
            gaps = [later - earlier for earlier, later in zip(late, late[1:] + [now])]
            return len(late) > 1.5 * CANVAS.fps * 0.85 and max(gaps) < 4 * step
        wait_until(is_steady, "the program is not steady", seconds)

    def keep_logs(self, target):
        """Copies the logs of everything to a directory, and what the service says of the room."""
        target.mkdir(parents=True, exist_ok=True)
        for name, path in (("room", f"/v1/rooms/{ROOM}"), ("timeline", f"/v1/tasks/auto-{ROOM}/timeline")):
            try:
                (target / f"{name}.json").write_bytes(self.service.call("GET", path)[1])
            except (BenchError, OSError) as error:
                (target / f"{name}.txt").write_text(f"{error}\n")
        for path in [*self.stage.directory.glob("logs/*.log"), *self.stage.directory.glob("*/data/relays/*.log")]:
            shutil.copy(path, target / path.name)
        return pathlib.Path(target)


__all__ = ["BenchError", "CANVAS", "Deadline", "ROOM", "World"]
