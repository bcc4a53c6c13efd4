"""Attacks with requests: names, times, archives, paging and callers without a signature.

Each attack takes the arguments and returns (expected, seen, whether it held).
"""

import http.server
import json
import multiprocessing
import signal
import socket
import statistics
import struct
import threading
import time
import urllib.parse

from attacks.stage import ALLOW, Connections, DEFAULT, SHOP, Service, WITHOUT_PROGRAMS, event, free_port


def two_spellings(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        first = service.publish("caf\u00e9")[0]
        second = service.publish("cafe\u0301")[0]
        service.stop(signal.SIGKILL)
        service.start()
        again = service.call("GET", "/v1/rooms/" + urllib.parse.quote("caf\u00e9"))[0]
        return ("NFC 202, NFD 4xx, starts again", f"{first}, {second}, room {again}",
                first == 202 and 400 <= second < 500 and again == 200)


def combining_marks(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        statuses = [service.publish(name, token=SHOP)[0] for name in ("\u0301x", "\u200dx", "\ufe0fx", "\u0903x")]
        rooms = json.loads(service.call("GET", "/v1/rooms")[2])["rooms"]
        return ("4xx, no room of shop at default", f"{statuses}, {len(rooms)} rooms at default",
                all(400 <= status < 500 for status in statuses) and not rooms)


def crafted_times(options):
    """Some thousand audio messages of two bytes, each 0x7FFFFFFF ms after the one before, behind a good beginning."""
    def tag(kind, at, body):
        head = struct.pack(">B", kind) + len(body).to_bytes(3, "big") + (at & 0xFFFFFF).to_bytes(3, "big")
        head += struct.pack(">B", at >> 24 & 0xFF) + b"\0\0\0"
        return head + body + struct.pack(">I", len(body) + 11)

    served = threading.Event()

    class Publisher(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "video/x-flv")
            self.end_headers()
            try:
                self.wfile.write(b"FLV\x01\x05\0\0\0\x09\0\0\0\0" + tag(8, 0, b"\xaf\0\x11\x90"))
                for number in range(20):
                    self.wfile.write(tag(8, number * 21, b"\xaf\x01" + bytes(32)))
                at = 0
                for _ in range(5000):
                    at = (at + 0x7FFFFFFF) & 0xFFFFFFFF
                    self.wfile.write(tag(8, at, b"\xaf\x01"))
                served.set()
                time.sleep(4)
            except OSError:
                served.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Service(options.service, ALLOW + f'rooms: {{ outputs: ["rtmp://127.0.0.1:{free_port()}/cdn/{{room}}"] }}\n') as service:
        service.publish("evil", url=f"http://127.0.0.1:{server.server_port}/evil.flv")
        limit = time.monotonic() + 60
        while not served.is_set() and time.monotonic() < limit:
            time.sleep(0.05)
        before = service.relays()
        time.sleep(3)
        after = service.relays()
        return ("one relay, the same", f"{len(before)} before, {'the same' if before == after else after} after",
                served.is_set() and len(before) == 1 and before == after)


def one_request(options):
    """The dearest single requests known, each by the processor time that the service spends on it."""
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        service.publish("r")
        brackets = "a://" + "[" * 20_000
        megabyte = (1 << 20) - 4096
        requests = {
            "brackets in a path": ("GET", "/v1/rooms/" + urllib.parse.quote(brackets[:15_000]), None),
            "brackets in a name": ("POST", "/v1/rooms/r/events",
                                   {"type": "participant.joined", "user": "a", "name": "a://" + "[" * (megabyte - 200)}),
            "a key of 900 kB": ("POST", "/v1/rooms/r/events", '{"' + "k" * 900_000 + '":1}'),
            "a million brackets": ("POST", "/v1/rooms/r/events", "[" * megabyte),
            "many URLs": ("POST", "/v1/rooms/r/events",
                          {"type": "participant.joined", "user": "a", "name": "a://b " * (megabyte // 7)}),
            "marks": ("POST", "/v1/rooms/r/events",
                      json.dumps({"type": "participant.joined", "user": "a", "name": "a" + "\u0301" * (megabyte // 2 - 200)},
                                 ensure_ascii=False)),
            "many members": ("POST", "/v1/rooms/r/events",
                             "{" + ",".join(f'"k{n}":0' for n in range(90_000)) + "}"),
        }
        worst, times = "", {}
        for name, (method, path, body) in requests.items():
            runs = []
            for _ in range(5):
                before = service.processor_time()
                status, _, text = service.call(method, path, body)
                runs.append(service.processor_time() - before)
                if status >= 500 or len(text) > 8192:
                    return "no 5xx, short answers", f"{name}: {status}, {len(text)} bytes", False
            times[name] = statistics.median(runs) * 1000
        worst = max(times, key=times.get)
        limit = 50 * options.slowness
        return (f"each ≤ {limit:.0f} ms of CPU time", f"longest {times[worst]:.0f} ms ({worst})", times[worst] <= limit)


def archives(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        path = service.data / "hls/default/r/1700000000000"
        path.mkdir(parents=True)
        (path / "session.json").write_text('{"isEnded":true,"settings":{"enableVOD":true}}')
        (path / "vod.m3u8").write_text("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo-vod.m3u8\n")
        (path / "video-vod.m3u8").write_text("#EXTM3U\n#EXT-X-ENDLIST\n")
        (path / "video-1.ts").write_bytes(bytes(188))
        line = '{{"variant":"video","entry":{{"number":{0},"uri":"video-{0}.ts","isGap":false,"bytes":188,"checksum":1}}}}\n'
        with open(path / "segments.jsonl", "w") as lines:
            lines.writelines(line.format(number) for number in range(1, 86_001))
        zip_path = "/live/r/vod/1700000000000.zip"
        first = service.call("HEAD", zip_path, token=None)[0]
        before = service.processor_time()
        for _ in range(20):
            service.call("HEAD", zip_path, token=None)
        each = (service.processor_time() - before) / 20 * 1000
        stop = threading.Event()

        def ask():
            while not stop.is_set():
                service.call("GET", zip_path, token=None, headers={"Range": "bytes=0-99"})

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        delays = []
        for _ in range(50):
            began = time.monotonic()
            service.call("GET", "/live/r/hls/1700000000000/video-1.ts", token=None)
            delays.append(time.monotonic() - began)
        stop.set()
        for thread in threads:
            thread.join()
        limit = 50 * options.slowness
        # Zips that hold a service up hold up every segment, a machine that does something else some of them.
        usual, patience = sorted(delays)[len(delays) * 9 // 10], max(0.5, 0.1 * options.slowness)
        return (f"zip again ≤ {limit:.0f} ms, nine of ten segments ≤ {patience:.1f} s",
                f"{first}, {each:.0f} ms, segments {usual:.2f} s, at most {max(delays):.2f} s",
                first == 200 and each <= limit and usual <= patience)


def neighbour(service, stop, report):
    """Publishes for another tenant every 10 ms. In a process of its own, so that batches do not share an interpreter with it."""
    delays, statuses = [], []
    while not stop.is_set():
        began = time.monotonic()
        statuses.append(service.publish("mine", user=f"u{len(delays) % 10}", token=SHOP)[0])
        delays.append((time.monotonic() - began) * 1000)
        time.sleep(0.01)
    report.send((sorted(delays), sorted(set(statuses))))


def rooms_without_bound(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        before = service.resident()
        apart = multiprocessing.get_context("fork")
        stop = apart.Event()
        receiver, sender = apart.Pipe(duplex=False)
        process = apart.Process(target=neighbour, args=(service, stop, sender))
        process.start()
        answers = {}
        for first in range(0, options.rooms, 500):
            status = service.batch([event(n, f"room-{n}") for n in range(first, first + 500)])[0]
            answers[status] = answers.get(status, 0) + 1
        stop.set()
        delays, statuses = receiver.recv()
        process.join()
        peak = service.resident()
        p50, p99 = delays[len(delays) // 2], delays[len(delays) * 99 // 100]
        service.stop(signal.SIGKILL)
        restart = service.start()
        good = (p99 <= 20 * options.slowness and peak <= 512 and restart <= 5 * options.slowness
                and statuses == [202] and not any(status >= 500 for status in answers))
        return (f"neighbour p99 ≤ {20 * options.slowness:.0f} ms, ≤ 512 MiB, restart ≤ {5 * options.slowness:.0f} s",
                f"{options.rooms} rooms (batches by answer: {answers}): {len(delays)} events, p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
                f"{before:.0f} → {peak:.0f} MiB, restart {restart:.1f} s", good)


def unsigned_callers(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service, Connections() as connections:
        service.call("POST", "/", b"x", token=None)
        before = service.resident()
        body = b"a" * ((1 << 20) - 1)
        for number in range(200):
            connection = socket.create_connection(("127.0.0.1", service.port), timeout=30)
            connections.append(connection)
            kind = b"application/x-www-form-urlencoded" if number % 2 else b"application/json"
            connection.settimeout(0.5)
            try:
                connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: " + kind
                                   + b"\r\nContent-Length: 1048576\r\n\r\n" + body)
            except OSError:
                pass
        time.sleep(1)
        grown = service.resident() - before
        alive = service.call("GET", "/healthz", token=None)[0]
        return "≤ 32 MiB for 200", f"{grown:.0f} MiB, /healthz {alive}", grown <= 32 and alive == 200


def paging(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        for token, prefix in ((DEFAULT, "d"), (SHOP, "s"), (DEFAULT, "z"), (DEFAULT, "\U0001F600")):
            for number in range(7):
                service.publish(f"{prefix}{number}", token=token)
        wrong = []
        for limit in range(1, 10):
            seen, after = [], None
            for _ in range(100):
                path = f"/v1/rooms?limit={limit}" + (f"&after={urllib.parse.quote(after, safe='')}" if after else "")
                page = json.loads(service.call("GET", path)[2])
                seen += [room["id"] for room in page["rooms"]]
                after = page.get("next")
                if not after:
                    break
            if not len(seen) == len(set(seen)) == 21:
                wrong.append(f"{len(seen)} by {limit}")
        return "21 rooms of default, each once, with any limit", ", ".join(wrong) or "21", not wrong
