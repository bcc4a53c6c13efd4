#!/usr/bin/env python3
"""Follows the channels of rooms with many connections, sends comments, and prints how long each took to each follower.

    scripts/channel-load.py --port 8080 --viewers 10000 --rooms 1 --deliveries 2000 --seconds 30

A delivery is one comment at one follower. The time is counted from before the request is written to when the follower's bytes are
read, so that this client's own work is in it. The service needs channel.maxViewersPerAddress and http.maxConnections above the
number of viewers, channel.userRate, roomRate and http.rate.requests above the rate, and a process may need `ulimit -n`.
"""
import argparse
import http.client
import json
import os
import resource
import select
import socket
import sys
import time

MARK = b'"text":"t'
STAMP = 16


class Follower:
    """A connection, and the end of its bytes in which a mark may have begun."""

    def __init__(self, options, room, number):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        # Several addresses, because each has 28,000 ports.
        self.socket.bind((f"127.0.0.{2 + number % 4}", 0))
        self.socket.connect((options.host, options.port))
        self.socket.sendall(f"GET /v1/rooms/{room}/channel HTTP/1.1\r\nHost: {options.host}\r\n\r\n".encode())
        self.socket.setblocking(False)
        self.rest = b""

    def stamps(self, data):
        """Returns the times in the comments that are complete."""
        # Events end with a line break, and no mark contains one: most reads leave nothing behind.
        if self.rest:
            data = self.rest + data
        place, found = 0, []
        while (start := data.find(MARK, place)) >= 0 and len(data) >= start + len(MARK) + STAMP:
            place = start + len(MARK) + STAMP
            found.append(float(data[start + len(MARK) : place]))
        self.rest = b"" if data.endswith(b"\n") else data[max(place, len(data) - len(MARK) - STAMP) :]
        return found


class Load:
    def __init__(self, options):
        self.options = options
        self.rooms = [f"load-{os.getpid()}-{number}" for number in range(options.rooms)]
        self.latencies, self.lost = [], 0
        self.epoll = select.epoll()
        self.followers = {}

    def connect(self):
        api = http.client.HTTPConnection(self.options.host, self.options.port)
        for room in self.rooms:
            api.request("PUT", f"/v1/rooms/{room}", "{}")
            api.getresponse().read()
        began = time.monotonic()
        for number in range(self.options.viewers):
            follower = Follower(self.options, self.rooms[number % len(self.rooms)], number)
            self.followers[follower.socket.fileno()] = follower
            self.epoll.register(follower.socket.fileno(), select.EPOLLIN)
        print(f"{self.options.viewers} connected in {time.monotonic() - began:.1f} s", flush=True)

    def receive(self, until):
        while True:
            for number, _ in self.epoll.poll(max(0.0, min(until - time.monotonic(), 0.01)), 4096):
                follower = self.followers[number]
                try:
                    # Little more than an event has: a larger buffer is allocated and cut for each read.
                    data = follower.socket.recv(2048)
                except BlockingIOError:
                    continue
                except OSError:
                    data = b""
                now = time.monotonic()
                if data:
                    self.latencies += [now - sent for sent in follower.stamps(data)]
                else:
                    self.lost += 1
                    self.epoll.unregister(number)
            if time.monotonic() >= until:
                return

    def run(self):
        options = self.options
        self.connect()
        self.receive(time.monotonic() + 3)
        sender = socket.create_connection((options.host, options.port))
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        each = options.viewers // options.rooms
        interval = each / options.deliveries
        due = time.monotonic()
        end = due + options.seconds
        sent = 0
        while time.monotonic() < end:
            room = self.rooms[sent % len(self.rooms)]
            text = f"t{time.monotonic():0{STAMP}.6f}"
            body = json.dumps({"text": text, "user": "sender"})
            sender.setblocking(True)
            head = f"POST /v1/rooms/{room}/messages HTTP/1.1\r\nHost: {options.host}\r\nContent-Length: {len(body)}\r\n\r\n"
            sender.sendall((head + body).encode())
            sender.setblocking(False)
            sent += 1
            due += interval
            self.receive(min(max(due, time.monotonic()), end))
            try:
                sender.recv(65536)
            except BlockingIOError:
                pass
        expected = sent * each
        limit = time.monotonic() + 60
        while len(self.latencies) < expected and time.monotonic() < limit:
            self.receive(time.monotonic() + 0.2)
        self.report(sent, expected)

    def report(self, sent, expected):
        times = sorted(self.latencies) or [float("nan")]
        print(
            f"viewers {self.options.viewers}, rooms {self.options.rooms}, sent {sent}, deliveries {len(self.latencies)} of "
            f"{expected} ({len(self.latencies) / self.options.seconds:.0f}/s), connections lost {self.lost}, "
            f"missing {expected - len(self.latencies)}"
        )
        shares = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)]
        shown = [f"{name} {times[min(len(times) - 1, int(share * len(times)))] * 1000:.1f}" for name, share in shares]
        print(f"ms: {', '.join(shown)}, max {times[-1] * 1000:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--viewers", type=int, default=1000)
    parser.add_argument("--rooms", type=int, default=1)
    parser.add_argument("--deliveries", type=float, default=2000, help="per second")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < options.viewers + 100:
        sys.exit(f"{most} files may be open: raise the limit with ulimit -n, or take fewer viewers")
    Load(options).run()


if __name__ == "__main__":
    main()
