"""The measuring window: what every side uses in it, and how busy the machine was."""
import os
import time

from .frames import quantile
from .processes import descendants
from .usage import Account, processor_seconds, total

# Frames of the window may arrive this much later and still count.
GRACE_SECONDS = 2.0


def _machine_seconds():
    """Returns busy and idle processor time of the machine."""
    with open("/proc/stat") as file:
        numbers = [int(word) for word in file.readline().split()[1:9]]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, idle


def _own_seconds():
    """Returns the processor time of this process and of everything that it has started and that still runs."""
    total = 0.0
    for pid in [os.getpid(), *descendants(os.getpid())]:
        try:
            total += processor_seconds(pid)
        except OSError:
            pass
    return total


class Load:
    """How busy the machine is from now on, and how much of that is no part of the benchmark, in %."""

    def __init__(self):
        self.machine, self.own = _machine_seconds(), _own_seconds()

    def figures(self):
        busy, idle = (after - before for after, before in zip(_machine_seconds(), self.machine))
        own = (_own_seconds() - self.own) * os.sysconf("SC_CLK_TCK")
        whole = max(1, busy + idle)
        return {"machine busy": 100 * busy / whole, "others": max(0.0, 100 * (busy - own) / whole)}


class Window:
    """What was measured of several sides at the same time.

    begin, end: the window in ns of CLOCK_MONOTONIC. use: figures by side and group of processes. doubts: by side.
    load: how busy the machine was.
    """

    def __init__(self, stage, sides, seconds, watch=()):
        accounts = {side.name: Account(side.groups) for side in sides}
        load = Load()
        for account in accounts.values():
            account.open()
        self.begin = time.monotonic_ns()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(1.0, max(0.01, end - time.monotonic())))
            stage.sources.check(watch)
        self.end = time.monotonic_ns()
        self.use, self.doubts = {}, {}
        for name, account in accounts.items():
            self.use[name], self.doubts[name] = account.close()
        self.load = load.figures()
        time.sleep(GRACE_SECONDS)

    def figures(self, name, counted=None):
        """Returns the figures of a side for its row of the table."""
        use = self.use[name]
        return {
            "cpu": total(use, "cpu", counted), "switches": total(use, "switches", counted),
            "memory": total(use, "memory", counted), "groups": use, **self.load}


def row(window, side, verdict, counted=None):
    """Returns one side's result of one run: its use, its frames and why it is not valid, if it is not."""
    figures = window.figures(side.name, counted)
    invalid = list(window.doubts[side.name])
    if verdict is not None:
        figures |= {"wanted": verdict.wanted, "lost": verdict.lost, "repeated": verdict.repeated,
                    "late p50": quantile(verdict.late, 0.5), "late p99": quantile(verdict.late, 0.99)}
        if verdict.lost or verdict.repeated:
            invalid.append(f"{verdict.lost} frames lost, {verdict.repeated} repeated of {verdict.wanted}")
        if verdict.fault:
            invalid.append(verdict.fault)
    figures["invalid"] = invalid
    return figures


def ratio(rows, key, name, base):
    """Returns the quotient of two sides' figures."""
    return rows[name][key] / rows[base][key] if rows[base][key] else None
