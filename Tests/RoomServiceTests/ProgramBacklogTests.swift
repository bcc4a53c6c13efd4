import NIOCore
import Testing

@testable import RoomService

/// The limit of what waits for the reader of another node's program.
@Suite struct ProgramBacklogTests {
    @Test func bytesAreLimited() async throws {
        let backlog = ProgramBacklog()
        let piece = ByteBuffer(repeating: 7, count: ProgramBacklog.most.bytes / 4)
        for _ in 0..<4 {
            try await backlog.waitForSpace(within: .zero)
            backlog.add(piece)
        }
        #expect(backlog.isFull)
        await #expect(throws: CancellationError.self) { try await backlog.waitForSpace(within: .milliseconds(20)) }
        backlog.remove(piece)
        try await backlog.waitForSpace(within: .zero)
    }

    @Test func smallPiecesAreLimited() async throws {
        let backlog = ProgramBacklog()
        let piece = ByteBuffer(repeating: 7, count: 1)
        for _ in 0..<ProgramBacklog.most.pieces {
            #expect(!backlog.isFull)
            backlog.add(piece)
        }
        #expect(backlog.isFull)
        async let space: Void = backlog.waitForSpace(within: .seconds(60))
        backlog.remove(piece)
        try await space
        #expect(!backlog.isFull)
    }
}
