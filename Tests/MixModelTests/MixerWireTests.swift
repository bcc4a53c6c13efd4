import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia

@Suite("Messages between relay and mixer")
struct MixerWireTests {
    static let other = Scene(
        canvas: .portrait, panes: [Pane(source: "bob/camera", user: "bob", x: 0, y: 0, width: 720, height: 1280)],
        sound: SceneSound(levels: [.init(source: "bob/camera")]))
    /// A page over all panes.
    private static let board = [PageAddress("https://a.example/?k=1#x")].compactMap(\.self).map { page in
        Overlay(
            id: "board", x: 0, y: 40, width: 360, height: 80,
            content: .page(page, picture: "/p/page-1-360x80.png"))
    }
    static let commands: [MixerCommand] = [
        .start(
            MixerSetup(
                canvas: .portrait, videoOrigin: .milliseconds(1234), audioOrigin: .milliseconds(1200),
                programStart: 987_654_321_012_345, sampleRate: 44_100, channels: 1,
                colour: ColourSignal(primaries: 1, transfer: 1, matrix: 1), videoBitrate: 1_500_000,
                audioBitrate: 96_000, host: "alice/camera")),
        .scene(
            Scene(
                canvas: .portrait,
                background: Scene.Backdrop(image: "/var/lib/mix/images/ab.png"),
                panes: [
                    Pane(
                        source: "åsa/camera", user: "åsa", x: 0, y: 2, width: 360, height: 640, z: 1, fit: .contain,
                        align: .bottomRight, opacity: UnitFraction(0.25), border: Pane.Border(width: 4, colour: .white),
                        label: Label(text: "Åsa <b>", size: 18), isLive: false, fallback: .image("/x.jpg"))
                ],
                overlays: [
                    Overlay(
                        id: "clock", x: 0, y: 0, width: 200, height: 40,
                        content: .clock(.minutes, utcOffset: -90, TextStyle(size: 20)))
                ] + board,
                sound: SceneSound(
                    levels: [.init(source: "åsa/camera", gain: 250), .init(source: "bob/camera")], loudest: 1),
                transition: Transition(duration: 300))),
        .sceneChange(other.difference(from: Scene(canvas: .portrait, panes: []))),
        .configuration("bob/camera", CodecConfiguration(track: .audio, bytes: [0x11, 0x90])),
        .frame(
            "bob/camera",
            EncodedFrame(
                track: .video, pts: MediaTime(nanoseconds: -5), dts: MediaTime(nanoseconds: .min), isIDR: true,
                payload: [0, 0, 0, 1, 0x65])),
        .frame("", EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: [])),
        .ended("bob/camera"), .stalled("bob/camera", .audio), .requestIDR(.milliseconds(50)), .frameDivisor(3),
        .pictures(until: .milliseconds(75)), .pictures(until: nil),
        .reportVolumes(true), .play(nil),
        .play(
            MixerPlaylist(
                plan: IdlePlan(
                    items: [.init(name: "å.mp4", path: "/m/å.mp4"), .init(name: "b", path: "/m/b")], loops: false),
                first: 1, skipped: [0])),
        .stop,
        .start(
            MixerSetup(
                canvas: .portrait, videoOrigin: .zero, audioOrigin: .zero, programStart: 1, sampleRate: 16_000,
                channels: 1, colour: .unsignalled, videoBitrate: 1, audioBitrate: 8_000, host: nil, tracks: .audio,
                gopFrames: 25, videoCodec: .h265, profile: .baseline, preset: .medium, threads: 3)),
    ]
    static let reports: [MixerReport] = [
        .configuration(CodecConfiguration(track: .video, bytes: Array(0...40))),
        .configuration(CodecConfiguration(.h265, bytes: Array(0...50))),
        .frame(EncodedFrame(track: .video, pts: .seconds(9), dts: .seconds(8.9), payload: [1, 2, 3])),
        .sourceFailed("bob/camera", reason: "no decoder for “hvc1”"), .failed(reason: ""),
        .volumes(["bob/camera": 17, "åsa/camera@next#audio": 0]),
        .delays(["bob/camera": .milliseconds(58), "åsa/camera": MediaTime(nanoseconds: -5)]),
        .idle(IdleStatus(state: .failed, media: "b.webm", error: "b.webm is no media"), item: 3),
        .note(code: "image-failed", message: "the image “x.png” …"),
    ]

    @Test("Every message survives the wire, cut anywhere", arguments: [1, 2, 3, 7, 64, 100_000])
    func roundTrip(piece: Int) throws {
        #expect(try read(MixerCommand.self, Self.commands.flatMap { try $0.wireBytes() }, piece) == Self.commands)
        #expect(try read(MixerReport.self, Self.reports.flatMap { try $0.wireBytes() }, piece) == Self.reports)
    }

    @Test("A mixer of another release says so instead of guessing")
    func otherVersion() throws {
        guard case .start(let setup) = Self.commands[0] else { return }
        let bytes = try MixerCommand.start(setup).wireBytes()
        let text = String(decoding: bytes.dropFirst(5), as: UTF8.self)
        let newer = text.replacing("\"version\":\(MixerCommand.version)", with: "\"version\":99")
        #expect(newer != text)
        // The first version sent the setup only.
        for (body, found) in [(newer, "version 99"), ("{\"canvas\":{},\"channels\":2}", "version 1")] {
            do {
                _ = try MixerCommand(kind: 1, body: Array(body.utf8)[...])
                Issue.record("\(found) was taken")
            } catch {
                #expect("\(error)".contains(found) && "\(error)".contains("end the relay"), "\(error)")
            }
        }
    }

    @Test("Scenes told as differences are the scenes themselves")
    func scenes() throws {
        guard case .scene(let scene) = Self.commands[1] else { return }
        let change = MixerCommand.sceneChange(Self.other.difference(from: scene))
        guard case .sceneChange(let difference)? = try read(MixerCommand.self, try change.wireBytes(), 64).first else {
            Issue.record("no change")
            return
        }
        #expect(scene.applying(difference) == Self.other)
    }

    private func read<Message: WireMessage>(
        _: Message.Type, _ bytes: [UInt8], _ piece: Int
    ) throws -> [Message] {
        var reader = MessageReader<Message>()
        var messages: [Message] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            reader.push(bytes[start..<min(bytes.count, start + piece)])
            while let message = try reader.next() { messages.append(message) }
        }
        #expect(reader.pendingBytes == 0)
        return messages
    }

    @Test("A length above 16 MiB or of nothing is refused before its body is awaited")
    func lengths() {
        for (bytes, length) in [([0x01, 0, 0, 1, 1], 16 << 20 + 1), ([0, 0, 0, 0], 0)] as [([UInt8], Int)] {
            var reader = MessageReader<MixerCommand>()
            reader.push(bytes)
            let expected = length == 0 ? 0 : (16 << 20) + 1
            #expect(throws: WireError.badLength(expected)) { try reader.next() }
        }
        #expect(throws: WireError.self) {
            let payload = [UInt8](repeating: 0, count: 16 << 20)
            return try MixerReport.frame(EncodedFrame(track: .video, pts: .zero, dts: .zero, payload: payload))
                .wireBytes()
        }
    }

    @Test("Bytes that are no message are refused without a trap")
    func malformed() throws {
        #expect(throws: WireError.unknownKind(99)) { try MixerCommand(kind: 99, body: []) }
        #expect(throws: WireError.unknownKind(1)) { try MixerReport(kind: 1, body: []) }
        for message in Self.commands {
            let bytes = try message.wireBytes()
            for attempt in 0..<200 {
                var broken = Array(bytes.dropFirst(5).prefix(attempt * 7919 % (bytes.count + 1)))
                if !broken.isEmpty { broken[attempt * 104_729 % broken.count] ^= 0x81 }
                _ = try? MixerCommand(kind: bytes[4], body: broken[...])
            }
        }
        #expect(throws: WireError.self) { try MixerCommand(kind: 4, body: [9, 1, 0, 0]) }
        #expect(throws: WireError.self) { try MixerCommand(kind: 3, body: [9, 0, 5, 65]) }
        #expect(throws: WireError.self) { try MixerCommand(kind: 3, body: [7, 0, 0]) }
        #expect(throws: WireError.self) { try MixerCommand(kind: 3, body: [9, 0, 1, 0xFF]) }
        #expect(throws: WireError.self) { try MixerCommand(kind: 1, body: [123]) }
    }
}
