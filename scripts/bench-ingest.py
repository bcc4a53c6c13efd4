#!/usr/bin/env python3
"""Measures what a publisher and a pulling relay cost the service's RTMP server, and what it delays them, beside nginx-rtmp.

Both servers run at the same time and get the same bytes from one generator, so that whatever else the machine does concerns
both. Processor time is that of all threads of a server (/proc/PID/task/*/schedstat), as medians of several windows.

    scripts/bench-ingest.py --worker .build-release/release/mixworker
    scripts/bench-ingest.py --worker .build-release/release/mixworker --attack 10000 --attack-seconds 60
    scripts/bench-ingest.py --worker .build-release/release/mixworker --service .build-release/release/mixorchestrator

The second form has strangers make crafted connections (seeded, from a process of the lowest priority) to the service's server
only, and prints the delays and the spacing of pictures through both servers without and with them. Without --attack-seconds
they are made as fast as possible.

The third form runs a service with two rooms: a publisher of the one sends to the service's own server, that of the other to
nginx-rtmp, from which the service pulls. It prints the delays from sending a picture to receiving it in the room's program, a
bypass, over HTTP-FLV, and the slowest 2 % of the pictures. --player rtmp receives the programs over RTMP instead, --no-sound
publishes pictures alone, and --fps changes their rate at the same bit rate: each shows whether late pictures depend on it.
"""
import argparse
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import select
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from bench_media.http_flv import Viewer
from bench_media.lateness import Arrival, delays, slowest_table, spacing_table
from bench_media.rtmp import Player
from bench_media.stage import free_port
from bench_media.strangers import attack
from bench_media.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent
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


class Stage:
    def __init__(self, servers):
        self.servers, self.publishers, self.players = servers, [], []
        self.poll = select.epoll()
        self.sockets = {}

    def run(self, seconds):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            for publisher in self.publishers:
                publisher.step(now)
            for descriptor, _ in self.poll.poll(0.004):
                if not self.sockets[descriptor].recv(1 << 18):
                    sys.exit("a server has closed a connection")
            for server in self.servers:
                server.listen()

    def add(self, server, name, verb, kind=None, phase=0.0):
        client = server.client(name, verb)
        self._register(client)
        if verb == "publish":
            self.publishers.append(Publisher(client, kind, phase))
        else:
            self.players.append(client)

    def watch(self, viewer):
        """Adds a player of a program, for `arrivals` alone."""
        self._register(viewer)
        self.players.append(viewer)

    def _register(self, client):
        self.sockets[client.fileno()] = client.socket
        self.poll.register(client.fileno(), select.EPOLLIN)

    def clear(self):
        for client in [publisher.client for publisher in self.publishers] + self.players:
            self.poll.unregister(client.fileno())
            client.close()
        self.publishers, self.players, self.sockets = [], [], {}
        self.run(1)

    def windows(self, seconds, rounds):
        """Returns each server's processor time per second, in ms: a value for each window."""
        self.run(3)
        for publisher in self.publishers:
            publisher.late = 0
        used = [[] for _ in self.servers]
        for _ in range(rounds):
            before, begun = [cpu(server.pid) for server in self.servers], time.monotonic()
            self.run(seconds)
            took = time.monotonic() - begun
            for index, server in enumerate(self.servers):
                used[index].append((cpu(server.pid) - before[index]) / took * 1000)
        return used

    def arrivals(self, seconds):
        """Returns the pictures that arrive, for each pair of publisher and player in the order of the servers.

        Those of the cached group, which a player gets first, are late: let two groups pass before.
        """
        players = {player.fileno(): (player, publisher, []) for player, publisher in zip(self.players, self.publishers)}
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            for publisher in self.publishers:
                publisher.step(now)
            for descriptor, _ in self.poll.poll(0.001):
                if descriptor not in players:
                    self.sockets[descriptor].recv(1 << 18)
                    continue
                player, publisher, found = players[descriptor]
                messages, arrival = player.read(), time.monotonic()
                for kind, _, body in messages:
                    # Pictures of H.264 in FLV.
                    if kind == 9 and body[1] == 1:
                        index = number(body)
                        found.append(Arrival(index, index % publisher.group, len(body), publisher.sent[index], arrival))
            for server in self.servers:
                server.listen()
        return [found for _, _, found in players.values()]


def beside_strangers(stage, servers, options):
    stage.arrivals(5)
    quiet, rows = max(options.seconds, options.attack_seconds), []
    for label, count in [("nobody else", 0), (f"{options.attack} crafted connections", options.attack)]:
        before, begun = resident(servers[0].pid), time.monotonic()
        child = os.fork() if count else 0
        if count and child == 0:
            attack(servers[0].port, count, options.seed, options.attack_seconds)
            os._exit(0)
        pictures, done = [[] for _ in servers], False
        # No longer than the strangers: what they disturb is not to be lost among what nobody disturbs.
        while not done:
            for found, more in zip(pictures, stage.arrivals(1)):
                found += more
            done = os.waitpid(child, os.WNOHANG)[0] == child if count else time.monotonic() - begun > quiet
        print(f"{label}, {time.monotonic() - begun:.0f} s, seed {options.seed}: "
              f"memory of {servers[0].name} {before:.1f} → {resident(servers[0].pid):.1f} MiB")
        for server, found in zip(servers, pictures):
            median, high, most = delays(found)
            late = sum(picture.delay > median + 2 for picture in found)
            print(f"  {server.name}: from sending to receiving a picture p50 {median:.2f} ms, p99 {high:.2f} ms, "
                  f"max {most:.2f} ms; {late} of {len(found)} more than 2 ms behind the median")
            rows.append((f"{server.name}, {label}", found))
    # Each server without and with strangers, one below the other.
    print("\n".join(spacing_table(sorted(rows, key=lambda row: row[0].split(",")[0]))))


def through_programs(options, directory):
    """Prints the delays from publishers to players of the programs of the rooms `ingest` and `nginx`."""
    nginx, service = Nginx(directory), None
    try:
        service = Service(options.service, options.worker, directory)
        stage, rooms = Stage([service, nginx]), ("ingest", "nginx")
        stage.add(service, "ingest__alice", "publish", usual(options))
        stage.add(nginx, "alice", "publish", usual(options))
        event = {"type": "stream.published", "user": "alice", "url": f"rtmp://127.0.0.1:{nginx.port}/live/alice"}
        status, data = service.call("POST", "/v1/rooms/nginx/events", event)
        assert status == 202, data
        end = time.monotonic() + 30
        while not all(service.is_copied(room) for room in rooms):
            assert time.monotonic() < end, "a room is not on air as a bypass within 30 s"
            stage.run(0.2)
        for room in rooms:
            over_rtmp = f"rtmp://127.0.0.1:{service.ingest}/program/{room}"
            stage.watch(Player(over_rtmp) if options.player == "rtmp" else Viewer(service.port, room))
        stage.arrivals(5)
        for publisher in stage.publishers:
            publisher.late = 0
        labels = ("service's own server", "nginx-rtmp, pulled by the service")
        for label, found in zip(labels, stage.arrivals(options.seconds * options.rounds)):
            print_delays(f"{label}: from sending a picture to receiving it in the program", found)
        print(f"latest message {max(publisher.late for publisher in stage.publishers) * 1000:.0f} ms")
    finally:
        for server in filter(None, (service, nginx)):
            server.stop()


def print_delays(label, found):
    """Prints the delays of pictures, and what the slowest ones have in common."""
    assert found, f"{label}: no picture arrived"
    median, high, most = delays(found)
    print(f"{label} p50 {median:.2f} ms, p99 {high:.2f} ms, max {most:.2f} ms, {len(found)} pictures")
    print("\n".join(slowest_table(found)))


def shown(values, count):
    values = [value / count for value in values]
    return f"{statistics.median(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", required=True, help="mixworker of a release build")
    parser.add_argument("--service", help="mixorchestrator of the same build: measures up to the program, and nothing else")
    parser.add_argument("--streams", type=int, default=20, help="publishers of 1.5 Mbit/s, each with a relay")
    parser.add_argument("--idle", type=int, default=500, help="publishers of 100 kbit/s")
    parser.add_argument("--seconds", type=float, default=8, help="length of a window")
    parser.add_argument("--rounds", type=int, default=5, help="windows of each figure")
    parser.add_argument("--attack", type=int, default=0, help="crafted connections beside one publisher; nothing else is measured")
    parser.add_argument("--attack-seconds", type=float, default=0,
                        help="time over which they are spread, and least time measured without them; 0: as fast as possible")
    parser.add_argument("--seed", type=int, default=1, help="seed of the crafted connections")
    parser.add_argument("--fps", type=int, default=25, help="pictures per second of a publisher of 1.5 Mbit/s")
    parser.add_argument("--no-sound", action="store_true", help="publishers of 1.5 Mbit/s send pictures alone")
    parser.add_argument("--player", choices=["flv", "rtmp"], default="flv", help="what receives the programs of --service")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if options.service:
            through_programs(options, directory)
            return
        servers = [Ingest(options.worker, directory), Nginx(directory)]
        stage = Stage(servers)
        try:
            idle = (10, 1000, 10, 250)
            for server in servers:
                stage.add(server, "latency", "publish", usual(options))
                stage.add(server, "latency", "play")
            if options.attack:
                beside_strangers(stage, servers, options)
                return
            stage.arrivals(5)
            for server, found in zip(servers, stage.arrivals(options.seconds * options.rounds)):
                print_delays(f"{server.name}: from sending to receiving a picture", found)
            stage.clear()
            for index in range(options.streams):
                for server in servers:
                    stage.add(server, f"p{index}", "publish", usual(options), index / options.streams / options.fps)
            alone = stage.windows(options.seconds, options.rounds)
            late = max(publisher.late for publisher in stage.publishers)
            for index in range(options.streams):
                for server in servers:
                    stage.add(server, f"p{index}", "play")
            pulled = stage.windows(options.seconds, options.rounds)
            late = max([late] + [publisher.late for publisher in stage.publishers])
            print(f"ms of processor time per second: median ({options.rounds} windows of {options.seconds:g} s)")
            for index, server in enumerate(servers):
                base = statistics.median(alone[index])
                more = [value - base for value in pulled[index]]
                print(f"{server.name}: {shown(alone[index], options.streams)} for each of {options.streams} publishers, "
                      f"{shown(more, options.streams)} for each relay beside, {resident(server.pid):.0f} MiB")
            print(f"latest message {late * 1000:.0f} ms")
            stage.clear()
            for index in range(options.idle):
                for server in servers:
                    stage.add(server, f"q{index}", "publish", idle, index / options.idle / 10)
                stage.run(0.01)
            used = stage.windows(options.seconds, options.rounds)
            for index, server in enumerate(servers):
                print(f"{server.name}: {shown(used[index], 1)} for {options.idle} publishers of 100 kbit/s, "
                      f"{resident(server.pid):.0f} MiB")
            print(f"latest message {max(publisher.late for publisher in stage.publishers) * 1000:.0f} ms")
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
