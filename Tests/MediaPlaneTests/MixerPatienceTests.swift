import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// The time for which a frame of the mix waits for a late picture, and the reasons. Time is advanced by hand.
@Suite("Patience of a mix") struct MixerPatienceTests {
    private static let alice: SourceID = "alice/camera"
    private static let canvas = Canvas(width: 64, height: 64, fps: 20)

    /// Returns a mix of alice alone that has made its first ten frames in time. The next one is due at 500 ms.
    private static func mix() throws -> MixState {
        var state = try MixerStage(canvas).state
        let pane = Pane(source: "\(alice)", user: "alice", x: 0, y: 0, width: 64, height: 64)
        state.begin(alice)
        state.show(Scene(canvas: canvas, panes: [pane]), at: .zero)
        for tick in 0..<10 {
            let time = MediaTime.milliseconds(50 * Int64(tick))
            state.noteFed(.video, at: time, of: alice, now: time)
            state.add(try MixerStage.picture(.moss), at: time, of: alice, now: time)
            guard case .make(let job) = state.nextVideo(now: time, epoch: 0) else {
                Issue.record("frame \(tick) is not made at its time")
                break
            }
            #expect(job.time == time)
        }
        return state
    }

    private static func wait(_ state: inout MixState, at milliseconds: Int64) -> MediaTime? {
        guard case .wait(let until) = state.nextVideo(now: .milliseconds(milliseconds), epoch: 0) else { return nil }
        return until
    }

    @Test("a picture that its decoder has is shown, though it takes 300 ms")
    func inTheDecoder() throws {
        var state = try Self.mix()
        state.noteFed(.video, at: .milliseconds(500), of: Self.alice, now: .milliseconds(500))
        #expect(Self.wait(&state, at: 630) == .milliseconds(900))
        state.noteFed(.video, at: .milliseconds(550), of: Self.alice, now: .milliseconds(550))
        state.add(
            try MixerStage.picture(.brick), at: .milliseconds(500), of: Self.alice, now: .milliseconds(800))
        guard case .make(let job) = state.nextVideo(now: .milliseconds(800), epoch: 0) else {
            Issue.record("the picture has come")
            return
        }
        #expect(job.time == .milliseconds(500))
        let sampler = try #require(state.sources[Self.alice]?.sampler)
        #expect(sampler.isNeeded(.milliseconds(500)) && !sampler.isNeeded(.milliseconds(450)))
        // The following picture is in the decoder, too.
        #expect(Self.wait(&state, at: 800) == .milliseconds(950))
    }

    @Test("one in a decoder that has been replaced is not certain to come")
    func inAFormerDecoder() throws {
        var state = try Self.mix()
        state.noteFed(.video, at: .milliseconds(500), of: Self.alice, now: .milliseconds(500))
        state.beginDecoding(.audio, of: Self.alice)
        #expect(Self.wait(&state, at: 510) == .milliseconds(900))
        state.beginDecoding(.video, of: Self.alice)
        #expect(Self.wait(&state, at: 510) == .milliseconds(620))
    }

    @Test("one that has not come from the network is waited for 120 ms")
    func onTheWay() throws {
        var state = try Self.mix()
        #expect(Self.wait(&state, at: 500) == .milliseconds(620))
        #expect(Self.wait(&state, at: 619) == .milliseconds(620))
        guard case .make(let job) = state.nextVideo(now: .milliseconds(620), epoch: 0) else {
            Issue.record("nobody waits longer for it")
            return
        }
        #expect(job.time == .milliseconds(500))
    }

    @Test("a guest whose timestamps stand still holds up nobody, and is waited for again when it is well")
    func standingGuest() throws {
        let bob: SourceID = "bob/camera"
        let setup = MixerSetup(
            canvas: Self.canvas, videoOrigin: .zero, audioOrigin: .zero, programStart: 0, sampleRate: 48_000,
            channels: 2,
            colour: MixerStage.signal, videoBitrate: 1_000_000, audioBitrate: 128_000, host: Self.alice)
        var state = MixState(setup: setup)
        let panes = [Self.alice, bob].enumerated().map {
            Pane(source: "\($1)", user: "\($1)", x: 32 * $0, y: 0, width: 32, height: 64)
        }
        for id in [Self.alice, bob] { state.begin(id) }
        state.show(Scene(canvas: Self.canvas, panes: panes), at: .zero)
        // Lateness of each frame of the mix, in ms.
        var lateness: [Double] = []
        var now = MediaTime.zero
        for tick in 0..<60 {
            let time = MediaTime.milliseconds(50 * Int64(tick))
            now = max(now, time)
            state.noteFed(.video, at: time, of: Self.alice, now: now)
            state.add(try MixerStage.picture(.moss), at: time, of: Self.alice, now: now)
            // Pictures continue to arrive, from tick 3 to 40 all of the same time, and one never arrives.
            let stands = 3..<40 ~= tick
            let shown: MediaTime = stands ? .milliseconds(100) : time
            if stands { state.noteFed(.video, at: time - .milliseconds(1), of: bob, now: now) }
            state.noteFed(.video, at: shown, of: bob, now: now)
            state.add(try MixerStage.picture(.brick), at: shown, of: bob, now: now)
            while true {
                let step = state.nextVideo(now: now, epoch: 0)
                if case .make(let job) = step {
                    lateness.append((now - job.time).inMilliseconds)
                    break
                }
                guard case .wait(let until?) = step else { break }
                now = until
            }
        }
        #expect(lateness.count == 60)
        #expect(lateness[20..<40].allSatisfy { $0 <= 30 }, "\(lateness)")
        #expect(lateness[42...].allSatisfy { $0 <= 1 }, "\(lateness)")
        #expect(state.sources[bob]?.missed == 0)
    }

    @Test("a frame after skipped ones answers every keyframe that was requested for them")
    func skippedKeyframes() throws {
        var state = try Self.mix()
        for request in 11...13 { state.requestIDR(at: .milliseconds(50 * Int64(request))) }
        #expect(state.idrTicks == [11, 12, 13])
        guard case .make(let job) = state.nextVideo(now: .milliseconds(3500), epoch: 0) else {
            Issue.record("the machine was too slow, and the mix goes on")
            return
        }
        #expect(job.tick > 60 && job.isIDR)
        // Requests that stay behind would take the places of later ones.
        #expect(state.idrTicks.isEmpty)
    }

    @Test("nor a decoder that works through the past, nor one that has been silent for half a second")
    func farBehind() throws {
        var state = try Self.mix()
        for number in 1...9 {
            state.noteFed(
                .video, at: .milliseconds(460 + 5 * Int64(number)), of: Self.alice, now: .milliseconds(500))
        }
        #expect(Self.wait(&state, at: 500) == .milliseconds(620))
        state = try Self.mix()
        state.noteFed(.video, at: .milliseconds(500), of: Self.alice, now: .milliseconds(500))
        state.sources[Self.alice]?.lastPicture = .milliseconds(300)
        #expect(Self.wait(&state, at: 500) == .milliseconds(800))
    }
}
