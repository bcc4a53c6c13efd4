import LayoutEngine
import MixModel
import Testing

/// The program of a room: its host, its panes, and the mode on air.
@Suite struct ProgramPlannerTests {
    private typealias Bench = TaskMachineTests.Bench

    private static func template(_ json: String) throws -> LayoutTemplate {
        try LayoutTemplate.decode(json.utf8, name: "t")
    }

    private func program(of bench: Bench, lastHost: UserID? = nil) -> ProgramPlanner.Program {
        ProgramPlanner.program(for: bench.room, context: bench.context, lastHost: lastHost)
    }

    @Test func everyHostIsAHostAndTheProgramsOwnIsTheFirst() throws {
        var bench = Bench()
        bench.context.template = try Self.template(
            """
            {"arrangements": [{"panes": [
                {"role": "host", "x": 0, "y": 0, "width": 0.5, "height": 0.5},
                {"role": "host", "x": 0.5, "y": 0, "width": 0.5, "height": 0.5},
                {"role": "guest", "x": 0, "y": 0.5, "width": 0.5, "height": 0.5}]}]}
            """)
        _ = bench.publish("gast")
        _ = bench.publish("anna", role: .host)
        _ = bench.publish("bert", role: .host)
        #expect(program(of: bench).scene.panes.map(\.user) == ["anna", "bert", "gast"])
        bench.room.settings.host = "bert"
        let program = program(of: bench)
        #expect(program.mode == .mix(host: "bert/camera"))
        let first = program.scene.panes.first { $0.x == 0 && $0.y == 0 }
        #expect(first?.user == "bert")
        #expect(Set(program.scene.panes.map(\.user)) == ["anna", "bert", "gast"])
    }

    @Test func aRoomOfSoundIsAMixOfCards() throws {
        var bench = Bench()
        _ = bench.tell(.participantJoined(user: "anna", role: .host, name: "Anna Berg"))
        _ = bench.publish("bert", .audio)
        _ = bench.publish("anna", .audio)
        let program = program(of: bench)
        #expect(program.mode == .mix(host: "anna/audio"))
        #expect(program.scene.panes.map(\.source) == ["anna/audio", "bert/audio"])
        #expect(program.scene.panes.allSatisfy { !$0.isLive })
        #expect(program.scene.panes.map(\.card.name) == ["Anna Berg", "bert"])
        #expect(program.scene.sound.levels.map(\.source) == ["anna/audio", "bert/audio"])
    }

    /// Players get the names of everyone who is seen or heard, whatever the program consists of.
    @Test func sourcesHaveTheNamesOfTheirPublishers() {
        var bench = Bench()
        _ = bench.tell(.participantJoined(user: "anna", role: .host, name: "Anna Berg"))
        _ = bench.publish("anna")
        _ = bench.publish("bert", .audio)
        #expect(program(of: bench).sources.map(\.name) == ["Anna Berg", nil])
        let bert = SourceSelection(user: "bert")
        bench.room.settings.program = ProgramSettings(composition: .single(bert))
        #expect(program(of: bench).sources.map(\.name) == [nil])
        _ = bench.tell(.participantJoined(user: "bert", role: nil, name: "Bert Cramer"))
        #expect(program(of: bench).sources.map(\.name) == ["Bert Cramer"])
    }

    /// A name that only the room knows changes the text on a card, but not its look.
    @Test func namedCardsKeepTheirLook() throws {
        var bench = Bench()
        bench.context.template = try Self.template(#"{"card": "gradient", "arrangements": [{"algorithm": "grid"}]}"#)
        _ = bench.tell(.participantJoined(user: "anna", role: .host, name: "Anna Berg"))
        _ = bench.publish("bert", .audio)
        _ = bench.publish("anna", .audio)
        #expect(
            program(of: bench).scene.panes.map(\.card) == [
                Card(name: "Anna Berg", user: "anna", style: .gradient),
                Card(name: "bert", user: "bert", style: .gradient),
            ])
    }

    @Test func oneVoiceAloneIsAMixToo() {
        var bench = Bench()
        _ = bench.publish("anna", .audio)
        #expect(program(of: bench).mode == .mix(host: "anna/audio"))
    }

    @Test func aSceneWithoutPanesIsASlate() throws {
        var bench = Bench()
        bench.context.template = try Self.template(
            #"{"omitAudioOnly": true, "arrangements": [{"algorithm": "grid"}]}"#)
        _ = bench.publish("anna", .audio)
        #expect(program(of: bench).mode == .slate)
        _ = bench.publish("bert")
        let both = program(of: bench)
        #expect(both.mode == .mix(host: "bert/camera"), "whoever has a picture gives the frames")
        #expect(both.scene.panes.map(\.source) == ["bert/camera"])
    }

    @Test func aCameraAndAMicrophoneOfOnePersonAreOnePane() {
        var bench = Bench()
        _ = bench.publish("anna")
        _ = bench.publish("anna", .audio)
        let program = program(of: bench)
        #expect(program.mode == .mix(host: "anna/camera"))
        #expect(program.scene.panes.map(\.source) == ["anna/camera"])
    }

    @Test func screensAreKnownToLayouts() throws {
        var bench = Bench()
        bench.context.template = try Self.template(
            """
            {"arrangements": [
                {"when": {"screen": true}, "panes": [
                    {"stream": "screen", "x": 0, "y": 0, "width": 1, "height": 0.5},
                    {"stream": "camera", "x": 0, "y": 0.5, "width": 1, "height": 0.5}]},
                {"algorithm": "grid"}]}
            """)
        _ = bench.publish("anna")
        _ = bench.publish("anna", .screen)
        let panes = program(of: bench).scene.panes
        #expect(Set(panes.map(\.source)) == ["anna/screen", "anna/camera"])
        #expect(panes.first { $0.y == 0 }?.source == "anna/screen")
    }

    @Test func theShapeOfPicturesChoosesTheArrangement() throws {
        var bench = Bench()
        bench.context.template = try Self.template(
            """
            {"arrangements": [
                {"when": {"sources": "landscape"}, "algorithm": "stack", "direction": "vertical"},
                {"algorithm": "side-by-side"}]}
            """)
        _ = bench.publish("anna")
        _ = bench.publish("bert")
        let unknown = program(of: bench).scene
        #expect(Set(unknown.panes.map(\.y)).count == 1, "side by side on a portrait canvas")
        let size = LayoutParticipant.Size(width: 1280, height: 720)
        bench.context.pictureSizes = ["anna/camera": size, "bert/camera": size]
        let landscape = program(of: bench).scene
        #expect(Set(landscape.panes.map(\.x)).count == 1, "one below the other")
        #expect(landscape != unknown)
    }

    @Test func aNewShapeIsNoNewPlanWhereTheSceneIsTheSame() {
        var bench = Bench()
        _ = bench.publish("anna")
        bench.now += 500_000_000
        _ = bench.publish("bert")
        bench.context.pictureSizes = ["anna/camera": LayoutParticipant.Size(width: 640, height: 360)]
        #expect(bench.settingsChanged().isEmpty)
    }

    @Test(arguments: [#""card""#, #"{"image": "away.png"}"#]) func whoIsAwayIsCalledByName(fallback: String) throws {
        var bench = Bench()
        bench.context.template = try Self.template(
            """
            {"fallback": {"absent": \(fallback)}, "arrangements": [{"panes": [
                {"user": "anna", "x": 0, "y": 0, "width": 1, "height": 0.5},
                {"user": "bert", "x": 0, "y": 0.5, "width": 1, "height": 0.5, "label": {}}]}]}
            """)
        _ = bench.tell(.participantJoined(user: "bert", role: nil, name: "Bert Cramer"))
        _ = bench.publish("anna")
        _ = bench.publish("carl")
        let pane = try #require(program(of: bench).scene.panes.first { $0.user == "bert" })
        #expect(!pane.isLive)
        #expect(pane.card == Card(name: "Bert Cramer", user: "bert"))
        // A card already shows the name.
        #expect(pane.label?.text == (fallback == #""card""# ? nil : "Bert Cramer"))
    }

    /// A bypass shows one participant's packets, whatever the layout draws around them.
    @Test func onePictureIsBypassedWhateverTheLayout() throws {
        var bench = Bench()
        bench.context.template = try Self.template(
            #"{"fallback": {"absent": "card"}, "arrangements": [{"panes": [{"user": "bert", "x": 0, "y": 0, "width": 1, "height": 1}]}]}"#
        )
        _ = bench.publish("anna")
        #expect(program(of: bench).mode == .bypass("anna/camera"))
    }
}
