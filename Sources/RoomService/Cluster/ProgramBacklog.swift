import NIOCore
import Synchronization

/// The received part of a program of another node that waits for its reader. Thread-safe.
///
/// A program may begin with a group of pictures that is larger than all that may wait: as long as the reader takes
/// something, the other node waits.
final class ProgramBacklog: Sendable {
    /// Number of bytes, and of pieces, from which on nothing more is read.
    static let most = (bytes: 8 << 20, pieces: 1024)
    /// Longest time for which the other node waits.
    static let patience: Duration = .seconds(2)

    private let waiting = Mutex((bytes: 0, pieces: 0))

    var isFull: Bool { waiting.withLock { $0.bytes >= Self.most.bytes || $0.pieces >= Self.most.pieces } }

    func add(_ piece: ByteBuffer) {
        waiting.withLock { $0 = (bytes: $0.bytes + piece.readableBytes, pieces: $0.pieces + 1) }
    }

    /// Removes a piece that the reader has.
    func remove(_ piece: ByteBuffer) {
        waiting.withLock { $0 = (bytes: $0.bytes - piece.readableBytes, pieces: $0.pieces - 1) }
    }

    /// Returns when another piece may wait.
    ///
    /// - Throws: `CancellationError`, also if the reader takes too little for `patience`.
    func waitForSpace(within patience: Duration = ProgramBacklog.patience) async throws {
        guard isFull else { return }
        let end = ContinuousClock.now + patience
        while isFull {
            guard ContinuousClock.now < end else { throw CancellationError() }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
