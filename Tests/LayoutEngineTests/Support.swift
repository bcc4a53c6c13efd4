import LayoutEngine

/// Returns `count` participants with cameras, the first of whom is the host.
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
                Arrangement(
                    placement: placement,
                    settings: ArrangementSettings(gap: UnitFraction(gap), margin: UnitFraction(margin)))
            ])
    }

    init(_ algorithm: Algorithm) { self.init(.algorithm(algorithm)) }
}

extension Pane {
    var rectangle: [Int] { [x, y, width, height] }

    func overlaps(_ other: Pane) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}

/// Returns the flaws of a scene made by the engine; empty if there are none.
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
    if scene.panes.count > LayoutLimits.mostPanes { flaws.append("\(scene.panes.count) panes") }
    return flaws + decorationFlaws(of: scene)
}

private func decorationFlaws(of scene: Scene) -> [String] {
    var flaws: [String] = []
    for pane in scene.panes {
        if let border = pane.border {
            let most = min(64, min(pane.width, pane.height) / 4)
            if !(2...max(most, 2)).contains(border.width) || border.width % 2 != 0 { flaws.append("border: \(pane)") }
        }
        if let label = pane.label,
            label.size < 1 || label.text.isEmpty || label.size * 4 > pane.width || label.size * 6 > pane.height
        {
            flaws.append("label: \(pane)")
        }
    }
    for overlay in scene.overlays {
        let edges = [overlay.x, overlay.y, overlay.width, overlay.height]
        if edges.contains(where: { $0 < 0 || $0 % 2 != 0 }) || overlay.width < 2 || overlay.height < 2
            || overlay.x + overlay.width > scene.canvas.width || overlay.y + overlay.height > scene.canvas.height
        {
            flaws.append("overlay: \(overlay)")
        }
    }
    if Set(scene.overlays.map(\.id)).count != scene.overlays.count { flaws.append("two overlays of one name") }
    let sources = scene.sound.levels.map(\.source)
    if sources != Set(sources).sorted() { flaws.append("sound: \(sources)") }
    if !scene.sound.levels.allSatisfy({ 1...400 ~= $0.gain }) { flaws.append("gain: \(scene.sound.levels)") }
    return flaws
}
