"""The place of a run: a temporary directory, a private nginx-rtmp on loopback, publishers and the reader."""
import os
import pathlib
import shutil
import signal
import socket
import tempfile

from .errors import BenchError
from .processes import Processes, tail
from .reader import Reader
from .sources import Sources
from .waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
_MODULES = ("/usr/lib/nginx/modules/ngx_rtmp_module.so", "/usr/share/nginx/modules/ngx_rtmp_module.so")


def free_port():
    """Returns a port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_nginx():
    """Returns the paths of nginx and of its RTMP module."""
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    module = next((path for path in _MODULES if os.path.exists(path)), None)
    if not os.access(nginx, os.X_OK) or not module:
        raise BenchError("nginx with the RTMP module is not installed: run deploy/setup.sh --nginx")
    return nginx, module


def find_ffmpeg():
    """Returns the path of ffmpeg."""
    path = shutil.which("ffmpeg")
    if not path:
        raise BenchError("ffmpeg is not installed: run deploy/setup.sh")
    return path


class Stage:
    """Use as a context: everything that was started ends with it, and the directory is removed."""

    def __init__(self, options):
        self.options = options

    def __enter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mix-bench-"))
        (self.directory / "logs").mkdir()
        self.processes = Processes(self.directory / "logs")
        try:
            self._start_media_server()
            self.sources = Sources(self)
            self.reader = None
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        # A second Ctrl-C must not leave anything behind.
        handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        self.processes.end_all()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if self.options.keep:
            print(f"kept: {self.directory}")
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    def open_reader(self):
        """Starts a new reader, for one run."""
        self.reader = Reader(self)
        return self.reader

    def live(self, name):
        """Returns the address of a participant's stream."""
        return f"rtmp://127.0.0.1:{self.rtmp}/live/{name}"

    def program(self, name):
        """Returns the address that a program is pushed to and played from."""
        return f"rtmp://127.0.0.1:{self.rtmp}/cdn/{name}"

    def file(self, name):
        return self.directory / name

    def _start_media_server(self):
        nginx, module = find_nginx()
        directory = self.directory / "nginx"
        (directory / "tmp").mkdir(parents=True)
        self.rtmp, http = free_port(), free_port()
        text = (ROOT / "deploy/nginx-rtmp.conf.in").read_text()
        # In the foreground, for it to be a child that is ended by its identifier.
        words = {"@MODULE@": f"load_module {module};", "@DIRECTORY@": str(directory), "@RTMP_PORT@": str(self.rtmp),
                 "@HTTP_PORT@": str(http), "daemon on;": "daemon off;"}
        for word, value in words.items():
            text = text.replace(word, value)
        if os.getuid() == 0:
            text = "user root;\n" + text
        (directory / "nginx.conf").write_text(text)
        server = self.processes.start("nginx", [
            nginx, "-p", directory, "-e", directory / "error.log", "-c", directory / "nginx.conf"])

        def listens():
            if server.poll() is not None:
                raise BenchError(f"nginx does not start: {tail(server)}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.rtmp)) == 0
        wait_until(listens, "nginx does not listen")
