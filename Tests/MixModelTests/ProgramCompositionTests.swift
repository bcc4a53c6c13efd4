import Foundation
import LayoutEngine
import MixModel
import Testing

/// Programs whose participants are listed by name.
@Suite struct ProgramCompositionTests {
    private typealias Bench = TaskMachineTests.Bench

    private func bench(_ program: ProgramSettings) -> Bench {
        var bench = Bench()
        bench.room.settings.program = program
        return bench
    }

    private func program(of bench: Bench, lastHost: UserID? = nil) -> ProgramPlanner.Program {
        ProgramPlanner.program(for: bench.room, context: bench.context, lastHost: lastHost)
    }

    private static func left(_ source: SourceSelection? = nil, placeholder: String? = nil) -> FixedPane {
        FixedPane(
            x: .zero, y: .zero, width: UnitFraction(0.5), height: .whole, source: source, placeholder: placeholder)
    }
    private static func right(_ source: SourceSelection? = nil, placeholder: String? = nil) -> FixedPane {
        FixedPane(
            x: UnitFraction(0.5), y: .zero, width: UnitFraction(0.5), height: .whole, z: 1, source: source,
            placeholder: placeholder)
    }

    private static func other(
        _ user: UserID, kind: StreamKind = .camera, audio: Bool = true, video: Bool = true, joinOrder: Int = 0
    ) -> RoomStream {
        RoomStream(
            id: SourceID(user: user, stream: kind), user: user, role: nil, joinOrder: joinOrder,
            stream: LiveStream(
                kind: kind, url: "rtmp://127.0.0.1/other/\(user)", audio: audio, video: video, publishOrder: 0))
    }

    // MARK: One stream

    @Test func oneStreamIsCopiedWhoeverElseIsThere() {
        var bench = bench(ProgramSettings(composition: .single(SourceSelection(user: "bob"))))
        #expect(bench.publish("alice").isEmpty, "the task waits for bob")
        #expect(bench.publish("bob").plans.first?.mode == .bypass("bob/camera"))
        bench.now += TaskMachine.debounceWindow
        #expect(bench.publish("carol").plans.isEmpty)
        let program = program(of: bench)
        #expect(program.sources.map(\.id) == ["bob/camera"])
        #expect(program.scene.panes.map(\.source) == ["bob/camera"])
        #expect(program.tracks == .all)
    }

    @Test func whoIsNeverCopiedIsMixedAlone() {
        var bench = bench(ProgramSettings(composition: .single(SourceSelection(user: "bob"))))
        bench.room.settings.policy.bypass = .never
        _ = bench.publish("bob")
        #expect(program(of: bench).mode == .mix(host: "bob/camera"))
        #expect(program(of: bench).scene.panes.map(\.isLive) == [true])
        #expect(program(of: bench).scene.panes.map(\.card.style) == [.gradient])
    }

    @Test func whoIsAwayIsASlateUntilTheTaskIsIdle() throws {
        var bench = bench(ProgramSettings(composition: .single(SourceSelection(user: "bob"))))
        _ = bench.publish("alice")
        _ = bench.publish("bob")
        bench.now += TaskMachine.debounceWindow
        let actions = bench.unpublish("bob")
        #expect(actions.plans.first?.mode == .slate)
        let (token, time) = try #require(actions.deadlines.first { $0.0.kind == .idle })
        bench.now = time
        #expect(bench.pass(token).contains(.drainRelay))
    }

    @Test func aCameraThatIsOffIsACardWithItsSound() {
        var bench = bench(ProgramSettings(composition: .single(SourceSelection(user: "bob"))))
        _ = bench.publish("bob", video: false)
        let program = program(of: bench)
        #expect(program.mode == .mix(host: "bob/camera"))
        #expect(program.scene.panes.map(\.isLive) == [false])
        #expect(program.scene.sound.levels.map(\.source) == ["bob/camera"])
    }

    private static let choices: [(StreamKind?, SourceSelection.Tracks, SourceID)] = [
        (nil, .all, "bob/camera"), (.screen, .all, "bob/screen"), (.camera, .video, "bob/camera#video"),
        (nil, .audio, "bob/camera#audio"), (.audio, .audio, "bob/audio#audio"),
    ]

    @Test(arguments: choices)
    func theKindAndTheTracksAreChosen(_ kind: StreamKind?, _ tracks: SourceSelection.Tracks, _ id: SourceID) {
        var bench = bench(
            ProgramSettings(composition: .single(SourceSelection(user: "bob", kind: kind, tracks: tracks))))
        for kind in [StreamKind.screen, .audio, .camera] { _ = bench.publish("bob", kind) }
        let program = program(of: bench)
        #expect(program.mode == .bypass(id))
        #expect(program.tracks == tracks)
        #expect(program.sources.map(\.tracks) == [tracks == .all ? nil : tracks])
        #expect(program.sources.first?.video == (tracks != .audio && kind != .audio))
        #expect(program.scene.panes.isEmpty == (tracks == .audio))
        // Text at the edges of a screen is not cropped where the canvas has another shape.
        #expect(program.scene.panes.allSatisfy { $0.fit == (kind == .screen ? .contain : .cover) })
    }

    @Test func withoutACameraTheScreenIsTaken() {
        var bench = bench(ProgramSettings(composition: .single(SourceSelection(user: "bob"))))
        _ = bench.publish("bob", .audio)
        #expect(program(of: bench).mode == .mix(host: "bob/audio"))
        _ = bench.publish("bob", .screen)
        #expect(program(of: bench).mode == .bypass("bob/screen"))
    }

    // MARK: Panes

    @Test func panesAreFilledByNameAndThenInTheOrderOfJoining() {
        var bench = bench(
            ProgramSettings(
                composition: .fixed(
                    FixedComposition(panes: [
                        Self.left(), Self.right(SourceSelection(user: "alice")),
                        FixedPane(x: .zero, y: .zero, width: UnitFraction(0.25), height: UnitFraction(0.25), z: 5),
                    ]))))
        for user in ["alice", "bob", "carol", "dave"] as [UserID] { _ = bench.publish(user) }
        let scene = program(of: bench).scene
        #expect(scene.panes.map(\.user) == ["bob", "alice", "carol"])
        #expect(scene.panes.map(\.z) == [0, 1, 5])
        #expect(scene.panes.map(\.x) == [0, 360, 0] && scene.panes.map(\.width) == [360, 360, 180])
        #expect(scene.panes.allSatisfy { $0.matte == .black && $0.border == nil && $0.label == nil })
        // Dave has no pane, but is heard.
        #expect(scene.sound.levels.count == 4)
        #expect(scene.transition == .cut)
    }

    @Test func oneIsAMixTooAndTheHostStays() {
        var bench = bench(ProgramSettings(composition: .fixed(FixedComposition(panes: [Self.left(), Self.right()]))))
        _ = bench.publish("alice")
        #expect(program(of: bench).mode == .mix(host: "alice/camera"))
        _ = bench.publish("bob")
        #expect(program(of: bench, lastHost: "bob").mode == .mix(host: "bob/camera"))
        #expect(program(of: bench, lastHost: "nobody").mode == .mix(host: "alice/camera"))
    }

    @Test func whoIsAbsentOrHasNoPictureIsAnImageOrBlack() {
        let image = "https://img.example/wait.png"
        var bench = bench(
            ProgramSettings(
                composition: .fixed(
                    FixedComposition(
                        panes: [
                            Self.left(SourceSelection(user: "alice"), placeholder: image),
                            Self.right(SourceSelection(user: "zoe"), placeholder: "https://img.example/missing.png"),
                        ], background: FixedBackground(url: image, fit: .contain)))))
        bench.context.images = [image: "/data/ab.png"]
        _ = bench.publish("alice", video: false)
        let program = program(of: bench)
        #expect(program.mode == .mix(host: "alice/camera"))
        #expect(program.scene.panes.map(\.isLive) == [false, false])
        #expect(program.scene.panes.map(\.fallback) == [.image("/data/ab.png"), .nothing])
        #expect(program.scene.background == Scene.Backdrop(image: "/data/ab.png", fit: .contain))
        // She was announced and does not come.
        var late = bench
        _ = late.tell(.streamUpdated(StreamUpdate(user: "alice", video: true)))
        #expect(self.program(of: late).scene.panes[0].isLive)
        late.context.absent = ["alice/camera"]
        #expect(!self.program(of: late).scene.panes[0].isLive)
    }

    @Test func onlyWhoIsSelectedIsHeardAndPulled() {
        var bench = bench(
            ProgramSettings(
                composition: .fixed(
                    FixedComposition(
                        sources: [
                            SourceSelection(user: "alice", tracks: .video),
                            SourceSelection(user: "bob", tracks: .audio),
                            SourceSelection(user: "zoe"),
                        ], panes: [Self.left(), Self.right()]))))
        for user in ["alice", "bob", "carol"] as [UserID] { _ = bench.publish(user) }
        let program = program(of: bench)
        #expect(program.sources.map(\.id) == ["alice/camera#video", "bob/camera#audio"])
        #expect(program.scene.panes.map(\.user) == ["alice", ""], "nobody else may be seen")
        #expect(program.scene.sound.levels.map(\.source) == ["bob/camera#audio"])
    }

    @Test func twoPanesOfOnePersonShowThemOnce() {
        var bench = bench(
            ProgramSettings(
                composition: .fixed(
                    FixedComposition(panes: [
                        Self.left(SourceSelection(user: "alice")), Self.right(SourceSelection(user: "alice")),
                    ]))))
        _ = bench.publish("alice")
        #expect(program(of: bench).scene.panes.map(\.isLive) == [true, false])
    }

    // MARK: Other rooms

    @Test func peopleOfOtherRoomsAreOthersThanThoseOfTheSameName() throws {
        var bench = bench(
            ProgramSettings(
                composition: .fixed(
                    FixedComposition(panes: [
                        Self.left(SourceSelection(user: "alice")),
                        Self.right(SourceSelection(room: "next", user: "alice")),
                    ]))))
        _ = bench.publish("alice")
        #expect(program(of: bench).scene.panes.map(\.isLive) == [true, false])
        bench.context.others = ["next": [Self.other("alice"), Self.other("carol", joinOrder: 1)]]
        let program = program(of: bench)
        #expect(program.sources.map(\.id) == ["alice/camera", "alice/camera@next"])
        #expect(program.sources.map(\.id.user) == ["alice", "alice"])
        #expect(program.scene.panes.map(\.source) == ["alice/camera", "alice/camera@next"])
        #expect(program.scene.sound.levels.count == 2)
        #expect(program.mode == .mix(host: "alice/camera"))
        // She is muted and has no picture in her own room.
        bench.context.others = ["next": [Self.other("alice", audio: false, video: false)]]
        let muted = self.program(of: bench)
        #expect(muted.scene.panes.map(\.isLive) == [true, false])
        #expect(muted.scene.sound.levels.map(\.source) == ["alice/camera"])
    }

    @Test func aTaskStartsWithAStreamOfAnotherRoom() {
        var bench = bench(
            ProgramSettings(composition: .single(SourceSelection(room: "next", user: "carol", tracks: .all))))
        #expect(bench.publish("alice").isEmpty)
        bench.context.others = ["next": [Self.other("carol")]]
        #expect(bench.settingsChanged().plans.first?.mode == .bypass("carol/camera@next"))
        #expect(bench.room.settings.program?.otherRooms == ["next"])
    }

    // MARK: Sound alone, encoding, SEI

    @Test func aProgramOfSoundHasNoPictures() {
        var bench = bench(ProgramSettings(encoding: EncodingSettings(audioOnly: true)))
        _ = bench.publish("alice")
        let one = program(of: bench)
        #expect(one.mode == .bypass("alice/camera#audio") && one.tracks == .audio)
        _ = bench.publish("bob")
        let two = program(of: bench)
        #expect(two.mode == .mix(host: "alice/camera#audio"))
        #expect(two.scene.panes.isEmpty && two.scene.background == nil)
        #expect(two.scene.sound.levels.map(\.source) == ["alice/camera#audio", "bob/camera#audio"])
        #expect(two.sources.allSatisfy { $0.tracks == .audio && !$0.video })
        let work = Workload(mode: two.mode, scene: two.scene, sources: two.sources, outputs: 1, hasVideo: false)
        #expect(work.mix == Workload.Mix(composed: 0, decoded: 0, scaled: 0, sounds: 2))
        bench.room.settings.program?.composition = .fixed(FixedComposition())
        #expect(program(of: bench).mode == .mix(host: "alice/camera#audio"))
        #expect(program(of: bench).scene.panes.isEmpty)
    }

    @Test func otherMessagesAreANewPlanOfTheSameProgram() throws {
        var bench = bench(ProgramSettings(encoding: EncodingSettings(videoBitrate: 900_000)))
        let first = try #require(bench.publish("alice").plans.first)
        #expect(first.encoding?.videoBitrate == 900_000 && first.tracks == nil)
        bench.room.settings.program?.sei = SEISettings(custom: "{}")
        let second = try #require(bench.settingsChanged().plans.first)
        #expect(second.sei == SEISettings(custom: "{}"))
        #expect(second.mode == first.mode && second.scene == first.scene && second.sources == first.sources)
        #expect(bench.settingsChanged().plans.isEmpty)
    }

    @Test func documentsOfEarlierReleasesAreRead() throws {
        let plan = ProgramPlan(
            revision: 3, task: "t", room: "r", sources: [PlannedSource(id: "a/camera", url: "rtmp://h/a")],
            mode: .bypass("a/camera"), scene: Scene(canvas: .portrait, panes: []), outputs: [], causedAt: 1, cause: "c",
            tracks: .audio, encoding: EncodingSettings(audioOnly: true), sei: SEISettings(layoutVolume: .init()))
        let settings = RoomSettings(program: ProgramSettings(composition: .single(SourceSelection(user: "a"))))
        #expect(try JSONDecoder().decode(ProgramPlan.self, from: JSONEncoder().encode(plan)) == plan)
        #expect(try JSONDecoder().decode(RoomSettings.self, from: JSONEncoder().encode(settings)) == settings)
        var old = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(plan)) as? [String: Any])
        for key in ["tracks", "encoding", "sei"] { old[key] = nil }
        let read = try JSONDecoder().decode(ProgramPlan.self, from: JSONSerialization.data(withJSONObject: old))
        #expect(read.tracks == nil && read.encoding == nil && read.sei == nil && read.mode == plan.mode)
        let bare = #"{"policy":{"bypass":"auto","whenHostLeaves":"promote","maxIdleSeconds":120}}"#
        #expect(try JSONDecoder().decode(RoomSettings.self, from: Data(bare.utf8)) == RoomSettings())
    }
}
