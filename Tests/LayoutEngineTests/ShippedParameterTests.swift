import LayoutEngine
import Testing

/// The parameters of the shipped layouts.
struct ShippedParameterTests {
    /// Parameters that every layout has, so that a show keeps its look when it changes to another layout.
    private static let shared: [(name: String, kind: LayoutParameter.Kind)] = [
        ("brand", .colour), ("background", .colour), ("backgroundEnd", .colour), ("picture", .image),
        ("font", .text(most: 16)),
    ]
    /// Parameters that some layouts have. They mean the same in each.
    private static let others: [(name: String, kind: LayoutParameter.Kind)] = [
        ("fit", .text(most: 8)), ("speaking", .colour), ("homeColor", .colour), ("awayColor", .colour),
        ("shown", .visible), ("slateTitle", .text(most: 60)), ("slateSubtitle", .text(most: 120)),
    ]

    private func template(_ name: String) throws -> LayoutTemplate {
        try #require(GoldenSceneTests.shipped()[name])
    }

    private func slates(_ template: LayoutTemplate) -> [Scene] {
        [Canvas.portrait, .landscape].map { LayoutEngine.slate(template, canvas: $0) }
    }

    private func scenes(_ template: LayoutTemplate) -> [Scene] {
        [Canvas.portrait, .landscape].map {
            LayoutEngine.plan(
                template, participants: people(3), canvas: $0,
                values: LayoutValues(viewers: 3, likes: 2, comment: "Ann: Hello"))
        }
    }

    @Test(arguments: GoldenSceneTests.shippedNames) func everyLayoutHasTheSharedParameters(name: String) throws {
        let parameters = try template(name).parameters
        for (shared, kind) in Self.shared {
            let parameter = try #require(parameters.first { $0.name == shared }, "\(shared)")
            #expect(parameter.kind == kind && parameter.title != nil, "\(shared)")
        }
        for (other, kind) in Self.others {
            guard let parameter = parameters.first(where: { $0.name == other }) else { continue }
            #expect(parameter.kind == kind, "\(other)")
        }
    }

    /// No parameter is without effect, neither on a portrait nor on a landscape canvas.
    @Test(arguments: GoldenSceneTests.shippedNames) func everyParameterChangesTheScene(name: String) throws {
        let template = try template(name)
        for parameter in template.parameters {
            let value = Self.another(for: parameter)
            let changed = template.applying([parameter.name: value])
            #expect(changed.values == [parameter.name: value], "\(parameter.name)")
            let isOfSlate = parameter.name.hasPrefix("slate")
            let before = isOfSlate ? slates(template) : scenes(template)
            let after = isOfSlate ? slates(changed) : scenes(changed)
            for (before, after) in zip(before, after) {
                #expect(before != after, "\(parameter.name)")
                #expect(flaws(of: after) == [] && after.isPlausible, "\(parameter.name)")
            }
        }
    }

    /// A room that changes to another layout keeps what it shows while nobody is on air. Before the show, that is the
    /// announcement.
    @Test(arguments: GoldenSceneTests.shippedNames) func everySlateHasAMessage(name: String) throws {
        let template = try template(name)
        let isBefore = name == "starting-soon"
        let expected = isBefore ? SlateTemplate(title: "Starting soon", subtitle: "Thank you for waiting") : .init()
        #expect(template.slate == expected)
        let title = isBefore ? "title" : "slateTitle"
        let changed = template.applying([title: .text("Gleich zurück"), "font": .text("Lato")])
        #expect(changed.slate == SlateTemplate(title: "Gleich zurück", subtitle: expected.subtitle, font: .lato))
    }

    /// Pictures that are shown whole are surrounded by themselves instead of by the background.
    @Test(arguments: GoldenSceneTests.shippedNames) func wholePicturesFillTheirPanes(name: String) throws {
        let template = try template(name)
        guard template.parameters.contains(where: { $0.name == "fit" }) else {
            #expect(["audio-room", "starting-soon"].contains(name), "no pictures of cameras")
            return
        }
        for scene in scenes(template.applying(["fit": .text("contain")])) {
            #expect(!scene.panes.isEmpty && scene.panes.allSatisfy { $0.fit == .contain && $0.surround != nil })
        }
    }

    /// A shared screen has no blurred copy of itself around it, alone as beside cameras.
    @Test(arguments: [0, 1, 3]) func sharedScreensHaveNoSurround(cameras: Int) throws {
        let template = try template("screen-share")
        let screen = LayoutParticipant(
            source: "user0/screen", user: "user0", role: .host, kind: .screen, joinOrder: 0, hasAudio: false)
        for canvas in [Canvas.portrait, .landscape] {
            let scene = LayoutEngine.plan(template, participants: people(cameras) + [screen], canvas: canvas)
            let pane = try #require(scene.panes.first { $0.source == screen.source })
            #expect(pane.fit == .contain && pane.surround == nil)
        }
    }

    /// Every family of letters can be chosen.
    @Test(arguments: GoldenSceneTests.shippedNames) func everyFontIsAllowed(name: String) throws {
        let template = try template(name)
        for family in Font.Family.allCases {
            let changed = template.applying(["font": .text(family.rawValue)])
            #expect(changed.values == ["font": .text(family.rawValue)], "\(family)")
        }
    }

    /// Returns a valid value other than the default.
    private static func another(for parameter: LayoutParameter) -> LayoutParameter.Value {
        switch (parameter.name, parameter.kind) {
        case ("font", .text): .text("Inter")
        case ("fit", .text): .text("contain")
        case ("start", .text): .text("2026-01-31T20:00:00Z")
        case (_, .text): .text("Other")
        case (_, .number(let range)): .number(range.upperBound)
        case (_, .colour): .text("#123456")
        case (_, .image): .text("images/other.png")
        case (_, .visible): .flag(parameter.standard != .flag(true))
        }
    }
}
