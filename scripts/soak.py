#!/usr/bin/env python3
"""Runs rooms for a long time and reports whether any of their processes grows.

Real publishers, a private nginx-rtmp on loopback, and rooms that change between bypass and mix at random times. One of them
is recorded and one has HLS. With three rooms or more, one of them stays in a mix. The script samples every process every
few seconds: private memory (anonymous RSS), open descriptors and threads. After a warm-up, a line fitted to these samples
gives a slope per hour for each process that lives until the end. The mixers of the other rooms come and go, so for them
only the largest value at the end of any mixer is reported. Exit status 0 only if no process grows. The judged part has to
last for at least ten minutes: a shorter run shows only noise.
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bench_media.canvas import Canvas  # noqa: E402
from bench_media.errors import BenchError  # noqa: E402
from bench_media.processes import command_line  # noqa: E402
from bench_media.service import Service  # noqa: E402
from bench_media.stage import Stage, find_ffmpeg, find_nginx  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEMORY_SLOPE = 1.0      # MB an hour
COUNT_SLOPE = 1.0       # descriptors or threads an hour
SHORTEST = 10           # minutes that are judged


def look(pid):
    """Returns MB of anonymous memory, descriptors and threads of a process; `None` if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        memory = int(re.search(r"^RssAnon:\s*(\d+)", status, re.MULTILINE)[1]) * 1024 / 1e6
        return memory, len(os.listdir(f"/proc/{pid}/fd")), int(re.search(r"^Threads:\s*(\d+)", status, re.MULTILINE)[1])
    except (OSError, TypeError):
        return None


def slope(points):
    """Returns the slope per hour of the line through (time in s, value) that is least sensitive to single peaks: the
    median of the slopes between all pairs that are at least a third of the time apart (Theil and Sen)."""
    if len(points) < 3:
        return 0.0
    # Some hundred points say as much as thousands.
    step = max(1, len(points) // 300)
    points = points[::step]
    apart = (points[-1][0] - points[0][0]) / 3
    slopes = sorted((later[1] - earlier[1]) / (later[0] - earlier[0])
                    for index, earlier in enumerate(points) for later in points[index + 1:]
                    if later[0] - earlier[0] >= max(apart, 1e-9))
    return 3600 * slopes[len(slopes) // 2] if slopes else 0.0


class Soak:
    def __init__(self, stage, service, options):
        self.stage, self.service, self.options = stage, service, options
        self.random = random.Random(options.seed)
        self.names = {}         # process → what it is
        self.points = {}        # process → [(time, memory, descriptors, threads)]
        self.joined = {}        # room → whether the guest is there
        self.due = {}           # room → time of the next change
        self.changes = 0

    def open(self):
        publishers = []
        picture = self.options.canvas
        for number in range(2):
            publishers.append(self.stage.sources.publish(f"person{number}", number + 1, picture, gop=1.0))
        for room in range(self.options.rooms):
            name = f"room{room}"
            self._open_room(name)
            self.joined[name] = False
            self.due[name] = time.monotonic() + self.random.uniform(2, self.options.pace)
        for room in self.joined:
            self.service.wait_for(room, "bypass", seconds=60)
        if self.options.rooms > 2:
            self._stay_mixed(f"room{self.options.rooms - 1}")
        if self.options.rooms > 1:
            self.service.call("PUT", "/v1/rooms/room1/hls", {})
        self.service.call("PUT", "/v1/rooms/room0/recording", {})
        return publishers

    def _open_room(self, name):
        self.service.call("PUT", f"/v1/rooms/{name}",
                          {"host": "host", "layout": "side-by-side", "outputs": [{"id": "cdn", "url": self.stage.program(name)}]})
        self.service.join(name, "host", role="host", stream="person0")

    def _stay_mixed(self, room):
        """Keeps a room in a mix until the end: the slope of a mixer needs one that lives that long."""
        self.service.join(room, "guest", stream="person1")
        self.service.wait_for(room, "mix", seconds=60)
        self.joined[room] = True
        del self.due[room]

    def run(self, publishers):
        begin = time.monotonic()
        end = begin + 60 * self.options.minutes
        told = begin
        while (now := time.monotonic()) < end:
            for room, due in self.due.items():
                if now >= due:
                    self._change(room)
                    self.due[room] = now + self.random.uniform(2, self.options.pace)
            self._sample(now - begin)
            self.stage.sources.check(publishers)
            if now - told >= 60:
                told = now
                print(f"  {(now - begin) / 60:5.1f} min: {self.changes} changes, {self._now()}", flush=True)
            time.sleep(max(0.0, min(2.0, end - time.monotonic())))

    def _change(self, room):
        if self.joined[room]:
            self.service.leave(room, "guest")
        else:
            self.service.join(room, "guest", stream="person1")
        self.joined[room] = not self.joined[room]
        self.changes += 1

    def _sample(self, at):
        for kind, pids in self.service.groups().items():
            for pid in pids:
                if figures := look(pid):
                    self.names.setdefault(pid, self._name(kind, pid))
                    self.points.setdefault(pid, []).append((at, *figures))

    @staticmethod
    def _name(kind, pid):
        words = command_line(pid)
        task = next((words[index + 1] for index, word in enumerate(words[:-1]) if word == "--task"), "")
        return f"{kind} {task}".strip()

    def _now(self):
        kinds = {}
        for pid, points in self.points.items():
            if look(pid):
                kinds.setdefault(self.names[pid].split()[0], []).append(points[-1][1])
        return ", ".join(f"{len(memory)} {kind} {sum(memory):.0f} MB" for kind, memory in sorted(kinds.items()))

    def judge(self):
        """Prints a table; returns whether everything is within its limits."""
        warm = 60 * self.options.minutes * self.options.warm_up
        last = max(points[-1][0] for points in self.points.values())
        good, lasting = True, False
        print(f"\n{'process':34} {'MB at end':>10} {'MB/h':>8} {'descriptors/h':>14} {'threads/h':>10}")
        for pid, points in sorted(self.points.items(), key=lambda item: self.names[item[0]]):
            late = [point for point in points if point[0] >= warm]
            if points[-1][0] < last - 10 or not late or late[0][0] > warm + 60:
                continue
            slopes = [slope([(point[0], point[index]) for point in late]) for index in (1, 2, 3)]
            within = slopes[0] <= MEMORY_SLOPE and max(slopes[1:]) <= COUNT_SLOPE
            good = good and within
            lasting = lasting or self.names[pid].startswith("mixer")
            print(f"{self.names[pid]:34} {late[-1][1]:10.1f} {slopes[0]:8.2f} {slopes[1]:14.2f} {slopes[2]:10.2f}"
                  f"  {'ok' if within else 'GROWS'}")
        if self.options.rooms > 2 and not lasting:
            print("no mixer lived until the end, so that none was judged")
            good = False
        ends = [(points[-1][0], points[-1][1]) for pid, points in self.points.items()
                if self.names[pid].startswith("mixer") and points[-1][0] >= warm and points[-1][0] - points[0][0] > 2]
        if ends:
            print(f"{len(ends)} mixers: at most {max(memory for _, memory in ends):.1f} MB at their ends")
        return good


def main():
    parser = argparse.ArgumentParser(prog="scripts/soak.py", description=__doc__.split("\n\n")[0] + " " + __doc__.split(
        "\n\n")[1], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True, metavar="DIR",
                        help="directory of mixorchestrator and mixworker")
    parser.add_argument("--minutes", type=float, default=60, help="length of the run")
    parser.add_argument("--rooms", type=int, default=4, help="number of rooms")
    parser.add_argument("--pace", type=float, default=20, help="longest time between two changes of a room, in s")
    parser.add_argument("--warm-up", type=float, default=0.25, help="share of the run that is not judged")
    parser.add_argument("--canvas", type=Canvas.parse, default="360x640@15", help="picture of publishers and mixes")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="seed of the changes")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="file for all figures")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory, with all logs")
    options = parser.parse_args()
    if options.rooms < 1 or options.minutes <= 0 or not 0 <= options.warm_up < 1:
        parser.error("--rooms and --minutes have to be positive, --warm-up from 0 to below 1")
    if options.minutes * (1 - options.warm_up) < SHORTEST:
        parser.error(f"--minutes and --warm-up leave less than {SHORTEST} minutes to be judged")
    options.binary, options.seconds, options.footage = options.binary.resolve(), 60, None

    def stop(number, frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, stop)
    try:
        options.ffmpeg = find_ffmpeg()
        find_nginx()
        print(f"soak: {options.rooms} rooms for {options.minutes:g} min, seed {options.seed}", flush=True)
        with Stage(options) as stage:
            service = Service(stage, "soak", options.binary, options.canvas)
            soak = Soak(stage, service, options)
            soak.run(soak.open())
            good = soak.judge()
            if options.json:
                options.json.write_text(json.dumps({soak.names[pid] + f" {pid}": points
                                                    for pid, points in soak.points.items()}))
    except BenchError as error:
        print(f"soak: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("soak: stopped", file=sys.stderr)
        return 130
    print("PASS: nothing grows" if good else "FAIL: something grows")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
