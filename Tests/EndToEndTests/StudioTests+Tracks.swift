import EncodedMedia
import Foundation
import Testing

@testable import ViewerProbe

/// Tracks that the publish page mutes, turns off and replaces while it is live.
extension StudioTests {
    @Test(.timeLimit(.minutes(10))) func tracksAreMutedAndReplacedOnAir() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ]
        try await Stage.run(environment: environment) { stage in
            try await stage.makeRoom()
            let page = try await BrowserPage.open(
                "http://127.0.0.1:\(stage.client.port)/publish/\(stage.room)#user=alice", in: stage.directory,
                options: ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"])
            try await page.wait(for: "document.getElementById('preview').srcObject")
            let _: Bool = try await page.evaluate(Self.preparation)
            try await page.click("Go live")
            try await page.wait(for: "document.getElementById('state').textContent === 'You are live.'")
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()

            func advance(_ milliseconds: UInt32) async throws {
                let before = viewer.progress.timestamp
                try await waitUntil("the program goes on: \(viewer.progress), \(before) before") {
                    viewer.progress.timestamp > before + milliseconds
                }
            }
            /// Returns two seconds of the viewer's time in which the page's last change has reached the viewer.
            func stretch() async throws -> ClosedRange<Int64> {
                try await advance(3000)
                try await stage.waitForOnAir("bypass")
                let begin = MonotonicClock.now()
                try await advance(2000)
                return begin...MonotonicClock.now()
            }
            var phases: [Phase] = []
            phases.append(Phase("at first", .green, isHeard: true, try await stretch()))
            for (button, colour, isHeard) in [
                ("Mute", .green, false), ("Unmute", .green, true), ("Turn off camera", .black, true),
                ("Turn on camera", .green, true),
            ] as [(String, Received.Colour, Bool)] {
                try await page.click(button)
                phases.append(Phase(button, colour, isHeard: isHeard, try await stretch()))
            }
            let track = "document.getElementById('preview').srcObject.getVideoTracks()[0]"
            let _: Bool = try await page.evaluate("choose('screen')")
            try await page.wait(for: "window.screenStream && \(track) === screenStream.getVideoTracks()[0]")
            phases.append(Phase("screen", .red, isHeard: true, try await stretch()))
            let _: Bool = try await page.evaluate("choose(document.getElementById('camera').options[0].value)")
            try await page.wait(for: "\(track)?.contentHint === 'motion'")
            phases.append(Phase("camera again", .green, isHeard: true, try await stretch()))

            // One session all the time.
            try await page.wait(for: "requests.join() === 'POST'")
            try await page.wait(for: "document.getElementById('state').textContent === 'You are live.'")
            #expect(await page.complaints == [])
            #expect(try await stage.client.users(stage.room) == ["alice"])
            #expect(try await stage.waitForOnAir("bypass").outputs.map(\.reconnects) == [0])
            await page.close()
            viewer.stop()
            try await Self.expect(phases, in: await viewer.recording())
        }
    }

    /// Counts the requests of sessions, offers a red screen, and selects a video source as a person does.
    private static let preparation = """
        (() => {
          const ask = window.fetch, canvas = document.createElement("canvas"), drawing = canvas.getContext("2d");
          window.requests = [];
          window.fetch = (url, options) => {
            if (["POST", "DELETE"].includes(options?.method)) requests.push(options.method);
            return ask(url, options);
          };
          Object.assign(canvas, { width: 1280, height: 720 });
          let time = 0;
          setInterval(() => {
            drawing.fillStyle = `rgb(${++time % 2 ? 220 : 210}, 0, 0)`;
            drawing.fillRect(0, 0, 1280, 720);
          }, 66);
          navigator.mediaDevices.getDisplayMedia = async () => window.screenStream = canvas.captureStream(15);
          window.choose = source => {
            const choice = document.getElementById("camera");
            choice.value = source;
            choice.dispatchEvent(new Event("change"));
            return choice.value === source;
          };
          return true;
        })()
        """

    /// The content that viewers get for a while.
    private struct Phase {
        let name: String
        let colour: Received.Colour
        let isHeard: Bool
        let time: ClosedRange<Int64>

        init(_ name: String, _ colour: Received.Colour, isHeard: Bool, _ time: ClosedRange<Int64>) {
            self.name = name
            self.colour = colour
            self.isHeard = isHeard
            self.time = time
        }
    }

    private static func expect(_ phases: [Phase], in recording: FLVRecording) async throws {
        #expect(recording.connections == 1 && recording.publisherLosses == 0)
        let trace = try recording.trace()
        for track in [trace.video, trace.audio] {
            let times = track.map(\.frame.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }
        let received = try await Received.read(recording)
        for phase in phases {
            let colours = received.pictures.filter { phase.time.contains($0.at) }.map { $0.colour }
            let peak = received.sounds.filter { phase.time.contains($0.at) }.map { $0.peak }.max() ?? -1
            print("\(phase.name): \(colours.count) pictures, \(Set(colours)), peak \(peak)")
            #expect(Set(colours) == [phase.colour], "\(phase.name)")
            // The browser's simulated microphone beeps twice a second.
            #expect(phase.isHeard ? peak > 0.02 : 0..<0.005 ~= peak, "\(phase.name): \(peak)")
        }
    }
}

/// The pictures and the sound of a recording, with the times in ns of CLOCK_MONOTONIC at which a viewer had them.
private struct Received: Sendable {
    enum Colour: Sendable {
        case black
        /// The browser's simulated camera.
        case green
        case red
        case other

        /// - Parameter picture: Judged below its middle, where the simulated camera shows nothing but its background.
        init(_ picture: Picture) {
            let (width, height) = (Double(picture.width), Double(picture.height))
            let sample = picture.meanColour(x: 0.2 * width, y: 0.7 * height, width: 0.6 * width, height: 0.1 * height)
            let parts = sample?.rgb(matrix: .bt601, isFullRange: false) ?? [128, 128, 128]
            if parts.allSatisfy({ $0 < 40 }) {
                self = .black
            } else if parts[0] < 70, parts[1] > 80, parts[2] < 70 {
                self = .green
            } else if parts[0] > 120, parts[1] < 70, parts[2] < 70 {
                self = .red
            } else {
                self = .other
            }
        }
    }

    let pictures: [(at: Int64, colour: Colour)]
    /// The highest sample of each audio frame.
    let sounds: [(at: Int64, peak: Float)]

    /// Reads a recording on a thread of its own.
    static func read(_ recording: FLVRecording) async throws -> Received {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try Received(recording) }) }
            thread.start()
        }
    }

    private init(_ recording: FLVRecording) throws {
        let trace = try recording.trace()
        let arrivals = trace.showingTimes
        var pictures: [(at: Int64, colour: Colour)] = []
        _ = try PictureDecoder.decode(recording.path) { time, picture in
            guard let at = arrivals[time] else { return }
            pictures.append((at: at, colour: Colour(picture)))
        }
        self.pictures = pictures
        var sounds: [(at: Int64, peak: Float)] = []
        var first = 0
        for run in try SoundDecoder.decode(trace).runs {
            for index in run.frameTimes.indices {
                let samples = run.samples.dropFirst(index * run.samplesPerFrame).prefix(run.samplesPerFrame)
                guard let at = trace.audio[first + index].arrival else { continue }
                sounds.append((at: at, peak: samples.reduce(0) { max($0, abs($1)) }))
            }
            first += run.frameTimes.count
        }
        self.sounds = sounds
    }
}
