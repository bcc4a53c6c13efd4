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
import os
import select
import statistics
import sys
import tempfile
import time

from bench_media.http_flv import Viewer
from bench_media.ingest import Ingest, Nginx, Publisher, Service, cpu, number, picture, resident, usual
from bench_media.lateness import Arrival, delays, slowest_table, spacing_table
from bench_media.rtmp import Player
from bench_media.strangers import attack


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
