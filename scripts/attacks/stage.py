"""The service that is attacked, and the requests that several attacks make."""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT, SHOP = "0123456789abcdef-default", "0123456789abcdef-shop"
SECRET = "attack-secret-0123456789"


def free_port():
    """Below the system's range for connections, any of which might take it before the service listens."""
    system = random.SystemRandom()
    while True:
        port = system.randrange(4_000, 10_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class Service:
    """A service with two apps, in a directory of its own."""

    def __init__(self, binary, more="", tokens=True, scopes="events, tasks, layouts, read"):
        self.binary = binary
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mix-attack."))
        self.data = self.directory / "data"
        self.port = free_port()
        self.process = None
        shutil.copytree(ROOT / "layouts", self.directory / "layouts")
        apps = (
            f"apps:\n  - id: default\n    tokens: [{{ token: {DEFAULT}, scopes: [{scopes}] }}]\n"
            f"  - id: shop\n    tokens: [{{ token: {SHOP}, scopes: [{scopes}] }}]\n"
            f"    accessKeys: [{{ id: shop-key, secret: {SECRET} }}]\n"
        )
        self.configuration = self.directory / "service.yaml"
        self.configuration.write_text((apps if tokens else "") + more)
        self.configuration.chmod(0o600)

    def start(self):
        log = open(self.directory / "log", "ab")
        began = time.monotonic()
        self.process = subprocess.Popen(
            [self.binary, "serve", "--config", str(self.configuration), "--listen", f"127.0.0.1:{self.port}",
             "--data", str(self.data), "--layouts", str(self.directory / "layouts")],
            stdout=log, stderr=log, start_new_session=True)
        while time.monotonic() < began + 60:
            if self.process.poll() is not None:
                raise RuntimeError(f"the service ended with {self.process.returncode}: {self.log()[-800:]}")
            try:
                if self.call("GET", "/healthz", token=None)[0] == 200:
                    return time.monotonic() - began
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError("the service does not answer within 60 s")

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self):
        return (self.directory / "log").read_text(errors="replace")

    def call(self, method, path, body=None, token=DEFAULT, headers=(), timeout=60):
        """(status, headers, text)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            fields = dict(headers)
            if token:
                fields["Authorization"] = f"Bearer {token}"
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            if isinstance(body, str):
                body = body.encode()
            connection.request(method, path, body=body, headers=fields)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def publish(self, room, user="a", token=DEFAULT, **more):
        body = {"type": "stream.published", "user": user, "url": "rtmp://127.0.0.1:1935/live/x", **more}
        return self.call("POST", f"/v1/rooms/{urllib.parse.quote(room, safe='')}/events", body, token)

    def batch(self, events, token=DEFAULT):
        return self.call("POST", "/v1/events", json.dumps(events), token,
                         {"Content-Type": "application/cloudevents-batch+json"})

    def processor_time(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        """In MiB."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def raw(self, text, wait=30.0):
        """The first line of the answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            connection.sendall(text)
            try:
                return connection.recv(4096).split(b"\r\n", 1)[0].decode(errors="replace")
            except socket.timeout:
                return "no answer"

    def relays(self):
        """Pids of this service's relays."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    parent = int((entry / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
                if b"relay" in words and any(str(self.data).encode() in word for word in words):
                    found[int(entry.name)] = (parent, words)
        # A child that has not begun its own program yet has the arguments of its parent.
        return sorted(pid for pid, (parent, words) in found.items() if found.get(parent, (0, None))[1] != words)


class Connections(list):
    """Sockets that are closed at the end of a block."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self:
            connection.close()


def event(number, room, user="a", source="attack"):
    return {"specversion": "1.0", "id": f"e{number}", "source": source, "type": "stream.published", "subject": room,
            "data": {"user": user, "url": "rtmp://127.0.0.1:1935/live/x"}}


ALLOW = ('sources: { allow: ["rtmp://127.0.0.1", "http://127.0.0.1"] }\noutputs: { allow: ["rtmp://127.0.0.1"] }\n'
         'callbacks: { allow: ["http://127.0.0.1"] }\nadmission: { cores: 0 }\n'
         "http: { rate: { requests: 0, events: 0, failures: 0 } }\n")
# Rooms of which only the service's work for them is judged: no program each.
WITHOUT_PROGRAMS = ALLOW + "rooms: { outputs: [] }\n"
