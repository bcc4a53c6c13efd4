import Testing

@testable import LayoutEngine

@Suite struct MosaicTests {
    private static let canvases = [
        Canvas.portrait, Canvas(width: 1280, height: 720, fps: 30), Canvas(width: 1080, height: 1080, fps: 30),
        Canvas(width: 1920, height: 810, fps: 24),
    ]

    private static func panes(_ count: Int, on canvas: Canvas, gap: Double) -> [Rectangle] {
        let area = Rectangle(x: 0, y: 0, width: canvas.width, height: canvas.height)
        return MosaicAlgorithm().rectangles(
            among: count, in: LayoutSpace(canvas, area: area, gap: UnitFraction(gap), margin: .zero))
    }

    @Test(arguments: 1...16, canvases)
    func panesFillTheCanvas(_ count: Int, _ canvas: Canvas) {
        let panes = Self.panes(count, on: canvas, gap: 0)
        #expect(panes.count == count)
        #expect(panes.reduce(0) { $0 + $1.width * $1.height } == canvas.width * canvas.height)
        for (index, pane) in panes.enumerated() {
            #expect(pane.x % 2 == 0 && pane.y % 2 == 0 && pane.width % 2 == 0 && pane.height % 2 == 0)
            #expect(!panes[..<index].contains { $0.overlaps(pane) })
        }
        // The first participant has the largest pane.
        let areas = panes.map { $0.width * $0.height }
        #expect(areas[0] * 20 >= (areas.max() ?? 0) * 19, "\(areas)")
    }

    @Test(arguments: 1...16, canvases)
    func gapsLieBetweenPanesAndNotAroundThem(_ count: Int, _ canvas: Canvas) {
        let panes = Self.panes(count, on: canvas, gap: 0.01)
        #expect(panes.map(\.x).min() == 0 && panes.map(\.y).min() == 0)
        #expect(panes.map { $0.x + $0.width }.max() == canvas.width)
        #expect(panes.map { $0.y + $0.height }.max() == canvas.height)
        let gap = UnitFraction(0.01).evenPixels(of: min(canvas.width, canvas.height))
        for (index, pane) in panes.enumerated() {
            let grown = Rectangle(x: pane.x, y: pane.y, width: pane.width + gap, height: pane.height + gap)
            #expect(!panes[(index + 1)...].contains { $0.overlaps(grown) })
        }
    }

    @Test func aHostAboveTwoGuestsOrBesideThem() {
        #expect(
            Self.panes(3, on: .portrait, gap: 0).map { [$0.x, $0.y, $0.width, $0.height] } == [
                [0, 0, 720, 640], [0, 640, 360, 640], [360, 640, 360, 640],
            ])
        #expect(
            Self.panes(3, on: Canvas(width: 1280, height: 720, fps: 30), gap: 0).map {
                [$0.x, $0.y, $0.width, $0.height]
            }
                == [[0, 0, 640, 720], [640, 0, 640, 360], [640, 360, 640, 360]])
    }
}

extension Rectangle {
    fileprivate func overlaps(_ other: Rectangle) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}
