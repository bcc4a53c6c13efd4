import LayoutEngine
import TestSupport
import Testing

/// Properties of every template, crowd and canvas. A failure prints its seed; run it again with that seed alone.
struct PlanPropertyTests {
    static let seeds: [UInt64] = Array(1...1200)

    @Test(arguments: [0, 1, 2, 3])
    func everySceneIsSound(quarter: Int) {
        for seed in Self.seeds where Int(seed) % 4 == quarter {
            var random = SeededGenerator(seed: seed)
            let (template, crowd, canvas) = (random.template(), random.crowd(), random.canvas())
            let scene = LayoutEngine.plan(template, participants: crowd, canvas: canvas)
            #expect(flaws(of: scene) == [], "seed \(seed)")
            #expect(scene.canvas == canvas.withinLimits, "seed \(seed)")
            let shuffled = distinct(crowd).shuffled(using: &random)
            #expect(
                LayoutEngine.plan(template, participants: shuffled, canvas: canvas)
                    == LayoutEngine.plan(template, participants: distinct(crowd), canvas: canvas), "seed \(seed)")
        }
    }

    @Test func everybodyWhoIsLiveIsShownAsThemselves() {
        for seed in Self.seeds {
            var random = SeededGenerator(seed: seed)
            let (template, crowd) = (random.template(), distinct(random.crowd()))
            let scene = LayoutEngine.plan(template, participants: crowd, canvas: .portrait)
            for pane in scene.panes {
                let stream = crowd.first { $0.source == pane.source }
                #expect(pane.isLive == (stream?.hasVideo ?? false), "seed \(seed)")
                #expect(stream == nil || stream?.user == pane.user, "seed \(seed)")
            }
            #expect(
                Set(scene.sound.levels.map(\.source)).isSubset(of: crowd.filter(\.hasAudio).map(\.source)),
                "seed \(seed)")
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
            for algorithm in Algorithm.examples {
                let template = LayoutTemplate(.algorithm(algorithm), gap: gap, margin: margin)
                let scene = LayoutEngine.plan(template, participants: people(count), canvas: canvas)
                #expect(scene.panes.count == (algorithm == .solo ? 1 : count), "seed \(seed) \(algorithm)")
            }
        }
    }

    /// Any sequence of joins, leaves, edits, and switching of cameras and screens gives sound scenes, and differences
    /// lead from one to the next.
    @Test func anySequenceOfEditsStaysValid() {
        for seed in UInt64(1)...30 {
            var random = SeededGenerator(seed: seed)
            var (template, crowd) = (random.template(), random.crowd())
            var shown = LayoutEngine.plan(template, participants: crowd, canvas: .portrait)
            for step in 0..<50 {
                switch Int.random(in: 0...3, using: &random) {
                case 0: template = random.template()
                case 1: crowd = distinct(crowd + random.crowd().prefix(2))
                case 2: if let index = crowd.indices.randomElement(using: &random) { crowd.remove(at: index) }
                default: if let index = crowd.indices.randomElement(using: &random) { crowd[index].hasVideo.toggle() }
                }
                let scene = LayoutEngine.plan(
                    template, participants: crowd, canvas: random.chance(1, of: 9) ? .landscape : .portrait)
                #expect(flaws(of: scene) == [], "seed \(seed), step \(step)")
                let difference = scene.difference(from: shown)
                shown = shown.applying(difference)
                #expect(shown == scene, "seed \(seed), step \(step)")
            }
        }
    }

    /// Removes repeated sources: no order can distinguish two entries of one source and equal rank.
    private func distinct(_ crowd: [LayoutParticipant]) -> [LayoutParticipant] {
        var seen: Set<String> = []
        return crowd.filter { seen.insert($0.source).inserted }
    }
}
