"""The same jobs by ffmpeg: copying a stream, and mixing several with the encoder settings of our mixer."""
import time

from .errors import BenchError
from .processes import tail
from .waiting import wait_until

_QUIET = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning"]
# Live input. nginx-rtmp sends no picture before the next keyframe, so the format is not known for up to 2 s.
_LIVE = ["-fflags", "nobuffer", "-analyzeduration", "3000000", "-probesize", "3000000"]
_FLV = ["-flvflags", "no_duration_filesize", "-f", "flv"]


def copy_arguments(options, source, output):
    return [options.ffmpeg, *_QUIET, *_LIVE, "-i", source, "-c", "copy", *_FLV, output]


def encoder_arguments(options, canvas):
    """Returns what our mixer's encoders are set to: X264Settings.own and AACEncoder in Sources/ProgramMixer/Encoders."""
    rate = f"{canvas.bitrate}k"
    extra = f":{options.x264}" if options.x264 else ""
    return ["-c:v", "libx264", "-preset", options.preset, "-tune", "zerolatency", "-threads", "1", "-pix_fmt",
            "yuv420p", "-b:v", rate, "-maxrate", rate, "-bufsize", rate, "-g", str(2 * canvas.fps), "-bf", "0",
            "-x264-params", f"weightp=0{extra}", "-c:a", "aac", "-b:a", "128k", "-ar", "48000", "-ac", "2",
            "-aac_coder", "fast", "-aac_is", "0", "-cutoff", "18000"]


def mix_graph(picture, panes, canvas, start=None):
    """Returns the filters that put each source into its pane, cut before it is scaled, bilinear as in our mixer.

    - Parameter start: Time in s at which all sounds begin, with silence if need be; amix mixes what comes first with
      what comes first.
    """
    parts = []
    for index, pane in enumerate(panes):
        x, y, width, height = pane.cut(picture)
        cut = f"crop={width}:{height}:{x}:{y}," if (width, height) != (picture.width, picture.height) else ""
        place = f",pad={canvas.width}:{canvas.height}:{pane.x}:{pane.y}:black" if index == 0 else ""
        parts.append(f"[{index}:v]{cut}scale={pane.width}:{pane.height}:flags=bilinear,setsar=1{place}[p{index}]")
    last = "p0"
    for index, pane in enumerate(panes[1:], 1):
        parts.append(f"[{last}][p{index}]overlay={pane.x}:{pane.y}:eof_action=repeat[o{index}]")
        last = f"o{index}"
    inputs = "".join(f"[{index}:a]" for index in range(len(panes)))
    if start is not None:
        parts += [f"[{index}:a]aresample=48000:async=1:first_pts={round(start * 48000)}[a{index}]"
                  for index in range(len(panes))]
        inputs = inputs.replace("[", "[a").replace(":a]", "]")
    parts.append(f"{inputs}amix=inputs={len(panes)}:duration=longest:dropout_transition=0:normalize=0[sound]")
    return ";".join(parts), f"[{last}]"


def mix_arguments(options, sources, output, picture, panes, canvas, offsets=None, start=None):
    """- Parameter offsets: By source, how many s its timestamps must be moved for those of one moment to be equal.
    - Parameter start: With offsets, the time of now on the first source's clock in s.

    Without them ffmpeg takes the first frames that it gets of each source for simultaneous, and the sources that were
    opened first wait for the others all the time.
    """
    words = [options.ffmpeg, *_QUIET, *(["-copyts"] if offsets else [])]
    for index, source in enumerate(sources):
        words += [*_LIVE, "-threads", "1", *(["-itsoffset", f"{offsets[index]:.3f}"] if offsets else []), "-i", source]
    graph, video = mix_graph(picture, panes, canvas, start)
    # The pictures of the first source are the clock, as those of the host are in our mixer.
    words += ["-filter_threads", "1", "-filter_complex_threads", "1", "-filter_complex", graph, "-map", video, "-map",
              "[sound]", "-fps_mode", "passthrough"]
    return words + [*encoder_arguments(options, canvas), *_FLV, output]


class Jobs:
    """A side of a comparison: ffmpeg processes, one for each program."""

    def __init__(self, stage, name="ffmpeg"):
        self.stage, self.name, self.running = stage, name, []

    def start(self, arguments, group="ffmpeg"):
        self.running.append((group, self.stage.processes.start(f"{self.name}-{len(self.running)}", arguments)))

    def groups(self):
        groups = {}
        for group, child in self.running:
            if child.poll() is not None:
                raise BenchError(f"{self.name}: a job ended: {tail(child, 5)}")
            groups.setdefault(group, []).append(child.pid)
        return groups

    def wait_for(self, reader, *names):
        """Waits until pictures of the programs come.

        - Raises: `BenchError` with its message if a job ends instead.
        """
        def all_there():
            self.groups()
            streams = reader.streams()
            return all(any(frame.kind == "v" for frame in streams[name].frames) for name in names)
        wait_until(all_there, f"{self.name}: no pictures come of {', '.join(names)}", 30, pause=0.5)

    def end(self):
        self.stage.processes.end(*(child for _, child in self.running))
        self.running = []


class Floor(Jobs):
    """What no mixer of these sources can do without: their decoding, and the encoding of picture and sound.

    One ffmpeg per source decodes it live to nothing. One encodes pictures and samples that were mixed beforehand, read
    from the page cache at their rate; what the same reading costs without encoding is measured too and subtracted.
    """

    def __init__(self, stage, sources, files, picture, panes, canvas):
        super().__init__(stage, "floor")
        options = stage.options
        video, sound = stage.file(f"mixed-{len(panes)}-{canvas.name}.yuv"), stage.file(f"mixed-{len(panes)}.pcm")
        self.progress = stage.file("floor.progress")
        if not video.exists():
            self._mix(files, video, sound, picture, panes, canvas)
        for source in sources:
            self.start([options.ffmpeg, *_QUIET, *_LIVE, "-threads", "1", "-i", source, "-f", "null", "-"], "decode")
        paced = ["-re", "-stream_loop", "-1"]
        raw = [*paced, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{canvas.width}x{canvas.height}", "-r",
               str(canvas.fps), "-i", video, *paced, "-f", "f32le", "-ar", "48000", "-ac", "2", "-i", sound]
        self.start([options.ffmpeg, *_QUIET, "-progress", self.progress, "-stats_period", "0.5", *raw,
                    *encoder_arguments(options, canvas), "-f", "null", "-"], "encode")
        self.start([options.ffmpeg, *_QUIET, *raw, "-c", "copy", "-f", "null", "-"], "read")

    def frames(self):
        """Returns how many frames have been encoded, and when that was in s."""
        try:
            found = [line for line in self.progress.read_text().splitlines() if line.startswith("frame=")]
        except OSError:
            found = []
        return int(found[-1][6:]) if found else 0, time.monotonic()

    @staticmethod
    def cost(use):
        """Returns the floor in % of a core from the use of the three kinds of jobs."""
        return use["decode"]["cpu"] + use["encode"]["cpu"] - use["read"]["cpu"]

    def _mix(self, files, video, sound, picture, panes, canvas):
        graph, label = mix_graph(picture, panes, canvas)
        words = [self.stage.options.ffmpeg, *_QUIET]
        for file in files:
            words += ["-ss", "2", "-t", "10", "-i", file]
        words += ["-filter_complex", graph, "-map", label, "-r", str(canvas.fps), "-pix_fmt", "yuv420p", "-f",
                  "rawvideo", "-y", video, "-map", "[sound]", "-ar", "48000", "-ac", "2", "-f", "f32le", "-y", sound]
        child = self.stage.processes.start("mix-beforehand", words)
        if child.wait() != 0:
            raise BenchError(f"ffmpeg cannot mix the sources beforehand: {tail(child)}")
