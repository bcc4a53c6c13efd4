import LayoutEngine

/// Layout files of operators.
enum LayoutTarget: FuzzTarget {
    static let name = "layouts"

    /// The shipped layouts, which `scripts/fuzz.sh` passes as a second corpus, are the better seeds.
    static let seeds = [Array("{}".utf8)]

    static func run(_ bytes: [UInt8]) {
        let template: LayoutTemplate
        do throws(LayoutError) {
            template = try LayoutTemplate.decode(bytes, name: "fuzz")
        } catch {
            return require(!error.issues.isEmpty, "refused without an issue")
        }
        for people in [0, 1, 2, 5, 17] {
            let participants = (0..<people).map { number in
                LayoutParticipant(
                    source: "u\(number)/camera", user: "u\(number)", role: number == 0 ? .host : .guest,
                    joinOrder: number)
            }
            let scene = LayoutEngine.plan(template, participants: participants, canvas: .portrait)
            let (width, height) = (scene.canvas.width, scene.canvas.height)
            for pane in scene.panes {
                let isInside =
                    pane.x >= 0 && pane.y >= 0 && pane.width > 0 && pane.height > 0
                    && pane.x + pane.width <= width && pane.y + pane.height <= height
                require(isInside, "a pane outside of \(width) × \(height): \(pane)")
            }
        }
    }
}
