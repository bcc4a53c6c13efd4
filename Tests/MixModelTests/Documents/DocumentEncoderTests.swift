import Foundation
import Testing

@testable import MixModel

/// `DocumentEncoder` writes what `JSONEncoder` means.
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
                videoGapMs: 50, audioGapMs: nil, wallClock: 2))
    }
}
