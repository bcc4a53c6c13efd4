"""Tests of what judges and of what faults change. `PYTHONPATH=scripts python3 -m chaos.tests`"""
import random
import unittest
from unittest import mock

from bench_media.reader import Frame

from . import faults
from .judge import MS, Limits, judge
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
        self.assertGreater(self.judge(pictures(range(0, 2001, 50)) + sound([0, 600, 621, 900, 921])).audio, 250)


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

    def test_every_fault_has_a_name_of_its_own(self):
        names = [fault.name for fault in faults.ALL]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue({"relay stopped", "ingest killed"} <= set(names))


if __name__ == "__main__":
    unittest.main()
