"""Command line of the media benchmarks."""
import argparse
import os
import pathlib
import platform
import re
import signal
import sys
import time

from . import plot, report
from .cases import ALL, EVERYTHING
from .errors import BenchError
from .stage import ROOT, Stage, find_ffmpeg, find_nginx

_ABOUT = """\
Compares the service with ffmpeg in the same run, from RTMP to RTMP: a private nginx-rtmp on loopback, real publishers,
the same bit rates, preset, tune, GOP and scaler on both sides; overload steps and admission are off. Frames are counted
at the destination of each side. A run in which either side lost or repeated a frame, or in which the service's seams
exceed the demo's limits, is shown as INVALID and excluded from all medians.
"""
_MORE = """\
examples:
  scripts/bench.sh media bypass --rooms 8 --runs 1 --seconds 20
  scripts/bench.sh media mix --people 4 --canvas 1280x720@30
  scripts/bench.sh media mix --against DIRECTORY      a second build of the service in the same runs
  scripts/bench.sh media                              every case, 5 runs each: more than an hour

The machine must be otherwise idle. Times depend on it: compare ratios within one run, and their medians.
"""


def _common(parser, default_runs=5):
    parser.add_argument("--runs", type=int, default=default_runs, help=f"number of runs ({default_runs})")
    parser.add_argument("--seconds", type=float, help="length of the measuring window (20)")
    parser.add_argument("--settle", type=float, default=6, help="seconds between start and measuring (6)")
    parser.add_argument("--binary", type=pathlib.Path, metavar="DIR",
                        help="directory of mixorchestrator and mixworker; if omitted, scripts/bench.sh builds a release")
    parser.add_argument("--against", type=pathlib.Path, metavar="DIR",
                        help="a second build to measure in the same runs")
    parser.add_argument("--setting", action="append", default=[], metavar="YAML",
                        help="a line for the service's configuration, such as 'relay: { readyMixer: false }'; repeatable")
    parser.add_argument("--preset", default="veryfast", help="x264 preset of ffmpeg (veryfast)")
    parser.add_argument("--x264", default="me=dia:scenecut=0:partitions=i8x8:subme=1:aq-strength=0.5", metavar="OPTIONS",
                        help="further x264 options of ffmpeg; default: the mixer's own settings. Empty: only the "
                             "preset, with which x264 alone needs 1.65 times as much")
    parser.add_argument("--footage", type=pathlib.Path, metavar="FILE",
                        help="video to publish instead of ffmpeg's moving test picture")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench-out", metavar="DIR",
                        help="directory for JSON, CSV and SVG (bench-out)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory, with all logs")


def _parser():
    parser = argparse.ArgumentParser(
        prog="scripts/bench.sh media", description=_ABOUT, epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = parser.add_subparsers(dest="case", metavar="CASE", required=True)
    for case in ALL:
        one = cases.add_parser(case.NAME, help=case.ABOUT, description=case.ABOUT.capitalize() + ".")
        one.set_defaults(module=case)
        case.arguments(one)
        _common(one, getattr(case, "DEFAULT_RUNS", 5))
    return parser


def _check(options):
    """Fills in what is not given, and names what is missing before anything starts."""
    options.ffmpeg = find_ffmpeg()
    find_nginx()
    options.seconds = options.seconds or options.module.DEFAULT_SECONDS
    if options.footage:
        options.footage = options.footage.resolve()
        if not options.footage.is_file():
            raise BenchError(f"--footage: {options.footage} is not a file")
    if not options.binary:
        raise BenchError("--binary is missing; scripts/bench.sh media builds a release and names it")
    for name in ("binary", "against"):
        if directory := getattr(options, name):
            setattr(options, name, directory.resolve())
            for program in ("mixworker", "mixorchestrator"):
                if not os.access(directory / program, os.X_OK):
                    raise BenchError(f"--{name}: {directory / program} is missing")


def _machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    return {"processor": model[1] if model else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "date": time.strftime("%Y-%m-%d")}


def _measure(options):
    """Runs one case; returns whether at least one run is valid."""
    case, results = options.module, []
    title = case.title(options)
    print(f"{title}: {options.runs} runs", flush=True)
    with Stage(options) as stage:
        for number in range(options.runs):
            result = case.run(stage, options, number)
            results.append(result)
            report.print_run(number, options.runs, result)
            sys.stdout.flush()
    summary = report.medians(results)
    report.print_summary(title, results, summary)
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    report.write(options.out, name, {"title": title, "machine": _machine(), "medians": summary,
                                      "sides": report.sides(results), "runs": results})
    plot.write(options.out / f"{name}.svg", title, summary)
    print(f"saved: {options.out}/{name}.{{json,csv,svg}}\n", flush=True)
    return any(map(report.is_valid, results))


def _interrupt(*_):
    raise KeyboardInterrupt


def main():
    # Also where the shell has started this in the background, which ignores Ctrl-C.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    parser, words = _parser(), sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        parser.parse_args(words)
    # Without a case, all of them: what is given holds for each.
    lists = [words] if words and not words[0].startswith("-") else [[*case, *words] for case in EVERYTHING]
    try:
        good = True
        for line in lists:
            options = parser.parse_args(line)
            _check(options)
            good = _measure(options) and good
        return 0 if good else 1
    except KeyboardInterrupt:
        print("\ninterrupted; everything that was started has ended", file=sys.stderr)
        return 130
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


sys.exit(main())
