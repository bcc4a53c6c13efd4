import EncodedMedia
import Foundation
import TestSupport
import Testing

@testable import MediaFormats
@testable import ProgramMixer
@testable import RTMP

/// The bytes to send, and the knowledge about their progress.
@Suite(.timeLimit(.minutes(3))) struct RTMPOutgoingTests {
    /// However much the socket accepts at a time, everything arrives in order, and every byte is in exactly one state.
    @Test func nothingIsLostAndEverythingIsCounted() throws {
        var random = SeededGenerator(announcedFor: "RTMPOutgoingTests.nothingIsLostAndEverythingIsCounted")
        let pair = try SocketPair()
        var outgoing = Outgoing()
        var sent: [UInt8] = [1, 2, 3]
        // Before there is a connection everything is queued.
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
            // Reported once, not at every attempt.
            if wasBlocked { #expect(outcome == .sent) }
            if Int.random(in: 0..<3, using: &random) == 0 { received += pair.read(100_000) ?? [] }
            if outgoing.isBlocked, Bool.random(using: &random) { _ = outgoing.flush() }
            let progress = outgoing.progress
            #expect(Int(progress.acknowledged) + progress.unacknowledged + progress.waiting == sent.count)
        }
        #expect(outcomes.contains(.blocked))
        outgoing.finish()
        #expect(outgoing.send([9]) == .sent)
        let end = MonotonicClock.now() + 20_000_000_000
        while let bytes = pair.read(1 << 20), MonotonicClock.now() < end {
            received += bytes
            _ = outgoing.flush()
        }
        #expect(received == sent, "\(received.count) of \(sent.count) bytes")
        #expect(outgoing.progress.waiting == 0 && Int(outgoing.progress.acknowledged) == sent.count)
    }

    /// Through TLS, the counts are of plaintext, and a write counts when it has arrived completely.
    @Test func nothingIsLostAndEverythingIsCountedThroughTLS() async throws {
        var random = SeededGenerator(announcedFor: "RTMPOutgoingTests.nothingIsLostAndEverythingIsCountedThroughTLS")
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let pair = try SocketPair()
        let server = try TLSPeer(certificate)
        var outgoing = Outgoing(tls: TLSSession(TLSContext(trusting: certificate.file), host: "localhost"))
        var sent: [UInt8] = [1, 2, 3]
        // Before there is a connection, and before there is TLS, everything is queued.
        #expect(outgoing.send(sent) == .sent && outgoing.progress == TCPConnection.Progress(waiting: 3))
        outgoing.descriptor = pair.here
        #expect(outgoing.flush() == .sent && outgoing.beginHandshake() == .sent)
        #expect(outgoing.waiting == 3 && outgoing.progress.acknowledged == 0)
        var received: [UInt8] = []
        var outcomes: Set<Outgoing.Outcome> = []
        var last: Int64 = 0
        func exchange(_ limit: Int) -> Bool {
            guard let bytes = pair.read(limit) else { return false }
            received += server.receive(bytes) ?? []
            pair.answer(server.takeOutput())
            if let answer = pair.readAnswer(), let reception = outgoing.receive(answer[...]) {
                #expect(reception.plaintext.isEmpty && reception.state == .open || sent.count == 3)
                outcomes.insert(reception.outcome)
            }
            return true
        }
        func check() {
            let progress = outgoing.progress
            #expect(Int(progress.acknowledged) + progress.unacknowledged + progress.waiting == sent.count)
            #expect(progress.acknowledged >= last && progress.waiting >= 0 && progress.unacknowledged >= 0)
            #expect(outgoing.waiting <= progress.waiting)
            last = progress.acknowledged
        }
        #expect(try await outputEventually { exchange(1 << 16) && received == sent })
        while sent.count < 20 << 20 {
            let piece = [UInt8](
                repeating: .random(in: 0...255, using: &random), count: .random(in: 1...100_000, using: &random))
            sent += piece
            outcomes.insert(outgoing.send(piece))
            if Int.random(in: 0..<3, using: &random) == 0 { _ = exchange(100_000) }
            if Int.random(in: 0..<20, using: &random) == 0 { server.changeKeys() }
            if outgoing.isBlocked, Bool.random(using: &random) { _ = outgoing.flush() }
            check()
        }
        #expect(outcomes.contains(.blocked))
        // The peer no longer reads: nothing more arrives.
        let before = outgoing.progress
        #expect(before.waiting > 0)
        outgoing.finish()
        #expect(outgoing.send([9]) == .sent)
        let end = MonotonicClock.now() + 20_000_000_000
        while exchange(1 << 20), MonotonicClock.now() < end {
            _ = outgoing.flush()
            check()
        }
        #expect(received == sent, "\(received.count) of \(sent.count) bytes")
        #expect(server.receive([]) == nil, "no goodbye")
        #expect(outgoing.progress == TCPConnection.Progress(acknowledged: Int64(sent.count)))
    }

    /// A player can make TLS accept nothing, and must be disconnected then as one that does not read.
    @Test func bytesThatWaitForTLSAreQueued() async throws {
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let pair = try SocketPair()
        var outgoing = Outgoing(tls: TLSSession(TLSContext(trusting: certificate.file), host: "localhost"))
        outgoing.descriptor = pair.here
        #expect(outgoing.send([1, 2, 3]) == .sent && outgoing.queued == 3)
        #expect(outgoing.hold([4]) == .sent && outgoing.queued == 4)
    }

    /// A receiver that is always a little behind does not cost the memory of everything that it has got.
    @Test func takenBytesAreForgottenWhileOthersWait() throws {
        let pair = try SocketPair()
        var outgoing = Outgoing()
        outgoing.descriptor = pair.here
        let piece = [UInt8](repeating: 7, count: 50_000)
        var (sent, most) = (0, 0)
        while sent < 20 << 20 {
            while outgoing.queued < 1 << 20 {
                _ = outgoing.send(piece)
                sent += piece.count
            }
            _ = pair.read(1 << 16)
            _ = outgoing.flush()
            most = max(most, outgoing.kept)
        }
        #expect(most < 4 << 20, "\(most) bytes are kept for at most \((1 << 20) + piece.count) that wait")
        let progress = outgoing.progress
        #expect(Int(progress.acknowledged) + progress.unacknowledged + progress.waiting == sent)
    }

    @Test func heldBytesGoOutTogether() throws {
        let pair = try SocketPair()
        var outgoing = Outgoing()
        // Before there is a connection.
        #expect(outgoing.hold([1]) == .sent)
        outgoing.descriptor = pair.here
        #expect(outgoing.flush() == .sent && pair.read(9) == [1])
        #expect(outgoing.hold([2]) == .sent && outgoing.hold([3, 4]) == .sent)
        // What is sent meanwhile keeps its place.
        #expect(outgoing.send([5]) == .sent)
        #expect(outgoing.queued == 4 && outgoing.progress.waiting == 4 && pair.read(9) == [])
        #expect(outgoing.flush() == .sent && outgoing.queued == 0)
        #expect(pair.read(9) == [2, 3, 4, 5])
        #expect(outgoing.hold([6]) == .sent)
        outgoing.finish()
        #expect(outgoing.hold([7]) == .sent && outgoing.flush() == .sent)
        #expect(pair.read(9) == [6] && pair.read(9) == nil, "nothing after the end")
    }

    /// Otherwise a large picture would count as waiting during the whole call, and what follows it would wait elsewhere.
    @Test func manyHeldBytesGoOutAtOnce() throws {
        let pair = try SocketPair()
        var outgoing = Outgoing()
        outgoing.descriptor = pair.here
        let piece = [UInt8](repeating: 1, count: Outgoing.mostHeld - 1)
        #expect(outgoing.hold(piece) == .sent && outgoing.queued == piece.count)
        #expect(outgoing.hold([1]) == .sent && outgoing.queued == 0)
        #expect(pair.read(1) == [1])
        while outgoing.hold(piece) != .blocked {}
        // A full socket is not tried again for every piece, even if it accepts bytes by then.
        let queued = outgoing.queued
        #expect(queued > 0 && pair.read(1 << 20)?.isEmpty == false)
        #expect(outgoing.hold([2]) == .sent && outgoing.queued == queued + 1)
    }

    @Test func aConnectionThatIsGoneIsAFailure() throws {
        let pair = try SocketPair()
        var outgoing = Outgoing()
        outgoing.descriptor = pair.here
        shutdown(pair.here, Int32(SHUT_WR))
        #expect(outgoing.send([1]) == .failed(EPIPE))
    }

    /// What one call from the loop sends is written after it, and what another thread sends at once.
    @Test func tagsOfOneCallGoOutTogether() async throws {
        let listener = try LoopbackListener()
        defer { close(listener.descriptor) }
        let connection = TCPConnection(
            Destination(scheme: "rtmp", host: "127.0.0.1", port: UInt16(listener.port), limits: nil), loop: .shared,
            timeout: 5
        ) { _ in }
        SocketLoop.shared.perform { connection.open() }
        let server = try #require(listener.accept())
        defer { close(server) }
        func onLoop<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
            await withCheckedContinuation { done in SocketLoop.shared.perform { done.resume(returning: work()) } }
        }
        /// Returns the next bytes, once there are any.
        func receive() -> [UInt8] {
            var bytes = [UInt8](repeating: 9, count: 8)
            let count = recv(server, &bytes, bytes.count, 0)
            return Array(bytes.prefix(max(0, count)))
        }
        connection.send([0])
        #expect(receive() == [0])
        let waiting = await onLoop {
            connection.sendTogether([1, 2])
            connection.sendTogether([3])
            return connection.queued
        }
        #expect(waiting == 3)
        #expect(await onLoop { connection.queued } == 0)
        #expect(receive() == [1, 2, 3])
        connection.sendTogether([4])
        #expect(connection.queued == 0)
        #expect(receive() == [4])
        await onLoop { connection.close() }
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
        let roles = [FLVTag.Role.frame(.video, isIDR: false), .frame(.audio, isIDR: false), .metadata, .metadata]
        for (role, message) in zip(roles, messages) {
            bytes += uplink.encode(FLVTag(role: role, timestamp: message.timestamp, body: message.body))
        }
        var expected = messages
        expected[2].body = [2, 0, 13] + "@setDataFrame".utf8 + name + [5]
        #expect(try reader.read(bytes[...]) == expected)
    }
}
