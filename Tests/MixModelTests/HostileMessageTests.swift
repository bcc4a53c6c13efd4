import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia

/// Messages between processes, in both directions, from processes that were taken over or are faulty.
@Suite struct HostileMessageTests {
    @Test("messages of any bytes, and valid ones with some changed, are read or refused")
    func anyMessages() {
        var random = SeededGenerator(announcedFor: "HostileMessageTests.anyMessages")
        let commands = MixerWireTests.commands.compactMap { try? $0.wireBytes() }
        let reports = MixerWireTests.reports.compactMap { try? $0.wireBytes() }
        for _ in 0..<4_000 {
            read(MixerCommand.self, HostileBytes.any(commands, using: &random))
            read(MixerReport.self, HostileBytes.any(reports, using: &random))
        }
        for _ in 0..<1_500 {
            read(MixerCommand.self, numbers(of: commands.randomElement(using: &random) ?? [], using: &random))
            read(MixerReport.self, numbers(of: reports.randomElement(using: &random) ?? [], using: &random))
        }
    }

    /// Returns the message with one number of its JSON replaced, or unchanged if its body is not JSON.
    private func numbers(of message: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        guard message.count > 5, message[5] == UInt8(ascii: "{"),
            let json = String(validating: message[5...], as: UTF8.self)
        else { return message }
        let body = message[4...4] + Array(HostileBytes.numbers(of: json, using: &random).utf8)
        return bigEndianBytes(body.count, 4) + body
    }

    private func read<Message: WireMessage>(_ type: Message.Type, _ bytes: [UInt8]) {
        var reader = MessageReader<Message>()
        reader.push(bytes)
        do {
            while let message = try reader.next() {
                _ = try message.wireBytes()
                // The immediate use of a message in a mixer.
                switch message as Any {
                case MixerCommand.scene(let scene):
                    _ = SceneTransition(from: Scene(canvas: .portrait, panes: []), to: scene).scene(
                        at: UnitFraction(0.5))
                case MixerCommand.sceneChange(let difference):
                    let (old, new) = (MixerWireTests.other, MixerWireTests.other.applying(difference))
                    _ = SceneTransition(from: old, to: new).scene(at: UnitFraction(0.5))
                default: break
                }
            }
        } catch {
            _ = error.description
        }
        #expect(reader.pendingBytes <= bytes.count)
    }

    @Test("a length that no message has ends the reading before anything is kept")
    func longestMessage() {
        var reader = MessageReader<MixerReport>()
        reader.push([0x01, 0x00, 0x00, 0x01, 130])
        #expect(throws: WireError.badLength(0x0100_0001)) { try reader.next() }
    }

    @Test("a mixer is not begun with numbers that it would divide by")
    func setupsOfNothing() throws {
        guard case .start(let good) = MixerWireTests.commands[0] else { return }
        let bad: [(inout MixerSetup) -> Void] = [
            { $0.canvas.fps = 0 }, { $0.canvas.fps = .max }, { $0.canvas.width = 0 }, { $0.canvas.height = .max },
            { $0.sampleRate = 0 }, { $0.channels = 0 }, { $0.gopFrames = 0 }, { $0.gopFrames = .min },
        ]
        for change in bad {
            var setup = good
            change(&setup)
            var reader = MessageReader<MixerCommand>()
            reader.push(try MixerCommand.start(setup).wireBytes())
            #expect(throws: WireError.self) { try reader.next() }
        }
    }

    private static let status = RelayStatus(
        task: "t", processID: 7, revision: 3, onAir: .mix, bypassSource: nil, scene: nil,
        sources: [
            SourceStatus(
                id: "a/camera", state: .live, pictureSize: LayoutParticipant.Size(width: 720, height: 1280),
                frameRate: 25)
        ],
        outputs: [
            OutputStatus(
                DestinationStatus(
                    id: "cdn", state: .live, connectedSince: 1, reconnects: 2, bytesSent: 3, droppedFrames: 4)),
            OutputStatus(
                HLSStatus(
                    startedAt: 1_700_000_000.5,
                    variants: [HLSVariantStatus(name: "video", width: 720, height: 1280, bandwidth: 1000)])),
            OutputStatus(RecordingStatus(id: "r", files: 1, seconds: 2.5, bytes: 99)),
        ],
        programTime: .seconds(9),
        load: RelayLoad(
            relaySeconds: 1.5,
            mixer: MixerLoad(
                processID: 8, cpuSeconds: 2.5, frameDivisor: 1, pace: FramePace(made: 100, late: 1, missing: 2))))
    private static let reports: [RelayReport] = [
        .status(status),
        .switched(
            SwitchRecord(
                at: .seconds(1), from: .bypass, to: .mix, source: nil, cause: "c", latencyMs: 20.5,
                afterKeyframeMs: 1.5,
                stages: SwitchStages(since: .zero, plan: .seconds(1), mixer: .seconds(2), held: .seconds(3)),
                videoGapMs: 50.5, audioGapMs: 21.5, wallClock: 1_700_000_000.5)),
    ]

    @Test("reports of a relay whose numbers are absurd can be reckoned with, and be told of")
    func reportsWithAnyNumber() throws {
        var random = SeededGenerator(announcedFor: "HostileMessageTests.reportsWithAnyNumber")
        let texts = try Self.reports.map { try DocumentEncoder.json($0) }
        var meter = CostMeter()
        var costs = CostModel()
        var last = FramePace()
        for round in 0..<3_000 {
            var text = texts[round % 2]
            for _ in 0...Int.random(in: 0...3, using: &random) { text = HostileBytes.numbers(of: text, using: &random) }
            guard let report = try? JSONDecoder().decode(RelayReport.self, from: Data(text.utf8)).bounded else {
                continue
            }
            #expect((try? DocumentEncoder.json(report)) != nil)
            guard case .status(let status) = report, let load = status.load else { continue }
            let pictures = status.sources.reduce(into: [SourceID: Workload.Pictures]()) { known, source in
                guard let size = source.pictureSize else { return }
                known[source.id] = Workload.Pictures(
                    width: size.width, height: size.height, rate: source.frameRate ?? 25)
            }
            let workload = Workload(
                mode: .mix(host: "a/camera"), scene: Scene(canvas: .portrait, panes: []),
                sources: [PlannedSource(id: "a/camera", url: "rtmp://x/y/z")], outputs: 1, pictures: pictures)
            #expect(costs.cores(workload).isFinite)
            if let measurement = meter.take(load, workload: workload, at: status.programTime) {
                costs.learn(measurement)
            }
            #expect(costs.isUsable)
            if let pace = load.mixer?.pace { (_, last) = (pace.made - last.made + pace.missing - last.missing, pace) }
        }
    }

    @Test("a report of the size and the numbers that relays have is what it was")
    func goodReportsStay() { for report in Self.reports { #expect(report.bounded == report) } }

    @Test("frames of a mixer with any time are counted", arguments: [Int64.min, -1, 0, .max])
    func paceOfAnyTime(nanoseconds: Int64) {
        for interval in [MediaTime.zero, .milliseconds(50), MediaTime(nanoseconds: .max)] {
            var pace = FramePace()
            for time in [nanoseconds, 0, .max, .min, .max] {
                pace.take(pts: MediaTime(nanoseconds: time), now: .zero, origin: .zero, interval: interval)
            }
            #expect(pace.made == 5 && pace.missing >= 0)
        }
    }
}
