"""The cost of a page, compared with the usual way."""
import os
import pwd
import statistics
import subprocess
import time

from bench_media.canvas import Canvas
from bench_media.errors import BenchError
from bench_media.processes import descendants, tail
from bench_media.stage import free_port
from bench_media.usage import Account, total
from bench_media.waiting import wait_until
from bench_pages.page import CHROMIUM, SETTLING, open_page, page_workers, start_service, wait_for_air


class UsualWay:
    """Chromium at 60 Hz on Xvfb with PulseAudio, taken by ffmpeg with x264 `veryfast`."""

    def __init__(self, stage, options, canvas, url):
        self.stage = stage
        directory = stage.directory / f"usual-{free_port()}"
        directory.mkdir(mode=0o711)
        os.chmod(stage.directory, 0o711)
        self.user = options.user if os.geteuid() == 0 else None
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(directory, account.pw_uid, account.pw_gid)
        read, write = os.pipe()
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(directory),
                       "XDG_RUNTIME_DIR": str(directory), "PULSE_SERVER": f"unix:{directory}/pulse.sock",
                       "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:"}
        self.display = self._start(
            "xvfb", ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{canvas.width + 8}x{canvas.height + 8}x24", "-nolisten",
                     "tcp"], environment, pass_fds=(write,))
        os.close(write)
        # To its end: Xvfb writes the number and the line's end apart, and dies if it cannot write the second.
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        environment["DISPLAY"] = f":{number}"
        self.sound = self._start(
            "pulse", ["pulseaudio", "-n", "--exit-idle-time=-1", "--daemonize=no", "--use-pid-file=no", "--disable-shm=yes",
                      "-L", f"module-native-protocol-unix auth-anonymous=1 socket={directory}/pulse.sock",
                      "-L", "module-null-sink sink_name=page rate=48000 channels=2"], environment)
        wait_until(lambda: (directory / "pulse.sock").exists(), "pulseaudio does not start")
        self.browser = self._start(
            "chromium", [CHROMIUM, f"--user-data-dir={directory}/profile", "--kiosk", f"--app={url}",
                         f"--window-size={canvas.width},{canvas.height}", "--window-position=0,0", "--disable-gpu",
                         "--force-device-scale-factor=1", "--hide-scrollbars", "--no-first-run", "--no-default-browser-check",
                         "--autoplay-policy=no-user-gesture-required", "--disable-background-networking",
                         "--disable-component-update", "--disable-extensions", "--disable-dev-shm-usage",
                         "--password-store=basic"], environment)
        time.sleep(5)
        kbits = round(canvas.width * canvas.height * canvas.fps * 0.1 / 1000)
        self.path = stage.file(f"{directory.name}.flv")
        self.capture = self.stage.processes.start(
            "capture", [options.ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", "-y", "-f", "x11grab", "-draw_mouse", "0",
                        "-framerate", canvas.fps, "-video_size", f"{canvas.width}x{canvas.height}", "-i", f":{number}", "-f",
                        "pulse", "-i", "page.monitor", "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency",
                        "-pix_fmt", "yuv420p", "-b:v", f"{kbits}k", "-maxrate", f"{kbits}k", "-bufsize", f"{kbits}k", "-g",
                        2 * canvas.fps, "-c:a", "aac", "-b:a", "128k", "-f", "flv", self.path],
            env={**environment, "XDG_RUNTIME_DIR": str(directory)})

    def _start(self, name, arguments, environment, **more):
        drop = ["setpriv", "--reuid", self.user, "--regid", str(pwd.getpwnam(self.user).pw_gid), "--clear-groups"] if self.user else []
        return self.stage.processes.start(name, drop + arguments, env=environment, **more)

    @property
    def processes(self):
        roots = [self.display.pid, self.sound.pid, self.browser.pid, self.capture.pid]
        return [pid for root in roots for pid in [root, *descendants(root)]]

    def end(self):
        """Returns how many pictures were encoded per second."""
        for child in (self.display, self.sound, self.browser, self.capture):
            if child.poll() is not None:
                raise BenchError(f"the usual way has ended by itself, and cost nothing from then on: {tail(child)}")
        self.stage.processes.end(self.capture, self.browser, self.sound, self.display)
        answer = subprocess.run(
            ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", self.path],
            capture_output=True, text=True)
        times = [float(line.strip(",")) for line in answer.stdout.split() if line.strip(",") not in ("", "N/A")]
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0


def use(processes, duration):
    """Returns cores and MiB of a group of processes."""
    if not processes():
        raise BenchError("the processes to be measured are not there")
    account = Account(lambda: {"all": processes()})
    account.open()
    time.sleep(duration)
    result, doubts = account.close()
    for doubt in doubts:
        print(f"  doubtful: {doubt}", flush=True)
    return total(result, "cpu") / 100, total(result, "memory")


def rest(begin):
    """Waits until a browser that was started at `begin`, in ns, has settled."""
    time.sleep(max(0.0, SETTLING - (time.monotonic_ns() - begin) / 1e9))


def cost_of_page(stage, options, canvas, pages):
    """Returns cores and MiB of a page of the service."""
    service = start_service(stage, options, canvas)
    begin = open_page(service, "cost", pages.url("/page30"))
    wait_for_air(service, "cost")
    rest(begin)
    worker = page_workers(service)[0]
    found = use(lambda: [worker, *descendants(worker)], options.seconds)
    service.end()
    return found


def cost_of_usual_way(stage, options, canvas, pages):
    """Returns cores of the same page in the usual way, and its pictures per second."""
    begin = time.monotonic_ns()
    way = UsualWay(stage, options, canvas, pages.url("/page30"))
    rest(begin)
    cores, _ = use(lambda: way.processes, options.seconds)
    return cores, way.end()


def measure_cost(stage, options, table, pages):
    canvas = Canvas.parse("1280x720@30")
    ours, usual, memory, rates = [], [], [], []
    for number in range(options.runs):
        # Either side is first in turn: the speed of a shared machine changes from minute to minute.
        sides = [cost_of_page, cost_of_usual_way]
        found = {}
        for side in sides if number % 2 == 0 else sides[::-1]:
            found[side] = side(stage, options, canvas, pages)
        cores, mebibytes = found[cost_of_page]
        other, rate = found[cost_of_usual_way]
        rates.append(rate)
        ours.append(cores)
        usual.append(other)
        memory.append(mebibytes)
        print(f"  run {number + 1}: {cores:.2f} cores beside {other:.2f}, load {os.getloadavg()[0]:.1f}", flush=True)
    ratios = [mine / other for mine, other in zip(ours, usual)]
    table.add("1280x720@30: cores of a page", f"{statistics.median(ours):.2f} ({min(ours):.2f} to {max(ours):.2f})", "0.5",
              statistics.median(ours) <= 0.5)
    table.add("1280x720@30: cores of the usual way", f"{statistics.median(usual):.2f} ({min(usual):.2f} to {max(usual):.2f}), "
              f"{statistics.median(rates):.1f} pictures/s", "", None)
    table.add("1280x720@30: a page in parts of the usual way", f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
              "0.75", statistics.median(ratios) <= 0.75)
    table.add("1280x720@30: memory of a page", f"{statistics.median(memory):.0f} MiB", "512 MiB", statistics.median(memory) <= 512)
