import Foundation
import LayoutEngine
import Testing

@testable import MixModel

/// A canvas that follows the host's picture.
@Suite struct HostCanvasTests {
    private static func bench(_ sizes: [SourceID: (Int, Int)], _ rates: [SourceID: Int]) -> TaskMachineTests.Bench {
        var bench = TaskMachineTests.Bench()
        bench.context.defaultCanvas = RoomCanvas(
            Canvas(width: 720, height: 1280, fps: 20, background: .white), followsHost: true)
        bench.context.pictureSizes = sizes.mapValues { LayoutParticipant.Size(width: $0.0, height: $0.1) }
        bench.context.frameRates = rates
        return bench
    }

    @Test(arguments: [
        ((1280, 720, 30), (1280, 720, 30)), ((720, 1280, 30), (720, 1280, 30)), ((1920, 1080, 60), (1920, 1080, 60)),
        ((3840, 2160, 60), (1920, 1080, 60)), ((2160, 3840, 25), (1080, 1920, 25)),
        ((1440, 1080, 25), (1440, 1080, 25)),
        ((1440, 1440, 25), (1080, 1080, 25)), ((2560, 1080, 30), (1920, 810, 30)), ((641, 361, 30), (640, 360, 30)),
        ((16384, 1, 30), (1920, 16, 30)), ((1, 1, 1), (16, 16, 15)), ((640, 360, 5), (640, 360, 15)),
        ((640, 360, 120), (640, 360, 60)),
    ])
    func aCanvasHasThePicturesShapeWithinLimits(_ picture: (Int, Int, Int), _ expected: (Int, Int, Int)) {
        let followed = FollowedPicture(size: .init(width: picture.0, height: picture.1), fps: picture.2)
        let canvas = followed.canvas(background: .white)
        #expect(canvas == Canvas(width: expected.0, height: expected.1, fps: expected.2, background: .white))
        #expect(canvas == canvas.withinLimits)
    }

    @Test func aFrameRateIsWholeAndStaysUnlessItReallyChanges() {
        #expect(SourceFacts.rate(29.97, after: nil) == 30)
        #expect(SourceFacts.rate(23.976, after: nil) == 24)
        #expect(SourceFacts.rate(31.4, after: 30) == 30)
        #expect(SourceFacts.rate(28.6, after: 30) == 30)
        #expect(SourceFacts.rate(25, after: 30) == 25)
        #expect(SourceFacts.rate(0, after: nil) == 1)
        #expect(SourceFacts.rate(1000, after: nil) == 240)
    }

    @Test func theCanvasFollowsTheHostAndStaysWhileThePictureIsUnknown() {
        var bench = Self.bench([:], [:])
        #expect(bench.publish("alice").plans.last?.scene.canvas.width == 720, "nothing is known yet")
        bench.context.pictureSizes["alice/camera"] = .init(width: 1280, height: 720)
        bench.context.frameRates["alice/camera"] = 30
        let host = Canvas(width: 1280, height: 720, fps: 30, background: .white)
        #expect(bench.settingsChanged().plans.last?.scene.canvas == host)

        // A guest's picture of another shape does not change the canvas.
        bench.context.pictureSizes["bob/camera"] = .init(width: 720, height: 1280)
        bench.context.frameRates["bob/camera"] = 25
        bench.now += 500_000_000
        let mix = bench.publish("bob").plans.last
        #expect(mix?.mode == .mix(host: "alice/camera") && mix?.scene.canvas == host)

        // When the host leaves, the canvas follows the next host's picture. A slate keeps the last canvas.
        bench.now += 500_000_000
        #expect(bench.unpublish("alice").plans.last?.scene.canvas.height == 1280)
        bench.now += 500_000_000
        bench.context.pictureSizes = [:]
        let slate = bench.unpublish("bob").plans.last
        #expect(slate?.mode == .slate && slate?.scene.canvas.height == 1280 && slate?.scene.canvas.fps == 25)
    }

    @Test func whatAMixChangesIsInTheTimeline() {
        func decisions(_ canvas: RoomCanvas) -> String {
            var bench = Self.bench(["alice/camera": (1280, 720), "bob/camera": (640, 360)], ["alice/camera": 30])
            bench.context.defaultCanvas = canvas
            _ = bench.publish("alice")
            bench.now += 500_000_000
            return bench.publish("bob").compactMap {
                if case .record(let entry) = $0 { entry.message } else { nil }
            }.joined()
        }
        #expect(
            decisions(RoomCanvas(.portrait)).contains(
                "the picture becomes 720×1280 at 20 frames per second, alice/camera has 1280×720 at 30"))
        #expect(!decisions(RoomCanvas(.portrait, followsHost: true)).contains("the picture becomes"))
    }

    @Test func documentsOfFixedCanvasesAreThoseOfEarlierReleases() throws {
        let earlier = ##"{"width":640,"height":360,"fps":25,"background":"#FFFFFF"}"##
        let fixed = RoomCanvas(Canvas(width: 640, height: 360, fps: 25, background: .white))
        #expect(try JSONDecoder().decode(RoomCanvas.self, from: Data(earlier.utf8)) == fixed)
        #expect(try fixed.document() == earlier)
        let following = RoomCanvas(fixed.canvas, followsHost: true)
        #expect(try JSONDecoder().decode(RoomCanvas.self, from: Data(following.document().utf8)) == following)
        // Facts of earlier releases have no frame rates.
        let facts = try JSONDecoder().decode(SourceFacts.self, from: Data(#"{"absent":[],"pictureSizes":[]}"#.utf8))
        #expect(facts == SourceFacts())
    }
}
