"""Tests of what judges: a lost, repeated or late frame must be found. `PYTHONPATH=scripts python3 -m bench_media.tests`"""
import http.server
import importlib.util
import pathlib
import random
import tempfile
import threading
import unittest
import urllib.request
from xml.etree import ElementTree

from . import lateness, marks, plot, report, rtmp, stages, strangers
from .canvas import Canvas, Pane
from .cases import density, glass
from .frames import copied, paced, quantile
from .reader import Frame, Stream

MS = 1_000_000


def stream(frames, fault=""):
    return Stream(list(frames), fault)


def picture(number, arrival, time=None, check=None):
    return Frame("v", number * 50 if time is None else time, arrival * MS, 900, number if check is None else check, False)


def sound(number, arrival, check):
    return Frame("a", number * 21, arrival * MS, 300, check, False)


class Copied(unittest.TestCase):
    def judge(self, source, program):
        return copied(stream(source), stream(program), 0, 1000 * MS)

    def test_whole(self):
        verdict = self.judge([picture(n, 50 * n) for n in range(20)], [picture(n, 50 * n + 3) for n in range(20)])
        self.assertEqual((verdict.wanted, verdict.lost, verdict.repeated), (20, 0, 0))
        self.assertEqual(quantile(verdict.late, 0.99), 3)

    def test_lost_picture(self):
        verdict = self.judge([picture(n, 50 * n) for n in range(20)],
                             [picture(n, 50 * n + 3) for n in range(20) if n != 7])
        self.assertEqual(verdict.lost, 1)

    def test_changed_picture(self):
        program = [picture(n, 50 * n + 3, check=99 if n == 7 else n) for n in range(20)]
        self.assertEqual(self.judge([picture(n, 50 * n) for n in range(20)], program).lost, 1)

    def room(self, lost=(), start=0, late=2, times=0):
        """Judges 3 s of pictures and sound, which repeats its bytes every 300 ms, without the frames of sound that are
        `lost` and what comes before `start` in ms. The program's timestamps are `times` ms later."""
        frames = [picture(n, 50 * n - 1000) for n in range(60)]
        frames += [sound(n, 20 * n - 1000, n % 15) for n in range(150)]
        frames.sort(key=lambda frame: frame.arrival)
        gone = {("a", 21 * n) for n in lost}
        program = [frame._replace(time=frame.time + times, arrival=frame.arrival + late * MS) for frame in frames
                   if (frame.kind, frame.time) not in gone and frame.arrival >= start * MS]
        return self.judge(frames, program)

    def test_lost_sound_that_repeats_its_bytes(self):
        # No other frame with the same bytes may stand in for a lost one.
        for number in range(50, 100):
            self.assertEqual(self.room(lost=[number]).lost, 1, number)
        self.assertIn("sound of 1260 ms, 300 bytes, 0.2 s into", self.room(lost=[60]).fault)

    def test_whole_with_other_timestamps_and_late(self):
        verdict = self.room(times=5000, late=150)
        self.assertEqual((verdict.wanted, verdict.lost, verdict.repeated, verdict.fault), (70, 0, 0, ""))

    def test_begins_later_than_its_source(self):
        # What came just before the program's start has no copy, and must not take a later frame's.
        for start in range(-900, -100, 20):
            self.assertEqual(self.room(start=start).lost, 0, start)

    def test_repeated(self):
        program = [picture(n, 25 * n + 3, check=n // 2) for n in range(40)]
        self.assertGreater(self.judge([picture(n, 50 * n) for n in range(20)], program).repeated, 0)


class Paced(unittest.TestCase):
    def judge(self, frames):
        return paced(stream(frames), 20, 0, 1000 * MS)

    def test_whole(self):
        self.assertEqual(self.judge([picture(n, 50 * n) for n in range(20)])[:3], (20, 0, 0))

    def test_gap(self):
        self.assertEqual(self.judge([picture(n, 50 * n) for n in range(20) if n not in (5, 6)]).lost, 2)

    def test_repeated_time(self):
        frames = [picture(n, 50 * n, time=(n if n != 5 else 4) * 50) for n in range(20)]
        self.assertEqual(self.judge(frames).repeated, 1)

    def test_falls_behind(self):
        # Nothing is missing from its timestamps, but half of it did not come in time.
        self.assertEqual(self.judge([picture(n, 100 * n) for n in range(10)]).lost, 10)

    def test_late(self):
        frames = [picture(n, 50 * n + (200 if n == 9 else 0)) for n in range(20)]
        self.assertEqual(max(self.judge(frames).late), 200)

    def test_nothing(self):
        self.assertTrue(self.judge([]).fault)


class Marks(unittest.TestCase):
    def test_delays(self):
        frames = [picture(n, 50 * n + 10) for n in range(20)]
        counters = [n + 100 for n in range(20)]
        arrivals = {n + 100: [50 * n * MS] for n in range(20)}
        late, lost, repeated = marks.delays(frames, counters, arrivals, 0, 2000 * MS)
        self.assertEqual((set(late), lost, repeated), ({10}, 0, 0))
        counters[5] = counters[4]
        self.assertEqual(marks.delays(frames, counters, arrivals, 0, 2000 * MS)[1:], (1, 1))

    def test_checksum(self):
        word = 1234 | 2 << 16 | (1234 * 11 + 2 * 5 + 3) % 31 << 20
        cells = [255 * (word >> bit & 1) for bit in range(25)]
        self.assertEqual(marks.counter(cells, 2), 1234)
        self.assertIsNone(marks.counter(cells, 1))
        cells[0] = 255 - cells[0]
        self.assertIsNone(marks.counter(cells, 2))

    def test_place_in_a_pane(self):
        source = Canvas(720, 1280, 20)
        self.assertEqual(Pane(0, 320, 360, 640).cut(source), (0, 0, 720, 1280))
        self.assertEqual(Pane(0, 320, 360, 640).mark(source), (135, 595, 90))
        # A square keeps the middle of a portrait picture.
        self.assertEqual(Pane(0, 0, 360, 360).cut(source), (0, 280, 720, 720))


class Glass(unittest.TestCase):
    def test_what_the_page_tells(self):
        figures, ratios = glass.judge({"delays": [80, 90, 100, 110], "drawn": 4, "unread": 0, "size": [640, 360]})
        self.assertEqual((figures["wanted"], figures["lost"], figures["invalid"]), (4, 0, []))
        self.assertEqual(ratios["pictures shown, share"], 1)
        self.assertTrue(80 <= ratios["glass to glass p50 ms"] <= ratios["glass to glass p99 ms"] <= 110)

    def test_pictures_that_are_not_shown(self):
        figures, _ = glass.judge({"delays": [80], "drawn": 4, "unread": 2, "size": [640, 360]})
        self.assertIn("1 of 4 pictures recognised, 2 without a number", figures["invalid"])
        self.assertTrue(glass.judge({"delays": [], "drawn": 0, "unread": 0, "size": [0, 0]})[0]["invalid"])
        self.assertEqual(glass.judge({"error": "no picture is shown"}), ({"invalid": ["no picture is shown"]}, {}))

    def test_doubts_about_processes_and_pictures_are_kept(self):
        figures = glass.joined({"cpu": 7, "invalid": ["a process ended"]}, {"lost": 3, "invalid": ["3 lost"]})
        self.assertEqual(figures, {"cpu": 7, "lost": 3, "invalid": ["a process ended", "3 lost"]})

    def test_the_server_passes_offers_on(self):
        service = http.server.HTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        server = glass.Server(service.server_address[1])
        try:
            base = f"http://127.0.0.1:{server.port}"
            self.assertIn(b"<video", urllib.request.urlopen(base + "/?fps=30").read())
            request = urllib.request.Request(base + "/whip/glass/alice", b"v=0", {"Origin": base})
            with urllib.request.urlopen(request) as answer:
                self.assertEqual((answer.status, answer.read()), (201, b"/whip/glass/alice application/sdp None v=0"))
            urllib.request.urlopen(urllib.request.Request(base + "/result", b'{"drawn": 3}')).read()
            self.assertEqual(server.result, {"drawn": 3})
        finally:
            server.end()
            service.shutdown()
            service.server_close()


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        text = f"{self.path} {self.headers['Content-Type']} {self.headers['Origin']} ".encode() + body
        self.send_response(201)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Chunks(unittest.TestCase):
    def read(self, data, step):
        player = rtmp.Player.__new__(rtmp.Player)
        player.chunk, player.lanes, player.buffer, messages = 128, {}, bytearray(), []
        for at in range(0, len(data), step):
            player.buffer += data[at:at + step]
            messages += player._messages()
        return messages

    def test_any_cut(self):
        body = bytes(range(200)) + bytes(100)
        data = b"\x04\x00\x00\x0a\x00\x01\x2c\x09\x01\x00\x00\x00" + body[:128] + b"\xc4" + body[128:256] + b"\xc4"
        data += body[256:] + b"\x44\x00\x00\x32\x00\x00\x02\x08" + b"ab" + b"\x84\x00\x00\x15" + b"cd"
        expected = [(9, 10, body), (8, 60, b"ab"), (8, 81, b"cd")]
        for step in (1, 7, 131, 1000):
            self.assertEqual(self.read(data, step), expected)

    def test_extended_time(self):
        data = b"\x04\xff\xff\xff\x00\x00\x82\x09\x01\x00\x00\x00\x01\x00\x00\x00" + bytes(128)
        data += b"\xc4\x01\x00\x00\x00" + bytes(2)
        self.assertEqual(self.read(data, 3), [(9, 1 << 24, bytes(130))])


class Density(unittest.TestCase):
    @staticmethod
    def step(mixes, lost=0, late=20, fault=""):
        return {"mixes": mixes, "lost": lost, "late p99": late, "fault": fault}

    def test_last_whole_step_counts(self):
        for last in (self.step(3, lost=1), self.step(3, late=251), {"mixes": 3, "why": "no mix comes"}):
            row = density.row([self.step(1), self.step(2), last], 250, 40)
            self.assertEqual((row["mixes"], row["invalid"]), (2, []))

    def test_step_with_a_lost_connection_does_not_count(self):
        steps = [self.step(1), self.step(2, fault="the publisher left")]
        self.assertEqual(density.row(steps, 250, 40)["mixes"], 1)

    def test_side_without_a_whole_mix_is_invalid(self):
        for step in (self.step(1, lost=2), self.step(1, fault="the publisher left"), {"mixes": 1, "why": "no mix comes"}):
            row = density.row([step], 250, 40)
            self.assertEqual((row["mixes"], len(row["invalid"])), (0, 1))
        self.assertIn("no mix comes", row["invalid"][0])

    def test_search_that_found_no_limit_is_invalid(self):
        self.assertIn("--most", density.row([self.step(1), self.step(2)], 250, 2)["invalid"][0])


class Lateness(unittest.TestCase):
    @staticmethod
    def arrivals(late, count=100, group=50):
        """Returns pictures every 40 ms that arrive after 2 ms, and those of `late` after as many ms more as it says."""
        return [lateness.Arrival(n, n % group, 6900, n * 0.04, n * 0.04 + 0.002 + late.get(n, 0) / 1000) for n in range(count)]

    def test_slowest_pictures(self):
        found = self.arrivals({51: 40, 52: 38})
        self.assertEqual([arrival.number for arrival in lateness.slowest(found)], [51, 52])
        self.assertAlmostEqual(lateness.delays(found)[0], 2)
        self.assertAlmostEqual(lateness.delays(found)[2], 42)

    def test_what_the_slowest_have_in_common(self):
        summary, _, first, second = lateness.slowest_table(self.arrivals({51: 40, 52: 38}))
        self.assertIn("slowest 2 of 100: 0 key pictures, 1 right after one; 1 after a late picture", summary)
        self.assertEqual(first.split(), ["51", "1", "6900", "42.00", "no", "no"])
        self.assertEqual(second.split(), ["52", "2", "6900", "40.00", "yes", "no"])

    def test_pictures_of_one_read(self):
        found = self.arrivals({})
        found[50] = found[50]._replace(arrived=found[51].arrived)
        self.assertEqual(lateness.slowest_table(found)[2].split(), ["50", "key", "6900", "42.00", "no", "yes"])

    def test_spacing(self):
        distances, differences = lateness.spacings(self.arrivals({10: 3}))
        self.assertEqual((len(distances), sum(value > lateness.DISTURBED for value in differences)), (99, 2))
        self.assertAlmostEqual(max(distances), 43)
        # The publisher's own pause is none of the server's.
        paused = [arrival._replace(sent=arrival.sent + 1, arrived=arrival.arrived + 1) if arrival.number > 50 else arrival
                  for arrival in self.arrivals({})]
        self.assertLess(max(lateness.spacings(paused)[1]), 0.001)

    def test_missing_pictures_have_no_spacing(self):
        found = [arrival for arrival in self.arrivals({}) if arrival.number != 7]
        self.assertEqual(len(lateness.spacings(found)[0]), 97)
        self.assertIn("too few", lateness.spacing_table([("a", found[:1]), ("b", found)])[2])

    def test_connections_of_a_seed(self):
        first, second = ([strangers.crafted(random.Random(seed)) for seed in range(20)] for _ in range(2))
        self.assertEqual(first, second)


class Plots(unittest.TestCase):
    """The plots that `make bench` writes beside its figures (scripts/bench-plot.py)."""
    script = pathlib.Path(__file__).resolve().parent.parent / "bench-plot.py"
    lines = ("plan of nine                  1200 ns (1500) per plan\n", "plan of nine       900 ns (950) per plan, 12 MB/s\n",
             "durable events: 900/s, p50 1.25 ms, p99 7.5 ms, p99.9 9.00 ms, longest 11 ms\n",
             "  8 destinations: relay 2.50 %, nginx-rtmp 1.25 % of a core\n", "memory: 40 MiB\n",
             "| nodes | first node | database | each other node, idle | under load |\n", "|---|---|---|---|---|\n",
             "| 1 | 150 µs/event | 400 µs/event | – | – |\n", "| 2 | 160 µs/event | 410 µs/event | 1.5 ms/s | 12.0 ms/s |\n",
             "| | events/s | p50 | p99 | services | database |\n",
             "| one service, SQLite | 9000 | 5.0 ms | 10.5 ms | 120 µs | 0 µs |\n",
             "| three nodes, PostgreSQL | 3000 | 20.0 ms | 40.5 ms | 200 µs | 300 µs |\n",
             "| three nodes, PostgreSQL | 5000 | 18.0 ms | 30.5 ms | 220 µs | 280 µs |\n")

    def test_every_kind_of_figure_is_found(self):
        spec = importlib.util.spec_from_file_location("bench_plot", self.script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found = module.figures(self.lines)
        self.assertEqual({kind: {name: (of["median"], of["max"]) for name, of in names.items()} for kind, names in found.items()}, {
            "ns": {"plan of nine, plan": (1200, 1500), "plan of nine, plan (2)": (900, 950)},
            "latency": {
                "durable events": (1.25, 7.5), "one service, SQLite": (5, 10.5), "three nodes, PostgreSQL": (20, 40.5),
                "three nodes, PostgreSQL (2)": (18, 30.5)},
            "cpu": {
                "8 destinations, relay": (2.5, 2.5), "8 destinations, nginx-rtmp": (1.25, 1.25),
                "2 nodes, each other one, idle": (0.15, 0.15), "2 nodes, each other one, under load": (1.2, 1.2)},
            "rate": {"one service, SQLite": (9000, 9000), "three nodes, PostgreSQL": (4000, 5000)},
            "cost": {
                "1 node, the first one": (150, 150), "1 node, database": (400, 400), "2 nodes, the first one": (160, 160),
                "2 nodes, database": (410, 410), "one service, SQLite: services": (120, 120),
                "three nodes, PostgreSQL: services": (210, 220), "three nodes, PostgreSQL: database": (290, 300)}})
        self.assertEqual(set(found), set(module.KINDS))

    def test_a_plot_is_a_drawing(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "pure-ns.svg"
            summary = {"a < b": {"min": 2.0, "median": 2.0, "max": 300.0}, "c": {"min": 1.0, "median": 1.0, "max": 1.0}}
            plot.write(path, "pure", summary, reference=None, logarithmic=True)
            texts = [element.text for element in ElementTree.parse(path).iter() if element.tag.endswith("text")]
            self.assertLessEqual({"pure", "a < b", "c"}, set(texts))


class Stages(unittest.TestCase):
    @staticmethod
    def switch(**recorded):
        return {"latencyMs": 140, "afterKeyframeMs": 100, "stages": recorded}

    def test_parts(self):
        switch = self.switch(planMs=3, mixerMs=4, pictureMs=85, heldMs=125)
        self.assertEqual(stages.ends(switch, 143), [3, 4, 40, 85, 125, 140, 143])
        self.assertEqual(stages.divided(switch, 143), [3, 1, 36, 45, 40, 15, 3])

    def test_what_was_there_before_takes_no_time(self):
        # A mixer that ran already and had made its first picture before the keyframe came.
        self.assertEqual(stages.divided(self.switch(planMs=3, heldMs=125), 143), [3, 0, 37, 0, 85, 15, 3])
        self.assertEqual(stages.divided(self.switch(planMs=3, pictureMs=20, heldMs=125), 143), [3, 0, 37, 0, 85, 15, 3])
        self.assertEqual(sum(stages.divided({"latencyMs": 140, "stages": {}}, 143)), 143)

    def test_table(self):
        rows = stages.table([[3, 1, 36, 45, 40, 15, 3], [5, 1, 36, 45, 20, 15, 3]])
        self.assertEqual(len(rows), 1 + len(stages.PARTS))
        self.assertEqual(rows[1].split(), ["plan", "at", "the", "relay", "5.0", "5.0", "5.0", "5.0"])
        self.assertEqual(rows[-1].split()[-4:], ["3.0", "3.0", "143.0", "143.0"])
        self.assertEqual(stages.table([]), [])


class Medians(unittest.TestCase):
    def test_an_invalid_run_is_left_out(self):
        runs = [{"rows": {"ours": {"invalid": reasons}}, "ratios": {"r": number}}
                for number, reasons in ((1.0, []), (9.0, ["1 frame lost"]), (3.0, []))]
        self.assertEqual(report.medians(runs)["r"], {"median": 2.0, "min": 1.0, "max": 3.0, "runs": 2})


if __name__ == "__main__":
    unittest.main()
