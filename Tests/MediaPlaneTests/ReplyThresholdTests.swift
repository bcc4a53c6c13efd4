import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RTMP

/// Connections whose peer says little that matters at once.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ReplyThresholdTests {
    /// A connection to a server in the test, and what has come of it.
    private final class Client: Sendable {
        private struct State {
            var bytes = 0
            var isConnected = false
            var isOver = false
            var connection: TCPConnection?
        }
        private let state = Mutex(State())

        var bytes: Int { state.withLock { $0.bytes } }
        var isConnected: Bool { state.withLock { $0.isConnected } }
        var isOver: Bool { state.withLock { $0.isOver } }
        var connection: TCPConnection? { state.withLock { $0.connection } }

        init(port: Int, tls: TLSContext? = nil) {
            let connection = TCPConnection(
                Destination(scheme: "rtmp", host: "127.0.0.1", port: UInt16(port), limits: nil), tls: tls,
                loop: .shared, timeout: 5
            ) { [weak self] event in
                self?.state.withLock { state in
                    switch event {
                    case .connected: state.isConnected = true
                    case .received(let bytes, _): state.bytes += bytes.count
                    case .ended: state.isOver = true
                    }
                }
            }
            state.withLock { $0.connection = connection }
            SocketLoop.shared.perform { connection.open() }
        }

        func close() {
            let connection = state.withLock { $0.connection.take() }
            SocketLoop.shared.perform { connection?.close() }
        }
    }

    /// Returns once the loop has handled everything that waits for it now.
    private static func settle() async {
        for _ in 0..<2 {
            await withCheckedContinuation { done in SocketLoop.shared.perform { done.resume() } }
        }
    }

    @Test func shortRepliesWaitAndTheEndDoesNot() async throws {
        let listener = try LoopbackListener()
        defer { Foundation.close(listener.descriptor) }
        let client = Client(port: listener.port)
        let server = try #require(listener.accept())
        let other = Client(port: listener.port)
        let otherServer = try #require(listener.accept())
        defer { Foundation.close(otherServer) }
        #expect(try await outputEventually { client.isConnected && other.isConnected })
        SocketLoop.shared.perform { client.connection?.receive(from: 100) }
        await Self.settle()
        func say(_ count: Int, on descriptor: Int32) {
            let bytes = [UInt8](repeating: 7, count: count)
            #expect(send(descriptor, bytes, count, Int32(MSG_NOSIGNAL)) == count)
        }
        // What is sent later on another connection wakes the loop.
        say(60, on: server)
        say(1, on: otherServer)
        #expect(try await outputEventually { other.bytes == 1 })
        await Self.settle()
        #expect(client.bytes == 0)
        client.connection?.receiveWaiting()
        await Self.settle()
        #expect(client.bytes == 60)
        say(100, on: server)
        #expect(try await outputEventually { client.bytes == 160 })
        say(10, on: server)
        Foundation.close(server)
        #expect(try await outputEventually { client.isOver })
        #expect(client.bytes == 170, "the last words are heard")
        for each in [client, other] { each.close() }
    }

    @Test func unreadRepliesDoNotResetTheConnection() async throws {
        let listener = try LoopbackListener()
        defer { Foundation.close(listener.descriptor) }
        let client = Client(port: listener.port)
        let server = try #require(listener.accept())
        defer { Foundation.close(server) }
        #expect(try await outputEventually { client.isConnected })
        SocketLoop.shared.perform { client.connection?.receive(from: 100) }
        await Self.settle()
        #expect(send(server, [1, 2, 3], 3, Int32(MSG_NOSIGNAL)) == 3)
        let hasArrived = try await outputEventually {
            var unacknowledged: Int32 = 1
            return ioctl(server, UInt(0x5411), &unacknowledged) == 0 && unacknowledged == 0
        }
        #expect(hasArrived && client.bytes == 0)
        client.close()
        var byte: UInt8 = 0
        let count = recv(server, &byte, 1, 0)
        #expect(count == 0, "the end, not a reset")
    }

    /// TLS sends nothing while it has only a part of a message from the server, whose rest may be short.
    @Test func theRestOfAMessageOfTLSDoesNotWait() async throws {
        let certificate = try await TestCertificate.make(for: "IP:127.0.0.1")
        defer { certificate.remove() }
        let listener = try LoopbackListener()
        defer { Foundation.close(listener.descriptor) }
        let peer = try TLSPeer(certificate)
        peer.makeTicketsLong()
        let client = Client(port: listener.port, tls: TLSContext(trusting: certificate.file))
        let server = try #require(listener.accept())
        defer { Foundation.close(server) }
        func hear(_ flags: Int32 = 0) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 1 << 14)
            let count = recv(server, &bytes, bytes.count, flags)
            return Array(bytes.prefix(max(0, count)))
        }
        func say(_ bytes: some Collection<UInt8>) {
            let bytes = Array(bytes)
            #expect(send(server, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
        }
        /// Returns what TLS answers to the client's next bytes; nothing if the client has closed.
        func answer() -> [UInt8] {
            while true {
                let heard = hear()
                _ = peer.receive(heard)
                let answer = peer.takeOutput()
                if heard.isEmpty || !answer.isEmpty { return answer }
            }
        }
        say(answer())
        let tickets = answer()
        try #require(tickets.count > 1000)
        #expect(try await outputEventually { client.isConnected })
        SocketLoop.shared.perform { client.connection?.receive(from: 100) }
        say(tickets.dropLast(20))
        // Until the client has read that, its bytes still go out.
        var sent = 0
        let isStuck = try await outputEventually {
            SocketLoop.shared.perform { client.connection?.sendTogether([7]) }
            sent += 1
            await Self.settle()
            return client.connection?.progress.waiting ?? 0 > 0
        }
        #expect(isStuck)
        say(tickets.suffix(20))
        var heard = 0
        let isComplete = try await outputEventually {
            heard += peer.receive(hear(Int32(MSG_DONTWAIT)))?.count ?? 0
            return heard == sent
        }
        #expect(isComplete, "\(heard) of \(sent) bytes")
        // After the next bytes, short messages wait again.
        SocketLoop.shared.perform { client.connection?.sendTogether([7]) }
        await Self.settle()
        peer.write([1])
        say(peer.takeOutput())
        await Self.settle()
        #expect(client.bytes == 0 && !client.isOver)
        let isHeard = try await outputEventually {
            client.connection?.receiveWaiting()
            await Self.settle()
            return client.bytes == 1
        }
        #expect(isHeard)
        client.close()
    }
}
