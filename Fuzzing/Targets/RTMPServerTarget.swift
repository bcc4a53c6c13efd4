import EncodedMedia
import MediaFormats
import TestSupport

@testable import RTMP

/// What a client says to the server: a handshake, commands, and media of one whose request is accepted.
///
/// The first byte says how the bytes are cut, and whether requests are accepted. A cut connection must give the same events
/// and the same answers as a whole one.
enum RTMPServerTarget: FuzzTarget {
    static let name = "rtmp-server"

    private static let handshake = [3] + [UInt8](repeating: 0x11, count: 2 * 1536)

    /// A session after the handshake.
    private static let begun: RTMPServerSession = {
        var random = SeededGenerator(seed: 1)
        var session = RTMPServerSession(now: 0)
        _ = session.read(handshake[...], now: 0, using: &random)
        _ = session.takeOutput()
        return session
    }()

    static var seeds: [[UInt8]] {
        func command(_ values: [AMF0], stream: UInt32 = 0, to bytes: inout [UInt8]) {
            let body = values.reduce(into: []) { $1.encode(into: &$0) }
            RTMPChunkWriter().append(.command, on: 3, stream: stream, body: body[...], to: &bytes)
        }
        func begin(_ verb: String) -> [UInt8] {
            var bytes: [UInt8] = []
            command(
                [.string("connect"), .number(1), .object([.init(name: "app", value: .string("live?x=1"))])], to: &bytes)
            command([.string("createStream"), .number(2), .null], to: &bytes)
            command([.string(verb), .number(0), .null, .string("lobby__alice?token=t")], stream: 1, to: &bytes)
            return bytes
        }
        var publisher = begin("publish")
        let writer = RTMPChunkWriter()
        let metadata = [2, 0, 13] + Array("@setDataFrame".utf8) + [2, 0, 10] + Array("onMetaData".utf8)
        writer.append(.script, on: 4, stream: 1, body: metadata[...], to: &publisher)
        writer.append(.video, on: 6, stream: 1, body: [0x17, 0, 0, 0, 0, 1, 100, 0, 31], to: &publisher)
        writer.append(.audio, on: 4, timestamp: 20, stream: 1, body: [0xAF, 1, 0x21, 0x22], to: &publisher)
        let picture = [0x90 | 1] + Array("hvc1".utf8) + [UInt8](repeating: 7, count: 200)
        writer.append(.video, on: 6, timestamp: 0x1FF_FFFF, stream: 1, body: picture[...], to: &publisher)
        command([.string("FCUnpublish"), .number(5), .null, .string("lobby__alice")], to: &publisher)
        var player = begin("play")
        writer.append(.userControl, on: 2, body: [0, 6, 0, 0, 0, 9], to: &player)
        writer.append(.windowSize, on: 2, body: [0, 0, 1, 0], to: &player)
        command([.string("closeStream"), .number(0), .null], stream: 1, to: &player)
        return [[0x80] + publisher, [0x07] + publisher, [0x81] + player, [0x83] + [3, 1, 2]]
    }

    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let accepts = first & 0x80 != 0
        let whole = talk(bytes.dropFirst(), size: bytes.count, accepts: accepts)
        let cut = talk(bytes.dropFirst(), size: Int(first & 0x7F) + 1, accepts: accepts)
        // Requests are answered between two reads, and what is allowed afterwards depends on the answer.
        let isAsked = (whole.events + cut.events).contains { if case .requested = $0 { true } else { false } }
        guard !isAsked || !accepts else { return }
        if case .over(.malformed)? = whole.events.last {
            // What came in the same piece as the fault is not read.
            guard case .over? = cut.events.last else { return require(false, "no fault when cut") }
            return
        }
        require(whole.events == cut.events, "\(cut.events.count) events when cut, otherwise \(whole.events.count)")
        require(whole.phase == cut.phase, "\(cut.phase) when cut, otherwise \(whole.phase)")
    }

    private static func talk(
        _ bytes: ArraySlice<UInt8>, size: Int, accepts: Bool
    ) -> (events: [RTMPServerSession.Event], phase: RTMPServerSession.Phase) {
        var random = SeededGenerator(seed: 1)
        var session = begun
        var events: [RTMPServerSession.Event] = []
        var answered = 0
        var rest = bytes
        while !rest.isEmpty {
            let new = session.read(rest.prefix(max(size, 1)), now: 1, using: &random)
            rest = rest.dropFirst(max(size, 1))
            events += new
            if accepts, case .requested? = new.last { session.accept(now: 1) }
            answered += session.takeOutput().count
            if case .over? = new.last { break }
        }
        if case .over? = events.last {
            require(session.read(handshake[...], now: 2, using: &random).isEmpty, "events after the last one")
        }
        let ends = events.count { if case .over = $0 { true } else { false } }
        require(ends <= 1, "\(ends) ends")
        // 200 commands of at most 64 KiB are answered; none with more than what it asks.
        require(answered < 1 << 20, "answers without end")
        require(session.deadline > 1, "a deadline that has passed")
        return (events, session.phase)
    }
}
