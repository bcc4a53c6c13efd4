import LayoutEngine

/// `count` people with cameras, the first of them the host.
func people(_ count: Int) -> [LayoutParticipant] {
    (0..<count).map { index in
        LayoutParticipant(
            source: "user\(index)/camera", user: "user\(index)", role: index == 0 ? .host : .guest,
            joinOrder: index)
    }
}

extension Canvas {
    static let landscape = Canvas(width: 1280, height: 720, fps: 30)
}

extension LayoutTemplate {
    init(_ placement: Arrangement.Placement, gap: Double = 0, margin: Double = 0) {
        self.init(
            name: "test",
            arrangements: [
                Arrangement(placement: placement, gap: UnitFraction(gap), margin: UnitFraction(margin))
            ])
    }
}

extension Pane {
    var rectangle: [Int] { [x, y, width, height] }

    func overlaps(_ other: Pane) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}

/// What is wrong with a scene that the engine made; empty when nothing is.
func flaws(of scene: Scene) -> [String] {
    var flaws: [String] = []
    let canvas = scene.canvas
    for (index, pane) in scene.panes.enumerated() {
        if pane.rectangle.contains(where: { !$0.isMultiple(of: 2) }) { flaws.append("odd pixels: \(pane)") }
        if pane.width < 2 || pane.height < 2 { flaws.append("starved: \(pane)") }
        if pane.x < 0 || pane.y < 0 || pane.x + pane.width > canvas.width || pane.y + pane.height > canvas.height {
            flaws.append("outside: \(pane)")
        }
        for other in scene.panes[..<index] {
            if other.z == pane.z, other.overlaps(pane) { flaws.append("overlap: \(other) and \(pane)") }
            if other.source == pane.source { flaws.append("shown twice: \(pane.source)") }
            if other.z > pane.z { flaws.append("not from back to front: \(other) before \(pane)") }
        }
    }
    if scene.panes.count > LayoutEngine.mostPanes { flaws.append("\(scene.panes.count) panes") }
    return flaws
}
