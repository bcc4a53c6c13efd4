import Foundation
import Synchronization
import Testing

@testable import ProgramRelay

/// Workers notice that their relay is gone.
@Suite(.timeLimit(.minutes(2))) struct RelayLossTests {
    @Test func onlyTheWholeEndCounts() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let isGone = Mutex(false)
        RelayLoss.watch(ends[1]) { isGone.withLock { $0 = true } }
        // Input that nobody reads, and the end of the input, are no loss.
        let bytes: [UInt8] = [1, 2, 3]
        #expect(write(ends[0], bytes, bytes.count) == bytes.count)
        shutdown(ends[0], Int32(SHUT_WR))
        try await Task.sleep(for: .milliseconds(200))
        #expect(!isGone.withLock { $0 })
        close(ends[0])
        #expect(try await outputEventually { isGone.withLock { $0 } })
    }

    @Test func filesAreNotWatched() throws {
        let file = try #require(FileHandle(forReadingAtPath: "/dev/null"))
        RelayLoss.watch(file.fileDescriptor) { Issue.record("a file is no relay") }
    }
}
