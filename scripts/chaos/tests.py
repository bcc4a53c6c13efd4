"""Tests of what judges and of what faults change. `PYTHONPATH=scripts python3 -m chaos.tests`"""
import collections
import pathlib
import random
import tempfile
import threading
import unittest
from unittest import mock

from bench_media.reader import Frame

from bench_media.canvas import Canvas

from . import faults, pane
from .judge import MS, Limits, judge
from .viewer import Viewer
from .world import World


def pictures(times, arrivals=None):
    return [Frame("v", time, (arrival if arrival is not None else time) * MS, 900, 0, False)
            for time, arrival in zip(times, arrivals or [None] * len(times))]


def sound(times):
    return [Frame("a", time, time * MS, 300, 0, False) for time in times]


class Judging(unittest.TestCase):
    def judge(self, frames, notices=(), begin=500, end=2000):
        frames = sorted(frames, key=lambda frame: frame.arrival)
        return judge(frames, [at * MS for at in notices], begin * MS, end * MS, 20)

    def test_nothing(self):
        seen = self.judge(pictures(range(0, 2001, 50)) + sound([round(n * 64 / 3) for n in range(95)]))
        self.assertEqual((seen.freeze, seen.back, seen.lost, seen.backward, seen.reconnects), (50, 0, 0, 0, 0))
        self.assertLess(seen.audio, 1)
        self.assertEqual(Limits(freeze=300, lost=0, reconnects=0).broken(seen), [])

    def test_a_hole_is_a_freeze_and_lost_pictures(self):
        seen = self.judge(pictures([*range(0, 601, 50), *range(1000, 2001, 50)]))
        self.assertEqual((seen.freeze, seen.back, seen.lost), (400, 500, 7))
        self.assertEqual(len(Limits(freeze=300, lost=0).broken(seen)), 2)

    def test_pictures_that_come_late_froze_and_are_not_lost(self):
        times = list(range(0, 2001, 50))
        seen = self.judge(pictures(times, [1200 if 600 < time < 1200 else time for time in times]))
        self.assertEqual((seen.freeze, seen.lost), (600, 0))

    def test_an_end_is_a_freeze(self):
        seen = self.judge(pictures(range(0, 801, 50)))
        self.assertEqual((seen.freeze, seen.back), (1200, 1500))
        self.assertEqual(self.judge([]).freeze, 1500)

    def test_a_hole_that_began_before_counts_from_the_fault_on(self):
        self.assertEqual(self.judge(pictures([0, 50, *range(600, 2001, 50)])).freeze, 150)

    def test_what_was_before_does_not_count(self):
        seen = self.judge(pictures([0, 50, 400, 450, *range(500, 2001, 50)]), notices=[100])
        self.assertEqual((seen.freeze, seen.lost, seen.reconnects), (50, 0, 0))

    def test_timestamps_that_begin_anew(self):
        seen = self.judge(pictures([*range(0, 601, 50), *range(0, 1001, 50)], [*range(0, 601, 50), *range(1000, 2001, 50)]),
                          notices=[990])
        self.assertEqual((seen.backward, seen.reconnects), (1, 1))
        self.assertEqual(Limits(freeze=500, reconnects=1).broken(seen), ["1 timestamps go back"])

    def test_timestamps_that_jump(self):
        seen = self.judge(pictures([*range(0, 601, 50), *range(9000, 10001, 50)], [*range(0, 601, 50), *range(650, 1651, 50)]), end=1650)
        self.assertEqual(len(Limits(freeze=500).broken(seen)), 1)

    def test_sound(self):
        seen = self.judge(pictures(range(0, 2001, 50)) + sound([0, 600, 621, 900, 921]))
        self.assertGreater(seen.audio, 250)
        self.assertEqual(len(Limits(freeze=300, audio=50).broken(seen)), 1)
        self.assertEqual(Limits(freeze=300, audio=600).broken(seen), [])

    def test_pictures_may_be_apart_by_so_much(self):
        for step, words in ((150, []), (151, ["pictures are 151 ms apart, limit 150"])):
            seen = self.judge(pictures([*range(0, 601, 50), *range(600 + step, 2001, 50)]))
            self.assertEqual(Limits(step=150).broken(seen), words)


class HostsPane(unittest.TestCase):
    CANVAS = Canvas(360, 640, 20)

    def watch(self, numbers, begin=0, end=None):
        pictures = [(index * 50 * MS, number) for index, number in enumerate(numbers)]
        return pane.watch(pictures, begin * MS, (len(numbers) * 50 if end is None else end) * MS)

    def picture(self, source, count, square):
        """Returns a grey picture with a mark."""
        x, y, edge = (round(value) for value in square)
        word = count | source << 16 | (count * 11 + source * 5 + 3) % 31 << 20
        grey = bytearray([128]) * (self.CANVAS.width * self.CANVAS.height)
        for line in range(edge):
            for column in range(edge):
                bit = line * 5 // edge * 5 + column * 5 // edge
                grey[(y + line) * self.CANVAS.width + x + column] = 235 if word >> bit & 1 else 16
        return bytes(grey)

    def test_new_pictures_do_not_stand(self):
        self.assertEqual(self.watch(range(100, 140)), {"still": 50, "repeated": 0})

    def test_repeated_pictures_stand_though_they_come_in_time(self):
        seen = self.watch([1, 2, 3, *[4] * 8, 5, 6])
        self.assertEqual(seen, {"still": 400, "repeated": 7})
        self.assertEqual(Limits(still=300).broken(
            judge([], [], 0, 0, 20)._replace(**seen)), ["the host's picture stood for 400 ms, limit 300"])

    def test_only_the_time_of_the_fault_counts(self):
        self.assertEqual(self.watch([1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 5, 5], begin=200, end=425), {"still": 50, "repeated": 1})

    def test_pictures_without_a_mark_say_nothing(self):
        self.assertEqual(self.watch([1, 2, *[None] * 20, 3, 4]), {"still": 50, "repeated": 0})
        self.assertEqual(self.watch([None] * 20), {"still": None, "repeated": 0})
        self.assertEqual(Limits(still=300).broken(judge([], [], 0, 0, 20)), [])

    def test_an_end_stands(self):
        self.assertEqual(self.watch([1, 2, 3], end=1000)["still"], 900)

    def test_marks_are_found_where_scenes_have_them(self):
        scenes = [{"panes": [{"source": "alice/camera", "x": 0, "y": 0, "width": 180, "height": 640},
                             {"source": "bob/camera", "x": 180, "y": 0, "width": 180, "height": 640}]}] * 2
        places = pane.squares(scenes, "alice", self.CANVAS)
        self.assertEqual(places, [(134, 274, 90), (44, 274, 90)])
        half = self.picture(1, 4711, places[1])
        self.assertEqual([pane.number(half, 360, place, 1) for place in places], [None, 4711])
        self.assertIsNone(pane.number(half, 360, places[1], 2))
        self.assertIsNone(pane.number(bytes(360 * 640), 360, places[0], 1))

    def test_a_recording_begins_with_a_keyframe_and_its_configuration(self):
        viewer = Viewer.__new__(Viewer)
        viewer._pictures, viewer._header, viewer._lock = collections.deque(), None, threading.Lock()
        bodies = [b"\x17\0\0\0\0one", b"\x17\1\0\0\0key", b"\x27\1\0\0\0a", b"\x17\0\0\0\0two", b"\x17\1\0\0\0key",
                  b"\x27\1\0\0\0b", b"\x27\1\0\0\0c", b"\x17\1\0\0\0key"]
        for index, body in enumerate(bodies):
            viewer._keep(index * 100 * MS, index * 100, body)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "a.flv"
            self.assertEqual(viewer.record(path, 550 * MS, 650 * MS), [400 * MS, 500 * MS, 600 * MS])
            data, found = path.read_bytes()[13:], []
            while data:
                size = int.from_bytes(data[1:4], "big")
                found.append((int.from_bytes(data[4:7], "big"), data[11:11 + size]))
                data = data[15 + size:]
            self.assertEqual(found, [(400, bodies[3]), (400, bodies[4]), (500, bodies[5]), (600, bodies[6])])
            # What is older than any fault is forgotten, but not the configuration.
            viewer._keep(300_000 * MS, 300_000, b"\x17\1\0\0\0key")
            self.assertEqual(viewer.record(path, 300_000 * MS, 300_001 * MS), [300_000 * MS])
            self.assertIn(bodies[3], path.read_bytes())


class Changes(unittest.TestCase):
    def test_another_layout_keeps_everything_else_of_the_room(self):
        world = World.__new__(World)
        world.random, world.layout, world.service = random.Random(1), "grid", mock.Mock()
        world.change_layout()
        self.assertNotEqual(world.layout, "grid")
        world.service.call.assert_called_once_with(
            "PATCH", "/v1/tasks/auto-show", {"layout": world.layout}, headers={"If-Match": "*"})

    def test_a_relay_that_is_lost_again_is_not_young(self):
        world = mock.Mock(last_relay_loss=100.0)
        with mock.patch("time.monotonic", return_value=105.0), mock.patch("time.sleep") as sleep, \
                mock.patch("os.kill") as kill:
            faults._kill_relay(world)
            sleep.assert_called_once_with(faults.PROBATION - 5.0)
            kill.assert_called_once()
        self.assertEqual(world.last_relay_loss, 105.0)

    def test_the_successor_of_a_stopped_relay_begins_later(self):
        world = mock.Mock(last_relay_loss=0.0)
        world.random.uniform.return_value = 7
        with mock.patch("time.monotonic", return_value=100.0), mock.patch("time.sleep"), mock.patch("os.kill"):
            faults._pause_relay(world)
        self.assertEqual(world.last_relay_loss, 103.0)

    def test_a_publisher_whose_server_is_killed_connects_again(self):
        world = mock.Mock()
        first, refused, last = mock.Mock(), mock.Mock(), mock.Mock()
        for publisher, ends in ((first, 0), (refused, 1), (last, None)):
            publisher.poll.return_value = ends
        world.publish_directly.side_effect = [first, refused, last]
        world.is_live.side_effect = [False, True, True, True, False]
        world.process.return_value = 4711
        with mock.patch("time.sleep"), mock.patch("os.kill") as kill:
            faults._kill_ingest(world)
        kill.assert_called_once_with(4711, faults.signal.SIGKILL)
        ended = [call.args[0] for call in world.stage.processes.end.call_args_list]
        self.assertEqual(ended, [first, refused, last])

    def test_a_machine_is_busy_for_the_time_of_the_fault_only(self):
        world = mock.Mock(random=random.Random(1))
        started = world.stage.processes.start
        started.side_effect = lambda *_: object()
        world.leave.side_effect = faults.Deadline("the service does not answer")
        with mock.patch("time.sleep"), mock.patch("os.cpu_count", return_value=2), \
                self.assertRaises(faults.Deadline):
            faults._busy(world)
        self.assertEqual(started.call_count, 2 * faults.LOAD)
        self.assertEqual(len(world.stage.processes.end.call_args.args), 2 * faults.LOAD)
        self.assertEqual(world.join.call_args, world.leave.call_args)

    def test_every_fault_has_a_name_of_its_own(self):
        names = [fault.name for fault in faults.ALL]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue({"relay stopped", "ingest killed", "machine busy"} <= set(names))


if __name__ == "__main__":
    unittest.main()
