import GStreamerKit
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Content equal to that of the last picture is not painted again, and the result looks the same.
@Suite("Repeated pictures") struct MixerRepetitionTests {
    private static let canvas = Canvas(width: 96, height: 96, fps: 20, background: RGB(red: 9, green: 90, blue: 200))
    private static let colour = CanvasColour(signal: MixerStage.signal, canvas: canvas)

    private static func pane(_ index: Int, _ x: Int, _ y: Int, _ side: Int) -> Pane {
        Pane(source: "user\(index)/camera", user: "user\(index)", x: x, y: y, width: side, height: side, z: index)
    }

    private static func content(_ pane: Pane, _ picture: SourcePicture) -> PaneContent {
        PaneContent(pane: pane, content: .picture(picture))
    }

    private static func planes(_ frame: VideoFrame) -> [[UInt8]] { (0..<3).map { frame.plane($0) } }

    @Test("The same composition gives the same picture, until anything of it changes")
    func same() throws {
        let composer = try CanvasComposer(canvas: Self.canvas, colour: Self.colour)
        let (brick, moss) = (try MixerStage.picture(.brick), try MixerStage.picture(.moss))
        var composition = Composition(
            background: Self.canvas.background,
            panes: [Self.content(Self.pane(0, 0, 0, 48), brick), Self.content(Self.pane(1, 48, 0, 48), moss)])
        let first = try #require(composer.compose(composition))
        // More calls than the pool has pictures: none of them takes one.
        for _ in 0..<CanvasComposer.poolSize * 2 { #expect(composer.compose(composition) === first) }
        var before = first
        func changed(_ change: (inout Composition) -> Void) throws {
            change(&composition)
            let next = try #require(composer.compose(composition))
            #expect(next !== before)
            before = next
        }
        try changed { $0.panes[1].content = .picture(brick) }
        try changed { $0.panes[1].pane.x = 40 }
        try changed { $0.panes[1].pane.border = Pane.Border(width: 4, colour: .grey) }
        try changed { $0.background = .grey }
        try changed { $0.panes.removeLast() }
        let image = try #require(try CanvasPool(format: VideoFormat(width: 16, height: 16, layout: "BGRA")).acquire())
        let layer = try AlphaPicture(image, colorimetry: Self.colour.canvas)
        try changed { $0.layers = [.init(picture: layer, x: 0, y: 0, opacity: .whole)] }
        try changed { $0.layers[0].x = 8 }
        try changed { $0.layers[0].z = -1 }
        // The same pixels in another object are another picture.
        try changed { $0.panes[0].content = .picture(try! MixerStage.picture(.brick)) }
    }

    @Test("Pictures made of what was kept are those that are painted anew", arguments: 0..<8)
    func kept(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let composer = try CanvasComposer(canvas: Self.canvas, colour: Self.colour)
        let pictures = try [RGB.brick, .moss, .ocean].map { try MixerStage.picture($0, width: 40, height: 64) }
        let places = [
            Self.pane(0, 0, 0, 48), Self.pane(1, 48, 0, 48), Self.pane(2, 0, 48, 48), Self.pane(3, 32, 32, 32),
            Self.pane(4, 64, 64, 32),
        ]
        var panes = places.map { Self.content($0, pictures[0]) }
        var shown = places.indices.map { $0 != 3 }
        var held: [VideoFrame] = []
        for step in 0..<60 {
            let index = Int.random(in: panes.indices, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: shown[index].toggle()
            case 1: panes[index].pane.fit = [.cover, .contain, .stretch].randomElement(using: &random) ?? .cover
            case 2: panes[index].pane.opacity = UnitFraction(Bool.random(using: &random) ? 1 : 0.5)
            case 3: panes[index].content = Bool.random(using: &random) ? .nothing : .colour(.grey)
            case 4: panes[index].pane.matte = Bool.random(using: &random) ? .grey : nil
            default: panes[index].content = .picture(pictures.randomElement(using: &random) ?? pictures[0])
            }
            let composition = Composition(
                background: step / 20 % 2 == 0 ? Self.canvas.background : .grey,
                panes: panes.indices.filter { shown[$0] }.map { panes[$0] })
            let frame = try #require(composer.compose(composition))
            let fresh = try CanvasComposer(canvas: Self.canvas, colour: Self.colour)
            #expect(Self.planes(frame) == Self.planes(try #require(fresh.compose(composition))), "step \(step)")
            // The loop holds three frames, like an encoder.
            held = held.suffix(2) + [frame]
        }
    }
}
