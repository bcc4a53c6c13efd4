import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// The text on the card of a source that has stalled. Time is advanced by hand.
@Suite("The card of a stalled source says so", .timeLimit(.minutes(5))) struct MixerNoticeTests {
    private static let bob: SourceID = "bob/camera"
    private static let canvas = Canvas(width: 320, height: 240, fps: 20)

    private static func scene(reconnecting: String? = nil) -> Scene {
        let pane = Pane(
            source: "\(bob)", user: "bob", x: 0, y: 0, width: 320, height: 240, fallback: .card,
            card: Card(name: "Bob", initials: "B", colour: .brick), reconnecting: reconnecting)
        return Scene(canvas: canvas, panes: [pane])
    }

    /// The card in the newest frame, if there is one.
    private func card(_ stage: MixerStage) -> Graphic? { stage.state.drawn[Self.bob.rawValue]?.card }

    private func notice(_ stage: MixerStage) -> String? {
        if case .card(_, let notice, _, _)? = card(stage) { notice?.text } else { nil }
    }

    /// Returns a stage on which bob was seen, with and without sound, and from which nothing more comes.
    private func stalled(_ scene: Scene) async throws -> MixerStage {
        var stage = try MixerStage(Self.canvas)
        stage.sources[Self.bob] = try MixerStage.picture(.moss)
        stage.show(scene)
        _ = try await stage.frame(after: 5)
        stage.sources = [:]
        return stage
    }

    /// Returns the number of white pixels below the middle, where the name and the notice are.
    private func letters(_ frame: VideoFrame) -> Int {
        (120..<230).reduce(0) { sum, y in
            sum + (20..<300).count { frame.pixel($0, y).distance(to: .white) < 60 }
        }
    }

    @Test("It is drawn once, and the picture that returns replaces it") func once() async throws {
        var stage = try await stalled(Self.scene())
        let frame = try await stage.frame(after: 60)
        #expect(notice(stage) == "Reconnecting…" && stage.failures.isEmpty)
        let still = try #require(card(stage))
        for _ in 0..<20 {
            _ = try await stage.next()
            #expect(card(stage) == still && !stage.state.shelf.hasOrders)
        }
        var plain = try await stalled(Self.scene(reconnecting: ""))
        let other = try await plain.frame(after: 60)
        #expect(card(plain) != nil && notice(plain) == nil)
        #expect(letters(frame) > letters(other) + 50, "\(letters(frame)) \(letters(other))")
        stage.sources[Self.bob] = try MixerStage.picture(.moss)
        _ = try await stage.frame(after: 5)
        #expect(card(stage) == nil)
    }

    @Test("A participant who is heard is connected; when the sound ends, the card follows without a gap")
    func sound() async throws {
        var stage = try await stalled(Self.scene())
        for _ in 0..<60 {
            stage.state.add([Float](repeating: 0, count: 4800), at: stage.now, of: Self.bob, now: stage.now)
            _ = try await stage.next()
        }
        #expect(card(stage) != nil && notice(stage) == nil)
        // Nothing is drawn for a while: the plain card stays.
        stage.draws = false
        for _ in 0..<20 {
            _ = try await stage.next()
            #expect(card(stage) != nil && notice(stage) == nil)
        }
        stage.draws = true
        _ = try await stage.frame(after: 2)
        #expect(notice(stage) == "Reconnecting…")
    }

    @Test("A camera that is off and a source that was never seen are not reconnecting") func others() async throws {
        var scene = Self.scene()
        scene.panes[0].isLive = false
        var off = try await stalled(scene)
        _ = try await off.frame(after: 60)
        #expect(card(off) != nil && notice(off) == nil)
        var unseen = try MixerStage(Self.canvas)
        unseen.show(Self.scene())
        _ = try await unseen.frame(after: 60)
        #expect(card(unseen) != nil && notice(unseen) == nil)
    }
}
