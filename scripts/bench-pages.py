#!/usr/bin/env python3
"""Measures web pages as sources: the time until they are on air, the fidelity of frame rate, pixels, colour and sound, their cost
compared with the usual way in the same run, what viewers see when one crashes or hangs, and pages over a program.

The page is that of the tests (Tests/Support/TestPage.swift): a frame counter, and a flash and a beep each second. The usual way is
Chromium at 60 Hz on Xvfb with PulseAudio, captured by ffmpeg at the same rate and encoded with x264 `veryfast`.
"""
import argparse
import os
import pathlib
import shutil
import signal
import sys

from bench_media.errors import BenchError
from bench_media.stage import ROOT, Stage, find_ffmpeg
from bench_pages.cost import measure_cost
from bench_pages.failures import measure_failures, measure_overlay
from bench_pages.page import CHROMIUM, HANG, MOVING, OVERLAY, Pages, test_page
from bench_pages.picture import Table, measure_picture, measure_start

MEASUREMENTS = {
    "start": measure_start,
    "picture": measure_picture,
    "cost": measure_cost,
    "failures": measure_failures,
    "overlay": measure_overlay,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="The machine should have nothing else to do; on a busy one only ratios of one run mean something.")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/debug", metavar="DIR",
                        help="directory of mixorchestrator and mixworker (.build/debug)")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="measure only this; repeatable")
    parser.add_argument("--runs", type=int, default=5, help="repetitions of starts, costs and failures (5)")
    parser.add_argument("--seconds", type=float, default=20, help="length of each measuring window (20)")
    parser.add_argument("--user", default="nobody", help="user of the browsers if this runs as root (nobody)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory, with all logs and recordings")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    options.ffmpeg = find_ffmpeg()
    for program in (CHROMIUM, "Xvfb", "pulseaudio", "setpriv"):
        if not shutil.which(program):
            sys.exit(f"bench-pages: {program} is missing: run deploy/setup.sh --pages")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    pages = Pages({"/page30": test_page(30), "/page20": test_page(20), "/hanging": test_page(30, HANG),
                   "/overlay": OVERLAY % "", "/moving": OVERLAY % MOVING})
    table = Table()
    begun = os.getloadavg()[0]
    try:
        with Stage(options) as stage:
            for row in options.only or MEASUREMENTS:
                print(f"{row}:", flush=True)
                MEASUREMENTS[row](stage, options, table, pages)
    except BenchError as error:
        print(f"bench-pages: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        if table.rows:
            table.print()
            print(f"\nload of the machine: {begun:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end, "
                  f"{os.cpu_count()} cores")


if __name__ == "__main__":
    main()
