#!/usr/bin/env python3
"""What another RTMP destination of one bypass costs, beside nginx-rtmp as a fan-out by `push`.

    scripts/bench-outputs.py MIXWORKER [SECONDS]     MIXWORKER of a release build; 20 s for each number of destinations

One person publishes 1.5 Mbit/s to a media server of its own. A relay copies that to 1, 2, 5 and 10 destinations at a sink,
then an nginx-rtmp does the same by `push`. Prints processor time of the relay and of that nginx's worker, in % of a core.
"""
import json, os, pathlib, shutil, socket, subprocess, sys, tempfile, time

COUNTS = (1, 2, 5, 10)
HERE = pathlib.Path(__file__).resolve().parent.parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def media_server(directory, change=lambda text: text):
    """A private nginx-rtmp; returns (rtmp port, pid)."""
    directory.mkdir(parents=True)
    (directory / "tmp").mkdir()
    rtmp, http = free_port(), free_port()
    module = next(p for p in ("/usr/lib/nginx/modules/ngx_rtmp_module.so", "/usr/share/nginx/modules/ngx_rtmp_module.so")
                  if os.path.exists(p))
    text = (HERE / "deploy/nginx-rtmp.conf.in").read_text()
    for word, value in {"@MODULE@": f"load_module {module};", "@DIRECTORY@": str(directory), "@RTMP_PORT@": str(rtmp),
                        "@HTTP_PORT@": str(http)}.items():
        text = text.replace(word, value)
    if os.getuid() == 0:
        text = "user root;\n" + text
    (directory / "nginx.conf").write_text(change(text))
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    subprocess.run([nginx, "-p", str(directory), "-e", str(directory / "error.log"), "-c", str(directory / "nginx.conf")],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            return rtmp, int((directory / "nginx.pid").read_text())
        except (OSError, ValueError):
            time.sleep(0.05)
    sys.exit("nginx does not start: see " + str(directory / "error.log"))


def worker_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def seconds(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def share(pid, duration):
    """In % of a core."""
    before, start = seconds(pid), time.monotonic()
    time.sleep(duration)
    return 100 * (seconds(pid) - before) / (time.monotonic() - start)


class Relay:
    def __init__(self, worker, directory, source):
        self.source, self.revision, path = source, 0, str(directory / "relay.sock")
        self.process = subprocess.Popen(
            [worker, "relay", "--task", "bench", "--socket", path, "--orphan-timeout", "5", "--log-level", "error"],
            stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.control = socket.socket(socket.AF_UNIX)
                self.control.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        self.lines = self.control.makefile("rw")
        self.send({"hello": {"version": 1}})

    def send(self, command):
        self.lines.write(json.dumps(command) + "\n")
        self.lines.flush()

    def push_to(self, urls):
        """Returns when all are live."""
        self.revision += 1
        canvas = {"width": 720, "height": 1280, "fps": 20, "background": "#000000"}
        self.send({"apply": {"_0": {
            "revision": self.revision, "task": "bench", "room": "bench", "causedAt": time.monotonic_ns(), "cause": "bench",
            "sources": [{"id": "host/camera", "url": self.source, "audio": True, "video": True}],
            "mode": {"bypass": {"_0": "host/camera"}},
            "scene": {"canvas": canvas, "panes": [], "overlays": [], "sound": {"levels": []}, "transition": {"duration": 0, "easing": "linear"}},
            "outputs": [{"id": f"o{n}", "url": url} for n, url in enumerate(urls)]}}})
        end = time.monotonic() + 30
        for line in self.lines:
            report = json.loads(line)
            if "refused" in report:
                sys.exit(f"the relay refuses: {report}")
            outputs = report.get("status", {}).get("_0", {}).get("outputs", [])
            if len(outputs) == len(urls) and all(output["state"] == "live" for output in outputs):
                return
            if time.monotonic() > end:
                sys.exit(f"not live within 30 s: {line}")

    def measure(self, duration):
        self.control.setblocking(False)
        try:
            return share(self.process.pid, duration)
        finally:
            self.control.setblocking(True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    worker, duration = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 20
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-outputs-"))
    processes, servers = [], []
    try:
        origin, pid = media_server(directory / "origin")
        servers.append(pid)
        sink, pid = media_server(directory / "sink")
        servers.append(pid)
        source = f"rtmp://127.0.0.1:{origin}/live/host"
        processes.append(subprocess.Popen(
            ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=720x1280:rate=20", "-f", "lavfi", "-i",
             "sine=frequency=440:sample_rate=48000", "-c:v", "libx264", "-preset", "ultrafast", "-b:v", "1400k", "-minrate",
             "1400k", "-maxrate", "1400k", "-bufsize", "700k", "-g", "40", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a",
             "96k", "-f", "flv", source], stdin=subprocess.DEVNULL))
        time.sleep(3)
        relay = Relay(worker, directory, source)
        processes.append(relay.process)
        figures = {}
        for count in COUNTS:
            relay.push_to([f"rtmp://127.0.0.1:{sink}/live/relay-{count}-{n}" for n in range(count)])
            time.sleep(2)
            figures[count] = [relay.measure(duration)]
            pushes = "".join(f" push rtmp://127.0.0.1:{sink}/live/nginx-{count}-{n};" for n in range(count))
            fan, pid = media_server(
                directory / f"fan-{count}",
                lambda text: text.replace("application live {", "application live {" + pushes, 1))
            servers.append(pid)
            copy = subprocess.Popen(
                ["ffmpeg", "-v", "error", "-analyzeduration", "500000", "-probesize", "300000", "-i", source, "-c", "copy", "-f", "flv", f"rtmp://127.0.0.1:{fan}/live/in"],
                stdin=subprocess.DEVNULL)
            processes.append(copy)
            time.sleep(6)
            figures[count].append(share(worker_of(pid), duration))
            copy.kill()
            print(f"{count:3} destinations: relay {figures[count][0]:.2f} %, nginx-rtmp {figures[count][1]:.2f} % of a core",
                  flush=True)
        first, last = COUNTS[0], COUNTS[-1]
        slopes = [(figures[last][n] - figures[first][n]) / (last - first) for n in (0, 1)]
        print(f"per further destination: relay {slopes[0]:.3f} %, nginx-rtmp {slopes[1]:.3f} % of a core; "
              f"load {os.getloadavg()[0]:.1f}")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for pid in servers:
            try:
                os.kill(pid, 15)
            except OSError:
                pass
        shutil.rmtree(directory, ignore_errors=True)


main()
