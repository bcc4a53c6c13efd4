import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RTMP

/// Pings of a server to which a stream is published.
@Suite(.timeLimit(.minutes(3))) struct PingFloodTests {
    @Test func onlyResponsesThatWaitAreCounted() {
        var backlog = AnswerBacklog()
        // Each has left before the next one.
        for number in 1...1000 {
            backlog.add(18, TCPConnection.Progress(acknowledged: Int64(number) * 100_000))
            #expect(backlog.bytes == 18)
        }
        // Behind media that wait.
        backlog.add(18, TCPConnection.Progress(waiting: 5_000_000, acknowledged: 100_000_000))
        backlog.add(18, TCPConnection.Progress(waiting: 5_000_018, acknowledged: 100_000_000))
        backlog.add(18, TCPConnection.Progress(waiting: 37, unacknowledged: 4_999_999, acknowledged: 100_000_000))
        #expect(backlog.bytes == 54)
        backlog.add(18, TCPConnection.Progress(waiting: 36, unacknowledged: 5_000_000, acknowledged: 100_000_000))
        #expect(backlog.bytes == 18)
    }

    /// Accepts a publisher, and sends pings without reading the responses.
    private static func flood(_ listener: Int32) {
        let connection = accept(listener, nil, nil)
        defer { close(connection) }
        var peer = RTMPPeer()
        let opening = peer.session() + peer.status("NetStream.Publish.Start")
        let ping = peer.message(.userControl, [0, 6, 1, 2, 3, 4], on: 2)
        let pings = [[UInt8]](repeating: ping, count: 1000).flatMap { $0 }
        // Bounded, in case nothing ends it: responses of 7 MB.
        for round in 0...400 {
            var rest = round == 0 ? opening[...] : pings[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
        // The connection stays open.
        var byte: UInt8 = 0
        while recv(connection, &byte, 1, 0) > 0 {}
    }

    @Test func aServerThatFloodsAPublisherIsLeft() async throws {
        let listener = try LoopbackListener(receiveBuffer: 4096)
        defer { close(listener.descriptor) }
        let server = Thread { [descriptor = listener.descriptor] in Self.flood(descriptor) }
        server.start()
        let fault = Mutex<ConnectionFault?>(nil)
        let session = RTMPSession(
            .publish, try RTMPAddress("rtmp://127.0.0.1:\(listener.port)/live/key"), limits: nil,
            timeouts: .init(step: 60, idle: 0)
        ) { event in
            if case .ended(let found) = event { fault.withLock { $0 = found } }
        }
        session.start()
        #expect(try await outputEventually { fault.withLock { $0 } != nil })
        let words = fault.withLock { $0?.words }
        #expect(words == "the server does not read responses")
        await session.close()
    }
}
