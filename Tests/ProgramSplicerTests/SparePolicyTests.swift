import MixModel
import Testing

@testable import ProgramSplicer

@Suite struct SparePolicyTests {
    typealias Decision = ProgramDirector.Decision

    static let host: SourceID = "alice/camera"
    static let waiting = Decision(aim: .wait, mixer: .none, isSceneReady: true)
    static let bypass = Decision(aim: .source(host), mixer: .none, isSceneReady: true)
    static let leaving = Decision(aim: .source(host), mixer: .running, isSceneReady: true)
    static let mix = Decision(aim: .mixer, mixer: .running, isSceneReady: true)

    private final class Room {
        private var spare: SparePolicy
        private let canAfford: Bool

        init(canAfford: Bool = true, isStartInstant: Bool = false) {
            self.canAfford = canAfford
            spare = SparePolicy(isStartInstant: isStartInstant)
        }

        func hasSpare(
            _ decision: Decision, onAir: SpliceInput?, isCalm: Bool = false, isBusy: Bool = false, at seconds: Double
        ) -> Bool {
            spare.isWanted(
                for: decision, onAir: onAir, isCalm: isCalm, canAfford: canAfford, isBusy: isBusy,
                now: .seconds(seconds))
        }
    }

    @Test("if processes start instantly, one waits only for a mix that is known to come")
    func instantStart() {
        let room = Room(isStartInstant: true)
        #expect(!room.hasSpare(Self.waiting, onAir: nil, at: 0))
        #expect(!room.hasSpare(Self.bypass, onAir: .source(Self.host), isCalm: true, at: 100))
        #expect(!room.hasSpare(Self.leaving, onAir: .mixer(1), at: 200))
        let coming = Decision(aim: .source(Self.host), mixer: .warm, isSceneReady: true)
        #expect(room.hasSpare(coming, onAir: .source(Self.host), at: 300))
    }

    @Test("one waits from the first source's being awaited on, until somebody joins")
    func beginning() {
        let room = Room()
        #expect(room.hasSpare(Self.waiting, onAir: nil, at: 0))
        #expect(room.hasSpare(Self.bypass, onAir: .source(Self.host), at: 0.5))
        #expect(room.hasSpare(Self.bypass, onAir: .source(Self.host), isCalm: true, at: 100))
        #expect(room.hasSpare(Self.bypass, onAir: .source(Self.host), at: 101))
        #expect(!room.hasSpare(Self.mix, onAir: .source(Self.host), at: 102))
        #expect(!room.hasSpare(Self.mix, onAir: .mixer(1), at: 200))
    }

    @Test("one waits before a mix is left, and for a minute after it where the machine has no more to spare")
    func leaving() {
        let room = Room(canAfford: false)
        #expect(!room.hasSpare(Self.waiting, onAir: nil, at: 0))
        #expect(!room.hasSpare(Self.bypass, onAir: .source(Self.host), isCalm: true, at: 1))
        #expect(!room.hasSpare(Self.mix, onAir: .mixer(1), at: 2))
        #expect(room.hasSpare(Self.leaving, onAir: .mixer(1), at: 3))
        // The sound of the mix may still be playing when the host is shown again.
        #expect(room.hasSpare(Self.bypass, onAir: .source(Self.host), at: 4))
        #expect(room.hasSpare(Self.bypass, onAir: .source(Self.host), isCalm: true, at: 62.9))
        #expect(!room.hasSpare(Self.bypass, onAir: .source(Self.host), isCalm: true, at: 63.1))
    }

    @Test("on a busy machine none is started beside the mix that is left, but as soon as it is left")
    func leavingOnABusyMachine() {
        let room = Room(canAfford: false)
        #expect(!room.hasSpare(Self.mix, onAir: .mixer(1), isBusy: true, at: 2))
        #expect(!room.hasSpare(Self.leaving, onAir: .mixer(1), isBusy: true, at: 3))
        #expect(room.hasSpare(Self.bypass, onAir: .source(Self.host), isBusy: true, at: 4))
    }

    @Test("one waits for whoever is about to come in another's place, whatever the machine has to spare")
    func warm() {
        let room = Room(canAfford: false)
        let decision = Decision(aim: .source(Self.host), mixer: .warm, isSceneReady: true)
        #expect(room.hasSpare(decision, onAir: .source(Self.host), at: 5))
    }
}
