"""Runs faults one after another in a random order, and prints what a viewer noticed of each kind."""
import argparse
import json
import pathlib
import random
import signal
import statistics
import sys
import time
import types

from bench_media.errors import BenchError
from bench_media.stage import ROOT, Stage, find_ffmpeg

from .faults import ALL
from .judge import judge
from .world import CANVAS, World

_ABOUT = """\
Starts a service with one room, a media server, publishers and a viewer on loopback, injects faults in a random order, and
prints their effects on the viewer. Exits with 1 if a limit is exceeded. docs/faults.md has the limits and their reasons.
"""


def _options():
    parser = argparse.ArgumentParser(prog="scripts/chaos.sh", description=_ABOUT)
    parser.add_argument("--minutes", type=float, default=5, help="duration of the fault injection (5)")
    parser.add_argument("--seed", type=int, help="seed of the order and of all durations; default: random")
    parser.add_argument("--binary", type=pathlib.Path, required=True, metavar="DIR",
                        help="directory of mixorchestrator and mixworker")
    parser.add_argument("--only", action="append", metavar="NAME", help="only faults whose name contains this text; repeatable")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "chaos-out", metavar="DIR",
                        help="directory for JSON and, after a failure, for logs (chaos-out)")
    options = parser.parse_args()
    options.seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    options.binary = options.binary.resolve()
    return options


def _faults(world, names):
    """Yields faults: each once, in random order, then by weight."""
    possible = [fault for fault in ALL if not names or any(name in fault.name for name in names)]
    if not possible:
        raise BenchError("--only names no fault")
    first = list(possible)
    world.random.shuffle(first)
    yield from first
    while True:
        yield world.random.choices(possible, [fault.weight for fault in possible])[0]


def _inject(world, fault):
    """Does a fault and returns its record."""
    world.want(world.random.random() < 0.5 if fault.mixed is None else fault.mixed)
    time.sleep(world.random.uniform(0.3, 1.2))
    begin = time.monotonic_ns()
    record = {"fault": fault.name, "mode": world.mode, "at": begin}
    try:
        fault.do(world)
        world.settle()
    except BenchError as error:
        record["error"] = str(error)
    end = time.monotonic_ns()
    seen = judge(world.viewer.frames, world.viewer.notices, begin, end, CANVAS.fps)
    seen = seen._replace(**world.host_pane(begin, end))
    record |= seen._asdict()
    record["settled"] = (end - begin) / 1e6
    record["broken"] = fault.limits.broken(seen) + ([record["error"]] if "error" in record else [])
    return record


def _table(records):
    head = ("fault", "times", "freeze ms, worst", "median", "host stands ms", "audio gap ms", "pictures lost", "reconnects",
            "on air again ms", "limits")
    rows = [head]
    for name in sorted({record["fault"] for record in records}, key=[fault.name for fault in ALL].index):
        mine = [record for record in records if record["fault"] == name]
        broken = sum(bool(record["broken"]) for record in mine)
        still = [record["still"] for record in mine if record["still"] is not None]
        rows.append((
            name, str(len(mine)), f"{max(r['freeze'] for r in mine):.0f}",
            f"{statistics.median(r['freeze'] for r in mine):.0f}", f"{max(still):.0f}" if still else "–",
            f"{max(r['audio'] for r in mine):.0f}",
            str(max(r["lost"] for r in mine)), str(max(r["reconnects"] for r in mine)),
            f"{max(r['back'] for r in mine):.0f}", "kept" if not broken else f"BROKEN {broken} times"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) if index == 0 else cell.rjust(width)
                               for index, (cell, width) in enumerate(zip(row, widths))) for row in rows)


def _run(options):
    stage_options = types.SimpleNamespace(
        keep=False, seconds=60, ffmpeg=find_ffmpeg(), binary=options.binary, footage=None)
    records = []
    print(f"seed {options.seed}", flush=True)
    with Stage(stage_options) as stage:
        world = World(stage, options.binary, options.seed)
        try:
            world.settle(60)
            end = time.monotonic() + 60 * options.minutes
            for fault in _faults(world, options.only):
                if time.monotonic() > end:
                    break
                record = _inject(world, fault)
                records.append(record)
                words = "; ".join(record["broken"])
                print(f"{time.strftime('%T')}  {record['fault']} ({record['mode']}): {record['freeze']:.0f} ms"
                      f"{', BROKEN: ' + words if words else ''}", flush=True)
                if "error" in record:
                    break
        finally:
            if any(record["broken"] for record in records):
                print(f"logs: {world.keep_logs(options.out / 'logs')}")
            world.end()
    return records


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    options = _options()
    try:
        records = _run(options)
    except KeyboardInterrupt:
        print("\ninterrupted; everything that was started has ended", file=sys.stderr)
        return 130
    except BenchError as error:
        print(f"chaos: {error}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "chaos.json").write_text(json.dumps({"seed": options.seed, "records": records}, indent=1) + "\n")
    print(f"\n{_table(records)}\n")
    broken = [record for record in records if record["broken"]]
    print(f"{len(records)} faults, {len(broken)} beyond their limits, seed {options.seed}")
    return 1 if broken or not records else 0


def _interrupt(*_):
    raise KeyboardInterrupt


sys.exit(main())
