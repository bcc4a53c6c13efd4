"""Attacks on the state of a service: tasks, data, addresses, its store, its relays and its viewers.

Each attack takes the arguments and returns (expected, seen, whether it held).
"""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time
import urllib.parse

from attacks.stage import Connections, DEFAULT, ROOT, SHOP, Service, WITHOUT_PROGRAMS, event


def waiting_tasks(options):
    with Service(options.service, WITHOUT_PROGRAMS.replace("cores: 0", "cores: 0.1")) as service:

        def cost():
            """In ms: the best of three medians, because whatever else the machine does makes it longer."""
            medians = []
            for _ in range(3):
                runs = []
                for number in range(30):
                    before = time.monotonic()
                    service.publish("probe", user=f"u{number % 5}", token=SHOP)
                    runs.append((time.monotonic() - before) * 1000)
                medians.append(statistics.median(runs))
                time.sleep(0.5)
            return min(medians)

        alone = cost()
        made = {}
        for number in range(options.tasks):
            status = service.call("PUT", f"/v1/rooms/w{number}", {
                "outputs": [{"id": "o", "url": f"rtmp://127.0.0.1:1/cdn/w{number}"}]})[0]
            made[status] = made.get(status, 0) + 1
            service.publish(f"w{number}")
        beside = cost()
        return ("cost of an event ≤ 2×", f"{options.tasks} rooms {made}: {alone:.1f} → {beside:.1f} ms",
                beside <= 2 * alone + 1)


def feeds(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service, Connections() as connections:
        for number in range(20):
            service.publish(f"r{number}", token=SHOP)
        service.publish("r0")

        def listen(token, room):
            connection = socket.create_connection(("127.0.0.1", service.port), timeout=30)
            connections.append(connection)
            connection.sendall(
                f"GET /v1/rooms/r{room}/feed HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            return int(connection.recv(64).split(b" ")[1])

        greedy = [listen(SHOP, number % 20) for number in range(1100)]
        other = listen(DEFAULT, 0)
        opened = greedy.count(200)
        return "shop is limited to 1024, default is served", f"shop {opened} of 1100, default {other}", opened <= 1024 and other == 200


def removed_data(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        service.publish("r")
        os.rename(service.data, str(service.data) + ".gone")
        limit = time.monotonic() + 60
        status = ready = 0
        while time.monotonic() < limit and not (status == 503 and ready == 503):
            status = service.publish("r", user="b")[0]
            ready = service.call("GET", "/readyz", token=None)[0]
            time.sleep(0.2)
        return "event 503, /readyz 503", f"{status}, {ready}", status == ready == 503


def loopback_of_tenants(options):
    with Service(options.service, "admission: { cores: 0 }\n") as service:
        hosts = ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]",
                 "169.254.169.254", "[fe80::1]", "0.0.0.0", "10.0.0.1", "224.0.0.1"]
        taken = [host for host in hosts if service.publish("r", url=f"rtmp://{host}/live/a")[0] < 400]
        hook = service.call("POST", "/v1/subscriptions", {"url": "http://127.0.0.1:1/hook", "events": ["*"]})[0]
        output = service.call("PUT", "/v1/rooms/r", {"outputs": [{"id": "o", "url": "rtmp://127.0.0.1/cdn/r"}]})[0]
        warned = "/live are open to everyone" in service.log() and "sources.allow is empty" in service.log()
        return ("all refused, told at start", f"taken {taken or 'none'}, webhook {hook}, output {output}, told {warned}",
                not taken and hook >= 400 and output >= 400 and warned)


def odd_http(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        auth = f"Authorization: Bearer {DEFAULT}\r\nContent-Type: application/json\r\n".encode()
        seen = {
            "two hosts": service.raw(b"GET /v1/rooms HTTP/1.1\r\nHost: a\r\nHost: b\r\n" + auth + b"\r\n"),
            "bad chunk": service.raw(b"POST /v1/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + auth
                                     + b"\r\nzz\r\n{}\r\n0\r\n\r\n"),
            "huge chunk": service.raw(b"POST /v1/events HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + auth
                                      + b"\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
            "no HTTP": service.raw(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n"),
        }
        expecting = service.raw(b"POST /v1/rooms/r/events HTTP/1.1\r\nHost: a\r\n" + auth
                                + b"Expect: 100-continue\r\nContent-Length: 40\r\n\r\n")
        good = all(" 400 " in f"{line} " or not line for line in seen.values())
        good = good and any(code in expecting for code in (" 100", " 417"))
        return "400 each; 100 Continue", ", ".join(f"{name}: {line[9:12] or 'closed'}" for name, line in seen.items()) \
            + f"; expect: {expecting[9:12]}", good


def low(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        seen = {}
        nul = [{**event(0, "n"), "id": f"same\0{n}"} for n in range(2)]
        seen["id with NUL"] = service.batch(nul)[0]
        seen["year 0000"] = service.batch([{**event(1, "n"), "time": "0000-01-01T00:00:00+23:59"}])[0]
        seen["year 9999"] = service.batch([{**event(2, "n"), "time": "9999-12-31T23:59:59-23:59"}])[0]
        seen["newline in a user"] = service.publish("n", user="a\nlevel=error forged")[0]
        seen["400,000 marks"] = service.call("POST", "/v1/rooms/n/events", json.dumps(
            {"type": "participant.joined", "user": "a", "name": "a" + "\u0301" * 400_000}, ensure_ascii=False))[0]
        solo = (ROOT / "layouts/solo.json").read_bytes()
        put = service.call("PUT", "/v1/layouts/bom", b"\xef\xbb\xbf" + solo)
        answer = service.call("GET", "/v1/layouts/bom")
        try:
            json.loads(answer[2])
            seen["layout with BOM"] = f"{put[0]}, JSON"
        except ValueError:
            seen["layout with BOM"] = f"{put[0]}, {answer[0]} not JSON" if put[0] < 400 else f"{put[0]}"
        good = all(400 <= seen[name] < 500 for name in seen if name not in ("layout with BOM", "400,000 marks")) \
            and "not JSON" not in seen["layout with BOM"] and seen["400,000 marks"] < 500
        return "refused with 4xx; JSON stays JSON", ", ".join(f"{name}: {status}" for name, status in seen.items()), good


def killed_under_load(options):
    """kill -9 while events come in: whatever was answered 202 is there afterwards."""
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        answered, stop, lock = [], threading.Event(), threading.Lock()

        def post(worker):
            number = 0
            while not stop.is_set():
                number += 1
                room = f"k{worker}-{number}"
                try:
                    if service.publish(room)[0] == 202:
                        with lock:
                            answered.append(room)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.02)

        threads = [threading.Thread(target=post, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(options.kills):
            time.sleep(random.uniform(0.05, 0.3))
            service.stop(signal.SIGKILL)
            service.start()
        stop.set()
        for thread in threads:
            thread.join()
        lost = [room for room in answered if service.call("GET", f"/v1/rooms/{room}")[0] != 200]
        return (f"{options.kills} kills, nothing lost", f"{len(answered)} answered, {len(lost)} lost",
                not lost and len(answered) > options.kills)


def broken_store(options):
    """Bytes flipped in the file, a log cut short, a table gone: the service starts or says why not, and never traps."""
    with Service(options.service, WITHOUT_PROGRAMS) as service:
        for number in range(200):
            service.publish(f"room-{number}")
        service.stop(signal.SIGKILL)
        kept = str(service.directory / "kept")
        shutil.copytree(service.data, kept, ignore=shutil.ignore_patterns("relays"))
        seen = {"started": 0, "refused with a reason": 0}
        draw = random.Random(options.seed)
        for round_number in range(options.stores):
            shutil.rmtree(service.data)
            shutil.copytree(kept, service.data)
            name = draw.choice(["orchestrator.sqlite", "orchestrator.sqlite-wal"])
            path = service.data / name
            if not path.exists():
                path = service.data / "orchestrator.sqlite"
            content = bytearray(path.read_bytes())
            if draw.random() < 0.3:
                content = content[:draw.randrange(len(content) + 1)]
            else:
                for _ in range(draw.choice([1, 10, 100])):
                    if content:
                        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
            before = len(service.log())
            try:
                service.start()
                for number in (0, 100, 199):
                    service.call("GET", f"/v1/rooms/room-{number}")
                service.publish("new")
                if service.process.poll() is not None:
                    return "no trap", f"round {round_number} of seed {options.seed}: ended with {service.process.returncode}", False
                seen["started"] += 1
                service.stop()
            except RuntimeError as error:
                if service.process.returncode != 1 or "mixorchestrator: " not in service.log()[before:]:
                    return "no trap", f"round {round_number} of seed {options.seed}: {error}", False
                seen["refused with a reason"] += 1
        return f"{options.stores} stores: starts, or states why not", ", ".join(f"{v} {k}" for k, v in seen.items()), True


def many_rooms_and_relays(options):
    """Rooms with real relays that copy one publisher, beside rooms that only have streams."""
    worker = pathlib.Path(options.service).resolve().parent / "mixworker"
    with Service(options.service, WITHOUT_PROGRAMS + "relay: { readyMixer: false }\noverload: { highestLevel: 0 }\n") as service:
        media = service.directory / "media"
        publisher = None
        try:
            started = subprocess.run([ROOT / "deploy/media-server.sh", "start", media], check=True, capture_output=True, text=True)
            port = next(line.split("=")[1] for line in started.stdout.splitlines() if line.startswith("RTMP_PORT="))
            publisher = subprocess.Popen([worker, "publish", f"rtmp://127.0.0.1:{port}/live/x", "--size", "180x320", "--bitrate",
                                          "200000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Rooms beyond the quota would leave none for the programs.
            for first in range(0, min(options.rooms // 2, 10_000), 500):
                service.batch([event(n, f"room-{n}") for n in range(first, first + 500)])
            for number in range(options.relays):
                service.call("PUT", f"/v1/rooms/on-{number}", {
                    "outputs": [{"id": "o", "url": f"rtmp://127.0.0.1:{port}/cdn/on-{number}"}]})
                service.publish(f"on-{number}", url=f"rtmp://127.0.0.1:{port}/live/x")

            def on_air():
                tasks, after = [], None
                while True:
                    page = json.loads(service.call("GET", "/v1/tasks?limit=1000" + (f"&after={after}" if after else ""))[2])
                    tasks += page["tasks"]
                    after = page.get("next") and urllib.parse.quote(page["next"], safe="")
                    if not after:
                        # A copy gives way to a mix while a busy machine holds its publisher up.
                        return sum(task.get("onAir") in ("bypass", "mix") for task in tasks)

            limit = time.monotonic() + 180 + options.relays
            while on_air() < options.relays and time.monotonic() < limit:
                time.sleep(0.5)
            before = service.relays()
            delays = []
            for number in range(200):
                began = time.monotonic()
                service.publish("mine", user=f"u{number % 5}", token=SHOP)
                delays.append((time.monotonic() - began) * 1000)
            delays.sort()
            live, after = on_air(), service.relays()
            return (f"{options.relays} programs stay on air, event p99 ≤ {20 * options.slowness:.0f} ms",
                    f"{live} on air, {len(set(before) & set(after))} the same relays, p99 {delays[197]:.1f} ms",
                    live == len(set(before) & set(after)) == options.relays and delays[197] <= 20 * options.slowness)
        finally:
            if publisher:
                publisher.kill()
                publisher.wait()
            subprocess.run([ROOT / "deploy/media-server.sh", "stop", media], check=False)


def flood_of_viewers(options):
    with Service(options.service, WITHOUT_PROGRAMS) as service, Connections() as connections:
        for number in range(2000):
            connection = socket.create_connection(("127.0.0.1", service.port), timeout=30)
            connection.sendall(f"GET /live/nobody-{number % 50}.flv HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            connections.append(connection)
        delays = []
        for _ in range(50):
            began = time.monotonic()
            status = service.publish("r")[0]
            delays.append((time.monotonic() - began) * 1000)
        usual = sorted(delays)[len(delays) * 9 // 10]
        return (f"nine of ten events answered in ≤ {100 * options.slowness:.0f} ms",
                f"2000 viewers: {status}, {usual:.0f} ms, longest {max(delays):.0f} ms",
                status == 202 and usual <= 100 * options.slowness)
