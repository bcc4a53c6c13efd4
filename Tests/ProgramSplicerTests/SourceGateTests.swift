import EncodedMedia
import Testing

@testable import ProgramSplicer

@Suite struct SourceGateTests {
    private func frame(
        _ track: Track = .video, at time: MediaTime = .zero, offset: MediaTime = .zero, bytes: Int = 1
    ) -> MediaItem {
        .frame(
            EncodedFrame(
                track: track, pts: time + offset, dts: time, payload: [UInt8](repeating: 1, count: bytes)))
    }

    private func configuration(_ number: Int, _ track: Track = .video) -> MediaItem {
        .configuration(CodecConfiguration(track: track, bytes: [UInt8(truncatingIfNeeded: number)]))
    }

    /// 240 pictures and 94 frames of sound per second, 80 Mbit/s, pass the gate after 20 s of them that a server had
    /// cached.
    @Test func theLargestLiveStreamPasses() throws {
        var gate = SourceGate()
        for index in 0..<4_000 { _ = try gate.pass(frame(bytes: index % 240 == 0 ? 500_000 : 2_000), now: .zero) }
        for index in 0..<60 * 334 {
            let now = MediaTime.seconds(Double(index) / 334)
            let item = frame(at: now, offset: .milliseconds(index % 4 * 800), bytes: 30_000)
            #expect(try gate.pass(item, now: now) == item)
        }
        #expect(gate.corrected == 0)
    }

    @Test(arguments: [0x7F_FFFF, -0x80_0000, 5_001, -5_001])
    func aPictureFarFromItsDecodingIsShownThen(milliseconds: Int) throws {
        var gate = SourceGate()
        let passed = try gate.pass(frame(at: .seconds(9), offset: .milliseconds(milliseconds)), now: .zero)
        #expect(passed == frame(at: .seconds(9)))
        #expect(gate.corrected == 1)
        let kept = frame(at: .seconds(9), offset: .milliseconds(milliseconds.signum() * 5_000))
        #expect(try gate.pass(kept, now: .zero) == kept)
    }

    @Test func timesAtTheEndsOfTheRangeAreCompared() throws {
        var gate = SourceGate()
        let ends = [Int64.min, -1, 0, .max].map { MediaTime(nanoseconds: $0) }
        for time in ends {
            for offset in ends { _ = try gate.pass(frame(at: time, offset: offset), now: time) }
        }
    }

    /// Two-byte messages at the full speed of a socket end the connection.
    @Test func endlessMessagesEndTheConnection() throws {
        var gate = SourceGate()
        for _ in 0..<20_000 { _ = try gate.pass(frame(.audio), now: .zero) }
        #expect(throws: SourceGate.Excess.items(perSecond: 2_000)) { try gate.pass(frame(.audio), now: .zero) }
        // The allowance grows back with time.
        for _ in 0..<1_000 { _ = try gate.pass(frame(.audio), now: .milliseconds(500)) }
        #expect(throws: SourceGate.Excess.items(perSecond: 2_000)) {
            try gate.pass(frame(.audio), now: .milliseconds(500))
        }
    }

    @Test func tooManyBytesEndTheConnection() throws {
        var gate = SourceGate()
        for _ in 0..<127 { _ = try gate.pass(frame(bytes: 1_000_000 - 128), now: .zero) }
        #expect(throws: SourceGate.Excess.bytes(perSecond: 25_000_000)) {
            try gate.pass(frame(bytes: 2_000_000), now: .zero)
        }
        _ = try gate.pass(frame(bytes: 2_000_000), now: .seconds(1))
    }

    @Test func alternatingConfigurationsEndTheConnection() throws {
        var gate = SourceGate()
        // A repeated configuration is not a change.
        for _ in 0..<1_000 { _ = try gate.pass(configuration(0), now: .zero) }
        for number in 1...15 { _ = try gate.pass(configuration(number % 2), now: .zero) }
        #expect(throws: SourceGate.Excess.configurations(perMinute: 30)) {
            try gate.pass(configuration(7, .audio), now: .zero)
        }
        _ = try gate.pass(configuration(8, .audio), now: .seconds(2))
    }

    /// An unsteady network costs a publisher nothing: each connection begins with the same configurations.
    @Test func configurationsThatEachConnectionRepeatsAreNoChanges() throws {
        var gate = SourceGate()
        for _ in 0..<100 {
            gate.reconnected()
            _ = try gate.pass(configuration(0), now: .zero)
            _ = try gate.pass(configuration(1, .audio), now: .zero)
        }
        for number in 1...14 { _ = try gate.pass(configuration(number), now: .zero) }
        gate.reconnected()
        #expect(throws: SourceGate.Excess.configurations(perMinute: 30)) {
            try gate.pass(configuration(15), now: .zero)
        }
    }

    /// A clock that stands still or runs back restores no allowance.
    @Test func timeThatRunsBackGivesNothing() throws {
        var gate = SourceGate()
        for index in 0..<20_000 { _ = try gate.pass(frame(.audio), now: .seconds(Double(-index))) }
        #expect(throws: SourceGate.Excess.self) { try gate.pass(frame(.audio), now: .seconds(-30_000)) }
    }

    @Test(arguments: [
        (SourceGate.Excess.items(perSecond: 2_000), "it sends more than 2000 messages per second"),
        (.bytes(perSecond: 25_000_000), "it sends more than 200 Mbit/s"),
        (.configurations(perMinute: 30), "it changes its codec configuration more than 30 times a minute"),
    ])
    func excessIsSaid(_ excess: SourceGate.Excess, _ words: String) { #expect(excess.description == words) }
}
