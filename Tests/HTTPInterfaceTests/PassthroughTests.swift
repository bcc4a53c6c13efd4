import EncodedMedia
import LayoutEngine
import MixModel
import Testing

@testable import HTTPInterface

/// The reasons for which viewers do not get a participant's own packets.
@Suite struct PassthroughTests {
    private static func reason(
        onAir: OnAir, seconds: Double? = nil, refreshes: Bool? = nil, mode: ProgramPlan.Mode = .bypass("alice/camera")
    ) -> String? {
        let plan = ProgramPlan(
            revision: 3, task: "t", room: "r", sources: [PlannedSource(id: "alice/camera", url: "rtmp://h/a/b")],
            mode: mode, scene: Scene(canvas: .portrait, panes: []), outputs: [], causedAt: 0, cause: "test")
        let source = SourceStatus(
            id: "alice/camera", state: .live, secondsWithoutKeyframe: seconds, refreshesGradually: refreshes)
        let status = RelayStatus(
            task: "t", processID: 1, revision: 3, onAir: onAir, bypassSource: nil, scene: nil, sources: [source],
            outputs: [], programTime: .zero)
        return TaskView.passthrough(status, plan, nil).reason
    }

    @Test func aMixOfOneThatWaitsForAKeyframeSaysSo() {
        #expect(Self.reason(onAir: .bypass) == nil)
        #expect(Self.reason(onAir: .mix) == "waits for a keyframe of alice/camera")
        #expect(Self.reason(onAir: .mix, seconds: 41.7) == "waits for a keyframe of alice/camera for 42 s")
        #expect(
            Self.reason(onAir: .mix, seconds: 41, refreshes: true)
                == "alice/camera sends no keyframes (intra refresh or open GOPs)")
        #expect(Self.reason(onAir: .mix, seconds: 41, mode: .mix(host: "alice/camera"))?.contains("never") == true)
    }

    @Test(arguments: [
        (TrackSelection.audio, true, false, "sends no AAC"), (.video, false, true, "sends no H.264"),
        (.all, false, false, "sends neither H.264 nor AAC"),
    ])
    func whatIsTranscodedAtTheDoorIsNoPassthrough(tracks: TrackSelection, video: Bool, audio: Bool, words: String) {
        let plan = ProgramPlan(
            revision: 3, task: "t", room: "r", sources: [PlannedSource(id: "alice/camera", url: "srt://h:9")],
            mode: .bypass("alice/camera"), scene: Scene(canvas: .portrait, panes: []), outputs: [], causedAt: 0,
            cause: "test")
        let status = RelayStatus(
            task: "t", processID: 1, revision: 3, onAir: .bypass, bypassSource: "alice/camera", scene: nil,
            sources: [SourceStatus(id: "alice/camera", state: .live, transcoded: tracks)], outputs: [],
            programTime: .zero)
        let passthrough = TaskView.passthrough(status, plan, nil)
        #expect(passthrough.video == video && passthrough.audio == audio)
        #expect(passthrough.reason?.contains(words) == true)
    }
}
