"""The faults: how each is done, in what state of the program, and what a viewer may notice."""
import os
import signal
import sys
import time
from typing import Callable, NamedTuple

from bench_media.errors import Deadline
from bench_media.waiting import wait_until

from .judge import Limits
from .world import CANVAS, ROOM

GOP_MS = 2000
# Time without a report after which a relay that does not run is killed (`SilenceWatch`).
HANG_MS = 3000
# Seconds for which a source is on probation after a relay's beginning (`SourceQuarantine`), and its successor's start.
PROBATION = 13
# Processes per core that never sleep, on a busy machine.
LOAD = 4
# ms, the distance between two pictures.
_INTERVAL = 1000 / CANVAS.fps
# Nothing may be missing, and the host's pane must not stand. The machine's own lateness is no freeze: a picture may be late
# by this.
_UNNOTICED = Limits(freeze=300, lost=0, reconnects=0, still=300, audio=_INTERVAL)
# Two pictures may be missing in a row, and the sound stays beside them. Timestamps are whole milliseconds.
_BUSY = Limits(freeze=300, reconnects=0, audio=_INTERVAL, step=3 * _INTERVAL + 1)
# The mix goes on where the host stopped, in picture and sound.
_BRIDGED = Limits(freeze=300, reconnects=0, audio=300)


class Fault(NamedTuple):
    name: str
    do: Callable            # does it, waits as long as it takes, undoes it; gets the world
    limits: Limits
    mixed: bool | None      # whether the program has to be a mix; None: either
    weight: int = 1


def _kill(kind):
    def do(world):
        os.kill(world.process(kind), signal.SIGKILL)
    return do


def _let_relay_age(world):
    """Waits until the relay is not young any more: what dies twice while its sources are new has them quarantined."""
    time.sleep(max(0.0, world.last_relay_loss + PROBATION - time.monotonic()))
    world.last_relay_loss = time.monotonic()


def _kill_relay(world):
    _let_relay_age(world)
    os.kill(world.process("relay"), signal.SIGKILL)


def _pause_relay(world):
    """Stops the relay for longer than it takes to be replaced."""
    _let_relay_age(world)
    _pause("relay", (6, 8))(world)
    # Its successor began only when it was given up.
    world.last_relay_loss += HANG_MS / 1000


def _kill_ingest(world):
    """Kills the service's own RTMP server while a participant publishes to it, who connects again as encoders do."""
    publisher = world.publish_directly("dave")
    try:
        wait_until(lambda: world.is_live("dave"), "dave is not live", 30)
        os.kill(world.process("ingest"), signal.SIGKILL)
        wait_until(lambda: publisher.poll() is not None, "dave is still connected", 10)
        end = time.monotonic() + 30
        while True:
            world.stage.processes.end(publisher)
            publisher = world.publish_directly("dave")
            # A refused connection ends it at once.
            time.sleep(2)
            if publisher.poll() is None:
                break
            if time.monotonic() > end:
                raise Deadline("dave cannot connect again within 30 s")
        wait_until(lambda: world.is_live("dave"), "dave is not live again", 30)
    finally:
        world.stage.processes.end(publisher)
    wait_until(lambda: not world.is_live("dave"), "dave does not leave", 30)


def _pause(kind, seconds):
    """Stops a process for some seconds; it may have been replaced by then."""
    def do(world):
        pid = world.process(kind)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(world.random.uniform(*seconds))
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    return do


def _kill_service(world):
    world.service.process.kill()
    world.service.process.wait()
    time.sleep(world.random.uniform(0.2, 3))
    world.restart_service()


def _pause_service(world):
    world.service.process.send_signal(signal.SIGSTOP)
    time.sleep(world.random.uniform(3, 20))
    world.service.process.send_signal(signal.SIGCONT)


def _stall(name, seconds):
    def do(world):
        user = name or world.random.choice(sorted(world.guests))
        publisher = world.publishers[user]
        publisher.send_signal(signal.SIGSTOP)
        time.sleep(world.random.uniform(*seconds))
        publisher.send_signal(signal.SIGCONT)
    return do


def _join(world):
    user = world.random.choice([name for name in ("bob", "carol") if name not in world.guests] or ["bob"])
    world.join(user)


def _leave(world):
    world.leave(world.random.choice(sorted(world.guests)))


def _crafted(world):
    world.join("eve")
    time.sleep(world.random.uniform(3, 6))
    world.leave("eve")


def _busy(world):
    """Lets a guest come and go while processes that never sleep take every core."""
    busy = [world.stage.processes.start("busy", [sys.executable, "-c", "while True: pass"])
            for _ in range(LOAD * (os.cpu_count() or 1))]
    try:
        time.sleep(3)
        user = world.random.choice(("bob", "carol"))
        world.join(user)
        time.sleep(world.random.uniform(4, 6))
        world.leave(user)
        time.sleep(4)
    finally:
        world.stage.processes.end(*busy)


def _outage(world):
    world.door.close()
    time.sleep(world.random.uniform(1, 5))
    world.door.open()


ALL = (
    Fault("guest joins", _join, _UNNOTICED, None, 2),
    Fault("guest leaves", _leave, _UNNOTICED, True, 2),
    Fault("layout changed", lambda world: world.change_layout(), _UNNOTICED, True),
    Fault("mixer killed", _kill("mixer"), Limits(freeze=GOP_MS + 250, reconnects=0), True, 2),
    Fault("mixer stopped", _pause("mixer", (6, 8)), Limits(freeze=1500, reconnects=0), True, 2),
    # nginx keeps no group of pictures for those who come later: the next keyframe has to come first.
    Fault("relay killed", _kill_relay, Limits(freeze=GOP_MS + 500, reconnects=1), None, 2),
    Fault("relay stopped", _pause_relay, Limits(freeze=HANG_MS + GOP_MS + 500, reconnects=1), None),
    Fault("ingest killed", _kill_ingest, _UNNOTICED, True),
    Fault("recorder killed", _kill("recorder"), _UNNOTICED, None),
    Fault("recorder stopped", _pause("recorder", (2, 4)), _UNNOTICED, None),
    Fault("packager killed", _kill("packager"), _UNNOTICED, None),
    Fault("packager stopped", _pause("packager", (2, 4)), _UNNOTICED, None),
    Fault("rendition killed", _kill("rendition"), _UNNOTICED, None),
    Fault("rendition stopped", _pause("rendition", (2, 4)), _UNNOTICED, None),
    Fault("fork server killed", _kill("forkserver"), _UNNOTICED, None),
    Fault("fork server stopped", _pause("forkserver", (2, 4)), _UNNOTICED, None),
    Fault("orchestrator killed", _kill_service, _UNNOTICED, None, 2),
    Fault("orchestrator stopped", _pause_service, _UNNOTICED, None),
    Fault("host stalls, bypass", _stall("alice", (0.8, 2.5)), _BRIDGED, False, 2),
    Fault("host stalls, mix", _stall("alice", (0.8, 2.5)), _BRIDGED, True),
    Fault("guest stalls", _stall(None, (0.8, 2.5)), _UNNOTICED, True),
    Fault("guest sends crafted packets", _crafted, _UNNOTICED, None, 2),
    Fault("other destination away", _outage, _UNNOTICED, None),
    Fault("machine busy", _busy, _BUSY, False),
)

__all__ = ["ALL", "Fault", "ROOM"]
