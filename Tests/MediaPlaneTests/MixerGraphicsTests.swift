import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing
import MediaFormats

@testable import EncodedMedia
@testable import ProgramMixer

@Suite("Which graphics a mix has")
struct GraphicShelfTests {
    private func card(_ name: String) -> Graphic {
        .card(Card(name: name, user: name), width: 16, height: 16)
    }

    @Test func whatIsAskedForIsOrderedOnceAndKept() throws {
        var shelf = GraphicShelf()
        #expect(shelf.still(card("a"), tick: 0) == nil && shelf.still(card("a"), tick: 1) == nil)
        #expect(shelf.isAwaited(card("a")) && !shelf.isAwaited(card("b")))
        #expect(shelf.takeOrder() == card("a") && shelf.takeOrder() == nil)
        shelf.deliver(.picture(try MixerStage.picture(.moss).frame), for: card("a"))
        #expect(shelf.still(card("a"), tick: 2)?.picture != nil)
        #expect(!shelf.hasOrders && !shelf.isAwaited(card("a")))
    }

    @Test func ordersOfScenesThatArePastAreDropped() {
        var shelf = GraphicShelf()
        for tick in 0..<200 as Range<Int64> {
            _ = shelf.still(card("scene \(tick)"), tick: tick)
            _ = shelf.still(card("every scene"), tick: tick)
        }
        var drawn: Set<Graphic> = []
        while let order = shelf.takeOrder() { drawn.insert(order) }
        #expect(drawn.contains(card("every scene")))
        #expect(drawn.count <= Int(GraphicShelf.patience) + 2)
        #expect(!shelf.isAwaited(card("scene 0")))
    }

    @Test func whatFailedIsTriedAgainByALaterScene() {
        var shelf = GraphicShelf()
        _ = shelf.still(.image("x"), tick: 0)
        _ = shelf.takeOrder()
        shelf.deliver(nil, for: .image("x"))
        #expect(shelf.hasFailed(.image("x")) && shelf.still(.image("x"), tick: 1) == nil && !shelf.hasOrders)
        shelf.sweep(unusedSince: 2)
        #expect(!shelf.hasFailed(.image("x")))
        _ = shelf.still(.image("x"), tick: 3)
        #expect(shelf.takeOrder() == .image("x"))
    }

    @Test func facesOfClocksGoWithTheirTime() throws {
        var shelf = GraphicShelf()
        let clock = Overlay.Content.clock(.time, utcOffset: 0, TextStyle(size: 20))
        for time in 0..<100 {
            let face = Graphic.text(clock, width: 16, height: 16, time: time)
            _ = shelf.still(face, tick: Int64(time))
            shelf.deliver(.picture(try MixerStage.picture(.moss).frame), for: face)
            shelf.sweep(unusedSince: Int64(time))
        }
        #expect(shelf.count == 1)
    }
}

extension RealTime {
    @Suite("Mixer's graphics", .timeLimit(.minutes(6)))
    struct MixerGraphicsOnAirTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        private func luma(_ frame: VideoFrame, _ x: Int, _ y: Int) -> Int {
            frame.withPlane(0) { bytes, stride, _, _ in Int(bytes[y * stride + x]) } ?? -1
        }

        @Test("A room of cards is a mix: pictures and sound flow, without any camera")
        func cards() async throws {
            let sound = try await TestStreams.audio(count: 140) { 0.2 * sin(Float($0) * 0.1) }
            let setup = MixerHarness.setup(
                host: Self.host, videoOrigin: .milliseconds(600), audioOrigin: .milliseconds(600))
            var scene = MixerHarness.scene(setup, [Self.host, Self.guest], heard: [Self.host])
            for index in scene.panes.indices {
                scene.panes[index].isLive = false
                scene.panes[index].card = Card(name: "Ada", initials: "A", colour: .moss)
            }
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [sound], joins: .milliseconds(400))]
            harness.commands = [(.milliseconds(400), .scene(scene))]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(2500))
            #expect(record.failures.isEmpty && record.notes.isEmpty, "\(record.failures) \(record.notes)")
            let frames = record.video.frames
            #expect(frames.count >= 20)
            for (k, frame) in frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
            }
            let expected = CanvasColour(signal: .unsignalled, canvas: setup.canvas).planes(of: .moss).y
            for decoded in try await TestStreams.pictures(record.video) {
                for x in [10, 190] { #expect(abs(luma(decoded.picture.frame, x, 10) - Int(expected)) <= 3) }
            }
            let heard = try await TestStreams.sound(record.audio).flatMap { $0.samples.map(abs) }.max() ?? 0
            #expect(heard > 0.15)
        }

        @Test("On air: a stalled guest gives way to the card after two seconds and is back with the next picture")
        func stall() async throws {
            let video = try await TestStreams.video(count: 150)
            var guestVideo = video
            // The guest sends pictures until 1.5 s, and again from the keyframe at 6 s.
            guestVideo.frames.removeSubrange(30..<120)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(600))
            var scene = MixerHarness.scene(setup, [Self.host, Self.guest])
            scene.panes[1].fallback = .card
            scene.panes[1].card = Card(name: "Bob", initials: "B", colour: .brick)
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [guestVideo], joins: .milliseconds(400)),
            ]
            harness.commands = [(.milliseconds(400), .scene(scene))]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(6900))
            #expect(record.failures.isEmpty && record.notes.isEmpty)
            let brick = Int(CanvasColour(signal: .unsignalled, canvas: setup.canvas).planes(of: .brick).y)
            var cards: [Int] = []
            for (k, decoded) in try await TestStreams.pictures(record.video).enumerated() {
                let frame = decoded.picture.frame
                #expect(TestMark.read(frame, width: 180) == 12 + k, "the host goes on, frame \(k)")
                if let guest = TestMark.read(frame, x: 180, width: 180) {
                    #expect(guest == (12 + k < 30 || 12 + k >= 120 ? 12 + k : 29), "frame \(k)")
                } else {
                    #expect(abs(luma(frame, 190, 10) - brick) <= 4, "frame \(k)")
                    cards.append(k)
                }
            }
            // From two seconds after the last picture to the next one; frame 0 is at 0.6 s.
            let first = try #require(cards.first)
            #expect((56...62).contains(first), "\(cards)")
            // On a busy machine the keyframe may be decoded some frames late.
            #expect((105...110).contains(cards.last ?? 0) && cards == Array(first...(cards.last ?? first)), "\(cards)")
        }

        @Test(
            "An image that cannot be shown and a name without a font are told of once; cards and labels are shown in time"
        )
        func notes() async throws {
            let video = try await TestStreams.video(count: 100)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(600))
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(400))]
            let alone = MixerHarness.scene(setup, [Self.host])
            var both = MixerHarness.scene(setup, [Self.host, Self.guest])
            both.panes[1].isLive = false
            both.panes[1].fallback = .image("/nonexistent/away.png")
            both.panes[1].card = Card(name: "Bob \u{10FFFD}", initials: "B", colour: .brick)
            both.panes[0].label = Label(text: "Alice", size: 16, background: .white, backgroundOpacity: .whole)
            let change = MediaTime.milliseconds(1500)
            harness.commands = [
                (.milliseconds(400), .scene(alone)), (change, .sceneChange(both.difference(from: alone))),
                (.milliseconds(2500), .sceneChange(alone.difference(from: both))),
                (.milliseconds(3000), .sceneChange(both.difference(from: alone))),
            ]
            // Drawing has a time limit.
            harness.slow = change..<change + .milliseconds(500)
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(4200))
            #expect(record.failures.isEmpty)
            #expect(record.notes.count == 2, "\(record.notes)")
            #expect(record.notes.contains { $0.hasPrefix("image-failed: ") && $0.contains("/nonexistent/away.png") })
            #expect(record.notes.contains { $0.hasPrefix("glyphs-missing: “Bob ") && $0.contains("(U+10FFFD)") })
            let frames = record.video.frames
            for (k, frame) in frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
            }
            let brick = Int(CanvasColour(signal: .unsignalled, canvas: setup.canvas).planes(of: .brick).y)
            var changed: Int?
            for (k, decoded) in try await TestStreams.pictures(record.video).enumerated() {
                let frame = decoded.picture.frame
                if TestMark.read(frame, width: 360) == 12 + k { continue }
                #expect(TestMark.read(frame, width: 180) == 12 + k, "frame \(k)")
                #expect(abs(luma(frame, 190, 10) - brick) <= 4, "frame \(k): the card in place of the image")
                #expect(luma(frame, 170, 625) > 225, "frame \(k): the label")
                changed = changed ?? k
            }
            let arrival = record.videoArrivals[try #require(changed)] - change
            print(
                "a scene with a card, a label and a broken image: in the encoded mix \(arrival.inMilliseconds) ms after it was told"
            )
            // The patience with a scene, one frame of the mix and one of the encoder.
            #expect(arrival < .milliseconds(350))
        }
    }
}
