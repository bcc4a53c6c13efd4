import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// A mixer that stands in for a source that has stalled. Time is advanced by hand.
@Suite("A mix of a stalled source") struct MixerStallTests {
    private static let alice: SourceID = "alice/camera"
    private static let canvas = Canvas(width: 64, height: 64, fps: 20)
    private static let scene = Scene(
        canvas: canvas, panes: [Pane(source: "\(alice)", user: "", x: 0, y: 0, width: 64, height: 64)],
        sound: SceneSound(levels: [SceneSound.Level(source: "\(alice)")]))

    /// Returns a mix that begins at 0, with a picture of alice from just before, and her sound.
    private static func mix() throws -> MixState {
        var state = try MixerStage(canvas).state
        state.begin(alice)
        for track in Track.allCases { state.noteFed(track, at: .milliseconds(-50), of: alice, now: .milliseconds(120)) }
        state.add(try MixerStage.picture(.moss), at: .milliseconds(-50), of: alice, now: .milliseconds(140))
        state.add([Float](repeating: 0, count: 2048), at: .milliseconds(-30), of: alice, now: .milliseconds(140))
        return state
    }

    /// Makes every frame that can be made; returns the numbers of pictures and of frames of sound.
    private static func make(_ state: inout MixState, at now: MediaTime) -> (pictures: Int, sounds: Int) {
        var made = (pictures: 0, sounds: 0)
        while true {
            switch state.nextWork(now: now, epoch: 0, takesPictures: true) {
            case .picture: made.pictures += 1
            case .sound: made.sounds += 1
            case .wait: return made
            }
        }
    }

    @Test("What is due is made at once, in step") func atOnce() throws {
        var state = try Self.mix()
        let now = MediaTime.milliseconds(250)
        for track in Track.allCases { state.noteStalled(track, of: Self.alice) }
        state.show(Self.scene, at: now)
        let made = Self.make(&state, at: now)
        // Ticks at 0, 50, … 250 ms; 11 times 1024 samples are 235 ms.
        #expect(made == (6, 11))
        #expect(Self.make(&state, at: .milliseconds(350)) == (2, 5))
    }

    @Test("A source of which nothing is known to have stalled is waited for") func waits() throws {
        var state = try Self.mix()
        state.show(Self.scene, at: .milliseconds(250))
        #expect(Self.make(&state, at: .milliseconds(250)) == (0, 0))
    }

    @Test("Sound that goes on is waited for beside a picture that stalls") func oneTrack() throws {
        var state = try Self.mix()
        state.noteStalled(.video, of: Self.alice)
        state.show(Self.scene, at: .milliseconds(250))
        #expect(Self.make(&state, at: .milliseconds(250)) == (6, 0))
        state.add([Float](repeating: 0, count: 24_000), at: .milliseconds(13), of: Self.alice, now: .milliseconds(251))
        #expect(Self.make(&state, at: .milliseconds(251)).sounds > 8)
    }

    @Test("From its next frame on it is waited for again") func again() throws {
        var state = try Self.mix()
        for track in Track.allCases { state.noteStalled(track, of: Self.alice) }
        state.show(Self.scene, at: .milliseconds(250))
        _ = Self.make(&state, at: .milliseconds(250))
        state.noteFed(.video, at: .milliseconds(300), of: Self.alice, now: .milliseconds(301))
        #expect(Self.make(&state, at: .milliseconds(301)).pictures == 0)
        state.add(try MixerStage.picture(.moss), at: .milliseconds(300), of: Self.alice, now: .milliseconds(310))
        #expect(Self.make(&state, at: .milliseconds(310)).pictures == 1)
    }

    @Test("Pictures that its decoder still has are shown first") func inTheDecoder() throws {
        var state = try Self.mix()
        state.noteFed(.video, at: .zero, of: Self.alice, now: .milliseconds(240))
        state.noteStalled(.video, of: Self.alice)
        state.show(Self.scene, at: .milliseconds(250))
        state.add(try MixerStage.picture(.moss), at: .milliseconds(-50), of: Self.alice, now: .milliseconds(249))
        #expect(Self.make(&state, at: .milliseconds(250)).pictures == 0)
        // But not for ever: a decoder may withhold the last ones until it gets more.
        #expect(Self.make(&state, at: .milliseconds(270)).pictures > 0)
    }
}
