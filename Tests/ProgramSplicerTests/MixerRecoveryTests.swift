import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

/// A program whose mixers deliver nothing continues with the packets of its host.
@Suite struct MixerRecoveryTests {
    /// A mix of a host and a guest, run as in a relay, in simulated time.
    private struct Room {
        static let host: SourceID = "host/camera"
        static let interval = MediaTime.milliseconds(50)

        /// Pictures from IDR to IDR.
        var gop = 40
        /// Time from the start of each mixer to its first frame; `nil` means that it delivers none. The last one
        /// applies to all further mixers.
        var beginnings: [MediaTime?]
        /// Time from which on the first mixer delivers nothing, although it uses some processor time.
        var silentFrom = MediaTime.seconds(10)
        /// Whether the first mixer ends at that time.
        var dies = false
        /// Whether the first mixer continues to deliver sound.
        var soundGoesOn = false
        /// Time from which on a twin of the first mixer delivers pictures on request; `nil` if there is no twin.
        var twinFrom: MediaTime?
        /// Whether the mixer has ended and its picture is repeated without one.
        var isSlateRepeated = false
        var isHostThere = true
        var mode = ProgramPlan.Mode.mix(host: host)

        var splicer = Splicer()
        var recovery = MixerRecovery()
        /// Times at which viewers got a picture.
        var shown: [MediaTime] = []
        var splices: [SpliceInput] = []
        private var watchdog = MixerWatchdog()
        private var mixer: (generation: Int, begins: MediaTime?, next: MediaTime)?
        private var count = 0
        private var asked = false
        private var twin = TwinWatch()
        /// Time of the slate's next picture, and the time from which on a mixer takes over.
        private var slate = (next: MediaTime.zero, end: MediaTime?.none)
        private var index = 0
        private var now: MediaTime { Self.interval * Int64(index) }

        init(beginnings: [MediaTime?]) { self.beginnings = beginnings }

        private var host: SpliceInput { .source(Self.host) }
        private var isSilent: Bool {
            recovery.isSilent(at: now, interval: Self.interval, isSlateRepeated: isSlateRepeated && isSlateOnAir)
        }
        private var isSlateOnAir: Bool { splicer.onAir == .mixer(1) }

        private func configured(_ feed: SpliceInput, _ number: UInt8) -> Splicer {
            var splicer = splicer
            splicer.configure(feed, CodecConfiguration(track: .video, bytes: [number]))
            splicer.setInterval(Self.interval, of: feed)
            return splicer
        }

        mutating func run(seconds: Int) {
            if index == 0 {
                splicer = configured(host, 1)
                perform(splicer.setTarget(host, now: now))
            }
            for _ in 0..<seconds * 20 {
                if isHostThere || now < .seconds(5) {
                    perform(splicer.frame(picture(now, index % gop == 0), of: host, now: now))
                }
                mix()
                mixTwin()
                repeatSlate()
                if dies, mixer?.generation == 1, now >= silentFrom { mixerEnded() }
                perform(splicer.advance(to: now))
                decide()
                index += 1
            }
        }

        private func picture(_ time: MediaTime, _ isIDR: Bool) -> EncodedFrame {
            EncodedFrame(track: .video, pts: time, dts: time, isIDR: isIDR, payload: [1])
        }

        private mutating func decide() {
            let isSilent = !isHostThere && now > .seconds(5)
            let fact = ProgramDirector.SourceFact(isDecodable: true, isSilent: isSilent, hasVideo: true)
            let plan = ProgramPlan(
                revision: 1, task: "t", room: "r", sources: [], mode: mode,
                scene: Scene(
                    canvas: .portrait,
                    panes: [Pane(source: "host/camera", user: "host", x: 0, y: 0, width: 360, height: 640)]),
                outputs: [], causedAt: 0, cause: "")
            let isLost =
                splicer.onAir.map { $0.isMixer && $0 != mixer.map { .mixer($0.generation) } } ?? false
                && !(isSlateRepeated && isSlateOnAir)
            let decision = ProgramDirector().decide(
                plan: plan, age: now, onAir: splicer.onAir, sources: [Self.host: fact], isOnAirLost: isLost,
                isMixerFailing: mixer == nil && recovery.isHeldBack(at: now),
                isMixerSilent: self.isSilent)
            let isSpared = isSlateRepeated && isSlateOnAir && !mode.isMix
            if decision.mixer == .running, mixer == nil, !isSpared, now >= recovery.retryAt { start() }
            switch decision.aim {
            case .wait: break
            case .source:
                perform(splicer.setTarget(host, now: now))
                if self.isSilent, let onAir = splicer.onAir, onAir.isMixer {
                    perform(splicer.ended(onAir, now: now))
                }
            case .mixer: if let mixer { perform(splicer.setTarget(.mixer(mixer.generation), now: now)) }
            }
            // The mixer still uses a third of a core, as on a machine with far too much work.
            if watchdog.isSuspect(at: now), watchdog.isHung(at: now, cpuSeconds: now.inSeconds / 3) { mixerEnded() }
        }

        private mutating func mixerEnded() {
            guard let generation = mixer?.generation else { return }
            mixer = nil
            perform(splicer.remove(.mixer(generation), now: now))
            recovery.failed(at: now)
        }

        private mutating func start() {
            count += 1
            let beginning = beginnings[min(count, beginnings.count) - 1]
            // A slate continues until a moment at which the mixer certainly delivers.
            let isSlate = isSlateRepeated && isSlateOnAir
            let next = (splicer.lastVideo ?? now) + Self.interval * (isSlate ? 6 : 1)
            slate.end = isSlate ? next : nil
            mixer = (count, beginning.map { now + $0 }, next)
            asked = true
            watchdog = MixerWatchdog()
            watchdog.begin(at: now)
            splicer = configured(.mixer(count), 2)
        }

        private mutating func mix() {
            guard let begins = mixer?.begins, now >= begins else { return }
            guard count > 1 || now < silentFrom else {
                if soundGoesOn { recovery.delivered(.audio, hasVideo: true, at: now) }
                return
            }
            while let current = mixer, current.next <= now {
                mixer?.next += Self.interval
                watchdog.delivered(at: now)
                twin.noteOnAir(at: now)
                recovery.delivered(.video, hasVideo: true, at: now)
                decide()
                let frame = picture(current.next, asked)
                asked = false
                perform(splicer.frame(frame, of: .mixer(current.generation), now: now))
            }
        }

        /// Makes the twin deliver pictures once the mixer is late, and replace it with the first one.
        private mutating func mixTwin() {
            guard let twinFrom, let first = mixer, first.generation == 1, splicer.onAir == .mixer(1) else { return }
            _ = twin.suspects(interval: Self.interval, now: now)
            guard twin.isSuspicious, now >= twinFrom else { return }
            let frame = picture(first.next, true)
            let takesOver = twin.takesOver(
                with: frame, after: splicer.lastVideo, interval: Self.interval,
                isAimedElsewhere: splicer.target != splicer.onAir, isMixerSilent: isSilent)
            guard takesOver else { return }
            mixer = (2, now, first.next + Self.interval)
            count = 2
            splicer = configured(.mixer(2), 2)
            perform(splicer.setTarget(.mixer(2), now: now))
            recovery.delivered(.video, hasVideo: true, at: now)
            decide()
            perform(splicer.frame(frame, of: .mixer(2), now: now))
        }

        /// Ends the mixer, and keeps sending its picture.
        mutating func beginSlate() {
            isSlateRepeated = true
            slate = (mixer?.next ?? now, nil)
            mixer = nil
        }

        private mutating func repeatSlate() {
            guard isSlateRepeated, isSlateOnAir else { return }
            while slate.next <= now, slate.next < slate.end ?? .seconds(999), isSlateOnAir {
                perform(splicer.frame(picture(slate.next, false), of: .mixer(1), now: now))
                slate.next += Self.interval
            }
        }

        private mutating func perform(_ actions: [Splicer.Action]) {
            for action in actions {
                switch action {
                case .emit: shown.append(now)
                case .requestIDR: asked = true
                case .switched(let splice): splices.append(splice.to)
                case .configure, .shift: break
                }
            }
        }

        var longestFreeze: MediaTime {
            zip(shown, shown.dropFirst() + [now]).map { $1 - $0 }.max() ?? .seconds(999)
        }
    }

    /// After the machine was suspended for two seconds, mixers get the time to deliver, once.
    @Test func aRelayThatStoodStillWaits() {
        var recovery = MixerRecovery()
        recovery.delivered(.video, hasVideo: true, at: .seconds(1))
        for _ in 0..<2 {
            recovery.excuse(.seconds(2), at: .seconds(3))
            #expect(!recovery.isSilent(at: .seconds(4), interval: .zero, isSlateRepeated: false))
            #expect(recovery.isSilent(at: .milliseconds(4500), interval: .zero, isSlateRepeated: false))
        }
    }

    @Test(
        "a mix whose mixers all starve waits for the host's keyframe, and for no further mixer",
        arguments: [20, 40, 100], [false, true])
    func allStarve(gop: Int, soundGoesOn: Bool) {
        var room = Room(beginnings: [.milliseconds(100), nil])
        room.gop = gop
        room.soundGoesOn = soundGoesOn
        room.run(seconds: 60)
        #expect(room.longestFreeze <= MixerRecovery.patience + Room.interval * Int64(gop + 3), "\(room.longestFreeze)")
        #expect(room.splices == [.source(Room.host), .mixer(1), .source(Room.host)])
    }

    @Test("so does a mix that is to become a bypass")
    func bypassWaits() {
        var room = Room(beginnings: [.milliseconds(100), nil])
        room.gop = 150
        room.silentFrom = .milliseconds(9_100)
        room.run(seconds: 9)
        #expect(room.splicer.onAir == .mixer(1))
        room.mode = .bypass(Room.host)
        room.run(seconds: 51)
        #expect(room.longestFreeze <= MixerRecovery.patience + Room.interval * 153, "\(room.longestFreeze)")
        #expect(room.splices == [.source(Room.host), .mixer(1), .source(Room.host)])
    }

    @Test("the host stands in for a mixer that starves until the next one works")
    func nextMixerWorks() {
        var room = Room(beginnings: [.milliseconds(100), .milliseconds(200)])
        room.run(seconds: 30)
        #expect(room.splices == [.source(Room.host), .mixer(1), .source(Room.host), .mixer(2)])
        #expect(room.longestFreeze <= MixerRecovery.patience + .milliseconds(2_150), "\(room.longestFreeze)")
    }

    @Test("a mixer that ends is followed by the next one, and not by the host", arguments: [200, 900])
    func nextMixerIsQuick(milliseconds: Int) {
        var room = Room(beginnings: [.milliseconds(100), .milliseconds(milliseconds)])
        room.gop = 1_000
        room.dies = true
        room.run(seconds: 30)
        #expect(room.splices == [.source(Room.host), .mixer(1), .mixer(2)])
        #expect(room.longestFreeze <= .milliseconds(milliseconds + 100), "\(room.longestFreeze)")
    }

    @Test(
        "a twin takes over as soon as it delivers, also if the program waits for the host already",
        arguments: [10_100, 11_000, 11_800, 12_800])
    func twin(milliseconds: Int64) {
        var room = Room(beginnings: [.milliseconds(100), nil])
        room.gop = 1_000
        room.twinFrom = .milliseconds(milliseconds)
        room.run(seconds: 30)
        #expect(room.splices == [.source(Room.host), .mixer(1), .mixer(2)])
        let wait = max(.milliseconds(milliseconds) - room.silentFrom, TwinWatch.patience)
        #expect(room.longestFreeze <= wait + Room.interval * 3, "\(room.longestFreeze)")
    }

    @Test("the host stands in for a mixer whose twin starves, too")
    func twinStarves() {
        var room = Room(beginnings: [.milliseconds(100), nil])
        room.twinFrom = .seconds(1_000)
        room.run(seconds: 30)
        #expect(room.splices == [.source(Room.host), .mixer(1), .source(Room.host)])
        #expect(room.longestFreeze <= MixerRecovery.patience + Room.interval * 43, "\(room.longestFreeze)")
    }

    @Test("a slate that is repeated without a mixer is not left before the next feed begins", arguments: [false, true])
    func slate(isFollowedByMix: Bool) {
        var room = Room(beginnings: [.milliseconds(100), .milliseconds(200)])
        room.run(seconds: 8)
        #expect(room.splicer.onAir == .mixer(1))
        room.mode = .slate
        room.beginSlate()
        room.run(seconds: 300)
        #expect(room.splicer.onAir == .mixer(1))
        // The mixer's next keyframe is three seconds away.
        room.mode = isFollowedByMix ? .mix(host: Room.host) : .bypass(Room.host)
        room.run(seconds: 20)
        #expect(
            room.splices
                == [.source(Room.host), .mixer(1), isFollowedByMix ? .mixer(2) : .source(Room.host)])
        #expect(room.longestFreeze <= .milliseconds(150), "\(room.longestFreeze)")
    }

    @Test("sound says nothing about pictures, unless there are none")
    func sound() {
        for hasVideo in [false, true] {
            var recovery = MixerRecovery()
            recovery.delivered(.video, hasVideo: hasVideo, at: .zero)
            for time in 1...20 { recovery.delivered(.audio, hasVideo: hasVideo, at: .milliseconds(100 * Int64(time))) }
            #expect(recovery.isSilent(at: .seconds(2), interval: .zero, isSlateRepeated: false) == hasVideo)
            #expect(!recovery.isSilent(at: .seconds(9), interval: .zero, isSlateRepeated: true))
        }
    }

    @Test("a mix stays where nothing else can be shown")
    func nothingElse() {
        var room = Room(beginnings: [.milliseconds(100), nil])
        room.isHostThere = false
        room.run(seconds: 30)
        #expect(room.splicer.onAir == .mixer(1))
    }

    @Test("mixers are started again at once, and then more and more seldom")
    func pauses() {
        var recovery = MixerRecovery()
        var pauses: [Double] = []
        for _ in 0..<9 {
            recovery.failed(at: .seconds(1))
            pauses.append(recovery.retryAt.inSeconds - 1)
        }
        #expect(pauses == [0, 0.5, 1, 2, 4, 5, 5, 5, 5])
        #expect(recovery.isHeldBack(at: .seconds(5)) && !recovery.isHeldBack(at: .seconds(6)))
        recovery.recovered()
        #expect(!recovery.isHeldBack(at: .seconds(2)))
    }
}

extension ProgramPlan.Mode {
    fileprivate var isMix: Bool { if case .mix = self { true } else { false } }
}
