import NIOCore
import Testing

@testable import RoomService

/// The bandwidth that uploads share. The tests measure minimum durations, which hold on a busy machine too.
struct UploadPaceTests {
    @Test func severalUploadsShareOneLimit() async throws {
        let rate = 1 << 20
        let pace = UploadPace(bytesPerSecond: rate)
        let each = 384 << 10
        let begin = ContinuousClock.now
        let sent = try await withThrowingTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    var count = 0
                    let body = PacedBytes(bytes: ByteBuffer(repeating: 0, count: each), pace: pace) { _ in }
                    for try await chunk in body { count += chunk.readableBytes }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(sent == 2 * each)
        // The first quarter of a second is free.
        #expect(ContinuousClock.now - begin >= .seconds(Double(sent) / Double(rate) - 0.26))
    }

    @Test func aSlowLimitHasItsChunks() async throws {
        // The lowest limit that the configuration accepts: one chunk every four seconds.
        let pace = UploadPace(bytesPerSecond: 16_384)
        try await pace.take(PacedBytes.chunk)
        let waiting = Task { try await pace.take(PacedBytes.chunk) }
        try await Task.sleep(for: .milliseconds(50))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func withoutALimitNothingWaits() async throws {
        var sizes: [Int] = []
        let body = PacedBytes(bytes: ByteBuffer(repeating: 0, count: 200_000), pace: nil) { _ in }
        for try await chunk in body { sizes.append(chunk.readableBytes) }
        #expect(sizes == [65_536, 65_536, 65_536, 3392])
    }
}
