import EncodedMedia
import Foundation
import Synchronization
import Testing

@testable import RTMP

/// The one thread of all sockets.
@Suite(.timeLimit(.minutes(1))) struct RTMPSocketLoopTests {
    /// Shared between the loop and the test.
    private final class Box<Value: Sendable>: Sendable {
        let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
    }

    @Test func workIsDoneInOrderFromManyThreads() async {
        let seen = Box<[Int: [Int]]>([:])
        await withTaskGroup(of: Void.self) { group in
            for caller in 0..<4 {
                group.addTask {
                    for number in 0..<200 {
                        SocketLoop.shared.perform { seen.value.withLock { $0[caller, default: []].append(number) } }
                    }
                    await withCheckedContinuation { done in SocketLoop.shared.perform { done.resume() } }
                }
            }
        }
        #expect(seen.value.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<4).map { ($0, Array(0..<200)) }))
    }

    /// Deadlines come in their order, none too early, one that was moved only at its new time, and none after removal.
    @Test func deadlinesAreKept() async {
        let seen = Box<[(name: String, late: Int64)]>([])
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            SocketLoop.shared.perform {
                let start = MonotonicClock.now()
                var watches: [SocketLoop.Watch] = []
                func add(_ name: String, _ milliseconds: Int64, _ action: @escaping () -> Void = {}) {
                    let due = start + milliseconds * 1_000_000
                    let watch = SocketLoop.Watch(onReady: {}) {
                        seen.value.withLock { $0.append((name, MonotonicClock.now() - due)) }
                        action()
                    }
                    watch.deadline = due
                    watches.append(watch)
                    SocketLoop.shared.add(watch)
                }
                add("second", 20)
                add("first", 5)
                add("moved", 1)
                watches[2].deadline = start + 30_000_000
                add("removed", 25)
                SocketLoop.shared.remove(watches[3])
                add("last", 40) { done.resume() }
                for watch in watches { withExtendedLifetime(watch) {} }
            }
        }
        #expect(seen.value.withLock { $0.map(\.name) } == ["first", "second", "moved", "last"])
        #expect(seen.value.withLock { $0.allSatisfy { $0.late >= 0 } })
    }

    /// An address that refuses and one that does not answer are passed over; the words are the last one's.
    @Test func addressesAreTriedInOrder() async throws {
        let server = try RTMPOddServer(saying: [7])
        defer { server.stop() }
        func resolve(_ host: String, _ port: Int) throws -> SocketAddress {
            try #require(try SocketAddress.resolve(host: host, port: UInt16(port), isNumeric: true).first)
        }
        let (refusing, good) = (try resolve("127.0.0.1", 1), try resolve("127.0.0.1", server.port))
        #expect(await firstEvent(trying: [refusing, refusing, good]) == "received [7]")
        #expect(await firstEvent(trying: [refusing]) == "ended cannot connect to h:9: Connection refused")
        #expect(await firstEvent(trying: []) == "ended cannot connect to h:9: no address")
        #expect(server.accepted == 1)
    }

    private func firstEvent(trying addresses: [SocketAddress]) async -> String {
        await withCheckedContinuation { continuation in
            SocketLoop.shared.perform {
                var answer: CheckedContinuation<String, Never>? = continuation
                var keeper: TCPConnection?
                let connection = TCPConnection(
                    Destination(scheme: "rtmp", host: "h", port: 9, limits: nil), loop: .shared, timeout: 5
                ) { event in
                    let words: String? =
                        switch event {
                        case .connected: nil
                        case .received(let bytes, _): "received \(Array(bytes))"
                        case .ended(let fault): "ended \(fault?.words ?? "")"
                        }
                    guard let words else { return }
                    keeper?.close()
                    keeper = nil
                    answer.take()?.resume(returning: words)
                }
                keeper = connection
                connection.open(trying: addresses)
            }
        }
    }
}
