import ChildProcesses
import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import ProgramRelay

/// Streams of all kinds, made by real encoders and sent through nginx-rtmp, in a relay and a mixer.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SourceMatrixTests {
    struct Format: Sendable, CustomTestStringConvertible {
        var name: String
        var size = "320x240"
        var rate = "25"
        /// Options of the video encoder.
        var video = ["-g", "25", "-bf", "0"]
        var sampleRate = 48_000
        var channels = 2
        var audio = ["-c:a", "aac"]

        var testDescription: String { name }
    }

    /// Formats that work like any other stream.
    private static let formats = [
        Format(name: "5 fps", rate: "5", video: ["-g", "5", "-bf", "0"]),
        Format(name: "29.97 fps with B-frames", rate: "30000/1001", video: ["-g", "30", "-bf", "2"]),
        Format(
            name: "60 fps, mono at 44.1 kHz", rate: "60", video: ["-g", "60", "-bf", "0"], sampleRate: 44_100,
            channels: 1),
        Format(name: "8 kHz mono", sampleRate: 8_000, channels: 1),
        Format(name: "96 kHz", sampleRate: 96_000),
    ]
    private static let others = [
        Format(name: "15 fps, 22.05 kHz", rate: "15", video: ["-g", "15", "-bf", "0"], sampleRate: 22_050),
        Format(name: "50 fps with B-frames", rate: "50", video: ["-g", "50", "-bf", "3"]),
        Format(name: "32 kHz", sampleRate: 32_000),
        Format(name: "16 kHz mono", sampleRate: 16_000, channels: 1),
        Format(name: "a GOP of 10 s", video: ["-g", "250", "-keyint_min", "250", "-bf", "0"]),
        Format(name: "six channels", channels: 6),
        Format(name: "an odd size", size: "318x178"),
    ]

    private static let canvas = Canvas(width: 320, height: 240, fps: 20)
    private static let scene = Scene(
        canvas: canvas, panes: [Pane(source: "host/camera", user: "host", x: 0, y: 0, width: 320, height: 240)],
        sound: SceneSound(levels: [.init(source: "host/camera", gain: 100)]))

    private static func publish(_ format: Format, to url: String) throws -> LaunchedProcess {
        try ProcessLaunch(
            "/usr/bin/env",
            [
                "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=\(format.size):rate=\(format.rate)",
                "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "60", "-c:v", "libx264", "-preset",
                "ultrafast", "-tune", "zerolatency", "-sc_threshold", "0", "-pix_fmt", "yuv420p",
            ] + format.video + ["-ar", "\(format.sampleRate)", "-ac", "\(format.channels)"] + format.audio
                + ["-f", "flv", url]
        ).start()
    }

    /// Ends a publisher and reaps it: an unreaped child hides the ends of others from exit tests.
    private static func end(_ publisher: LaunchedProcess) {
        publisher.signal(SIGKILL)
        publisher.waitForExit()
    }

    @Test(arguments: (formats + others).prefix(TestLength.of(short: formats.count, long: .max)))
    func aStreamIsCopiedAndMixedAndCopiedAgain(format: Format) async throws {
        let server = try await OutputMediaServer.start()
        let publisher = try Self.publish(format, to: server.url("host"))
        defer { Self.end(publisher) }
        let rig = try await RelayRig()
        // A source that is absent for seconds is reported to operators.
        #expect(try await outputEventually { try await server.isPublished("host") })
        let sources = [PlannedSource(id: "host/camera", url: server.url("host"))]
        try rig.apply(.bypass("host/camera"), Self.scene, sources)
        try await rig.waitFor(.bypass)
        #expect(try await outputEventually { rig.sound.frames.count > 5 }, "no sound in the bypass: \(rig.notes)")
        try rig.apply(.mix(host: "host/camera"), Self.scene, sources)
        try await rig.waitFor(.mix)
        #expect(try await outputEventually { (rig.segments.last?.frames.count ?? 0) > 10 }, "\(rig.notes)")
        let sound = rig.sound.frames.count
        #expect(try await outputEventually { rig.sound.frames.count > sound + 5 }, "no sound in the mix")
        try rig.apply(.bypass("host/camera"), Self.scene, sources)
        try await rig.waitFor(.bypass)
        let pictures = rig.segments.flatMap(\.frames)
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(rig.notes.isEmpty, "\(rig.notes)")
        #expect(
            try await outputEventually {
                rig.status?.sources.first.map { $0.state == .live && $0.error == nil } ?? false
            })
        try await rig.stop()
        await server.remove()
    }

    /// An open GOP begins with a recovery point instead of an IDR, so that no copy can begin there.
    @Test func aHostWithoutKeyframesStaysMixedAndThatIsSaid() async throws {
        let server = try await OutputMediaServer.start()
        let rig = try await RelayRig()
        let publisher = try Self.publish(
            Format(name: "open GOPs", video: ["-g", "25", "-bf", "2", "-x264-params", "open-gop=1"]),
            to: server.url("host"))
        defer { Self.end(publisher) }
        let sources = [PlannedSource(id: "host/camera", url: server.url("host"))]
        try rig.apply(.bypass("host/camera"), Self.scene, sources)
        try await rig.waitFor(.bypass)
        try rig.apply(.mix(host: "host/camera"), Self.scene, sources)
        try await rig.waitFor(.mix)
        try rig.apply(.bypass("host/camera"), Self.scene, sources)
        #expect(try await outputEventually { rig.status?.sources.first?.refreshesGradually == true })
        #expect(
            try await outputEventually {
                rig.notes.contains { $0.hasPrefix("waiting-for-keyframe: host/camera sends no keyframes") }
            }, "\(rig.notes)")
        #expect(
            try await outputEventually {
                rig.status?.onAir == .mix && rig.status?.sources.first?.secondsWithoutKeyframe ?? 0 >= 10
            })
        try await rig.stop()
        await server.remove()
    }

    @Test func aStreamThatComesBackInAnotherFormatIsCopiedOn() async throws {
        let server = try await OutputMediaServer.start()
        let rig = try await RelayRig()
        let first = try Self.publish(Format(name: "first"), to: server.url("host"))
        try rig.apply(
            .bypass("host/camera"), Self.scene, [PlannedSource(id: "host/camera", url: server.url("host"))])
        try await rig.waitFor(.bypass)
        Self.end(first)
        let second = try Self.publish(
            Format(name: "second", size: "240x320", rate: "15", sampleRate: 44_100, channels: 1), to: server.url("host")
        )
        defer { Self.end(second) }
        #expect(try await outputEventually { rig.status?.sources.first?.pictureSize?.width == 240 })
        #expect(
            try await outputEventually { rig.status?.onAir == .bypass && (rig.segments.last?.frames.count ?? 0) > 20 })
        let pictures = rig.segments.flatMap(\.frames)
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(rig.sound.frames.isEmpty == false)
        try await rig.stop()
        await server.remove()
    }

    @Test func aCodecThatNobodyDecodesIsSaidToBeWhatIsWrong() async throws {
        let server = try await OutputMediaServer.start()
        let rig = try await RelayRig()
        let format = Format(name: "ADPCM", sampleRate: 44_100, audio: ["-c:a", "adpcm_swf"])
        let publisher = try Self.publish(format, to: server.url("host"))
        defer { Self.end(publisher) }
        try rig.apply(
            .bypass("host/camera"), Self.scene, [PlannedSource(id: "host/camera", url: server.url("host"))])
        #expect(try await outputEventually { rig.status?.sources.first?.state == .failed })
        #expect(rig.status?.sources.first?.error == "audio codec ADPCM is not supported: publish AAC")
        #expect(
            try await outputEventually { rig.notes.contains { $0.hasPrefix("source-failed: host/camera") } },
            "\(rig.notes)")
        try await rig.stop()
        await server.remove()
    }
}
