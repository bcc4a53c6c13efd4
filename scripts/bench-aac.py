#!/usr/bin/env python3
"""Measures AAC encoders of GStreamer: CPU time, delay, and what is left of the sound.

    scripts/bench-aac.py DIR [--rate 48000] [--channels 2] [--bitrate 128000]     DIR/*.wav: speech, music, 5 to 20 s each

Downloads nothing. Needs gst-launch-1.0 (gstreamer1.0-tools), ffmpeg and numpy.
  delay      samples from the input to what a decoder makes of it, by cross-correlation with the input
  start      the same by a click in silence
  NMR        mean noise-to-mask ratio in dB over Bark bands (spreading and offsets after Johnston 1988); lower is better
  disturbed  frames with a band whose noise is 1.5 dB or more above the mask, as ITU-R BS.1387 counts them
  envelope   mean difference of Bark band levels in dB; does not count noise that was replaced by noise
  bandwidth  frequency up to which band levels are within 6 dB of the input's, in kHz
"""
import argparse, importlib.util, os, pathlib, statistics, sys, tempfile

SPEC = importlib.util.spec_from_file_location("encoders", pathlib.Path(__file__).with_name("bench-encoders.py"))
encoders = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(encoders)
run = encoders.run

try:
    import numpy
except ImportError:
    sys.exit("numpy is missing: pip install numpy")

# NMR, disturbed frames and envelope are judged up to here, in hertz.
HIGHEST = 15500.0
SETTINGS = {
    "avenc_aac": "avenc_aac bitrate={bitrate}",
    "avenc_aac fast": "avenc_aac aac-coder=fast bitrate={bitrate}",
    "avenc_aac no PNS": "avenc_aac aac-pns=false bitrate={bitrate}",
    "avenc_aac fast, no PNS": "avenc_aac aac-coder=fast aac-pns=false bitrate={bitrate}",
    "avenc_aac fast, no TNS": "avenc_aac aac-coder=fast aac-tns=false bitrate={bitrate}",
    "avenc_aac fast, no IS": "avenc_aac aac-coder=fast aac-is=false bitrate={bitrate}",
    "avenc_aac fast, none": "avenc_aac aac-coder=fast aac-pns=false aac-tns=false aac-is=false bitrate={bitrate}",
    "avenc_aac fast, no IS, 18 kHz": "avenc_aac aac-coder=fast aac-is=false cutoff=18000 bitrate={bitrate}",
    "avenc_aac fast, no IS, no PNS": "avenc_aac aac-coder=fast aac-is=false aac-pns=false bitrate={bitrate}",
    "avenc_aac no TNS": "avenc_aac aac-tns=false bitrate={bitrate}",
    "avenc_aac no IS": "avenc_aac aac-is=false bitrate={bitrate}",
    "voaacenc": "voaacenc bitrate={bitrate}",
    "fdkaacenc": "fdkaacenc bitrate={bitrate}",
}


def pipeline(source, rate, channels, encoder, sink):
    words = ["gst-launch-1.0", "-q", "filesrc", f"location={source}", "!", "wavparse", "!", "audioconvert", "!",
             "audioresample", "!", f"audio/x-raw,format=F32LE,rate={rate},channels={channels}", "!", "audioconvert", "!"]
    if encoder:
        words += [*encoder.split(), "!", "aacparse", "!", "audio/mpeg,stream-format=adts", "!"]
    return words + sink


def samples(path, rate, channels):
    with tempfile.NamedTemporaryFile(suffix=".f32") as raw:
        run(["ffmpeg", "-y", "-v", "error", "-i", path, "-f", "f32le", "-ac", str(channels), "-ar", str(rate), raw.name])
        return numpy.fromfile(raw.name, numpy.float32).reshape(-1, channels)


def delay_of(sound, original):
    """The shift in samples at which both are most alike."""
    length = 1 << (len(sound) + len(original)).bit_length()
    a, b = numpy.fft.rfft(sound.mean(1), length), numpy.fft.rfft(original.mean(1), length)
    best = int(numpy.argmax(numpy.fft.irfft(a * b.conj(), length)[:8192]))
    return best


def bark(frequency):
    return 13 * numpy.arctan(0.00076 * frequency) + 3.5 * numpy.arctan((frequency / 7500) ** 2)


def judge(sound, original, rate):
    """Returns the four figures of one channel, both aligned."""
    size = 2048
    window = numpy.hanning(size)
    frames = (min(len(sound), len(original)) - size) // (size // 2)
    place = numpy.arange(size) + size // 2 * numpy.arange(frames)[:, None]
    first = numpy.fft.rfft(original[place] * window)
    second = numpy.fft.rfft(sound[place] * window)
    frequency = numpy.fft.rfftfreq(size, 1 / rate)
    bands = bark(frequency).astype(int)
    count = bands.max() + 1
    matrix = (bands[:, None] == numpy.arange(count)).astype(float)
    energy = numpy.abs(first) ** 2 @ matrix
    noise = numpy.abs(second - first) ** 2 @ matrix
    coded = numpy.abs(second) ** 2 @ matrix
    # Tonality by spectral flatness, spreading over Bark bands.
    power = numpy.abs(first) ** 2 + 1e-12
    flat = 10 * numpy.log10(numpy.exp(numpy.log(power).mean(1)) / power.mean(1))
    tonal = numpy.clip(flat / -60, 0, 1)[:, None]
    distance = numpy.arange(count)[None, :] - numpy.arange(count)[:, None] + 0.474
    spread = 10 ** ((15.81 + 7.5 * distance - 17.5 * numpy.sqrt(1 + distance ** 2)) / 10)
    offset = tonal * (14.5 + numpy.arange(count)) + (1 - tonal) * 5.5
    mask = energy @ (spread / spread.sum(0)) / 10 ** (offset / 10)
    # Threshold in quiet, taken as -84 dB of full scale.
    mask = numpy.maximum(mask, (window.sum() / 2 * 10 ** (-84 / 20)) ** 2)
    loud = energy.sum(1) > (window.sum() / 2 * 10 ** (-60 / 20)) ** 2
    # Above, few hear anything and encoders leave out what they find there.
    heard = numpy.arange(count) < bark(numpy.array(HIGHEST)).astype(int)
    ratio = (noise / mask)[loud][:, heard]
    nmr = 10 * numpy.log10(ratio.mean(1) + 1e-9)
    disturbed = 100 * (10 * numpy.log10(ratio.max(1) + 1e-9) > 1.5).mean()
    audible = loud[:, None] & (energy > mask) & heard
    levels = numpy.abs(10 * numpy.log10((coded + 1e-9) / (energy + 1e-9)))
    envelope = levels[audible].mean()
    # Bandwidth in fine bins of 500 Hz.
    fine = (frequency // 500).astype(int)
    matrix = (fine[:, None] == numpy.arange(fine.max() + 1)).astype(float)
    before, after = (numpy.abs(first[loud]) ** 2 @ matrix).mean(0), (numpy.abs(second[loud]) ** 2 @ matrix).mean(0)
    lost = numpy.nonzero(after < before / 4)[0]
    bandwidth = (lost[0] * 500 if len(lost) else rate / 2) / 1000
    return nmr.mean(), disturbed, envelope, bandwidth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--rate", type=int, default=48000)
    parser.add_argument("--channels", type=int, default=2)
    parser.add_argument("--bitrate", type=int, default=128000)
    parser.add_argument("--runs", type=int, default=3, help="CPU measurements of 120 s of sound (3)")
    parser.add_argument("--settings", help="only these of the script's settings, separated by semicolons")
    arguments = parser.parse_args()
    rate, channels = arguments.rate, arguments.channels
    clips = sorted(pathlib.Path(arguments.directory).glob("*.wav"))
    names = arguments.settings.split(";") if arguments.settings else list(SETTINGS)
    with tempfile.TemporaryDirectory(prefix="bench-aac-") as work:
        shape = ["-ac", str(channels), "-ar", str(rate), "-c:a", "pcm_s16le"]
        long, click, output = (os.path.join(work, name) for name in ("long.wav", "click.wav", "out.aac"))
        # In the encoder's format, so that no conversion is judged.
        originals = []
        for clip in clips:
            originals.append(os.path.join(work, clip.name))
            run(["ffmpeg", "-y", "-v", "error", "-i", clip, *shape, originals[-1]])
        joined = os.path.join(work, "list.txt")
        pathlib.Path(joined).write_text("".join(f"file '{clip.resolve()}'\n" for clip in clips) * 20)
        run(["ffmpeg", "-y", "-v", "error", "-f", "concat", "-safe", "0", "-i", joined, "-t", "120", *shape, long])
        run(["ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", f"aevalsrc=exprs='if(eq(n,20000),0.9,0)':s={rate}:d=2",
             *shape, click])
        known = []
        for name in names:
            element = SETTINGS[name].split()[0]
            if encoders.subprocess.run(["gst-inspect-1.0", "--exists", element]).returncode:
                print(f"{name} is not installed", file=sys.stderr)
            else:
                known.append(name)
        times = {name: [] for name in [None, *known]}
        for _ in range(arguments.runs):
            for name in times:
                encoder = name and SETTINGS[name].format(bitrate=arguments.bitrate)
                times[name].append(run(pipeline(long, rate, channels, encoder, ["fakesink", "sync=false"]))[0])
        base = statistics.median(times[None])
        print("| encoder | CPU s of 120 s | delay | start | kbit/s | "
              + " | ".join(f"{clip.stem}: NMR / disturbed % / envelope / bandwidth" for clip in clips) + " |")
        print("|" + "---|" * (5 + len(clips)))
        for name in known:
            encoder = SETTINGS[name].format(bitrate=arguments.bitrate)
            run(pipeline(click, rate, channels, encoder, ["filesink", f"location={output}"]))
            start = int(numpy.argmax(numpy.abs(samples(output, rate, channels)).max(1))) - 20000
            cells, delays, bits, seconds = [], [], 0, 0
            for clip in originals:
                run(pipeline(clip, rate, channels, encoder, ["filesink", f"location={output}"]))
                bits += os.path.getsize(output) * 8
                sound, original = samples(output, rate, channels), samples(clip, rate, channels)
                seconds += len(original) / rate
                delay = delay_of(sound, original)
                delays.append(delay)
                figures = [judge(sound[delay:, c], original[:, c], rate) for c in range(channels)]
                nmr, disturbed, envelope, bandwidth = numpy.mean(figures, axis=0)
                cells.append(f"{nmr:+.1f} / {disturbed:.0f} / {envelope:.2f} / {bandwidth:.1f}")
            cpu = statistics.median(times[name]) - base
            print(f"| {name} | {cpu:.2f} | {'/'.join(map(str, sorted(set(delays))))} | {start} | {bits / seconds / 1000:.0f} | "
                  + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
