import Foundation
import TestSupport
import Testing

@testable import MixPipeline

/// What is sent, and what is known of it.
@Suite(.timeLimit(.minutes(1))) struct RTMPOutgoingTests {
    /// A TCP connection on loopback: one end that does not block, and one that reads.
    private final class Pair {
        let here: Int32
        let there: Int32

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(listener) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            here = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let here = here
            let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &size) == 0
                        && connect(here, $0, size) == 0
                }
            }
            there = accept(listener, nil, nil)
            // Left to itself Linux lets the buffers grow to any size, and nothing is ever blocked.
            var buffer = Int32(1 << 16)
            setsockopt(here, SOL_SOCKET, SO_SNDBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
            setsockopt(there, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
            try #require(isConnected && there >= 0 && fcntl(here, F_SETFL, Int32(O_NONBLOCK)) == 0)
        }

        deinit {
            close(here)
            close(there)
        }

        /// What is there, at most `limit` bytes; `nil` at the end.
        func read(_ limit: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: limit)
            let count = recv(there, &bytes, limit, Int32(MSG_DONTWAIT))
            if count == 0 { return nil }
            return Array(bytes.prefix(max(0, count)))
        }
    }

    /// However much the socket takes at a time, everything arrives in order, and every byte is in exactly one place.
    @Test func nothingIsLostAndEverythingIsCounted() throws {
        var random = SeededGenerator(announcedFor: "RTMPOutgoingTests.nothingIsLostAndEverythingIsCounted")
        let pair = try Pair()
        var outgoing = Outgoing()
        var sent: [UInt8] = [1, 2, 3]
        // Before there is a connection everything waits.
        #expect(outgoing.send(sent) == .sent && outgoing.progress == TCPConnection.Progress(waiting: 3))
        outgoing.descriptor = pair.here
        #expect(outgoing.flush() == .sent && outgoing.progress.waiting == 0)
        var received: [UInt8] = []
        var outcomes: Set<Outgoing.Outcome> = []
        while sent.count < 20 << 20 {
            let piece = [UInt8](
                repeating: .random(in: 0...255, using: &random), count: .random(in: 1...100_000, using: &random))
            sent += piece
            let wasBlocked = outgoing.isBlocked
            let outcome = outgoing.send(piece)
            outcomes.insert(outcome)
            // Told once, not at every attempt.
            if wasBlocked { #expect(outcome == .sent) }
            if Int.random(in: 0..<3, using: &random) == 0 { received += pair.read(100_000) ?? [] }
            if outgoing.isBlocked, Bool.random(using: &random) { _ = outgoing.flush() }
            let progress = outgoing.progress
            #expect(Int(progress.acknowledged) + progress.unacknowledged + progress.waiting == sent.count)
        }
        #expect(outcomes.contains(.blocked))
        outgoing.finish()
        #expect(outgoing.send([9]) == .sent)
        let end = MonotonicClock.now + 20_000_000_000
        while let bytes = pair.read(1 << 20), MonotonicClock.now < end {
            received += bytes
            _ = outgoing.flush()
        }
        #expect(received == sent, "\(received.count) of \(sent.count) bytes")
        #expect(outgoing.progress.waiting == 0 && Int(outgoing.progress.acknowledged) == sent.count)
    }

    @Test func aConnectionThatIsGoneIsAFailure() throws {
        let pair = try Pair()
        var outgoing = Outgoing()
        outgoing.descriptor = pair.here
        shutdown(pair.here, Int32(SHUT_WR))
        #expect(outgoing.send([1]) == .failed(EPIPE))
    }

    @Test func tagsGoUpAsMessagesAndMetadataIsKept() throws {
        let connection = TCPConnection(
            Destination(scheme: "rtmp", host: "h", port: 1, limits: nil), loop: .shared, timeout: 1
        ) { _ in }
        var writer = RTMPChunkWriter()
        writer.chunkSize = 4096
        let uplink = RTMPUplink(connection: connection, stream: 3, writer: writer, bytesBefore: 0)
        var reader = RTMPChunkReader()
        let name: [UInt8] = [2, 0, 10] + "onMetaData".utf8
        let messages = [
            RTMPMessage(kind: .video, timestamp: 0xFF00_0001, stream: 3, body: [UInt8](repeating: 1, count: 9000)),
            RTMPMessage(kind: .audio, timestamp: 20, stream: 3, body: [2]),
            RTMPMessage(kind: .script, timestamp: 0, stream: 3, body: name + [5]),
            RTMPMessage(kind: .script, timestamp: 0, stream: 3, body: [2, 0, 1, 0x41]),
        ]
        var bytes: [UInt8] = []
        writer.append(.setChunkSize, on: 2, body: RTMPPeer.number(4096, 4)[...], to: &bytes)
        for message in messages { bytes += uplink.encode(message.flvTag) }
        var expected = messages
        expected[2].body = [2, 0, 13] + "@setDataFrame".utf8 + name + [5]
        #expect(try reader.read(bytes[...]) == expected)
        #expect(uplink.encode([9, 0, 0]).isEmpty)
    }
}
