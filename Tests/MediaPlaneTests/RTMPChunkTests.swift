import TestSupport
import Testing

@testable import RTMP

/// Messages split into chunks and reassembled.
@Suite struct RTMPChunkTests {
    private func read(_ bytes: [UInt8]) throws -> [RTMPMessage] {
        var reader = RTMPChunkReader()
        return try reader.read(bytes[...])
    }

    private func failure(_ bytes: [UInt8], limits: RTMPChunkReader.Limits = .init()) -> String? {
        var reader = RTMPChunkReader(limits: limits)
        do throws(RTMPError) {
            _ = try reader.read(bytes[...])
            return nil
        } catch { return error.description }
    }

    /// Arbitrary messages, on arbitrary chunk streams at the same time, with any permitted header, in any chunk size,
    /// split anywhere.
    @Test(arguments: [true, false]) func whatIsWrittenIsRead(repeatsExtended: Bool) throws {
        var random = SeededGenerator(announcedFor: "RTMPChunkTests.whatIsWrittenIsRead")
        var formatsSeen: Set<UInt8> = []
        for _ in 0..<60 {
            var peer = RTMPPeer()
            peer.repeatsExtended = repeatsExtended
            let ids: [UInt32] = [2, 3, 63, 64, 319, 320, 65_599]
            var open: [UInt32: RTMPMessage] = [:]
            var bytes: [UInt8] = []
            var sent: [RTMPMessage] = []
            func collect() {
                sent += peer.completed.dropFirst(sent.count).compactMap { open[$0] }
            }
            for _ in 0..<40 {
                if !peer.isIdle, Bool.random(using: &random) {
                    bytes += peer.further(.random(in: 0..<peer.unfinished, using: &random))
                } else if peer.isIdle, Int.random(in: 0..<8, using: &random) == 0 {
                    let size = UInt32.random(in: 1...300, using: &random)
                    bytes += peer.begin(
                        RTMPMessage(kind: .setChunkSize, body: RTMPPeer.number(size, 4)), on: 2, format: 0)
                    open[2] = RTMPMessage(kind: .setChunkSize, body: [])
                    // The new size applies after the message, which may be longer than the old size.
                    while !peer.isIdle { bytes += peer.further(0) }
                    collect()
                    peer.chunkSize = Int(size)
                    continue
                } else if let id = ids.filter({ !peer.isBusy($0) }).randomElement(using: &random) {
                    let begin = open[id]?.timestamp ?? UInt32.random(in: 0 ... .max, using: &random)
                    var message = RTMPMessage(
                        kind: [.audio, .video].randomElement(using: &random) ?? .audio, timestamp: begin,
                        stream: .random(in: 0...1, using: &random) * 0x0102_0304,
                        body: (0..<([0, 1, 3, 128, 129, 200, 700].randomElement(using: &random) ?? 0)).map { _ in 0 })
                    // Often similar to the previous one: then headers become short.
                    if let before = open[id], before.kind != .setChunkSize, Int.random(in: 0..<4, using: &random) > 0 {
                        (message.kind, message.stream, message.body) = (before.kind, before.stream, before.body)
                    }
                    // After an empty message 00 FF FF FF may also begin a header on chunk stream 319: the two are
                    // indistinguishable.
                    let steps: [UInt32] = [
                        0, 20, 20, 20, 20, 40, repeatsExtended ? 0xFF_FFFF : 0x0100_0001, 0x0100_0000, 0x0100_0000,
                        .max,
                    ]
                    message.timestamp = begin &+ (steps.randomElement(using: &random) ?? 0)
                    message.body = message.body.map { _ in .random(in: 0...255, using: &random) }
                    let format = peer.formats(for: message, on: id).randomElement(using: &random) ?? 0
                    formatsSeen.insert(format)
                    open[id] = message
                    bytes += peer.begin(message, on: id, format: format)
                }
                collect()
            }
            while !peer.isIdle {
                bytes += peer.further(0)
                collect()
            }
            // A possible extended timestamp is recognised once 4 bytes are there.
            bytes += peer.message(.acknowledgement, [0, 0, 0, 0], on: 4)
            var reader = RTMPChunkReader()
            var got: [RTMPMessage] = []
            for piece in rtmpPieces(bytes, longest: 90, using: &random) { got += try reader.read(piece) }
            #expect(got.popLast()?.kind == .acknowledgement)
            sent.removeAll { $0.kind == .setChunkSize }
            let difference = zip(got, sent).enumerated().first { $1.0 != $1.1 }?.offset
            #expect(got.count == sent.count && difference == nil, "\(got.count) of \(sent.count) messages")
        }
        #expect(formatsSeen == [0, 1, 2, 3])
    }

    @Test(arguments: [0, 1, 127, 128, 129, 4096, 10_000], [0, 0xFF_FFFE, 0xFF_FFFF, 0xFFFF_FFFF] as [UInt32])
    func theWritersChunksAreReadAsTheyWere(count: Int, timestamp: UInt32) throws {
        let message = RTMPMessage(
            kind: .video, timestamp: timestamp, stream: 0x0A0B_0C0D,
            body: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        for chunkSize in [128, 4096] {
            var bytes: [UInt8] = []
            var writer = RTMPChunkWriter()
            writer.append(
                .setChunkSize, on: 2, body: RTMPPeer.number(UInt32(chunkSize), 4)[...], to: &bytes)
            writer.chunkSize = chunkSize
            writer.append(
                message.kind, on: 4, timestamp: timestamp, stream: message.stream, body: message.body[...], to: &bytes)
            #expect(try read(bytes) == [message])
        }
    }

    /// The bytes of the specification's second example (§5.3.2.2): a video message of 307 bytes.
    @Test func aMessageIsCutAsTheSpecificationShowsIt() {
        var bytes: [UInt8] = []
        RTMPChunkWriter().append(
            .video, on: 4, timestamp: 1000, stream: 12346, body: [UInt8](repeating: 7, count: 307)[...], to: &bytes)
        let payload = { [UInt8](repeating: 7, count: $0) }
        #expect(
            bytes == [4, 0, 3, 0xE8, 0, 1, 0x33, 9, 0x3A, 0x30, 0, 0] + payload(128) + [0xC4] + payload(128)
                + [0xC4] + payload(51))
    }

    @Test func anAbortedMessageIsForgotten() throws {
        var peer = RTMPPeer()
        let long = RTMPMessage(kind: .video, timestamp: 5, stream: 1, body: [UInt8](repeating: 1, count: 200))
        var bytes = peer.begin(long, on: 6, format: 0)
        bytes += peer.message(.abort, RTMPPeer.number(6, 4), on: 2)
        let short = RTMPMessage(kind: .audio, timestamp: 6, stream: 1, body: [1, 2])
        bytes += peer.begin(short, on: 6, format: 0)
        // An abort without a message to abort has no effect.
        bytes += peer.message(.abort, RTMPPeer.number(60, 4), on: 2)
        #expect(try read(bytes) == [short])
    }

    @Test func whatBreaksTheProtocolIsAnError() {
        var peer = RTMPPeer()
        let long = RTMPMessage(kind: .video, body: [UInt8](repeating: 1, count: 200))
        let cases: [(bytes: [UInt8], words: String)] = [
            ([0x83, 0, 0, 0], "a header that was never sent"),
            ([0xC3], "a header that was never sent"),
            (peer.message(.setChunkSize, [0, 0, 0, 0], on: 2), "a chunk size of 0"),
            (peer.message(.setChunkSize, [0x80, 0, 0, 0], on: 2), "a chunk size of 2147483648"),
            (peer.message(.setChunkSize, [1], on: 2), "a chunk size of 1 bytes"),
            (peer.begin(long, on: 5, format: 0) + peer.begin(long, on: 5, format: 0), "before the one before it"),
        ]
        for (bytes, words) in cases { #expect(failure(bytes)?.contains(words) == true, "\(words)") }
    }

    @Test func limitsHold() {
        var peer = RTMPPeer()
        let streams = (0..<65).map { peer.message(.audio, [1], on: 2 + UInt32($0)) }
        #expect(failure(Array(streams.dropLast().joined())) == nil)
        #expect(failure(Array(streams.joined()))?.contains("more than 64 chunk streams") == true)

        // Three messages of almost 16 MiB each, of which only the beginnings arrive.
        let promises = (3...5).map { id -> [UInt8] in
            [UInt8(id), 0, 0, 0, 0xFF, 0xFF, 0xFF, 9, 0, 0, 0, 0]
        }
        let chunk = [UInt8](repeating: 0, count: 128)
        #expect(failure(Array(promises.map { $0 + chunk }.joined())) == nil)
        let small = RTMPChunkReader.Limits(chunkStreams: 64, unfinishedBytes: 1 << 20)
        #expect(failure(promises[0] + chunk, limits: small)?.contains("1 MiB of unfinished messages") == true)
    }

    /// Random bytes, and real ones with random faults, are read or refused, and memory stays bounded.
    @Test func nothingCrashesTheReader() {
        var random = SeededGenerator(announcedFor: "RTMPChunkTests.nothingCrashesTheReader")
        for round in 0..<400 {
            var bytes: [UInt8]
            if round % 2 == 0 {
                bytes = (0..<2000).map { _ in .random(in: 0...255, using: &random) }
            } else {
                var peer = RTMPPeer()
                bytes = []
                for index in 0..<10 as Range<UInt32> {
                    let body = [UInt8](repeating: 3, count: Int(index) * 60)
                    bytes += peer.message(.video, body, timestamp: index * 0x80_0000, on: 3 + index % 3)
                }
                for _ in 0..<5 {
                    bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                }
            }
            var reader = RTMPChunkReader()
            var total = 0
            do throws(RTMPError) {
                for piece in rtmpPieces(bytes, longest: 500, using: &random) {
                    total += try reader.read(piece).reduce(0) { $0 + $1.body.count }
                }
            } catch {
                guard case .malformed = error else {
                    Issue.record("\(error)")
                    continue
                }
            }
            #expect(total <= bytes.count)
        }
    }
}
