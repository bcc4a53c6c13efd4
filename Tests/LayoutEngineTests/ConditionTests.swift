import LayoutEngine
import TestSupport
import Testing

/// The arrangement that a room gets.
struct ConditionTests {
    private struct Person: Sendable {
        var user = ""
        var kind = LayoutParticipant.Kind.camera
        var role = LayoutParticipant.Role.guest
        var hasVideo = true
        var size: LayoutParticipant.Size?
    }

    private func crowd(_ people: [Person]) -> [LayoutParticipant] {
        people.enumerated().map { index, person in
            let user = person.user.isEmpty ? "user\(index)" : person.user
            return LayoutParticipant(
                source: "\(user)/\(person.kind)", user: user, role: person.role, kind: person.kind, joinOrder: index,
                hasVideo: person.hasVideo, pictureSize: person.size)
        }
    }

    /// Returns whether an arrangement with this condition is used.
    private func holds(
        _ condition: Condition, _ people: [Person], canvas: Canvas = .portrait, omitsAudioOnly: Bool = false
    ) -> Bool {
        let settings = ArrangementSettings(
            omitsAudioOnly: omitsAudioOnly,
            overlays: [.init(id: "used", place: .area(.canvas), content: .text("a", .init()))])
        let template = LayoutTemplate(
            name: "t", arrangements: [Arrangement(when: condition, placement: .algorithm(.solo), settings: settings)])
        return !LayoutEngine.plan(template, participants: crowd(people), canvas: canvas).overlays.isEmpty
    }

    /// Returns, for each count, the numbers for which the condition holds.
    private func counts(_ people: [Person], omitsAudioOnly: Bool = false) -> [Int] {
        [\Condition.people, \.hosts, \.guests, \.audioOnly].map { part in
            (0...9).first { number in
                var condition = Condition.always
                condition[keyPath: part] = number...number
                return holds(condition, people, omitsAudioOnly: omitsAudioOnly)
            } ?? -1
        }
    }

    @Test func cameraAndScreenOfOnePersonAreTwoPanesAndOnePerson() {
        let room = [Person(user: "a", role: .host), Person(user: "a", kind: .screen, role: .host), Person(user: "b")]
        #expect(counts(room) == [3, 1, 1, 0])
    }

    @Test func cameraThatIsOffCountsAsACard() {
        let room = [Person(user: "a", role: .host, hasVideo: false), Person(user: "b")]
        #expect(counts(room) == [2, 1, 1, 1])
        #expect(counts(room, omitsAudioOnly: true) == [1, 0, 1, 1])
    }

    @Test func microphoneBesideACameraIsNoPaneOfItsOwn() {
        let room = [Person(user: "a"), Person(user: "a", kind: .audio, hasVideo: false)]
        #expect(counts(room) == [1, 0, 1, 0])
        #expect(counts([Person(user: "a", kind: .audio, hasVideo: false)]) == [1, 0, 1, 1])
        let sharing = [Person(user: "a", kind: .screen), Person(user: "a", kind: .audio, hasVideo: false)]
        #expect(counts(sharing) == [1, 0, 1, 0])
        let hidden = [Person(user: "a", hasVideo: false), Person(user: "a", kind: .screen)]
        #expect(counts(hidden) == [2, 0, 1, 1])
    }

    @Test func nobodyIsAnEmptyRoom() { #expect(counts([]) == [0, 0, 0, 0]) }

    @Test func screenIsOneThatShowsSomething() {
        let screen = Person(kind: .screen)
        #expect(holds(Condition(screen: true), [Person(), screen]))
        #expect(!holds(Condition(screen: false), [Person(), screen]))
        #expect(!holds(Condition(screen: true), [Person(), Person(kind: .screen, hasVideo: false)]))
        #expect(holds(Condition(screen: false), []))
    }

    @Test func canvasHasOneOfThreeShapes() {
        let square = Canvas(width: 640, height: 640, fps: 20)
        for (canvas, shape) in [
            (Canvas.portrait, Orientation.portrait), (.landscape, .landscape), (square, .square),
        ] {
            let holding = Orientation.allCases.filter { holds(Condition(canvas: $0), [], canvas: canvas) }
            #expect(holding == [shape])
        }
    }

    @Test func sourcesHaveOneOfThreeShapes() {
        func shape(_ sizes: [(Int, Int)?], _ canvas: Canvas) -> [Condition.SourceShape] {
            let room = sizes.map { size in Person(size: size.map { .init(width: $0.0, height: $0.1) }) }
            return Condition.SourceShape.allCases.filter { holds(Condition(sources: $0), room, canvas: canvas) }
        }
        let square = Canvas(width: 640, height: 640, fps: 20)
        #expect(shape([(720, 1280)], .landscape) == [.portrait])
        #expect(shape([(1280, 720)], .portrait) == [.landscape])
        #expect(shape([(1280, 720), (720, 1280)], .portrait) == [.mixed])
        #expect(shape([(1280, 720), nil], .portrait) == [.mixed])
        #expect(shape([nil, (100, 100)], .portrait) == [.portrait])
        #expect(shape([], .landscape) == [.landscape])
        #expect(shape([nil], square) == [.landscape])
    }

    @Test func allPartsMustHold() {
        let room = [Person(role: .host), Person()]
        #expect(holds(Condition(people: 2...2, hosts: 1...1, guests: 1...1, screen: false, canvas: .portrait), room))
        #expect(!holds(Condition(people: 2...2, hosts: 1...1, guests: 1...1, screen: false, canvas: .square), room))
    }

    @Test func automaticArrangementKeepsTheSettingsOfTheFile() throws {
        let template = try LayoutTemplate.decode(
            """
            { "fit": "contain", "gap": 0.1, "transition": { "duration": 90 }, "overlays": [{ "text": "a", "place": "top" }],
              "arrangements": [{ "when": { "people": 7 }, "algorithm": "solo" }] }
            """.utf8, name: "t")
        let scene = LayoutEngine.plan(template, participants: people(2), canvas: .landscape)
        #expect(scene.panes.map(\.rectangle) == [[0, 0, 604, 720], [676, 0, 604, 720]])
        #expect(scene.panes.map(\.fit) == [.contain, .contain])
        #expect(scene.transition.duration == 90 && scene.overlays.count == 1)
    }
}

/// Arrangements that can never be used.
struct ReachabilityTests {
    private func issues(_ conditions: [String], canvas: String = "") -> [String] {
        let arrangements = conditions.map { "{\"when\": {\($0)}, \"algorithm\": \"grid\"}" }.joined(separator: ",\n")
        do {
            _ = try LayoutTemplate.decode("{\(canvas)\"arrangements\": [\(arrangements)]}".utf8, name: "t")
            return []
        } catch {
            return error.issues.filter { $0.found.contains("is never used") }.map(\.path)
        }
    }

    @Test func unionOverPeopleIsFound() {
        #expect(issues([#""people": {"max": 3}"#, #""people": {"min": 4}"#, #""people": 7"#]) == ["$.arrangements[2]"])
        #expect(issues([#""people": {"max": 3}"#, #""people": {"min": 5}"#, ""]) == [])
    }

    @Test func choicesThatAreAllTakenAreFound() {
        let shapes = ["portrait", "landscape", "square"].map { #""canvas": "\#($0)""# }
        #expect(issues(shapes + [""]) == ["$.arrangements[3]"])
        #expect(issues(Array(shapes.dropLast()) + [""]) == [])
        #expect(issues([#""screen": true"#, #""screen": false"#, #""hosts": 2"#]) == ["$.arrangements[2]"])
        // If the file has a canvas of its own, only one shape is possible.
        #expect(
            issues([shapes[1], ""], canvas: #""canvas": {"width": 1280, "height": 720}, "#) == ["$.arrangements[1]"])
    }

    @Test func conditionsInSeveralDirectionsAreFound() {
        #expect(
            issues([#""hosts": {"max": 1}"#, #""hosts": {"min": 2}, "screen": true"#, #""screen": true"#])
                == ["$.arrangements[2]"])
        #expect(issues([#""hosts": {"max": 1}"#, #""hosts": {"min": 2}, "screen": true"#, #""screen": false"#]) == [])
    }

    @Test func countsOfDifferentPeopleAreNotCompared() {
        func check(_ first: String, _ second: String) throws {
            _ = try LayoutTemplate.decode("{\"arrangements\": [\(first), \(second)]}".utf8, name: "t")
        }
        // The two arrangements differ in whether a participant without a picture counts.
        #expect(throws: Never.self) {
            try check(
                #"{"when": {"people": {"max": 5}}, "omitAudioOnly": true, "algorithm": "grid"}"#,
                #"{"when": {"people": {"max": 5}}, "algorithm": "grid"}"#)
        }
        #expect(throws: LayoutError.self) {
            try check(
                #"{"when": {"screen": false}, "omitAudioOnly": true, "algorithm": "grid"}"#,
                #"{"when": {"people": {"max": 5}, "screen": false}, "algorithm": "grid"}"#)
        }
    }

    /// An arrangement that a room can get is never refused: random conditions are checked against every small room.
    @Test func nothingReachableIsRefused() throws {
        var random = SeededGenerator(announcedFor: "nothingReachableIsRefused")
        var found = 0
        for _ in 0..<150 {
            let conditions = (0..<6).map { _ in Self.condition(&random) }
            let refused = Set(issues(conditions))
            // A condition that cannot hold is refused for another reason.
            guard !refused.isEmpty, let template = template(conditions) else { continue }
            found += 1
            let winners = Set(
                Self.rooms.map {
                    LayoutEngine.plan(template, participants: $0.0, canvas: $0.1).transition.duration - 1
                })
            for index in conditions.indices where refused.contains("$.arrangements[\(index)]") {
                #expect(!winners.contains(index), "\(conditions), \(index)")
            }
        }
        #expect(found > 10, "the conditions were too simple to test anything")
    }

    private static func condition(_ random: inout SeededGenerator) -> String {
        var parts: [String] = []
        for key in ["people", "hosts", "guests", "audioOnly"] where random.chance(1, of: 3) {
            let low = Int.random(in: 0...3, using: &random)
            parts.append("\"\(key)\": {\"min\": \(low)\(random.chance(1, of: 2) ? ", \"max\": \(low + 1)" : "")}")
        }
        if random.chance(1, of: 4) { parts.append("\"screen\": \(random.chance(1, of: 2))") }
        if random.chance(1, of: 4) { parts.append("\"canvas\": \"\(random.one(of: Orientation.self))\"") }
        if random.chance(1, of: 4) { parts.append("\"sources\": \"\(random.one(of: Condition.SourceShape.self))\"") }
        return parts.joined(separator: ", ")
    }

    /// Rooms with up to three hosts and guests, with and without pictures and screens, on the three shapes of canvas.
    private static let rooms: [([LayoutParticipant], Canvas)] = {
        var rooms: [([LayoutParticipant], Canvas)] = []
        // Without the participants of bits 0 and 3, bit 1 makes no difference.
        for code in 0..<(1 << 8) where code & 2 == 0 || code & 9 != 0 {
            var crowd: [LayoutParticipant] = []
            func add(_ user: String, _ kind: LayoutParticipant.Kind, _ role: LayoutParticipant.Role, _ hasVideo: Bool) {
                let size =
                    code & 128 == 0
                    ? nil : LayoutParticipant.Size(width: crowd.count.isMultiple(of: 2) ? 9 : 1, height: 4)
                crowd.append(
                    LayoutParticipant(
                        source: "\(user)/\(kind)", user: user, role: role, kind: kind, joinOrder: crowd.count,
                        hasVideo: hasVideo, pictureSize: size))
            }
            if code & 1 != 0 { add("a", .camera, .host, code & 2 != 0) }
            if code & 4 != 0 { add("b", .camera, .host, true) }
            if code & 8 != 0 { add("c", .camera, .guest, code & 2 == 0) }
            if code & 16 != 0 { add("d", .camera, .guest, true) }
            if code & 32 != 0 { add("e", .audio, .guest, false) }
            if code & 64 != 0 { add("a", .screen, code & 1 != 0 ? .host : .guest, true) }
            for canvas in [Canvas.portrait, .landscape, Canvas(width: 64, height: 64, fps: 20)] {
                rooms.append((crowd, canvas))
            }
        }
        return rooms
    }()

    /// Returns a layout whose arrangements are marked by the duration of their transitions.
    private func template(_ conditions: [String]) -> LayoutTemplate? {
        var template = LayoutTemplate(name: "t", arrangements: [])
        for (index, condition) in conditions.enumerated() {
            let file = "{\"arrangements\": [{\"when\": {\(condition)}, \"algorithm\": \"grid\"}]}"
            guard var arrangement = try? LayoutTemplate.decode(file.utf8, name: "t").arrangements.first else {
                return nil
            }
            arrangement.settings.transition = Transition(duration: index + 1)
            template.arrangements.append(arrangement)
        }
        return template
    }
}
