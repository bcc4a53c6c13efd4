import GStreamerKit
import LayoutEngine
import MixModel
import Testing
import EncodedMedia
import MediaFormats

@testable import ProgramMixer

@Suite("Where a mix puts pictures, and when")
struct MixerPlacementTests {
    private func place(
        _ fit: Pane.Fit, picture: (Int, Int), pane: (Int, Int, Int, Int), pixel: (Int, Int) = (1, 1),
        align: Pane.Alignment = .centre
    ) -> PanePlacement? {
        let format = VideoFormat(width: picture.0, height: picture.1, pixelAspectRatio: .init(pixel.0, pixel.1))
        let pane = Pane(
            source: "a/camera", user: "a", x: pane.0, y: pane.1, width: pane.2, height: pane.3, fit: fit, align: align)
        return PanePlacement(pane, picture: format, canvas: .portrait)
    }

    @Test("Cover crops in the middle, contain leaves borders, stretch does neither")
    func fits() {
        let whole = VideoRect(x: 0, y: 0, width: 1280, height: 720)
        let pane = VideoRect(x: 0, y: 320, width: 360, height: 640)
        let cover = place(.cover, picture: (1280, 720), pane: (0, 320, 360, 640))
        #expect(cover?.source == VideoRect(x: 436, y: 0, width: 406, height: 720))
        #expect(cover?.destination == pane)
        let contain = place(.contain, picture: (1280, 720), pane: (0, 320, 360, 640))
        #expect(contain?.source == whole)
        #expect(contain?.destination == VideoRect(x: 0, y: 538, width: 360, height: 202))
        let stretch = place(.stretch, picture: (1280, 720), pane: (0, 320, 360, 640))
        #expect(stretch?.source == whole && stretch?.destination == pane)
        // Equal aspect ratios: nothing is lost with any fit.
        for fit in Pane.Fit.allCases {
            let same = place(fit, picture: (720, 1280), pane: (0, 320, 360, 640))
            #expect(same?.source == VideoRect(x: 0, y: 0, width: 720, height: 1280) && same?.destination == pane)
        }
    }

    @Test("Alignment says what cover keeps and where contain puts the picture", arguments: Pane.Alignment.allCases)
    func alignment(align: Pane.Alignment) throws {
        // 1280×720 in 360×640: 406 columns are kept; the whole picture is 202 rows high.
        let cover = try #require(place(.cover, picture: (1280, 720), pane: (0, 320, 360, 640), align: align))
        #expect(cover.source == VideoRect(x: [0, 436, 874][align.column], y: 0, width: 406, height: 720))
        let contain = try #require(place(.contain, picture: (1280, 720), pane: (0, 320, 360, 640), align: align))
        #expect(contain.destination == VideoRect(x: 0, y: [320, 538, 758][align.row], width: 360, height: 202))
        // 720×1280 in 640×360: the other direction.
        let tall = try #require(place(.cover, picture: (720, 1280), pane: (0, 320, 640, 360), align: align))
        #expect(tall.source.height == 406 && tall.source.y == [0, 436, 874][align.row])
        let narrow = try #require(place(.contain, picture: (720, 1280), pane: (0, 320, 640, 360), align: align))
        #expect(narrow.destination.width == 202 && narrow.destination.x == [0, 218, 438][align.column])
    }

    @Test("Pixels that are not square count with the shape that is meant")
    func anamorphic() {
        // 720×576 with 64:45 pixels is 1024×576.
        let contain = place(.contain, picture: (720, 576), pane: (0, 0, 720, 720), pixel: (64, 45))
        #expect(contain?.destination == VideoRect(x: 0, y: 156, width: 720, height: 406))
    }

    @Test("Every rectangle lies inside, with even edges on the canvas; a pane outside of the canvas is refused")
    func bounds() {
        #expect(place(.cover, picture: (640, 480), pane: (400, 0, 360, 640)) == nil)
        #expect(place(.cover, picture: (640, 480), pane: (-2, 0, 360, 640)) == nil)
        for (width, height) in [(16, 16), (17, 1081), (1920, 1080), (4096, 16), (1, 1), (641, 359)] {
            for (fit, align) in Pane.Fit.allCases.flatMap({ fit in Pane.Alignment.allCases.map { (fit, $0) } }) {
                guard let placed = place(fit, picture: (width, height), pane: (2, 4, 358, 642), align: align) else {
                    Issue.record("nothing for \(width)×\(height)")
                    continue
                }
                let (from, to) = (placed.source, placed.destination)
                #expect(from.x >= 0 && from.y >= 0 && from.width > 0 && from.height > 0)
                #expect(from.x + from.width <= width && from.y + from.height <= height)
                #expect(to.x >= 2 && to.y >= 4 && to.x + to.width <= 360 && to.y + to.height <= 646)
                #expect([to.x, to.y, to.width, to.height, from.x, from.y].allSatisfy { $0 % 2 == 0 })
            }
        }
    }
}
