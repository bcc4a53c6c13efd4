import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// Values of a layout that change while viewers watch: set by an operator, or taken from the room's channel.
@Suite(.serialized) struct LayoutValuesFlowTests {
    private static let (blue, red) = (RGB(red: 32, green: 64, blue: 112), RGB(red: 120, green: 32, blue: 32))
    /// The layout: both participants at the top, the score below them at the left, the comment at the bottom, and
    /// background between them.
    private static let board = """
        {"params": {"score": {"type": "number", "default": 1, "min": 0, "max": 99999},
                    "ground": {"type": "color", "default": "\(blue)"}},
         "canvas": {"background": {"param": "ground"}},
         "overlays": [
           {"text": "{score}", "x": 0.02, "y": 0.72, "width": 0.5, "height": 0.1, "align": "left", "size": 0.1,
            "background": "#000000", "backgroundOpacity": 1},
           {"text": "{comment}", "x": 0, "y": 0.88, "width": 1, "height": 0.1, "size": 0.03, "color": "#000000",
            "background": "#FFFFFF", "backgroundOpacity": 1}],
         "arrangements": [{"panes": [
           {"slot": 1, "x": 0.05, "y": 0.05, "width": 0.4, "height": 0.4},
           {"slot": 2, "x": 0.55, "y": 0.05, "width": 0.4, "height": 0.4}]}]}
        """

    /// The state of the values that a viewer sees.
    private enum Seen: Hashable {
        /// A picture that does not show the layout.
        case other
        case board(isRed: Bool, isScoreLong: Bool, hasComment: Bool)
    }

    @Test(.timeLimit(.minutes(15))) func aScoreAndACommentComeIntoThePictureWithoutAMissingFrame() async throws {
        try await Stage.run(layout: "board") { stage in
            try stage.save(layout: Self.board, as: "board")
            try await stage.waitForLayout("board")
            let (viewer, _) = try await stage.openWatchedMix()
            let (mixer, relay) = (try stage.mixer(), try stage.relay())
            try await viewer.receive(pictures: 60)

            let path = "/v1/tasks/auto-\(stage.room)/params"
            let changed = try await stage.client.request(
                "PATCH", path, json: "{\"score\": 88888, \"ground\": \"\(Self.red)\"}", headers: ["If-Match": "*"])
            #expect(changed.status == 200, "\(changed.text)")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await viewer.receive(pictures: 60)
            let messages = "/v1/rooms/\(stage.room)/messages"
            let said = try await stage.client.request(
                "POST", messages, json: #"{"text": "Well played!", "user": "ann", "name": "Ann"}"#)
            #expect(said.status == 201, "\(said.text)")
            // Likes do not change this picture.
            for _ in 0..<10 {
                _ = try await stage.client.request("POST", messages, json: #"{"kind": "like", "user": "ben"}"#)
            }
            try await viewer.receive(pictures: 60)
            struct Message: Decodable { var id: Int64 }
            let id = try JSONDecoder().decode(Message.self, from: said.body).id
            #expect(try await stage.client.request("DELETE", "\(messages)/\(id)").status == 204)
            try await viewer.receive(pictures: 60)
            #expect(try stage.mixer() == mixer && stage.relay() == relay)
            // There is one decision for the join and one for the score, and none for the comments.
            let plans = try await stage.client.timeline(stage.room).filter { $0.contains(": mix of 2") }
            #expect(plans.count == 2, "\(plans)")

            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await viewer.receive(pictures: 25)
            viewer.stop()
            let recording = await viewer.recording()
            let report = try await stage.judge(recording, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.sources.map(\.id).sorted() == [1, 2])
            #expect(report.isWhole(), "\(report.sources)")
            #expect(
                try Self.seen(in: recording) == [
                    .board(isRed: false, isScoreLong: false, hasComment: false),
                    .board(isRed: true, isScoreLong: true, hasComment: false),
                    .board(isRed: true, isScoreLong: true, hasComment: true),
                    .board(isRed: true, isScoreLong: true, hasComment: false),
                ])
        }
    }

    /// Returns the states shown by pictures of the layout, each once. A participant alone may have any colour in its
    /// place. Texts may be drawn some pictures after the colour that changes with them, on a busy machine up to a
    /// second later, so a state counts if it lasts for at least half of its 60 pictures.
    private static func seen(in recording: FLVRecording) throws -> [Seen] {
        var seen: [(what: Seen, pictures: Int)] = []
        _ = try PictureDecoder.decode(recording.path) { _, picture in
            let (width, height) = (Double(picture.width), Double(picture.height))
            func has(_ colour: RGB) -> Bool {
                // The area between the participants and the score.
                guard
                    let mean = picture.meanColour(
                        x: width * 0.3, y: height * 0.52, width: width * 0.4, height: height * 0.12)
                else { return false }
                let sample = ColourSample(colour, matrix: .bt601)
                return [mean.luma - sample.luma, mean.blue - sample.blue, mean.red - sample.red].allSatisfy {
                    abs($0) < 12
                }
            }
            func luma(_ x: Double, _ y: Double, _ w: Double, _ h: Double) -> Double {
                picture.meanLuma(x: width * x, y: height * y, width: width * w, height: height * h) ?? 0
            }
            let now: Seen =
                has(blue) || has(red)
                ? .board(
                    isRed: has(red), isScoreLong: luma(0.2, 0.745, 0.2, 0.05) > 60,
                    hasComment: luma(0.02, 0.89, 0.1, 0.08) > 150) : .other
            if seen.last?.what == now { seen[seen.count - 1].pictures += 1 } else { seen.append((now, 1)) }
        }
        return seen.filter { $0.pictures >= 30 && $0.what != .other }.reduce(into: []) { list, run in
            if list.last != run.what { list.append(run.what) }
        }
    }
}
