import EncodedMedia
import NIOCore

/// The bandwidth shared by all uploads.
actor UploadPace {
    private var bucket: TokenBucket

    /// - Parameter bytesPerSecond: More than 0.
    init(bytesPerSecond: Int) {
        // A burst of a full second would not limit small files.
        bucket = TokenBucket(
            rate: Double(bytesPerSecond), burst: max(Double(bytesPerSecond) / 4, Double(PacedBytes.chunk)),
            now: MonotonicClock.now())
    }

    /// Waits until `count` bytes may be sent.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func take(_ count: Int) async throws {
        while let wait = bucket.take(Double(count), at: MonotonicClock.now()) {
            try await Task.sleep(for: .nanoseconds(wait))
        }
    }
}

/// A body in chunks, each of which waits for bandwidth.
struct PacedBytes: AsyncSequence, Sendable {
    var bytes: ByteBuffer
    var pace: UploadPace?
    /// Called with the number of bytes of each chunk.
    var onChunk: @Sendable (Int) -> Void

    /// Size of a chunk in bytes.
    static let chunk = 64 << 10

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ByteBuffer
        let pace: UploadPace?
        let onChunk: @Sendable (Int) -> Void

        mutating func next() async throws -> ByteBuffer? {
            guard let chunk = rest.readSlice(length: Swift.min(PacedBytes.chunk, rest.readableBytes)),
                chunk.readableBytes > 0
            else { return nil }
            try await pace?.take(chunk.readableBytes)
            onChunk(chunk.readableBytes)
            return chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: bytes, pace: pace, onChunk: onChunk) }
}
