import LayoutEngine
import Testing

/// The participants shown in the panes, and the content of panes without one.
struct CastingTests {
    private func stream(
        _ user: String, _ kind: LayoutParticipant.Kind = .camera, role: LayoutParticipant.Role = .guest,
        at order: Int = 0,
        hasVideo: Bool = true, name: String? = nil
    ) -> LayoutParticipant {
        LayoutParticipant(
            source: "\(user)/\(kind)", user: user, name: name, role: role, kind: kind, joinOrder: order,
            hasVideo: hasVideo)
    }

    /// Returns a layout with panes beside each other, in the order of the array.
    private func template(
        _ bindings: [(PaneTemplate.Binding, LayoutParticipant.Kind?)], _ fallback: PaneStyle.Fallbacks = .init(),
        omitsAudioOnly: Bool = false, rest: Arrangement.Rest? = nil
    ) -> LayoutTemplate {
        let width = UnitFraction(0.5 / Double(bindings.count))
        let panes = bindings.enumerated().map { index, binding in
            PaneTemplate(
                binding: binding.0, stream: binding.1,
                area: Area(x: UnitFraction(Double(index) * width.value), y: .zero, width: width, height: .whole))
        }
        var template = LayoutTemplate(.panes(panes, rest: rest))
        template.arrangements[0].settings.style.fallback = fallback
        template.arrangements[0].settings.omitsAudioOnly = omitsAudioOnly
        return template
    }

    /// Returns the shown sources from left to right.
    private func shown(_ template: LayoutTemplate, _ crowd: [LayoutParticipant]) -> [String] {
        LayoutEngine.plan(template, participants: crowd, canvas: .landscape).panes.sorted { $0.x < $1.x }.map(\.source)
    }

    @Test func orderIsHostsThenJoinsWithScreensBehindTheirCamera() {
        let crowd = [
            stream("d", .screen, at: 0), stream("c", at: 2), stream("a", .screen, role: .host, at: 3),
            stream("a", role: .host, at: 4), stream("b", at: 1), stream("d", at: 5), stream("e", at: 1),
        ]
        let scene = LayoutEngine.plan(LayoutTemplate(.stack(.horizontal)), participants: crowd, canvas: .landscape)
        #expect(
            scene.panes.map(\.source)
                == ["a/camera", "a/screen", "d/camera", "d/screen", "b/camera", "e/camera", "c/camera"])
    }

    @Test func panesThatNameAKindChooseFirst() {
        let crowd = [
            stream("a", role: .host), stream("a", .screen, role: .host), stream("b", at: 1), stream("c", at: 2),
        ]
        #expect(
            shown(template([(.slot(1), nil), (.role(.host), nil), (.anybody, .screen), (.slot(2), nil)]), crowd)
                == ["b/camera", "a/camera", "a/screen", "c/camera"])
        #expect(
            shown(template([(.user("a"), nil), (.user("a"), .screen), (.slot(1), .screen), (.slot(2), nil)]), crowd)
                == ["a/camera", "a/screen", "b/camera"])
        #expect(
            shown(template([(.role(.guest), nil), (.role(.guest), nil), (.slot(9), .camera)]), crowd)
                == ["b/camera", "c/camera", "a/camera"])
    }

    @Test func featuredTakesTheFirstPlace() {
        let crowd = [stream("a", role: .host), stream("b", at: 1), stream("b", .screen, at: 1), stream("c", at: 2)]
        func first(_ selector: StreamSelector) -> [String] {
            let template = LayoutTemplate(.algorithm(.spotlight(.init()), featured: selector))
            return LayoutEngine.plan(template, participants: crowd, canvas: .landscape).panes.map(\.source)
        }
        #expect(first(StreamSelector(stream: .screen)) == ["b/screen", "a/camera", "b/camera", "c/camera"])
        #expect(first(StreamSelector(user: "c")) == ["c/camera", "a/camera", "b/camera", "b/screen"])
        #expect(first(StreamSelector(user: "b", role: .guest, stream: .screen)).first == "b/screen")
        #expect(first(StreamSelector(user: "nobody")).first == "a/camera")
        // Featured participants are shown even if sixteen others came before them.
        let many = people(20)
        let template = LayoutTemplate(.algorithm(.grid(tileAspect: nil), featured: StreamSelector(user: "user19")))
        let scene = LayoutEngine.plan(template, participants: many, canvas: .landscape)
        #expect(scene.panes.count == 16 && scene.panes.first?.user == "user19")
    }

    @Test func restTakesWhomNoPaneShows() {
        let rest = Arrangement.Rest(
            area: Area(x: UnitFraction(0.5), y: .zero, width: UnitFraction(0.5), height: .whole),
            algorithm: .stack(.vertical),
            featured: StreamSelector(user: "user3"), settings: ArrangementSettings(style: PaneStyle(fit: .contain)))
        let scene = LayoutEngine.plan(
            template([(.role(.host), nil)], rest: rest), participants: people(4), canvas: .landscape)
        #expect(scene.panes.map(\.user) == ["user0", "user3", "user1", "user2"])
        #expect(
            scene.panes.map(\.rectangle)
                == [[0, 0, 640, 720], [640, 0, 640, 240], [640, 240, 640, 240], [640, 480, 640, 240]])
        #expect(scene.panes.map(\.fit) == [.cover, .contain, .contain, .contain])
        #expect(shown(template([(.role(.host), nil)]), people(4)) == ["user0/camera"])
    }

    @Test func fallbackDependsOnWhyThereIsNoPicture() {
        let fallback = PaneStyle.Fallbacks(cameraOff: .image("off.png"), absent: .image("gone.png"), stalled: .card)
        let scene = LayoutEngine.plan(
            template([(.user("a"), nil), (.user("b"), nil), (.user("c"), nil)], fallback),
            participants: [stream("a"), stream("b", hasVideo: false, name: "Bea")], canvas: .landscape,
            names: ["c": "Cleo", "b": "not this"])
        #expect(scene.panes.map(\.isLive) == [true, false, false])
        #expect(scene.panes.map(\.fallback) == [.card, .image("off.png"), .image("gone.png")])
        #expect(scene.panes.map(\.user) == ["a", "b", "c"])
        #expect(scene.panes.map(\.card.name) == ["a", "Bea", "Cleo"])
        #expect(scene.panes.map(\.source) == ["a/camera", "b/camera", "c/…"])
    }

    @Test func absentPeopleHaveNamesOfTheirOwn() {
        let fallback = PaneStyle.Fallbacks(absent: .card)
        let bindings: [(PaneTemplate.Binding, LayoutParticipant.Kind?)] = [
            (.user("a"), nil), (.user("a"), .screen), (.slot(3), nil), (.role(.host), nil), (.anybody, .screen),
        ]
        let scene = LayoutEngine.plan(template(bindings, fallback), participants: [], canvas: .landscape)
        #expect(scene.panes.map(\.source) == ["a/…", "a/…screen", "slot-3", "pane-4", "pane-5"])
        #expect(scene.panes.map(\.card.name) == ["a", "a", "", "", ""])
        #expect(scene.panes.allSatisfy { !$0.isLive && $0.fallback == .card && $0.label == nil })
        // The last picture of a participant who was never there is a card.
        let last = LayoutEngine.plan(
            template(bindings, .init(absent: .lastFrame)), participants: [], canvas: .landscape)
        #expect(last.panes.map(\.fallback) == Array(repeating: .card, count: 5))
        #expect(shown(template(bindings), []) == [])
        // No two panes have the same name, whatever names streams have.
        var odd = stream("x")
        odd.source = "slot-3"
        #expect(
            shown(template([(.slot(3), nil), (.slot(2), nil)], fallback), [odd]) == ["slot-3…", "slot-3"])
        #expect(
            shown(template([(.slot(3), .screen), (.slot(4), nil)], fallback), [odd]) == ["slot-3…", "slot-3"])
    }

    @Test func whoIsAskedForByNameIsShownEvenWithoutAPicture() {
        let crowd = [stream("a"), stream("b", hasVideo: false, name: "Bea"), stream("c", hasVideo: false)]
        let layout = template([(.user("b"), nil), (.slot(1), nil), (.slot(2), nil)], omitsAudioOnly: true)
        #expect(shown(layout, crowd) == ["b/camera", "a/camera"])
    }

    @Test func labelsNamePeople() {
        var layout = LayoutTemplate(.stack(.horizontal))
        layout.arrangements[0].settings.style.label = .init(size: UnitFraction(0.05))
        let crowd = [
            stream("a", name: "Ada"), stream("b", at: 1), stream("c", at: 2, hasVideo: false), stream("d", at: 3),
        ]
        let scene = LayoutEngine.plan(layout, participants: crowd, canvas: .landscape, names: ["d": "Dan"])
        #expect(scene.panes.map(\.label?.text) == ["Ada", "b", nil, "Dan"])
        #expect(scene.panes.first?.label?.size == 36)
        // Image fallbacks do not contain a name; small panes have no room for one.
        layout.arrangements[0].settings.style.fallback.cameraOff = .image("x.png")
        let named = LayoutEngine.plan(layout, participants: crowd, canvas: .landscape)
        #expect(named.panes[2].label?.text == "c")
        let crowded = LayoutEngine.plan(layout, participants: people(10), canvas: .landscape)
        #expect(crowded.panes.allSatisfy { $0.label == nil })
    }

    @Test func gainsFollowTheFirstRuleThatFits() {
        var layout = LayoutTemplate(.solo)
        layout.arrangements[0].settings.sound = SoundTemplate(
            loudest: 2,
            gains: [
                .init(of: StreamSelector(user: "b"), percent: 0), .init(of: StreamSelector(role: .host), percent: 150),
                .init(of: StreamSelector(role: .guest, stream: .screen), percent: 30),
                .init(of: StreamSelector(stream: .screen), percent: 400),
            ])
        var silent = stream("z")
        silent.hasAudio = false
        let crowd = [
            stream("h", .screen, role: .host), stream("b"), stream("c", .screen), stream("c"), silent,
            stream("m", .audio, hasVideo: false),
        ]
        let sound = LayoutEngine.plan(layout, participants: crowd, canvas: .landscape).sound
        #expect(
            sound
                == SceneSound(
                    levels: [
                        .init(source: "c/camera"), .init(source: "c/screen", gain: 30),
                        .init(source: "h/screen", gain: 150), .init(source: "m/audio"),
                    ], loudest: 2))
    }
}
