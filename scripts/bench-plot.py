#!/usr/bin/env python3
"""Passes the output of a benchmark on, and draws its figures.

  … | scripts/bench-plot.py NAME      writes bench-out/NAME.txt and, for each kind of figure in it, bench-out/NAME-KIND.svg

Kinds: `ns` (median, and the 90th percentile of the rounds, on a logarithmic scale), `latency` (p50 and p99 in ms, on a
logarithmic scale), `cpu` (percent of a core), `rate` (events per second) and `cost` (processor time per event in µs), both with
the median of the rounds, and a line from the least to the greatest.
"""
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bench_media import plot  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent.parent / "bench-out"
KINDS = {
    "ns": "cost of one unit in ns: median, line to the 90th percentile",
    "latency": "latency in ms: p50, line to p99",
    "cpu": "processor time in percent of a core",
    "rate": "durable events per second: median, line over all rounds",
    "cost": "processor time per event in µs: median, line over all rounds",
}
LOGARITHMIC = {"ns", "latency"}
_ROUNDS = re.compile(r"^(\S.*?)\s+(\d+) ns \((\d+)\) per (.+?)(?:, \d+ MB/s)?$")
_LATENCY = re.compile(r"^\s*(\S[^:]*): .*?p50 ([\d.]+) ms, p99 ([\d.]+) ms")
_DESTINATIONS = re.compile(r"^\s*(\d+ destinations): relay ([\d.]+) %, nginx-rtmp ([\d.]+) %")
# Rows of the cluster benchmark's tables: nodes that are added, and rounds of events.
_NODES = re.compile(r"^\| (\d+) \| (\d+) µs/event \| (\d+) µs/event \| (?:([\d.]+) ms/s \| ([\d.]+) ms/s|– \| –) \|$")
_EVENTS = re.compile(r"^\| (\D[^|]*?) \| (\d+) \| ([\d.]+) ms \| ([\d.]+) ms \| (\d+) µs \| (\d+) µs \|$")


def figures(lines):
    """The figures of lines by kind and name; of a name that comes again, the later ones are numbered.

    The rates and costs of a name are those of rounds, and become one figure.
    """
    found = {}
    rounds = {}

    def add(kind, name, middle, greatest):
        names = found.setdefault(kind, {})
        title, number = name, 1
        while title in names:
            number += 1
            title = f"{name} ({number})"
        names[title] = {"min": min(middle, greatest), "median": middle, "max": greatest}

    def add_round(kind, name, value):
        rounds.setdefault(kind, {}).setdefault(name, []).append(float(value))

    for line in lines:
        line = line.rstrip()
        if match := _ROUNDS.match(line):
            add("ns", f"{match[1]}, {match[4]}", float(match[2]), float(match[3]))
        elif match := _LATENCY.match(line):
            add("latency", match[1], float(match[2]), float(match[3]))
        elif match := _DESTINATIONS.match(line):
            for name, value in (("relay", match[2]), ("nginx-rtmp", match[3])):
                add("cpu", f"{match[1]}, {name}", float(value), float(value))
        elif match := _NODES.match(line):
            nodes = f"{match[1]} node{'s' if match[1] != '1' else ''}"
            add_round("cost", f"{nodes}, the first one", match[2])
            add_round("cost", f"{nodes}, database", match[3])
            for name, value in (("idle", match[4]), ("under load", match[5])):
                if value:
                    # 10 ms/s are one percent.
                    add("cpu", f"{nodes}, each other one, {name}", float(value) / 10, float(value) / 10)
        elif match := _EVENTS.match(line):
            add_round("rate", match[1], match[2])
            add("latency", match[1], float(match[3]), float(match[4]))
            add_round("cost", f"{match[1]}: services", match[5])
            if match[6] != "0":
                add_round("cost", f"{match[1]}: database", match[6])
    for kind, names in rounds.items():
        for name, values in names.items():
            found.setdefault(kind, {})[name] = {
                "min": min(values), "median": statistics.median(values), "max": max(values)}
    return found


def main():
    if len(sys.argv) != 2 or not re.fullmatch(r"[a-z-]+", sys.argv[1]):
        sys.exit(__doc__)
    name = sys.argv[1]
    lines = []
    for line in sys.stdin:
        print(line, end="", flush=True)
        lines.append(line)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.txt").write_text("".join(lines))
    for kind, summary in figures(lines).items():
        path = OUT / f"{name}-{kind}.svg"
        plot.write(path, f"{name}: {KINDS[kind]}", summary, reference=None, logarithmic=kind in LOGARITHMIC)
        print(f"plot: {path}")


if __name__ == "__main__":
    main()
