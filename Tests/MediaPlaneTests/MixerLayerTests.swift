import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Overlays in front of panes, between them and behind them, pixel by pixel.
@Suite("The order of layers", .timeLimit(.minutes(5))) struct MixerLayerTests {
    private static let canvas = Canvas(width: 320, height: 240, fps: 20, background: .grey)

    private static func pane(_ user: String, _ x: Int, _ y: Int, _ width: Int, _ height: Int, z: Int) -> Pane {
        Pane(source: "\(user)/camera", user: user, x: x, y: y, width: width, height: height, z: z)
    }

    /// A brick-coloured bar, with a letter in its middle, over a part of both panes and of the background.
    private static func bar(_ z: Int?) -> Overlay {
        Overlay(
            id: "bar", x: 40, y: 40, width: 200, height: 120, z: z,
            content: .text("x", TextStyle(size: 10, background: .brick)))
    }

    @Test(
        "An overlay is in front of panes with the same place",
        arguments: [
            (nil, .brick, .brick), (200, .brick, .brick), (1, .brick, .brick), (0, .brick, .ocean), (-1, .moss, .ocean),
        ] as [(Int?, RGB, RGB)])
    func places(_ z: Int?, _ low: RGB, _ high: RGB) async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
        let panes = [Self.pane("alice", 0, 0, 160, 240, z: 0), Self.pane("bob", 80, 60, 80, 80, z: 1)]
        stage.show(Scene(canvas: Self.canvas, panes: panes, overlays: [Self.bar(z)]))
        // The second picture is made of parts of the first one, where that is possible.
        for picture in 0..<2 {
            let frame = try await stage.next()
            for (x, y, colour) in [
                (10, 10, .moss), (50, 50, low), (100, 70, high), (220, 50, .brick), (300, 200, .grey),
            ]
                as [(Int, Int, RGB)]
            {
                let found = frame.pixel(x, y)
                #expect(found.distance(to: colour) <= 6, "\(found) at \(x),\(y) of picture \(picture), not \(colour)")
            }
            stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        }
    }
}
