import GStreamerKit
import LayoutEngine
import MixModel
import Testing
import EncodedMedia

@testable import ProgramMixer

/// Scenes that change over several frames. `SceneTransition` defines the steps between two scenes; these tests check
/// their timing.
@Suite("Transitions of a mix", .timeLimit(.minutes(5)))
struct MixerTransitionTests {
    static let canvas = Canvas(width: 320, height: 240, fps: 20, background: .grey)

    private static func scene(
        _ panes: [Pane], milliseconds: Int = 500, easing: Transition.Easing = .linear
    ) -> Scene {
        Scene(canvas: canvas, panes: panes, transition: Transition(duration: milliseconds, easing: easing))
    }

    private static func pane(_ user: String, _ x: Int, _ width: Int) -> Pane {
        Pane(source: "\(user)/camera", user: user, x: x, y: 0, width: width, height: 240)
    }

    /// Returns the beginning and end of alice's picture in a row.
    private static func extent(_ frame: VideoFrame) -> ClosedRange<Int>? {
        let columns = (0..<frame.width).filter { frame.pixel($0, 120).distance(to: .moss) <= 12 }
        guard let first = columns.first, let last = columns.last else { return nil }
        return first...last
    }

    @Test(
        "Frames go from scene to scene without a jump back, the last one exactly there",
        arguments: Transition.Easing.allCases)
    func monotone(easing: Transition.Easing) async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.show(Self.scene([Self.pane("alice", 0, 100)]))
        #expect(Self.extent(try await stage.next()) == 0...99)
        let end = Self.scene([Self.pane("alice", 120, 200)], easing: easing)
        stage.show(end)
        var places: [ClosedRange<Int>] = []
        for _ in 0..<12 { places.append(try #require(Self.extent(try await stage.next()))) }
        // Half a second at 20 frames a second: ten frames, of which the first is in motion and the last has arrived.
        #expect(places[9...].allSatisfy { $0 == 120...319 })
        #expect(places[8] != 120...319)
        #expect(zip([0...99] + places, places).allSatisfy { $0.lowerBound <= $1.lowerBound })
        #expect(zip([0...99] + places, places).allSatisfy { $0.upperBound <= $1.upperBound })
        let steps = zip([0...99] + places, places.prefix(10)).map { $1.upperBound - $0.upperBound }
        // 220 pixels in ten frames; no easing is anywhere more than twice as fast as even steps.
        #expect(steps.allSatisfy { $0 <= 44 + 2 }, "\(steps)")
        if easing == .linear { #expect(steps.allSatisfy { abs($0 - 22) <= 2 }, "\(steps)") }
    }

    @Test("A new scene in the middle goes on from what is shown; one that only sounds different disturbs nothing")
    func interrupted() async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.show(Self.scene([Self.pane("alice", 0, 100)]))
        _ = try await stage.next()
        var right = Self.scene([Self.pane("alice", 220, 100)])
        stage.show(right)
        var left: [Int] = [0]
        for _ in 0..<3 { left.append(try #require(Self.extent(try await stage.next())).lowerBound) }
        right.sound = SceneSound(levels: [.init(source: "alice/camera", gain: 50)])
        stage.show(right)
        for _ in 0..<3 { left.append(try #require(Self.extent(try await stage.next())).lowerBound) }
        #expect(left == [0, 22, 44, 66, 88, 110, 132])
        #expect(stage.state.player?.scene.sound == right.sound)
        stage.show(Self.scene([Self.pane("alice", 0, 100)]))
        var back: [Int] = []
        for _ in 0..<11 { back.append(try #require(Self.extent(try await stage.next())).lowerBound) }
        // Ten frames for the 132 pixels, beginning where it was.
        #expect(zip([132] + back, back).allSatisfy { (0...16).contains($0 - $1) }, "\(back)")
        #expect(back[8] > 0 && back[9] == 0 && back[10] == 0)
    }

    @Test("Who leaves keeps their last picture until they have faded, and is forgotten then")
    func leaving() async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
        stage.show(Self.scene([Self.pane("alice", 0, 160), Self.pane("bob", 160, 160)]))
        _ = try await stage.next()
        stage.show(Self.scene([Self.pane("alice", 0, 160)]))
        stage.sources["bob/camera"] = nil
        stage.state.end("bob/camera")
        for index in 1..<10 {
            let frame = try await stage.next()
            let expected = RGB.grey.under(.ocean, 1 - Double(index) / 10)
            #expect(frame.pixel(300, 100).distance(to: expected) <= 4, "frame \(index)")
            #expect(stage.state.sources["bob/camera"] != nil)
        }
        #expect(try await stage.next().pixel(300, 100).distance(to: .grey) <= 3)
        _ = try await stage.next()
        #expect(stage.state.sources["bob/camera"] == nil)
    }

    @Test("Labels keep the width of their pane while it grows and shrinks", arguments: Label.Side.allCases)
    func labels(side: Label.Side) async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        func pane(_ x: Int, _ width: Int) -> Pane {
            var pane = Self.pane("alice", x, width)
            pane.label = Label(text: "", side: side, size: 14, background: .black, backgroundOpacity: .whole)
            return pane
        }
        stage.show(Self.scene([pane(0, 100)]))
        _ = try await stage.next()
        for (x, width) in [(40, 280), (0, 60), (100, 200)] {
            stage.show(Self.scene([pane(x, width)]))
            for _ in 0..<13 {
                let frame = try await stage.next()
                let place = try #require(Self.extent(frame))
                for column in [place.lowerBound, (place.lowerBound + place.upperBound) / 2, place.upperBound] {
                    #expect(frame.pixel(column, 230).distance(to: .black) <= 3, "\(place) at \(column)")
                }
                for column in [place.lowerBound - 2, place.upperBound + 2] where (0..<320).contains(column) {
                    #expect(frame.pixel(column, 230).distance(to: .grey) <= 3)
                }
            }
        }
        // Labels of four widths, and no drawing for the steps between them.
        #expect(stage.state.shelf.count == 4)
    }

    @Test("A card grows from one size to the next without being drawn anew, its colour to the edges")
    func cards() async throws {
        var stage = try MixerStage(Self.canvas)
        func pane(_ x: Int, _ width: Int) -> Pane {
            var pane = Self.pane("alice", x, width)
            pane.isLive = false
            pane.card.colour = .moss
            return pane
        }
        stage.show(Self.scene([pane(0, 100)]))
        #expect(try await stage.next().pixel(98, 2).distance(to: .moss) <= 3)
        stage.show(Self.scene([pane(120, 200)]))
        for _ in 0..<13 {
            let frame = try await stage.next()
            let shown = try #require(stage.composition?.panes.first?.pane)
            for x in [shown.x, shown.x + shown.width - 1] {
                #expect(frame.pixel(x, 2).distance(to: .moss) <= 3)
                #expect(frame.pixel(x, 237).distance(to: .moss) <= 3)
            }
        }
        #expect(stage.state.shelf.count == 2)
    }

    @Test("A duration of a frame or less is a cut", arguments: [0, 1, 50, 74])
    func cut(milliseconds: Int) async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.show(Self.scene([Self.pane("alice", 0, 100)]))
        _ = try await stage.next()
        stage.show(Self.scene([Self.pane("alice", 220, 100)], milliseconds: milliseconds))
        #expect(Self.extent(try await stage.next()) == 220...319)
    }
}

extension RealTime {
    @Suite("Mixer's transitions", .timeLimit(.minutes(6)))
    struct MixerTransitionOnAirTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        /// Returns the left edge of the guest's picture in a row below the marks; `nil` where there is none.
        private func edge(_ frame: VideoFrame) -> Int? {
            frame.withPlane(0) { bytes, stride, width, _ in
                (0..<width).first { bytes[300 * stride + $0] > 160 }
            } ?? nil
        }

        @Test("On air: every frame is there, in its place, while a guest comes, is moved twice at once, and leaves")
        func everyFrame() async throws {
            let hostVideo = try await TestStreams.video(TestPicture(palette: [SIMD3(90, 128, 128)]), count: 120)
            let guestVideo = try await TestStreams.video(TestPicture(palette: [SIMD3(200, 128, 128)]), count: 120)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(600))
            func scene(guestAt x: Int?) -> Scene {
                var panes = [
                    Pane(source: Self.host.rawValue, user: "alice", x: 0, y: 0, width: 360, height: 640, fit: .stretch)
                ]
                if let x {
                    panes.append(
                        Pane(
                            source: Self.guest.rawValue, user: "bob", x: x, y: 160, width: 120, height: 320, z: 1,
                            fit: .stretch))
                }
                return Scene(
                    canvas: setup.canvas, panes: panes, transition: Transition(duration: 400, easing: .linear))
            }
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [hostVideo], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [guestVideo], joins: .milliseconds(400)),
            ]
            let scenes: [(Int, Scene)] = [
                (400, scene(guestAt: nil)), (1210, scene(guestAt: 0)), (2010, scene(guestAt: 240)),
                (2210, scene(guestAt: 40)), (3010, scene(guestAt: nil)),
            ]
            for (index, (at, scene)) in scenes.enumerated() {
                harness.commands.append(
                    (
                        .milliseconds(at),
                        index == 0 ? .scene(scene) : .sceneChange(scene.difference(from: scenes[index - 1].1))
                    ))
            }
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(4000))
            #expect(record.failures.isEmpty && record.notes.isEmpty)
            let frames = record.video.frames
            for (k, frame) in frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
            }
            let pictures = try await TestStreams.pictures(record.video)
            #expect(pictures.count == frames.count && pictures.count >= 50)
            var edges: [Int?] = []
            for (k, decoded) in pictures.enumerated() {
                // The host behind it continues, frame by frame, as long as its mark is not covered.
                #expect(TestMark.read(decoded.picture.frame, width: 360) == 12 + k, "frame \(k)")
                edges.append(edge(decoded.picture.frame))
            }
            let seen = try #require(edges.firstIndex { $0 != nil })
            let gone = try #require(edges.lastIndex { $0 != nil })
            let way = edges[seen...gone].compactMap { $0 }
            #expect(way.count == gone - seen + 1, "\(edges)")
            // 240 pixels in eight frames are 30 a frame.
            #expect(zip(way, way.dropFirst()).allSatisfy { abs($1 - $0) <= 34 }, "\(way)")
            let turn = try #require(way.firstIndex(of: way.max() ?? 0))
            #expect((80...200).contains(way[turn]), "turned half-way: \(way)")
            #expect(zip(way[...turn], way[...turn].dropFirst()).allSatisfy { $1 >= $0 - 6 }, "\(way)")
            #expect(zip(way[turn...], way[turn...].dropFirst()).allSatisfy { $1 <= $0 + 2 }, "\(way)")
            #expect((38...44).contains(way.last ?? 0), "\(way)")
            print("left edge of a pane on its way, frame by frame: \(way)")
        }
    }
}
