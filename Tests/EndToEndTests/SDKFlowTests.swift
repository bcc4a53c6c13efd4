import Foundation
import LayoutEngine
import TestSupport
import Testing
import EncodedMedia

@testable import ProgramMixer
@testable import ViewerProbe

/// The flow of Alibaba Cloud's guide, with its own SDKs unchanged, real streams, and a viewer who judges the result:
/// one stream, a mix with a guest, and one stream again, all on one connection.
@Suite(.serialized) struct SDKFlowTests {
    private static let key = "testid"
    private static let secret = "testsecret-of-the-flow"
    private static let environment = [
        "MIXORCHESTRATOR_APPS_0_ID": "default", "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_ID": key,
        "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_SECRET": secret,
    ]
    private static let task = "program"
    private static let ids = #""AppId": "default", "ChannelId": "demo", "TaskId": "program""#
    private static let single = #""MixMode": "0", "SingleSubParams": {"UserId": "alice", "StreamType": "0"}"#
    /// Returns the settings of a mix. Its panes have the publishers' shape, and name their publishers or are filled in
    /// the order of joining.
    private static func mix(_ users: [String?], codec: String, canvas: Canvas) -> String {
        let panes = users.enumerated().map { index, user in
            let person = user.map { #", "UserInfo": {"UserId": "\#($0)"}"# } ?? ""
            return
                #"{"X": "\#(index == 0 ? "0" : "0.5")", "Y": "0.25", "Width": "0.5", "Height": "0.5", "ZOrder": "\#(index)"\#(person)}"#
        }
        return #"""
            "MixMode": "1", "TranscodeParams": {
            "EncodeParams": {"AudioOnly": "false", "AudioBitrate": "128", "AudioChannels": "2", "AudioSampleRate": "48000",
            "VideoBitrate": "2000", "VideoCodec": "\#(codec)", "VideoFramerate": "20", "VideoGop": "40",
            "VideoWidth": "\#(canvas.width)", "VideoHeight": "\#(canvas.height)"},
            "Layout": {"UserPanes": [\#(panes.joined(separator: ", "))]}}
            """#
    }

    private func call(_ sdk: SDKCalls, _ action: String, _ parameters: String) async throws {
        let outcome = try await sdk.call(action, "{\(parameters)}")
        guard outcome.isDone else { throw EndToEndError("\(action): \(outcome.text)") }
    }

    private func flow(
        _ kind: SDKCalls.SDK, mixes: [[String?]], codec: String = "H.264", canvas: Canvas = .portrait
    ) async throws {
        try await Stage.run(canvas: canvas, environment: Self.environment) { stage in
            let build = Workspace.products.deletingLastPathComponent().deletingLastPathComponent()
            let sdk = try SDKCalls(
                kind, port: stage.client.port, key: Self.key, secret: Self.secret, root: Workspace.root, build: build)
            // The room is still empty.
            try await call(
                sdk, "StartLiveMPUTask",
                "\(Self.ids), \(Self.single), \"StreamURL\": \"\(stage.media.cdn(stage.room))\", \"MaxIdleTime\": \"60\""
            )
            let waiting = try await stage.client.task(stage.room, name: Self.task)
            #expect(waiting != nil && waiting?.state.onAir == nil && stage.workers.isEmpty)

            let (width, height) = (canvas.width, canvas.height)
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: width, height: height))
            try await stage.publish(
                "bob", SyntheticPublisher(id: 2, width: width, height: height, gopSeconds: 1, hasSound: false))
            try await stage.join("alice")
            try await stage.waitForOnAir("bypass", task: Self.task)
            let viewer = try await stage.watch()
            try await stage.join("bob")
            try await Task.sleep(for: .seconds(3))
            // Another user in the room does not cause a mix: the caller decides.
            try await stage.waitForOnAir("bypass", task: Self.task)
            for users in mixes {
                try await call(
                    sdk, "UpdateLiveMPUTask", "\(Self.ids), \(Self.mix(users, codec: codec, canvas: canvas))")
                try await stage.waitForOnAir("mix", users: ["alice", "bob"], task: Self.task)
                try await Task.sleep(for: .milliseconds(2600))
                try await call(sdk, "UpdateLiveMPUTask", "\(Self.ids), \(Self.single)")
                try await stage.waitForOnAir("bypass", task: Self.task)
                try await Task.sleep(for: .milliseconds(2600))
            }
            let state = try await stage.waitForOnAir("bypass", task: Self.task)
            #expect(state.outputs.map(\.reconnects) == [0], "one connection all along")
            let report = try await stage.judge(viewer, expectedSwitches: mixes.count * 2)
            let codecs = try await viewer.recording().trace().configurations.compactMap(\.videoCodec)
            #expect(Set(codecs) == (codec == "H.265" ? [.h264, .h265] : [.h264]))
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(Set(report.sources.map(\.id)) == [1, 2])

            try await call(sdk, "StopLiveMPUTask", #""AppId": "default", "TaskId": "program""#)
            try await waitUntil("nothing is left of the task") {
                let task = try await stage.client.task(stage.room, name: Self.task)
                return stage.workers.isEmpty && task == nil
            }
            await sdk.end()
        }
    }

    @Test(.timeLimit(.minutes(10))) func theFlowOfTheGuide() async throws {
        try await flow(.new, mixes: [["alice", "bob"], [nil, nil]])
    }

    @Test(.timeLimit(.minutes(10))) func theMixIsH265WhereItIsAskedFor() async throws {
        // The canvas is small because at 720×1280 the encoder alone takes most of a core, and the seam would show the
        // machine's limits.
        try await flow(
            .new, mixes: [["alice", "bob"]], codec: "H.265", canvas: Canvas(width: 360, height: 640, fps: 20))
    }

    @Test(.timeLimit(.minutes(10))) func theFlowWithTheOlderSDK() async throws {
        try await flow(.legacy, mixes: [["alice", nil]], canvas: Canvas(width: 360, height: 640, fps: 20))
    }
}
