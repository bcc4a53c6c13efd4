import Foundation
import RTMP
import Synchronization
import Testing

@testable import ProgramRelay

/// Sockets and processes of a relay, which are served by the socket loop.
@Suite(.timeLimit(.minutes(3))) struct SocketChannelTests {
    /// Two ends of a connection, each with a record of its events.
    private final class Ends: Sendable {
        struct Seen {
            var bytes: [UInt8] = []
            var closings = 0
            var sendings = 0
        }
        let seen = Mutex<[Seen]>([Seen(), Seen()])

        func channel(_ descriptor: Int32, _ index: Int) -> SocketChannel {
            SocketChannel(
                descriptor: descriptor,
                onBytes: { [self] bytes in
                    #expect(SocketLoop.shared.isCurrent)
                    seen.withLock { $0[index].bytes += bytes }
                },
                onSent: { [self] in seen.withLock { $0[index].sendings += 1 } },
                onClosed: { [self] in seen.withLock { $0[index].closings += 1 } })
        }

        subscript(_ index: Int) -> Seen { seen.withLock { $0[index] } }
    }

    private func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// Waits for a condition, 30 s at most.
    private func wait(_ what: String, until condition: () -> Bool) async throws {
        for _ in 0..<6_000 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("never: \(what)")
        throw CancellationError()
    }

    @Test func bytesOfAnySizeArriveInOrderBothWays() async throws {
        let ends = Ends()
        let (one, other) = try pair()
        let (here, there) = (ends.channel(one, 0), ends.channel(other, 1))
        var sent: [UInt8] = []
        for size in [1, 70_000, 3, 2_000_000, 17] {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
            sent += bytes
            here.send(bytes)
            there.send(bytes)
        }
        let expected = sent
        try await wait("everything") { ends[0].bytes.count >= expected.count && ends[1].bytes.count >= expected.count }
        #expect(ends[0].bytes == expected && ends[1].bytes == expected)
        try await wait("nothing pending") { here.pendingBytes == 0 && ends[0].sendings > 0 }
        here.close()
        try await wait("the end") { ends[1].closings == 1 }
        #expect(ends[0].closings == 0, "the owner who closes is not told")
        there.close()
    }

    /// Data that a reader does not read is queued, counted, and sent before the end when it reads again.
    @Test func whatIsQueuedGoesOutBeforeTheEnd() async throws {
        let ends = Ends()
        let (one, other) = try pair()
        let here = ends.channel(one, 0)
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        for _ in 0..<8 { here.send(bytes) }
        try await wait("a full socket") { (1..<8 << 20).contains(here.pendingBytes) }
        here.endWriting()
        here.send([9])
        let there = ends.channel(other, 1)
        try await wait("everything") { ends[1].closings == 1 }
        #expect(ends[1].bytes.count == 8 << 20, "nothing is added after the end")
        #expect(ends[1].bytes.allSatisfy { $0 == 7 })
        // The other direction continues.
        there.send([1, 2, 3])
        try await wait("an answer") { ends[0].bytes == [1, 2, 3] }
        here.finish()
        there.close()
        try await wait("closed") { fcntl(one, F_GETFD) < 0 }
        #expect(ends[0].closings == 0)
    }

    @Test func bytesForNobodyAreLostAndTold() async throws {
        let ends = Ends()
        let (one, other) = try pair()
        let here = ends.channel(one, 0)
        close(other)
        try await wait("told") { ends[0].closings == 1 }
        here.send([1])
        try await wait("lost") { here.pendingBytes == 0 && ends[0].sendings == 1 }
        #expect(ends[0].closings == 1)
        here.close()
    }

    /// A process that cannot be started ends like one that ran: once, and its waiters continue.
    @Test func aProcessThatCannotBeStartedIsTold() async throws {
        let seen = Seen()
        let process = try WorkerProcess(
            executable: URL(filePath: "/none"), arguments: [], onStart: { _ in seen.note("started") },
            onBytes: { _ in seen.note("bytes") }, onExit: { seen.note($0.failure) })
        process.send([1, 2, 3])
        await process.waitForExit()
        #expect(seen.all.count == 1)
        #expect(seen.all.first?.hasPrefix("cannot be started: ") == true)
        #expect(process.processID == nil)
    }

    /// Data sent before the process runs becomes its input, and its start is reported before its output and its end.
    @Test func aProcessIsToldInOrder() async throws {
        let seen = Seen()
        let process = try WorkerProcess(
            executable: URL(filePath: "/bin/sh"), arguments: ["-c", "read line; echo \"got $line\" >&0; exit 3"],
            onStart: { _ in seen.note("started") },
            onBytes: { seen.note(String(decoding: $0, as: UTF8.self)) }, onExit: { seen.note($0.failure) })
        process.send(Array("a line\n".utf8))
        await process.waitForExit()
        #expect(seen.all == ["started", "got a line\n", "exited unexpectedly, exit code 3"])
        #expect(process.processID != nil)
        process.kill()
    }

    private final class Weak: @unchecked Sendable { weak var seen: Seen? }

    /// A process that has ended by itself leaves neither its socket nor what its owner waits with on the loop.
    @Test func aProcessThatHasEndedLeavesNothingOnTheLoop() async throws {
        let left = Weak()
        try await runToItsEnd(left)
        try await wait("released") { left.seen == nil }
    }

    private func runToItsEnd(_ left: Weak) async throws {
        let seen = Seen()
        left.seen = seen
        let process = try WorkerProcess(
            executable: URL(filePath: "/bin/sh"), arguments: ["-c", "exit 0"],
            onBytes: { _ in seen.note("bytes") }, onExit: { _ in })
        await process.waitForExit()
    }

    /// A process that is killed at once does not survive, whether or not it is running already.
    @Test func aProcessThatIsKilledAtOnceEnds() async throws {
        for _ in 0..<10 {
            let seen = Seen()
            let process = try WorkerProcess(
                executable: URL(filePath: "/bin/sleep"), arguments: ["60"], onBytes: { _ in },
                onExit: { seen.note("\($0)") })
            process.kill()
            await process.waitForExit()
            #expect(["not started: it was killed before", "signal 9"].contains(seen.all.joined()))
        }
    }

    private final class Seen: Sendable {
        private let words = Mutex<[String]>([])
        func note(_ word: String) { words.withLock { $0.append(word) } }
        var all: [String] { words.withLock { $0 } }
    }
}
