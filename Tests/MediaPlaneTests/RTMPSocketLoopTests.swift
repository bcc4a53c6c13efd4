import EncodedMedia
import Foundation
import Synchronization
import Testing

@testable import RTMP

/// The single thread of all sockets.
@Suite(.timeLimit(.minutes(3))) struct RTMPSocketLoopTests {
    /// A value shared between the loop and the test.
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

    /// Deadlines fire in order, none too early, a deadline that was moved either way only at its new time, and none
    /// after removal.
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
                add("hastened", 60_000)
                watches[4].deadline = start + 35_000_000
                add("last", 40) { done.resume() }
                for watch in watches { withExtendedLifetime(watch) {} }
            }
        }
        let events = seen.value.withLock { $0 }
        let late = events.map { $0.name == "hastened" ? $0.late + 60_000_000_000 - 35_000_000 : $0.late }
        #expect(late.allSatisfy { $0 >= 0 }, "\(events)")
        let order = ["first", "second", "moved", "hastened", "last"]
        #expect(events.map(\.name).sorted() == order.sorted(), "each once: \(events)")
        // On a machine that stands still, several deadlines pass at once, and then have no order.
        if late.allSatisfy({ $0 < 5_000_000 }) { #expect(events.map(\.name) == order, "\(events)") }
    }

    /// Work given to the loop from the loop itself is done at once by `run`, and after the current work by `perform`.
    @Test func workFromTheLoopIsDoneInOrder() async {
        let seen = Box<[String]>([])
        #expect(!SocketLoop.shared.isCurrent)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            SocketLoop.shared.perform {
                SocketLoop.shared.perform {
                    seen.value.withLock { $0.append("performed") }
                    SocketLoop.shared.perform { done.resume() }
                }
                SocketLoop.shared.run {
                    seen.value.withLock { $0.append("run, current \(SocketLoop.shared.isCurrent)") }
                }
                seen.value.withLock { $0.append("outer") }
            }
        }
        #expect(seen.value.withLock { $0 } == ["run, current true", "outer", "performed"])
    }

    /// An actor on the loop.
    private actor Counter {
        nonisolated var unownedExecutor: UnownedSerialExecutor { SocketLoop.shared.asUnownedSerialExecutor() }
        private(set) var seen: [Int] = []
        private(set) var strays = 0

        func count(_ number: Int) {
            seen.append(number)
            if !SocketLoop.shared.isCurrent { strays += 1 }
        }

        /// Counts before and after a suspension in `other`.
        func countAround(_ number: Int, _ other: @Sendable () async -> Void) async {
            count(number)
            await other()
            count(-number)
        }
    }

    @Test func anActorOnTheLoopRunsThere() async {
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 { group.addTask { await counter.count(number) } }
        }
        // Other work on the actor is done during a suspension.
        await counter.countAround(1_000) { await counter.count(1_001) }
        #expect(await counter.seen.prefix(200).sorted() == Array(0..<200))
        #expect(await counter.seen.suffix(3) == [1_000, 1_001, -1_000])
        #expect(await counter.strays == 0)
    }

    /// Watches and work reach an actor on the loop without a task, in the order of the calls.
    @Test func theLoopIsIsolatedToItsActors() async {
        let counter = Counter()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            SocketLoop.shared.perform {
                counter.assumeIsolated { $0.count(1) }
                let watch = SocketLoop.Watch(onReady: {}) {
                    counter.assumeIsolated { $0.count(3) }
                    done.resume()
                }
                watch.deadline = MonotonicClock.now() + 1_000_000
                SocketLoop.shared.add(watch)
                counter.assumeIsolated { $0.count(2) }
            }
        }
        #expect(await counter.seen == [1, 2, 3])
        #expect(await counter.strays == 0)
    }

    /// A relay starts its pulls on the loop. The certificates are read elsewhere, before the connection is made.
    @Test func theSystemsCertificatesAreNotReadOnTheLoop() async throws {
        let address = try RTMPAddress("rtmps://127.0.0.1:1/live/x")
        let readers = Box<[Bool]>([])
        let keeper = Box<RTMPSession?>(nil)
        let words = await withCheckedContinuation { (done: CheckedContinuation<String, Never>) in
            SocketLoop.shared.perform {
                let session = RTMPSession(.play, address, limits: nil, timeouts: .init()) { event in
                    if case .ended(let fault) = event { done.resume(returning: fault.words) }
                } system: {
                    readers.value.withLock { $0.append(SocketLoop.shared.isCurrent) }
                    return .system
                }
                keeper.value.withLock { $0 = session }
                session.start()
            }
        }
        #expect(readers.value.withLock { $0 } == [false])
        #expect(words.contains("Connection refused"))
        await keeper.value.withLock { $0 }?.close()
    }

    /// An address that refuses and one that does not answer are skipped; the error is the last one's.
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
        await TCPConnection.firstEvent(
            of: Destination(scheme: "rtmp", host: "h", port: 9, limits: nil), timeout: 5
        ) { $0.open(trying: addresses) }
    }
}
