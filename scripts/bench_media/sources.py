"""Publishers. Their streams are encoded once, before anything is measured, and published by one ffmpeg each.

The picture is ffmpeg's moving test picture, or a file given with --footage, with the mark of `mixworker publish` in its
middle: it says which source and which picture it is, so that every picture can be found again in every program.
"""
import shlex
import subprocess
import time

from .errors import BenchError
from .processes import tail

# Longer than every run, so that no stream begins anew while it is measured.
SPARE_SECONDS = 45


class Sources:
    def __init__(self, stage):
        self.stage, self.files = stage, {}

    def file(self, number, picture, gop=2.0):
        """Returns the FLV file of a publisher, encoded at the first call.

        - Parameter picture: `Canvas` with the size and rate of the publisher's picture.
        """
        key = (number, picture, gop)
        if key not in self.files:
            path = self.stage.file(f"source-{number}-{picture.name}-{gop}.flv")
            seconds = self.stage.options.seconds + SPARE_SECONDS
            print(f"  encoding publisher {number}: {picture}, {seconds:.0f} s …", flush=True)
            self._encode(path, number, picture, gop, seconds)
            self.files[key] = path
        return self.files[key]

    def publish(self, name, number, picture, gop=2.0):
        """Publishes in a loop, in real time; returns the process."""
        ffmpeg = self.stage.options.ffmpeg
        return self.stage.processes.start(f"publish-{name}", [
            ffmpeg, "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-re", "-stream_loop", "-1", "-i",
            self.file(number, picture, gop), "-c", "copy", "-flvflags", "no_duration_filesize", "-f", "flv",
            self.stage.live(name)])

    def check(self, publishers):
        """- Raises: `BenchError` if a publisher has ended."""
        for publisher in publishers:
            if publisher.poll() is not None:
                raise BenchError(f"a publisher ended: {tail(publisher)}")

    def _encode(self, path, number, picture, gop, seconds):
        worker = self.stage.options.binary / "mixworker"
        answer = subprocess.run(
            [worker, "publish", "--print", "--id", str(number), "--size", f"{picture.width}x{picture.height}", "--fps",
             str(picture.fps), "--gop", str(gop), "rtmp://127.0.0.1/live/x"], capture_output=True, text=True)
        if answer.returncode:
            raise BenchError(f"{worker} publish --print: {answer.stderr.strip()}")
        words = [word for word in shlex.split(answer.stdout) if word != "-re"]
        graph = next(index for index, word in enumerate(words) if word.startswith("color="))
        words[graph] = self._picture(words[graph], number, picture)
        words = [str(self.stage.options.ffmpeg)] + words[1:-1] + ["-t", str(seconds), "-y", str(path)]
        self.stage.processes.end(self._run(words))

    def _run(self, words):
        child = self.stage.processes.start("encode", words)
        while child.poll() is None:
            time.sleep(0.1)
        if child.returncode:
            raise BenchError(f"ffmpeg cannot encode a publisher: {tail(child)}")
        return child

    def _picture(self, graph, number, picture):
        """Returns `graph` with a moving picture instead of the plain one, under its mark."""
        marks = graph[graph.index("drawbox"):]
        size, footage = f"{picture.width}:{picture.height}", self.stage.options.footage
        if footage:
            base = (f"movie=filename='{footage}':loop=0,setpts=N/FRAME_RATE/TB,fps={picture.fps},"
                    f"scale={size}:force_original_aspect_ratio=increase,crop={size},setsar=1")
        else:
            base = f"testsrc2=s={picture.width}x{picture.height}:r={picture.fps}"
        x, y, edge, cell = picture.mark()
        colour = ("0x5A5A5A", "0xC83232", "0x285AC8", "0x289646", "0xC89628")[number % 5]
        plain = f"drawbox=x={x}:y={y + edge + cell}:w={edge}:h={2 * cell}:color={colour}:t=fill"
        return f"{base},format=yuv420p,{plain},{marks}"
