#!/usr/bin/env python3
"""Instructions and heap allocations of the paths that every frame or event takes, against what is allowed.

    scripts/counts.py PATHCOUNTS            compare; exit 1 if a path needs more
    scripts/counts.py PATHCOUNTS --update   allow what is counted now, also in the table of docs/performance.md
    scripts/counts.py --table               compare this table with what is allowed; exit 1 if they differ

PATHCOUNTS is a release build of the product PathCounts (`scripts/check.sh counts` builds it). Instructions are counted
by valgrind, of the process alone, so other load on the machine does not matter. Counts belong to a compiler and a
processor architecture: those of another one are printed, but fail nothing.
"""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "Benchmarks/Counts/allowed.json"
DOCUMENT = ROOT / "docs/performance.md"
# Small counts come first to be subtracted: what a start costs is in both.
FEW, MANY = 1000, 3000
# Layouts of dictionaries in memory and the processor's string functions make this much difference.
TOLERANCE = {"instructions": 0.01, "allocations": 0.002}


def fail(text):
    sys.exit(f"counts: {text}")


def run(words):
    # Swift's hashing begins with a random seed unless told otherwise; the allocator adapts to threads and addresses.
    environment = {"PATH": os.environ["PATH"], "SWIFT_DETERMINISTIC_HASHING": "1", "LC_ALL": "C"}
    answer = subprocess.run(words, capture_output=True, text=True, env=environment)
    if answer.returncode:
        fail(f"{' '.join(words)}: {answer.stderr.strip()[-400:]}")
    return answer


def per_unit(measure, name):
    return (measure(name, MANY) - measure(name, FEW)) / (MANY - FEW)


def counters(binary):
    """Returns the functions that count, by what they count."""
    def allocations(name, count):
        return int(run([binary, name, str(count)]).stdout)

    def instructions(name, count):
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        text = run([*tool, binary, name, str(count)]).stderr
        return int(re.search(r"I\s+refs:\s+([\d,]+)", text)[1].replace(",", ""))
    if shutil.which("valgrind"):
        return {"allocations": allocations, "instructions": instructions}
    print("(valgrind is not installed: allocations only)")
    return {"allocations": allocations}


def toolchain():
    text = subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"Swift version (\S+)", text)
    return f"Swift {version[1] if version else '?'}, {platform.machine()}"


def tabulated(text, paths):
    """Returns a document whose table has a row of these counts for each path."""
    for name, counts in paths.items():
        allocations = f"{counts['allocations']:.2f}".removesuffix(".00")
        cells = f"| {allocations} | {round(counts['instructions']):,} |"
        text, rows = re.subn(rf"^(\| `{re.escape(name)}`: [^|]*\| [^|]*) \| [^|]* \| [^|]* \|$",
                             lambda row: f"{row[1]} {cells}", text, flags=re.MULTILINE)
        if rows != 1:
            fail(f"{DOCUMENT.relative_to(ROOT)} has {rows} rows of `{name}`, not one")
    return text


def check_table():
    text = DOCUMENT.read_text()
    if tabulated(text, json.loads(ALLOWED.read_text())["paths"]) != text:
        fail(f"the table in {DOCUMENT.relative_to(ROOT)} is not what {ALLOWED.relative_to(ROOT)} allows")


def main():
    words = sys.argv[1:]
    if words == ["--table"]:
        return check_table()
    if not words or words[0].startswith("-") or words[1:] not in ([], ["--update"]):
        sys.exit(__doc__)
    binary, update = words[0], "--update" in words
    if not os.access(binary, os.X_OK):
        fail(f"{binary} is missing: scripts/check.sh counts builds it")
    with tempfile.TemporaryDirectory(prefix="counts-") as directory:
        # valgrind cannot read the debug information that swiftc writes.
        plain = os.path.join(directory, "PathCounts")
        run(["strip", "--strip-all", "-o", plain, binary])
        judge(plain, binary, update)


def judge(plain, binary, update):
    paths = [line.split("\t") for line in run([plain]).stdout.splitlines()]
    allowed = json.loads(ALLOWED.read_text()) if ALLOWED.exists() else {"toolchain": "", "paths": {}}
    kinds, found, worse = counters(plain), {}, []
    is_judged = allowed["toolchain"] == toolchain()
    print(f"{'path':10} {'counted':13} {'was':>10} {'is':>10} {'limit':>10}  per")
    for name, unit, about in paths:
        for kind, measure in kinds.items():
            number = round(per_unit(measure, name), 2)
            found.setdefault(name, {})[kind] = number
            was = allowed["paths"].get(name, {}).get(kind)
            limit = None if was is None else round(was * (1 + TOLERANCE[kind]) + 0.01, 2)
            verdict = ""
            if limit is not None and number > limit:
                verdict = "  MORE THAN ALLOWED"
                worse.append(f"{name}: {kind} {was} → {number}")
            elif was is not None and number < was * (1 - 3 * TOLERANCE[kind]) - 0.01:
                verdict = "  less: allow no more than this with --update"
            elif was is None:
                verdict = "  new: no limit yet"
            old, most = ("–" if value is None else value for value in (was, limit))
            print(f"{name:10} {kind:13} {old:>10} {number:>10} {most:>10}  {unit}{verdict}")
    if update:
        for name, numbers in found.items():
            found[name] = {**allowed["paths"].get(name, {}), **numbers}
        ALLOWED.write_text(json.dumps({"toolchain": toolchain(), "paths": found}, indent=4) + "\n")
        print(f"written: {ALLOWED.relative_to(ROOT)}")
        # Without valgrind, a new path has no instructions to show yet.
        if all("instructions" in counts for counts in found.values()):
            DOCUMENT.write_text(tabulated(DOCUMENT.read_text(), found))
    elif not is_judged:
        print(f"counts: the limits are for {allowed['toolchain'] or 'nothing yet'}, this is {toolchain()}: "
              "nothing is judged")
    elif worse:
        fail("; ".join(worse) + f"\nIf that is meant, allow it: scripts/counts.py {binary} --update")


main()
