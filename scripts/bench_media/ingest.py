"""The servers that bench-ingest.py compares, and the connections that it makes to them."""
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import time

from bench_media.rtmp import Player
from bench_media.stage import ROOT, free_port
from bench_media.waiting import wait_until

SECRET = "0123456789abcdef0123456789abcdef"
SETUP = bytes.fromhex("0142c01effe100086742c01ed900a04701000468ce3c80")
# The beginning of a slice of a picture, behind which its number is.
MARK = b"\x88\x84mixbench"


def picture(number, size, is_key):
    """Returns a picture of this size as one slice, for which the relay takes it. It cannot be decoded."""
    slice_ = (b"\x65" if is_key else b"\x41") + MARK + b"%016x" % number
    slice_ += b"\xaa" * (size - 4 - len(slice_))
    return struct.pack(">I", len(slice_)) + slice_


def number(body):
    """Returns the number of a picture, in front of which the service may have put other units."""
    at = body.index(MARK) + len(MARK)
    return int(body[at:at + 16], 16)


def usual(options):
    """Returns a publisher of 1.5 Mbit/s: pictures per second, their bytes; frames of sound per second, their bytes."""
    return options.fps, 6900 * 25 // options.fps, 0 if options.no_sound else 47, 340


class Client(Player):
    """A connection that publishes or plays. What it is sent is thrown away."""

    def __init__(self, port, app, name, verb):
        self.url, self.chunk, self.lanes, self.buffer = name, 128, {}, bytearray()
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._shake_hands()
        self._command(3, 0, "connect", 1, {"app": app, "flashVer": "LNX 9,0,124,2", "tcUrl": f"rtmp://127.0.0.1/{app}"})
        self._wait_for("_result")
        self._command(3, 0, "createStream", 2, None)
        self._wait_for("_result")
        self._command(8, 1, verb, 0, None, name, *(["live"] if verb == "publish" else [-2000]))
        if verb == "publish":
            self._wait_for("onStatus")
            self._send(2, 1, 0, struct.pack(">I", 1 << 20))
        self.socket.setblocking(False)


class Publisher:
    """Sends pictures and sound on time. Sizes are in bytes, rates in messages per second; a rate of 0 is no sound."""

    def __init__(self, client, kind, phase):
        self.client, self.fps, self.picture, self.aps, self.sound = client, *kind
        self.start, self.pictures, self.sounds = time.monotonic() + phase, 0, 0
        # Pictures from one key picture to the next.
        self.group = 2 * self.fps
        self.late = 0.0
        # Time at which each picture was sent.
        self.sent = []
        self._put(9, 0, b"\x17\0\0\0\0" + SETUP)
        if self.aps:
            self._put(8, 0, b"\xaf\0\x11\x90")

    def _put(self, kind, milliseconds, body):
        header = struct.pack(">B3s3sB", 6 if kind == 9 else 4, milliseconds.to_bytes(3, "big"), len(body).to_bytes(3, "big"), kind)
        sent = self.client.socket.send(header + b"\1\0\0\0" + body)
        assert sent == len(body) + 12, "the server does not read"

    def step(self, now):
        while (at := self.start + self.pictures / self.fps) <= now:
            self.late = max(self.late, now - at)
            is_key = self.pictures % self.group == 0
            body = picture(self.pictures, self.picture, is_key)
            self.sent.append(time.monotonic())
            self._put(9, int(self.pictures * 1000 / self.fps), (b"\x17" if is_key else b"\x27") + b"\1\0\0\0" + body)
            self.pictures += 1
        while self.aps and self.start + self.sounds / self.aps <= now:
            self._put(8, int(self.sounds * 1000 / self.aps), b"\xaf\1" + bytes(self.sound))
            self.sounds += 1


class Ingest:
    """`mixworker ingest`, and the service's side of its control connection, which lets everybody in."""
    name = "mixworker ingest"

    def __init__(self, worker, directory):
        path = f"{directory}/i.sock"
        self.log = open(f"{directory}/ingest.log", "w")
        self.process = subprocess.Popen([worker, "ingest", "--socket", path], stderr=self.log, stdout=self.log)
        self.control = socket.socket(socket.AF_UNIX)
        for _ in range(100):
            try:
                self.control.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        self.rest, self.port = b"", None
        self.say({"hello": {"version": 1}})
        self.say({"configure": {"_0": {"host": "127.0.0.1", "port": 0, "grace": 10, "secret": SECRET}}})
        while not self.port:
            self.listen()
        self.control.setblocking(False)
        self.pid = self.process.pid

    def say(self, command):
        self.control.sendall(json.dumps(command).encode() + b"\n")

    def listen(self):
        try:
            self.rest += self.control.recv(1 << 16)
        except BlockingIOError:
            return
        *lines, self.rest = self.rest.split(b"\n")
        for report in map(json.loads, filter(None, lines)):
            if "listening" in report:
                self.port = report["listening"]["port"]
            if "ask" in report:
                ask = report["ask"]["_0"]
                self.say({"allow": {"request": ask["request"], "session": ask["session"], "stream": f"default/bench/{ask['name']}/camera"}})

    def client(self, name, verb):
        if verb == "play":
            stream = f"default/bench/{name}/camera"
            proof = hmac.new(SECRET.encode(), stream.encode(), hashlib.sha256).hexdigest()
            return Client(self.port, f"relay/default/bench/{name}", f"camera?relay={proof}", verb)
        # It is answered while the client waits.
        child = os.fork()
        if child == 0:
            end = time.monotonic() + 5
            while time.monotonic() < end:
                select.select([self.control], [], [], 0.5)
                self.listen()
            os._exit(0)
        try:
            return Client(self.port, "live", name, verb)
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Nginx:
    name = "nginx-rtmp"

    def __init__(self, directory):
        self.directory = f"{directory}/nginx"
        script = str(ROOT / "deploy/media-server.sh")
        text = subprocess.run([script, "start", self.directory], capture_output=True, text=True, check=True).stdout
        values = dict(line.split("=") for line in text.split())
        self.port = int(values["RTMP_PORT"])
        children = subprocess.run(["pgrep", "-P", values["PID"]], capture_output=True, text=True).stdout.split()
        self.pid = int(children[0])

    def listen(self):
        pass

    def client(self, name, verb):
        return Client(self.port, "live", name, verb)

    def stop(self):
        subprocess.run([str(ROOT / "deploy/media-server.sh"), "stop", self.directory], check=True)


def cpu(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


class Service:
    """`mixorchestrator serve` with its own RTMP server."""

    def __init__(self, program, worker, directory):
        self.port, self.ingest = free_port(), free_port()
        shutil.copytree(ROOT / "layouts", f"{directory}/layouts", ignore=shutil.ignore_patterns("pictures"))
        configuration = pathlib.Path(directory) / "mixorchestrator.yaml"
        configuration.write_text(json.dumps({
            "http": {"listen": f"127.0.0.1:{self.port}"}, "data": f"{directory}/data", "layouts": f"{directory}/layouts",
            "worker": os.path.abspath(worker), "ingest": {"rtmp": {"listen": f"127.0.0.1:{self.ingest}"}},
            "relay": {"keep": False}, "admission": {"cores": 0}, "overload": {"highestLevel": 0}, "log": {"level": "warning"},
        }))
        self.process = subprocess.Popen([program, "serve", "--config", str(configuration)])
        try:
            wait_until(self._is_ready, "the service does not answer")
        except BaseException:
            self.stop()
            raise

    def _is_ready(self):
        assert self.process.poll() is None, "the service has ended"
        try:
            return self.call("GET", "/readyz")[0] == 200 and socket.create_connection(("127.0.0.1", self.ingest), 1).close() is None
        except OSError:
            return False

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def is_copied(self, room):
        status, data = self.call("GET", f"/v1/tasks/auto-{room}")
        return status == 200 and json.loads(data).get("onAir") == "bypass"

    def listen(self):
        pass

    def client(self, name, verb):
        return Client(self.ingest, "live", name, verb)

    def stop(self):
        self.process.terminate()
        self.process.wait()
