"""Processor time, context switches and memory of processes, from the kernel's own accounts."""
import os
import re
import time


def processor_seconds(pid):
    """Returns the processor time of all threads of a process, of those that have ended too.

    This is the clock of the process (`clock_getcpuclockid`), in ns. It is the sum of `/proc/PID/task/*/schedstat` plus
    what ended threads had used, which those files have lost.
    """
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def context_switches(pid):
    """Returns the voluntary and involuntary context switches of all threads that run."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/status") as file:
                total += sum(int(n) for n in re.findall(r"ctxt_switches:\s*(\d+)", file.read()))
        except OSError:
            pass
    return total


def proportional_memory(pid):
    """Returns the PSS in MiB: pages of one's own, and one's share of those that several processes use."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return int(re.search(r"^Pss:\s*(\d+)", file.read(), re.MULTILINE)[1]) / 1024
    except (OSError, TypeError):
        return 0.0


class Account:
    """What groups of processes use between `open` and `close`.

    A group is a name and the identifiers of its processes at that moment. A process that begins in between is counted
    from its beginning; one that ends takes its figures with it, so `close` names it.
    """

    def __init__(self, groups):
        self.groups = groups

    def open(self):
        self.began = time.monotonic()
        self.before = self._read(self.groups())

    def close(self):
        """Returns the use by group and a list of what makes it doubtful."""
        after = self._read(self.groups())
        seconds = time.monotonic() - self.began
        result, doubts = {}, []
        for group in sorted(set(self.before) | set(after)):
            old, new = self.before.get(group, {}), after.get(group, {})
            doubts += [f"{group}: process {pid} ended while it was measured" for pid in old if pid not in new]
            used = switched = 0.0
            for pid, (cpu, switches) in new.items():
                past_cpu, past_switches = old.get(pid, (0.0, 0))
                used += cpu - past_cpu
                switched += switches - past_switches
            result[group] = {
                "processes": len(new), "cpu": 100 * used / seconds, "switches": switched / seconds,
                "memory": sum(proportional_memory(pid) for pid in new)}
        return result, doubts

    @staticmethod
    def _read(groups):
        result = {}
        for group, pids in groups.items():
            for pid in pids:
                try:
                    result.setdefault(group, {})[pid] = (processor_seconds(pid), context_switches(pid))
                except OSError:
                    pass
        return result


def total(use, key, groups=None):
    """Returns the sum of one figure over groups; all of them by default."""
    return sum(part[key] for group, part in use.items() if groups is None or group in groups)
