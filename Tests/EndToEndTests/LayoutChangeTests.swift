import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// Layouts change while viewers watch: the running mixer shows the new scene, and no frame is lost for it.
@Suite(.serialized) struct LayoutChangeTests {
    private typealias Panes = Set<ServiceClient.TaskState.SceneState.Pane>

    @Test(.timeLimit(.minutes(12))) func layoutsChangeOnAirWithoutAMissingFrame() async throws {
        try await Stage.run { stage in
            let (viewer, first) = try await stage.openWatchedMix()
            var panes = first
            let mixer = try stage.mixer()
            try await Task.sleep(for: .seconds(1))

            // The room takes another layout.
            for layout in ["picture-in-picture", "side-by-side", "picture-in-picture"] {
                panes = try await change(stage, from: panes) {
                    try await stage.client.putRoom(
                        stage.room, host: "alice", output: stage.media.cdn(stage.room), layout: layout,
                        canvas: stage.canvas)
                }
            }
            // The room's current layout gets other content. (Large panes below would hide the host's marks.)
            for (corner, size) in [("top-left", 0.35), ("top-right", 0.4), ("top-left", 0.3)] {
                panes = try await change(stage, from: panes) {
                    try await stage.client.putLayout("picture-in-picture", json: Self.inset(corner, size: size))
                }
            }
            // The file is changed as by an operator with an editor.
            _ = try await change(stage, from: panes) {
                try stage.save(layout: Self.inset("bottom-right", size: 0.3), as: "picture-in-picture")
            }

            #expect(try stage.mixer() == mixer, "the mixer was started again")
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await viewer.receive(pictures: 25)
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            // Both participants were visible all the time, and each of their pictures was shown.
            #expect(report.sources.map(\.id).sorted() == [1, 2])
            #expect(report.isWhole(), "\(report.sources)")
        }
    }

    private static func inset(_ corner: String, size: Double) -> String {
        """
        {"arrangements": [{"algorithm": "picture-in-picture", "corner": "\(corner)", "size": \(size)}]}
        """
    }

    /// Runs `body` and returns the panes that are on air a second later.
    private func change(_ stage: Stage, from panes: Panes, _ body: () async throws -> Void) async throws -> Panes {
        let begin = ContinuousClock.now
        try await body()
        var now = panes
        try await waitUntil("another scene is on air", every: 10) {
            now = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
            return now != panes
        }
        print("layout change on air after \(ContinuousClock.now - begin)")
        try await Task.sleep(for: .seconds(1))
        return now
    }
}
