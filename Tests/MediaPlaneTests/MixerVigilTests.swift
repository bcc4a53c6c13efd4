import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// The arrivals that wake the thread that makes frames. Time is advanced by hand.
@Suite("Vigil of a mix") struct MixerVigilTests {
    private static let alice: SourceID = "alice/camera"
    private static let bob: SourceID = "bob/camera"
    private static let carol: SourceID = "carol/camera"
    private static let canvas = Canvas(width: 64, height: 64, fps: 20)

    private static func scene(heard: [SourceID] = []) -> Scene {
        Scene(
            canvas: canvas,
            panes: [alice, bob].enumerated().map { index, id in
                Pane(source: "\(id)", user: "", x: index * 32, y: 0, width: 32, height: 64)
            }, sound: SceneSound(levels: heard.map { SceneSound.Level(source: "\($0)") }))
    }

    private static func work(_ state: inout MixState, at time: MediaTime) -> TickWork {
        state.nextWork(now: time, epoch: 0, takesPictures: true)
    }

    @discardableResult
    private static func deliver(_ id: SourceID, _ time: MediaTime, to state: inout MixState) throws -> Bool {
        state.noteFed(.video, at: time, of: id, now: time)
        return state.add(try MixerStage.picture(.moss), at: time, of: id, now: time)
    }

    /// Returns a mix of alice and bob, with carol unseen, that has made its first ten frames.
    private static func mix() throws -> MixState {
        var state = try MixerStage(canvas).state
        for id in [alice, bob, carol] { state.begin(id) }
        state.show(scene(), at: .zero)
        for tick in 0..<10 {
            let time = MediaTime.milliseconds(50 * Int64(tick))
            for id in [alice, bob, carol] { try deliver(id, time, to: &state) }
            var ticks: [Int64] = []
            while true {
                switch work(&state, at: time) {
                case .picture(let job): ticks.append(job.tick)
                case .sound: continue
                case .wait: break
                }
                break
            }
            // Sound of the first frames is late, because no participant is heard.
            while case .sound = work(&state, at: time) {}
            #expect(ticks.isEmpty || ticks == [Int64(tick)])
        }
        return state
    }

    /// Makes every frame that can be made. Returns the time until which the thread then sleeps.
    private static func settle(_ state: inout MixState, at time: MediaTime) -> MediaTime? {
        while true {
            if case .wait(let until) = work(&state, at: time) { return until }
        }
    }

    @Test("The last of the pictures wakes, not those before it, nor any that nobody sees")
    func lastOne() throws {
        var state = try Self.mix()
        _ = Self.settle(&state, at: .milliseconds(499))
        let time = MediaTime.milliseconds(500)
        #expect(try !Self.deliver(Self.carol, time, to: &state))
        #expect(try !Self.deliver(Self.alice, time, to: &state))
        #expect(try Self.deliver(Self.bob, time, to: &state))
        #expect(state.nextTick == 10)
        _ = Self.settle(&state, at: time)
        #expect(state.nextTick == 11)
    }

    @Test("Nothing wakes a thread that is at work")
    func atWork() throws {
        var state = try Self.mix()
        _ = Self.settle(&state, at: .milliseconds(499))
        for id in [Self.alice, Self.bob] { try Self.deliver(id, .milliseconds(500), to: &state) }
        while case .sound = Self.work(&state, at: .milliseconds(500)) {}
        for id in [Self.alice, Self.bob] {
            #expect(try !Self.deliver(id, .milliseconds(550), to: &state))
        }
    }

    @Test("The picture wakes for which the mix would have waited longest, and what is left to wait for is kept")
    func longest() throws {
        var state = try Self.mix()
        // Alice's picture is in her decoder, and the mix waits longer for it than for bob's.
        state.noteFed(.video, at: .milliseconds(500), of: Self.alice, now: .milliseconds(500))
        var until: MediaTime?
        while true {
            if case .wait(let time) = state.nextWork(now: .milliseconds(500), epoch: 0, takesPictures: true) {
                until = time
                break
            }
        }
        let awaited = try #require(state.vigil?.picture)
        #expect(awaited.due == .milliseconds(900) && awaited.sources[Self.bob] == .milliseconds(620))
        #expect(try #require(until) <= .milliseconds(900))
        state.vigil?.until = .milliseconds(900)
        #expect(try Self.deliver(Self.alice, .milliseconds(500), to: &state))
        #expect(state.vigil?.picture?.due == .milliseconds(620))
    }

    @Test("A source's first picture wakes, whoever is waited for")
    func first() throws {
        var state = try Self.mix()
        let dave: SourceID = "dave/camera"
        state.begin(dave)
        _ = Self.settle(&state, at: .milliseconds(499))
        #expect(try Self.deliver(dave, .milliseconds(500), to: &state))
        _ = Self.settle(&state, at: .milliseconds(500))
        #expect(try !Self.deliver(dave, .milliseconds(550), to: &state))
    }

    @Test("Sound wakes when 1024 samples of everybody who is heard are there")
    func sound() throws {
        var state = try MixerStage(Self.canvas).state
        for id in [Self.alice, Self.bob, Self.carol] {
            state.begin(id)
            state.noteFed(.audio, at: .zero, of: id, now: .zero)
        }
        state.show(Self.scene(heard: [Self.alice, Self.bob]), at: .zero)
        func deliver(_ id: SourceID, samples: Int, from first: Int64) -> Bool {
            state.add(
                [Float](repeating: 0, count: samples * 2), at: .units(first, rate: 48_000), of: id, now: .zero)
        }
        // The first frame of each track wakes the thread.
        for id in [Self.alice, Self.bob, Self.carol] {
            _ = Self.settle(&state, at: .zero)
            _ = deliver(id, samples: 1024, from: 0)
        }
        _ = Self.settle(&state, at: .zero)
        #expect(state.nextSound == 1)
        #expect(!deliver(Self.carol, samples: 1024, from: 1024))
        #expect(!deliver(Self.alice, samples: 1024, from: 1024))
        #expect(!deliver(Self.bob, samples: 512, from: 1024))
        #expect(deliver(Self.bob, samples: 512, from: 1536))
        _ = Self.settle(&state, at: .zero)
        #expect(state.nextSound == 2)
    }
}
