import LayoutEngine
import TestSupport
import Testing

/// What holds for every template, crowd and canvas. A failure prints its seed; run it again with that seed alone.
struct PlanPropertyTests {
    static let seeds: [UInt64] = Array(1...2000)

    private static func placement(_ random: inout SeededGenerator) -> Arrangement.Placement {
        switch Int.random(in: 0...4, using: &random) {
        case 0: .solo
        case 1: .sideBySide
        case 2:
            .pictureInPicture(
                corner: Arrangement.Corner.allCases.randomElement(using: &random) ?? .topLeft,
                size: UnitFraction(.random(in: 0...1, using: &random)))
        case 3:
            .grid(
                tileAspect: Bool.random(using: &random)
                    ? nil
                    : Aspect(
                        width: .random(in: 1...100, using: &random), height: .random(in: 1...100, using: &random)))
        default: .panes(panes(&random))
        }
    }

    /// Panes of one row or one column each, so that none overlap; some on a higher level across all.
    private static func panes(_ random: inout SeededGenerator) -> [PaneTemplate] {
        var edges = (0...5).map { _ in Double.random(in: 0...1, using: &random) }.sorted()
        edges[0] = 0
        var panes: [PaneTemplate] = []
        for index in 0..<5 {
            let start = UnitFraction(edges[index])
            let width = UnitFraction(edges[index + 1]).millionths - start.millionths
            panes.append(
                PaneTemplate(
                    binding: .slot(index + 1), x: start, y: .zero,
                    width: UnitFraction(Double(width) / 1_000_000),
                    height: UnitFraction(.random(in: 0...1, using: &random))))
        }
        panes.append(
            PaneTemplate(
                binding: .role(.host), x: UnitFraction(0.25), y: UnitFraction(0.25), width: UnitFraction(0.5),
                height: UnitFraction(0.5), z: 3))
        return panes
    }

    private static func crowd(_ random: inout SeededGenerator) -> [LayoutParticipant] {
        (0..<Int.random(in: 0...24, using: &random)).map { index in
            LayoutParticipant(
                // Now and then the same source twice: callers make mistakes.
                source: "u\(Int.random(in: 0...60, using: &random))/camera", user: "u\(index)",
                role: Int.random(in: 0...5, using: &random) == 0 ? .host : .guest,
                joinOrder: .random(in: 0...8, using: &random), hasVideo: Int.random(in: 0...9, using: &random) > 0)
        }
    }

    @Test(arguments: [0, 1, 2, 3])
    func everySceneIsSound(quarter: Int) {
        for seed in Self.seeds where Int(seed) % 4 == quarter {
            var random = SeededGenerator(seed: seed)
            let template = LayoutTemplate(
                Self.placement(&random), gap: .random(in: 0...0.25, using: &random),
                margin: .random(in: 0...0.25, using: &random))
            let crowd = Self.crowd(&random)
            // Canvases outside every limit are brought inside.
            let canvas = Canvas(
                width: .random(in: -10...(Bool.random(using: &random) ? 60 : 9000), using: &random),
                height: .random(in: -10...2000, using: &random), fps: .random(in: -1...90, using: &random))
            let scene = LayoutEngine.plan(template, participants: crowd, canvas: canvas)
            #expect(flaws(of: scene) == [], "seed \(seed)")
            #expect(scene.canvas == canvas.withinLimits, "seed \(seed)")
            #expect(scene.panes.isEmpty == !crowd.contains(where: \.hasVideo) || isExplicit(template), "seed \(seed)")
            let shuffled = distinct(crowd).shuffled(using: &random)
            #expect(
                LayoutEngine.plan(template, participants: shuffled, canvas: canvas)
                    == LayoutEngine.plan(template, participants: distinct(crowd), canvas: canvas), "seed \(seed)")
        }
    }

    @Test func nobodyIsLeftOutOnACanvasThatHasRoom() {
        for seed in Self.seeds {
            var random = SeededGenerator(seed: seed)
            let gap = Double.random(in: 0...0.25, using: &random)
            let margin = Double.random(in: 0...0.25, using: &random)
            let count = Int.random(in: 1...16, using: &random)
            let canvas = Canvas(
                width: .random(in: 160...1920, using: &random), height: .random(in: 160...1920, using: &random),
                fps: 20)
            for placement in [
                Arrangement.Placement.sideBySide, .grid(tileAspect: nil),
                .pictureInPicture(corner: .bottomLeft, size: UnitFraction(0.3)),
            ] {
                let template = LayoutTemplate(placement, gap: gap, margin: margin)
                let scene = LayoutEngine.plan(template, participants: people(count), canvas: canvas)
                #expect(scene.panes.count == count, "seed \(seed) \(placement)")
            }
        }
    }

    private func isExplicit(_ template: LayoutTemplate) -> Bool {
        if case .panes = template.arrangements.first?.placement { return true }
        return false
    }

    /// Two entries of one source and equal rank cannot be told apart by any order.
    private func distinct(_ crowd: [LayoutParticipant]) -> [LayoutParticipant] {
        var seen: Set<String> = []
        return crowd.filter { seen.insert($0.source).inserted }
    }
}
