import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// The AAC frame at which the program goes from a host's sound to a mix, by the windows of the frames on both sides.
@Suite struct SoundJoinTests {
    private static let host = SpliceInput.source("alice/camera")
    private static let mixer = SpliceInput.mixer(1)
    private static let configuration = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])
    /// Frames by which the mixer lags behind its host, and the mixer's first frame.
    private static let (lag, start): (Int64, Int64) = (2, 20)
    /// The frame at which the mixer takes over if it is allowed to: the one after those of the host that preceded its
    /// first one.
    private static let earliest = start + lag + 1
    /// Number of the host's frames.
    private static let count: Int64 = 60

    /// Second bytes of a pair with a common window.
    private static let (long, begins, short, ends): (UInt8, UInt8, UInt8, UInt8) = (0x16, 0x20, 0x4C, 0x7A)

    /// Returns the frame with number `index`; the first byte is that of a pair, and the last one says whose it is.
    private static func frame(_ index: Int64, window: UInt8?, isMixed: Bool) -> EncodedFrame {
        let time = MediaTime.units(index * 1024, rate: 48_000)
        let payload: [UInt8] = window.map { [0x21, $0, isMixed ? 1 : 0] } ?? [isMixed ? 1 : 0]
        return EncodedFrame(track: .audio, pts: time, dts: time, payload: payload)
    }

    /// Runs a program with sound alone, whose target is a mixer from its first frame on.
    ///
    /// - Parameters:
    ///   - isHostGone: Whether the host ends just before the mixer delivers the frame that could take over.
    ///   - hostWindow: The window of a frame of the host; `nil` makes a frame that cannot be read.
    ///   - mixWindow: The same for the mixer.
    ///   - delivered: The mixer's frames that arrive after this one of the host.
    /// - Returns: The frames of the program.
    private func run(
        isHostGone: Bool = false, host hostWindow: (Int64) -> UInt8?, mix mixWindow: (Int64) -> UInt8?,
        delivered: (Int64) -> ClosedRange<Int64>? = { $0 - lag >= start ? $0 - lag...$0 - lag : nil }
    ) -> [EncodedFrame] {
        var splicer = Splicer()
        var actions = splicer.setTracks(.audio, now: .zero)
        for feed in [Self.host, Self.mixer] { actions += splicer.configure(feed, Self.configuration) }
        actions += splicer.setTarget(Self.host, now: .zero)
        for index in 0..<Self.count {
            let now = MediaTime.units(index * 1024, rate: 48_000)
            actions += splicer.advance(to: now)
            if index == Self.start { actions += splicer.setTarget(Self.mixer, now: now) }
            if !isHostGone || index < Self.earliest + Self.lag {
                let frame = Self.frame(index, window: hostWindow(index), isMixed: false)
                actions += splicer.frame(frame, of: Self.host, now: now)
            } else if index == Self.earliest + Self.lag {
                actions += splicer.ended(Self.host, now: now)
            }
            guard let arriving = delivered(index) else { continue }
            for mixed in arriving {
                let frame = Self.frame(mixed, window: mixWindow(mixed), isMixed: true)
                actions += splicer.frame(frame, of: Self.mixer, now: now)
            }
        }
        return actions.compactMap { if case .emit(let frame) = $0 { frame } else { nil } }
    }

    /// Returns the number of the mixer's first frame, and checks that no frame is missing or repeated.
    private func joint(_ frames: [EncodedFrame]) throws -> Int64 {
        for (index, frame) in frames.enumerated() {
            #expect(abs(frame.pts.inMilliseconds - Double(index) * 1024 / 48) < 0.01, "\(index)")
        }
        let first = try #require(frames.firstIndex { $0.payload.last == 1 })
        #expect(frames[first...].allSatisfy { $0.payload.last == 1 })
        #expect(Int64(frames.count) == Self.count - Self.lag)
        return Int64(first)
    }

    @Test func longWindowsJoinAtOnce() throws {
        let frames = run(host: { _ in Self.long }, mix: { _ in Self.long })
        #expect(try joint(frames) == Self.earliest)
    }

    /// An attack in the mix, as it is coded: start, short, stop. The host's own frames do not have it.
    @Test("An attack in the mix alone is waited for", arguments: -2...2 as ClosedRange<Int64>)
    func attackInTheMix(place: Int64) throws {
        let attack = Self.earliest + place
        let frames = run(host: { _ in Self.long }) { index in
            [attack - 1: Self.begins, attack: Self.short, attack + 1: Self.ends][index] ?? Self.long
        }
        // A start joins a long window, but neither a short one nor a stop does.
        let isAtOnce = place == -2 || place > 0
        #expect(try joint(frames) == (isAtOnce ? Self.earliest : attack + 2))
    }

    @Test func anAttackOfTheHostIsLeftBehind() throws {
        let attack = Self.earliest - 1
        let frames = run(host: { index in
            [attack - 1: Self.begins, attack: Self.short, attack + 1: Self.ends][index] ?? Self.long
        }) { _ in Self.long }
        #expect(try joint(frames) == attack + 2)
    }

    @Test func anAttackInBothIsNoReasonToWait() throws {
        let attack = Self.earliest
        let window = { (index: Int64) -> UInt8? in
            [attack - 1: Self.begins, attack: Self.short, attack + 1: Self.ends][index] ?? Self.long
        }
        #expect(try joint(run(host: window, mix: window)) == Self.earliest)
    }

    @Test func theWaitIsBounded() throws {
        let frames = run(host: { _ in Self.long }, mix: { _ in Self.short })
        #expect(try joint(frames) == Self.earliest + 3)
    }

    /// The mixer delivers its first frame at the boundary just in time, and the next one after 400 ms.
    @Test func theFrameThatIsWaitedForMayBeLateAsWell() throws {
        let attack = Self.earliest
        let frames = run(
            host: { _ in Self.long },
            mix: { index in
                [attack - 1: Self.begins, attack: Self.short, attack + 1: Self.ends][index] ?? Self.long
            },
            delivered: { index in
                switch index {
                case 22: 20...20
                case 40: 21...23
                case 42: 24...40
                case 43...: index - Self.lag...index - Self.lag
                default: nil
                }
            })
        #expect(try joint(frames) == attack + 2)
    }

    @Test func unreadableFramesJoinAtOnce() throws {
        #expect(try joint(run(host: { _ in Self.long }, mix: { _ in nil })) == Self.earliest)
        #expect(try joint(run(host: { _ in nil }, mix: { _ in Self.short })) == Self.earliest)
    }

    @Test func aHostThatIsGoneIsNotWaitedFor() throws {
        let frames = run(isHostGone: true, host: { _ in Self.long }, mix: { _ in Self.short })
        #expect(try joint(frames) == Self.earliest)
    }
}
