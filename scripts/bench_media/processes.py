"""Processes that the benchmark starts: each is known by its identifier and ended by it, whatever happens."""
import ctypes
import os
import pathlib
import signal
import subprocess
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans():
    """Makes this process the parent of all descendants whose own parent ends, so that none can be lost."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _follow_parent():
    # The kernel ends the child if this process is killed before it can tidy up.
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def parents():
    """Returns the parent of every process of the machine, by process identifier."""
    result = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            result[int(entry)] = int(fields[1])
    return result


def descendants(root):
    """Returns all living descendants of `root`, parents first."""
    children = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    result, queue = [], [root]
    while queue:
        found = children.get(queue.pop(0), [])
        result += found
        queue += found
    return result


def command_line(pid):
    """Returns the arguments of a process; empty if it has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


class Processes:
    """The children of the benchmark and what they started."""

    def __init__(self, logs):
        self.logs = logs
        self.children = {}
        self.count = 0
        adopt_orphans()

    def start(self, name, arguments, **options):
        """Starts a program whose messages go to a log; returns the `Popen`."""
        self.count += 1
        path = self.logs / f"{self.count:03}-{name}.log"
        with open(path, "wb") as log:
            options.setdefault("stdin", subprocess.DEVNULL)
            options.setdefault("stdout", log)
            child = subprocess.Popen([str(word) for word in arguments], stderr=log, start_new_session=True,
                                     preexec_fn=_follow_parent, **options)
        child.log = path
        self.children[child.pid] = child
        return child

    def end(self, *children, patience=10):
        """Asks the processes to end, waits at most `patience` s for all of them, then kills the rest."""
        self._signal(children, signal.SIGTERM)
        end = time.monotonic() + patience
        for child in children:
            try:
                child.wait(max(0.01, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            self.children.pop(child.pid, None)

    def end_all(self):
        """Ends everything that was started, and everything that those processes started."""
        self.end(*reversed(list(self.children.values())), patience=8)
        for sign, patience in ((signal.SIGTERM, 3), (signal.SIGKILL, 3)):
            end = time.monotonic() + patience
            while time.monotonic() < end and (left := descendants(os.getpid())):
                for pid in left:
                    self._kill(pid, sign)
                self._reap()
                time.sleep(0.1)
        self._reap()

    def _signal(self, children, sign):
        for child in children:
            if child.poll() is None:
                self._kill(child.pid, sign)

    @staticmethod
    def _kill(pid, sign):
        try:
            os.kill(pid, sign)
        except ProcessLookupError:
            pass

    @staticmethod
    def _reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def tail(child, lines=3):
    """Returns the last lines that a process has written."""
    text = pathlib.Path(child.log).read_text(errors="replace").strip().splitlines()
    return " / ".join(text[-lines:]) or "no message"
