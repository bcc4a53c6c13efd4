import LayoutEngine
import Testing

@testable import ViewerProbe

@Suite struct ProbeMarkTests {
    /// Returns a picture with a source drawn into it, by nearest neighbour.
    private func draw(
        _ mark: SourceMark, source: (width: Int, height: Int), canvas: (width: Int, height: Int),
        pane: PixelRectangle, fit: Pane.Fit, blend: SourceMark? = nil, place: MarkGeometry.Place = .centre
    ) -> Picture? {
        let geometry = MarkGeometry(width: source.width, height: source.height, place: place)
        let placement = Placement(
            area: pane, sourceWidth: source.width, sourceHeight: source.height, fit: fit, mark: place)
        let base = ColourSample(RGB(red: 200, green: 50, blue: 50), matrix: .bt601)
        var luma = [UInt8](repeating: 16, count: canvas.width * canvas.height)
        func level(_ mark: SourceMark, _ x: Int, _ y: Int) -> Double {
            let inside = (x: x - geometry.mark.x, y: y - geometry.mark.y)
            guard inside.x >= 0, inside.y >= 0, inside.x < geometry.mark.width, inside.y < geometry.mark.height else {
                let flash = geometry.flash
                if x >= flash.x, x < flash.x + flash.width, y >= flash.y, y < flash.y + flash.height { return 16 }
                return base.luma
            }
            return mark.cells[inside.y / geometry.cell * SourceMark.side + inside.x / geometry.cell] ? 235 : 16
        }
        for y in pane.y..<pane.y + pane.height {
            for x in pane.x..<pane.x + pane.width {
                let left = (Double(pane.width) - placement.scale.x * Double(source.width)) / 2
                let top = (Double(pane.height) - placement.scale.y * Double(source.height)) / 2
                let column = Int((Double(x - pane.x) + 0.5 - left) / placement.scale.x)
                let row = Int((Double(y - pane.y) + 0.5 - top) / placement.scale.y)
                let first = level(mark, column, row)
                luma[y * canvas.width + x] = UInt8(blend.map { (first + level($0, column, row)) / 2 } ?? first)
            }
        }
        let chroma = canvas.width * canvas.height / 4
        let bytes =
            luma + [UInt8](repeating: UInt8(base.blue.rounded()), count: chroma)
            + [UInt8](repeating: UInt8(base.red.rounded()), count: chroma)
        return Picture(width: canvas.width, height: canvas.height, bytes: bytes)
    }

    @Test func everyMarkIsReadBackAndEverySingleWrongCellIsNoticed() {
        for counter in stride(from: 0, to: SourceMark.counterPeriod, by: 997) {
            let mark = SourceMark(source: counter % 16, counter: counter)
            #expect(SourceMark(cells: mark.cells) == mark)
            for cell in mark.cells.indices {
                var cells = mark.cells
                cells[cell].toggle()
                #expect(SourceMark(cells: cells) == nil)
            }
        }
    }

    @Test func plainSquaresAreNoMarks() {
        #expect(SourceMark(cells: Array(repeating: false, count: 25)) == nil)
        #expect(SourceMark(cells: Array(repeating: true, count: 25)) == nil)
        #expect(SourceMark(cells: []) == nil)
    }

    @Test func theCounterMayWrap() {
        #expect(SourceMark.steps(from: 65535, to: 0) == 1)
        #expect(SourceMark.steps(from: 0, to: 65535) == -1)
        #expect(SourceMark.steps(from: 10, to: 12) == 2)
    }

    @Test(arguments: [
        (PixelRectangle(x: 0, y: 0, width: 720, height: 1280), Pane.Fit.cover),
        (PixelRectangle(x: 360, y: 0, width: 360, height: 1280), .cover),
        (PixelRectangle(x: 0, y: 640, width: 720, height: 640), .cover),
        (PixelRectangle(x: 520, y: 20, width: 180, height: 320), .cover),
        (PixelRectangle(x: 0, y: 0, width: 360, height: 640), .contain),
        (PixelRectangle(x: 0, y: 0, width: 360, height: 360), .stretch),
    ]) func marksAreReadInPanes(pane: PixelRectangle, fit: Pane.Fit) throws {
        for source in [(width: 720, height: 1280), (width: 1280, height: 720)] {
            let mark = SourceMark(source: 3, counter: 0xA5C3)
            let picture = try #require(
                draw(mark, source: source, canvas: (720, 1280), pane: pane, fit: fit))
            let placement = Placement(
                area: pane, sourceWidth: source.width, sourceHeight: source.height, fit: fit)
            let reading = try #require(MarkDecoder.read(picture, at: placement), "\(source) in \(pane)")
            #expect(reading.mark == mark)
            #expect(!reading.isFlashing)
            let rgb = reading.colour.rgb(matrix: .bt601, isFullRange: false)
            #expect(zip(rgb, [200, 50, 50]).allSatisfy { abs($0 - $1) < 2 }, "\(rgb)")
        }
    }

    @Test(arguments: [
        PixelRectangle(x: 0, y: 0, width: 720, height: 1280), PixelRectangle(x: 14, y: 14, width: 692, height: 620),
        PixelRectangle(x: 0, y: 0, width: 400, height: 400),
    ]) func marksInTheCornerAreReadInPanes(pane: PixelRectangle) throws {
        // The visible part of the source does not contain that corner in a pane of the other shape.
        let upright = (width: 720, height: 1280), lying = (width: 1280, height: 720)
        for source in pane.height > pane.width ? [upright] : [upright, lying] {
            let mark = SourceMark(source: 2, counter: 0x5A3C)
            let picture = try #require(
                draw(mark, source: source, canvas: (720, 1280), pane: pane, fit: .cover, place: .corner))
            var placement = Placement(
                area: pane, sourceWidth: source.width, sourceHeight: source.height, fit: .cover, mark: .corner)
            // Kept out of the expectation, because a failure would print every sample of the picture.
            let found = MarkDecoder.read(picture, at: placement)
            let reading = try #require(found, "\(source) in \(pane)")
            #expect(reading.mark == mark && !reading.isFlashing)
            placement.mark = .centre
            let elsewhere = MarkDecoder.read(picture, at: placement)
            #expect(elsewhere == nil)
        }
    }

    /// A mark is read in a pane on its way from the whole canvas to its place, halfway and after a sixth of the way. It
    /// is not if scenes are cut.
    @Test(arguments: [1.0 / 6, 0.5]) func marksAreReadOnTheirWay(progress: Double) throws {
        func pane(_ user: String, _ y: Int, _ height: Int) -> Pane {
            Pane(source: "\(user)/camera", user: user, x: 0, y: y, width: 720, height: height)
        }
        var scene = Scene(
            canvas: .portrait, panes: [pane("a", 0, 640), pane("b", 640, 640)], transition: Transition(duration: 300))
        let alone = Scene(canvas: .portrait, panes: [pane("a", 0, 1280)])
        let way = SceneTransition(from: alone, to: scene).scene(at: UnitFraction(progress))
        let moving = try #require(way.panes.first { $0.user == "a" })
        let area = PixelRectangle(x: moving.x, y: moving.y, width: moving.width, height: moving.height)
        let mark = SourceMark(source: 1, counter: 77)
        let picture = try #require(
            draw(mark, source: (720, 1280), canvas: (720, 1280), pane: area, fit: .cover))
        let publishers = [SyntheticPublisher(id: 1), SyntheticPublisher(id: 2)]
        var observer = PictureObserver(ProbeConfiguration(publishers: publishers, scenes: [scene]))
        let sight = observer.observe(picture)
        #expect(sight.isMoving && sight.readings.mapValues(\.mark) == [1: mark])
        // The mark can be read at several places on the way that are close to each other.
        let shown = try #require(sight.shown.first)
        #expect(sight.shown.count == 1 && shown.source == 1 && !shown.isWhole)
        #expect(abs(shown.area.height - area.height) < 50, "\(shown.area)")
        scene.transition = .cut
        observer = PictureObserver(ProbeConfiguration(publishers: publishers, scenes: [scene]))
        #expect(observer.observe(picture).readings.isEmpty)
    }

    @Test func twoPicturesInOneAreNotRead() throws {
        let whole = PixelRectangle(x: 0, y: 0, width: 720, height: 1280)
        let picture = try #require(
            draw(
                SourceMark(source: 1, counter: 100), source: (720, 1280), canvas: (720, 1280), pane: whole, fit: .cover,
                blend: SourceMark(source: 1, counter: 103)))
        let placement = Placement(area: whole, sourceWidth: 720, sourceHeight: 1280, fit: .cover)
        #expect(MarkDecoder.read(picture, at: placement) == nil)
    }

    @Test func blackIsBlack() throws {
        let bytes = [UInt8](repeating: 16, count: 64 * 64) + [UInt8](repeating: 128, count: 64 * 32)
        let black = try #require(Picture(width: 64, height: 64, bytes: bytes))
        #expect(black.isBlack)
        #expect(
            MarkDecoder.read(
                black,
                at: Placement(
                    area: PixelRectangle(x: 0, y: 0, width: 64, height: 64), sourceWidth: 64, sourceHeight: 64,
                    fit: .cover)) == nil)
        #expect(Picture(width: 64, height: 64, bytes: Array(bytes.dropLast())) == nil)
    }
}
