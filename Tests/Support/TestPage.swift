/// A web page for tests that shows and plays what a synthetic publisher sends, drawn by scripts. Its query can make it
/// do what a page must not be able to do.
///
/// The picture contains the mark of `SourceMark`, so that checks of synthetic publishers work for the page too. The
/// counter is the time since the page started, at 30 frames a second, and each second starts with a flash and a beep.
public enum TestPage {
    /// Frames per second.
    public static let rate = 30

    /// Returns the page's HTML.
    ///
    /// A query changes the page's behaviour: `console=1` writes START after two seconds, and `end` END after as many
    /// ms; `background=RRGGBB` is the colour behind everything; `run=…` is run as a script after `at` ms.
    ///
    /// - Parameter source: Number of the source, 0…15.
    public static func html(source: Int) -> String {
        """
        <!doctype html><meta charset="utf-8"><title>test page</title>
        <body style="margin:0;overflow:hidden"><canvas id="canvas" style="display:block"></canvas><script>
        const query = new URLSearchParams(location.search);
        const fps = \(rate), source = \(source);
        // The browser paints at multiples of 16,666 µs. A second is 60 of them, so that the count keeps its place among
        // the paintings however long the page is shown.
        const second = 60 * 16.666;
        const canvas = document.getElementById("canvas");
        const width = canvas.width = innerWidth, height = canvas.height = innerHeight;
        const context = canvas.getContext("2d", { alpha: false });
        const cell = Math.max(2, Math.floor(Math.min(width, height) / 40) * 2), edge = cell * 5;
        const x = ((width - edge) / 2) & ~1, y = ((height - edge) / 2) & ~1;
        const background = "#" + (query.get("background") || "204060");
        const audio = new AudioContext({ sampleRate: 48000 });
        const tone = audio.createOscillator(), level = audio.createGain();
        tone.frequency.value = 440 + 110 * source;
        level.gain.value = 0.1;
        tone.connect(level).connect(audio.destination);
        tone.start();
        const shape = Float32Array.from({ length: 64 }, (_, i) => 0.3 * Math.sin(Math.PI * i / 63) ** 2);
        let nextBeep = 1;
        function beep(time) {
          const beep = audio.createOscillator(), envelope = audio.createGain();
          beep.frequency.value = 2000 + 400 * source;
          envelope.gain.value = 0;
          envelope.gain.setValueCurveAtTime(shape, time, 0.04);
          beep.connect(envelope).connect(audio.destination);
          beep.start(time);
          beep.stop(time + 0.05);
        }
        let begin = 0;
        function draw(time) {
          begin = begin || time;
          // Times of frames are multiples of a period or of half of one: a quarter keeps the count away from its steps.
          const count = Math.floor((time - begin) / second * fps + 0.25), counter = count & 0xFFFF;
          const seconds = (performance.now() - begin) / second;
          if (seconds > nextBeep - 0.5) {
            beep(audio.currentTime + nextBeep - seconds);
            nextBeep += 1;
          }
          const word = counter | source << 16 | ((counter * 11 + source * 5 + 3) % 31) << 20;
          context.fillStyle = background;
          context.fillRect(0, 0, width, height);
          for (let i = 0; i < 25; i++) {
            context.fillStyle = word >> i & 1 ? "#fff" : "#000";
            context.fillRect(x + i % 5 * cell, y + Math.floor(i / 5) * cell, cell, cell);
          }
          context.fillStyle = count % fps === 0 ? "#fff" : "#000";
          context.fillRect(x, y - 3 * cell, edge, 2 * cell);
          requestAnimationFrame(draw);
        }
        requestAnimationFrame(draw);
        if (query.get("console")) setTimeout(() => console.log("START"), 2000);
        if (query.get("end")) setTimeout(() => console.log("END"), Number(query.get("end")));
        if (query.get("ready")) setTimeout(() => { window.isReady = true; }, Number(query.get("ready")));
        if (query.get("run")) setTimeout(() => (0, eval)(query.get("run")), Number(query.get("at") || 0));
        </script></body>
        """
    }
}
