import Foundation
import LayoutEngine
import Testing

@testable import MixModel

/// `DocumentEncoder` writes documents that mean the same as those of `JSONEncoder`.
@Suite struct DocumentEncoderTests {
    private func expectSame<Value: Codable & Equatable>(
        _ value: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let text = try DocumentEncoder.json(value)
        let ours = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        let theirs = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value), options: .fragmentsAllowed)
        #expect((ours as? NSObject) == (theirs as? NSObject), "\(text)", sourceLocation: sourceLocation)
        #expect(try JSONDecoder().decode(Value.self, from: Data(text.utf8)) == value, sourceLocation: sourceLocation)
    }

    private struct Everything: Codable, Equatable {
        var text = "a \"quoted\" \\ \u{0}\u{1f}\n\tü😀/"
        var empty = ""
        var flag = true
        var numbers: [Double] = [0, -1.5, 1e300, 2.5e-300, 1_700_000_000.123456]
        var integers: [Int64] = [.min, 0, .max]
        var large = UInt64.max
        var small: Int8 = -128
        var missing: Int?
        var holes: [String?] = ["a", nil]
        var nested: [[String: [Int]]] = [[:], ["k\"1": [1, 2], "k2": []]]
        var keyed: [SourceID: Int] = ["a/camera": 1]
        var float: Float = 0.25
    }

    @Test func everyShapeIsTheSame() throws {
        try expectSame(Everything())
        try expectSame([Everything]())
        try expectSame([String: Everything]())
        try expectSame("only a string")
        try expectSame(7)
        #expect(throws: EncodingError.self) { try DocumentEncoder.json([Double.nan]) }
    }

    @Test func documentsAreTheSame() throws {
        var room = Room(id: "demo", settings: RoomSettings(host: "alice", layout: "auto", outputs: []))
        let kinds: [RoomEvent.Kind] = [
            .streamPublished(Publication(user: "alice", url: "rtmp://127.0.0.1/a?b=\"c\"", role: .host)),
            .streamUpdated(StreamUpdate(user: "alice", audio: false)),
            .streamPublished(Publication(user: "böb", stream: .screen, url: "rtmp://127.0.0.1/b")),
            .participantJoined(user: "carol", role: nil, name: "Carol \"C\""),
            .streamUnpublished(user: "böb", stream: .screen, reason: nil), .participantLeft(user: "carol"), .roomOpened,
            .roomClosed,
        ]
        for (number, kind) in kinds.enumerated() {
            let event = RoomEvent(
                room: "demo", source: "app", id: "\(number)", sequence: UInt64(number), time: 1.5, kind: kind)
            try expectSame(event)
            _ = RoomMachine.apply(event, to: &room)
            try expectSame(room)
        }
        try expectSame(TaskMachine(id: "auto-demo", room: "demo"))
        try expectSame(
            SwitchRecord(
                at: .seconds(2), from: .bypass, to: .mix, source: "a/camera", cause: "c", latencyMs: 1.25,
                stages: SwitchStages(since: .zero, plan: .milliseconds(1), picture: .milliseconds(2)),
                videoGapMs: 50, audioGapMs: nil, wallClock: 2))
    }

    @Test func reportsOfRelaysAreTheSame() throws {
        let scene = Scene(
            canvas: .portrait, panes: [Pane(source: "a/camera", user: "a", x: 0, y: 0, width: 2, height: 2)])
        let status = RelayStatus(
            task: "t", processID: 7, revision: 3, onAir: .mix, bypassSource: "a/camera", scene: scene,
            sources: [
                SourceStatus(
                    id: "a/camera", state: .recovering, error: "gone\n\"", isAbsent: true,
                    pictureSize: .init(width: 2, height: 4), frameRate: 29.97),
                SourceStatus(id: "b/camera", state: .live),
            ],
            outputs: [
                OutputStatus(
                    DestinationStatus(
                        id: "cdn", state: .failed, connectedSince: 1.7e9, reconnects: 2, bytesSent: .max,
                        lastError: "e", lastErrorCode: .wedged, droppedFrames: 1)),
                OutputStatus(HLSStatus(session: "1")), OutputStatus(RecordingStatus(id: "r", source: "a/camera")),
            ], programTime: .seconds(2), mixerError: "none",
            load: RelayLoad(
                relaySeconds: 1.5,
                mixer: MixerLoad(
                    processID: 8, cpuSeconds: 0.25, frameDivisor: 2, pace: FramePace(made: 3, late: 2, missing: 1))))
        let empty = RelayStatus(
            task: "t", processID: 7, revision: 0, onAir: nil, bypassSource: nil, scene: nil, sources: [], outputs: [],
            programTime: .zero)
        let record = SwitchRecord(
            at: .zero, from: nil, to: .slate, source: nil, cause: "", latencyMs: 0, videoGapMs: 1e-9, audioGapMs: 21.3,
            wallClock: 1)
        for report in [
            RelayReport.status(status), .status(empty), .switched(record), .note(code: "c", message: "two\nlines"),
            .refused(reason: "ü"),
        ] {
            try expectSame(report)
            #expect(try !DocumentEncoder.json(report).contains("\n"), "a report is one line")
        }
    }
}
