"""Results: a table for people, CSV and JSON for programs."""
import csv
import json
import statistics

from . import stages

_COLUMNS = (
    ("cpu", "CPU %", "{:.2f}"), ("switches", "switch/s", "{:.0f}"), ("memory", "PSS MiB", "{:.1f}"),
    ("wanted", "frames", "{:d}"), ("lost", "lost", "{:d}"), ("late p50", "late p50", "{:.1f}"),
    ("late p99", "late p99", "{:.1f}"), ("machine busy", "busy %", "{:.0f}"),
    ("others", "others %", "{:.0f}"))

# More of the machine than this in use by others makes times and densities meaningless, and ratios noisy.
_QUIET = 10


def print_run(number, runs, result):
    """Prints the rows of one run, and every reason why one is not valid."""
    print(f"  run {number + 1} of {runs}")
    for name, figures in result["rows"].items():
        cells = [f"{title} {form.format(figures[key])}" for key, title, form in _COLUMNS
                 if figures.get(key) is not None]
        print(f"    {name:8} {'  '.join(cells)}")
        groups = figures.get("groups", {})
        if len(groups) > 1:
            parts = [f"{group} ×{part['processes']}: {part['cpu']:.2f} %, {part['switches']:.0f}/s, "
                     f"{part['memory']:.1f} MiB" for group, part in groups.items()]
            print(f"             {'; '.join(parts)}")
        for line in stages.table(figures.get("parts", [])):
            print(f"             {line}")
        for reason in figures["invalid"]:
            print(f"    {name:8} INVALID: {reason}")
    others = max((figures.get("others", 0) for figures in result["rows"].values()), default=0)
    if others > _QUIET:
        print(f"    NOT QUIET: other processes used {others:.0f} % of the machine; trust no time and no density")
    for title, number in result["ratios"].items():
        print(f"    {title:28} {_text(number)}")


def _text(number):
    return "–" if number is None else f"{number:.3f}" if abs(number) < 10 else f"{number:.1f}"


def is_valid(result):
    """Whether no side of the run has a reason against it."""
    return not any(figures["invalid"] for figures in result["rows"].values())


def medians(results):
    """Returns median, least and greatest of each ratio over the valid runs."""
    summary = {}
    for result in filter(is_valid, results):
        for title, number in result["ratios"].items():
            if number is not None:
                summary.setdefault(title, []).append(number)
    return {title: {"median": statistics.median(numbers), "min": min(numbers), "max": max(numbers),
                    "runs": len(numbers)}
            for title, numbers in summary.items()}


def sides(results):
    """Returns each side's medians over the valid runs: of `all` that counts, and of each group of processes."""
    found = {}
    for result in filter(is_valid, results):
        for name, figures in result["rows"].items():
            for group, part in [("all", figures), *figures.get("groups", {}).items()]:
                for key in ("cpu", "memory", "switches", "late p50", "late p99"):
                    if part.get(key) is not None:
                        found.setdefault(name, {}).setdefault(group, {}).setdefault(key, []).append(part[key])
    return {name: {group: {key: statistics.median(numbers) for key, numbers in part.items()}
                   for group, part in groups.items()} for name, groups in found.items()}


def print_summary(title, results, summary):
    valid = sum(map(is_valid, results))
    print(f"\n{title}: {valid} of {len(results)} runs valid")
    for name, groups in sides(results).items():
        parts = [f"{group} {part['cpu']:.2f} % {part['memory']:.1f} MiB" for group, part in groups.items()
                 if "cpu" in part]
        if parts:
            print(f"  {name:32} {'; '.join(parts)}")
    for name, numbers in summary.items():
        print(f"  {name:32} median {_text(numbers['median']):>8}   min {_text(numbers['min']):>8}   "
              f"max {_text(numbers['max']):>8}")
    print(flush=True)


def write(directory, name, document):
    """Writes NAME.json with everything and NAME.csv with one line for each side of each run."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    with open(directory / f"{name}.csv", "w", newline="") as file:
        lines = csv.writer(file)
        keys = [key for key, _, _ in _COLUMNS]
        lines.writerow(["run", "side", *keys, "invalid"])
        for number, result in enumerate(document["runs"], 1):
            for side, figures in result["rows"].items():
                lines.writerow([number, side, *(figures.get(key, "") for key in keys), "; ".join(figures["invalid"])])
        for number, result in enumerate(document["runs"], 1):
            for title, value in result["ratios"].items():
                lines.writerow([number, title, value])
