import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Composes scenes as the mixer does, with synthetic pictures instead of cameras.
struct SceneStudio {
    let canvas: Canvas
    private let colour: CanvasColour
    private let easel: Easel
    private let composer: CanvasComposer
    private var cameras: [String: VideoFrame] = [:]

    /// BT.709, signalled by every picture: colours are not converted on the way.
    private static let signal = ColourSignal(primaries: 1, transfer: 1, matrix: 1)

    init(canvas: Canvas) throws {
        self.canvas = canvas
        colour = CanvasColour(signal: Self.signal, canvas: canvas)
        easel = Easel(canvas: canvas, colour: colour)
        composer = try CanvasComposer(canvas: canvas, colour: colour)
    }

    /// Returns the participants that a layout is made for; every fourth has the camera off.
    static func crowd(_ count: Int, for layout: String) -> [LayoutParticipant] {
        let names = [
            "Ada Lovelace", "Bob", "Chloé Martin", "Дмитрий Петров", "Esi Mensah", "Farid Haddad", "Grace Hopper",
            "Hiro Tanaka", "Inês Alves", "Jonas Weber", "Kim Lee", "Liam O'Neill", "Maya Rao", "نور عزيز",
            "Olga Ivanova-Kuznetsova", "Pedro Silva",
        ]
        return (0..<count).map { index in
            let isScreen = layout == "screen-share" && index == count - 1 && count > 1
            let person = isScreen ? 0 : index
            return LayoutParticipant(
                source: isScreen ? "user0/screen" : "user\(index)/camera", user: "user\(person)", name: names[person],
                role: person == 0 || (layout == "pk-battle" && person == 1) ? .host : .guest,
                kind: isScreen ? .screen : layout == "audio-room" ? .audio : .camera, joinOrder: person,
                hasVideo: layout != "audio-room" && (isScreen || index % 4 != 3))
        }
    }

    /// Returns one frame of the canvas, or records an issue that names the missing content.
    mutating func compose(_ scene: Scene) async throws -> VideoFrame {
        var panes: [PaneContent] = []
        for pane in scene.panes {
            var shown = pane
            var content = PaneContent.Content.nothing
            if pane.isLive {
                content = .picture(SourcePicture(frame: try await camera(of: pane), colour: Self.signal))
            } else if pane.fallback != .nothing {
                shown.fit = .cover
                let card = try #require(try await easel.draw(Graphic(cardOf: pane)).picture)
                content = .picture(SourcePicture(frame: card, colour: nil))
            }
            var label: AlphaPicture?
            if let graphic = Graphic(labelOf: pane) { label = try await easel.draw(graphic).layer }
            panes.append(PaneContent(pane: shown, content: content, label: label))
        }
        var layers: [Composition.Layer] = []
        for overlay in scene.overlays {
            guard let graphic = Graphic(overlay, time: Scene.previewTime) else { continue }
            let picture = try #require(try await easel.draw(graphic).layer)
            layers.append(
                Composition.Layer(
                    picture: picture, x: overlay.x, y: overlay.y, z: overlay.level, opacity: overlay.opacity))
        }
        var backdrop: VideoFrame?
        if let background = scene.background { backdrop = try await easel.draw(.backdrop(background)).picture }
        let composition = Composition(
            background: scene.canvas.background, backdrop: backdrop, panes: panes, layers: layers)
        return try #require(composer.compose(composition))
    }

    /// Returns a test card of the user's colour: 16:9 for a screen, 9:16 or 16:9 for a camera.
    private mutating func camera(of pane: Pane) async throws -> VideoFrame {
        if let known = cameras[pane.source] { return known }
        let isScreen = pane.source.hasSuffix("/screen")
        let isWide = isScreen || pane.user.utf8.reduce(0) { $0 + Int($1) }.isMultiple(of: 2)
        let (width, height) = isWide ? (640, 360) : (360, 640)
        let corner = 60
        let marks = [
            (0, 0, "#FFFFFF"), (width - corner, 0, "#FFD23F"), (0, height - corner, "#3FC1FF"),
            (width - corner, height - corner, "#000000"),
        ].map { "<rect x=\"\($0)\" y=\"\($1)\" width=\"\(corner)\" height=\"\(corner)\" fill=\"\($2)\"/>" }
        let middle =
            isScreen
            ? (0..<9).map { line in
                "<rect x=\"90\" y=\"\(70 + line * 26)\" width=\"\(460 - line % 3 * 120)\" height=\"12\" fill=\"#1F2937\"/>"
            }.joined()
            : "<circle cx=\"\(width / 2)\" cy=\"\(height / 2)\" r=\"80\" fill=\"#F2C9A1\"/>"
                + "<rect x=\"\(width / 2 - 110)\" y=\"\(height / 2 + 92)\" width=\"220\" height=\"\(height)\" rx=\"80\" "
                + "fill=\"#27313F\"/>"
        let drawing = try await ImageDecoder.svg(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)">\
            <rect width="100%" height="100%" fill="\(isScreen ? RGB.white : pane.card.colour)"/>\(middle)\
            \(marks.joined())</svg>
            """)
        let format = VideoFormat(width: width, height: height, colorimetry: colour.canvas)
        let frame = try #require(try CanvasPool(format: format).acquire())
        let converter = try VideoConverter(
            from: drawing.format, to: format, destinationRect: VideoRect(x: 0, y: 0, width: width, height: height))
        #expect(converter.draw(drawing, onto: frame))
        cameras[pane.source] = frame
        return frame
    }
}
