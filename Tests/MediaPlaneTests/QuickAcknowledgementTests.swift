import EncodedMedia
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RTMP

@Suite(.serialized, .timeLimit(.minutes(3))) struct QuickAcknowledgementTests {
    private static let piece = 100
    private static let groups = 40

    /// Serves messages without `TCP_NODELAY` that go out in pieces, each of which waits for the acknowledgement of the
    /// previous one.
    private static func serve(_ listener: Int32) {
        let connection = accept(listener, nil, nil)
        defer { close(connection) }
        for _ in 0..<groups {
            for _ in 0..<3 {
                var time = MonotonicClock.now()
                var bytes = [UInt8](repeating: 0, count: piece)
                withUnsafeBytes(of: &time) { bytes.replaceSubrange(0..<8, with: $0) }
                guard send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
            }
            usleep(40_000)
            var heard = [UInt8](repeating: 0, count: 4096)
            _ = recv(connection, &heard, heard.count, Int32(MSG_DONTWAIT))
        }
    }

    /// Delays of the pieces in ms, in order of arrival.
    private final class Delays: Sendable {
        private let state = Mutex<(rest: [UInt8], delays: [Double], isOver: Bool)>(([], [], false))

        var isOver: Bool { state.withLock { $0.isOver } }
        var all: [Double] { state.withLock { $0.delays } }

        func end() { state.withLock { $0.isOver = true } }

        /// - Returns: The number of pieces so far.
        func take(_ bytes: ArraySlice<UInt8>, at arrival: Int64) -> Int {
            state.withLock { state in
                state.rest += bytes
                while state.rest.count >= piece {
                    let sent = state.rest.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
                    state.delays.append(Double(arrival - sent) / 1e6)
                    state.rest.removeFirst(piece)
                }
                return state.delays.count
            }
        }
    }

    /// After each of our own writes the kernel delays acknowledgements by 40 ms, which would then be the delay of most
    /// pieces.
    @Test func piecesOfAServerAreNotHeldUpByOurOwnWrites() async throws {
        let listener = try LoopbackListener()
        let server = Thread { [descriptor = listener.descriptor] in Self.serve(descriptor) }
        server.start()
        let delays = Delays()
        let own = Mutex<TCPConnection?>(nil)
        let connection = TCPConnection(
            Destination(scheme: "rtmp", host: "127.0.0.1", port: UInt16(listener.port), limits: nil), loop: .shared,
            timeout: 5
        ) { event in
            switch event {
            case .connected: break
            case .received(let bytes, let arrival):
                if delays.take(bytes, at: arrival) % 7 == 0 { own.withLock { $0 }?.send([1, 2, 3]) }
            case .ended: delays.end()
            }
        }
        own.withLock { $0 = connection }
        SocketLoop.shared.perform { connection.open() }
        #expect(try await outputEventually { delays.isOver })
        own.withLock { $0 = nil }
        let late = delays.all.dropFirst(Self.groups).sorted()
        #expect(late.count == Self.groups * 2)
        print("pieces of a server that waits for acknowledgements: median \(late[late.count / 2]) ms")
        // A busy machine delays some; the kernel would delay every second piece.
        #expect(late[late.count * 2 / 3] < 20, "\(late)")
    }
}
