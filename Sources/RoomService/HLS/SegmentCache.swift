import Foundation
import NIOCore
import NIOPosix

/// A cache of segments for viewers.
///
/// A segment is read once and shared by all viewers that request it. The least recently used segments are dropped
/// first. Files never change.
package actor SegmentCache {
    private struct Entry {
        var buffer: ByteBuffer
        var usedAt: Int
    }

    private var entries: [String: Entry] = [:]
    private var reading: [String: Task<ByteBuffer?, Never>] = [:]
    private var bytes = 0
    private var uses = 0
    private let limit: Int

    /// - Parameter limit: Maximum size of all segments that are kept, in bytes.
    package init(limit: Int = 64 << 20) { self.limit = limit }

    /// Returns a segment, or `nil` if the file does not exist or cannot be read.
    package func segment(_ path: String) async -> ByteBuffer? {
        uses += 1
        if let entry = entries[path] {
            entries[path]?.usedAt = uses
            return entry.buffer
        }
        // Clients that ask in the meantime share the same read.
        if let task = reading[path] { return await task.value }
        let task = Task { await Self.read(path) }
        reading[path] = task
        let buffer = await task.value
        reading[path] = nil
        if let buffer { keep(buffer, path) }
        return buffer
    }

    private func keep(_ buffer: ByteBuffer, _ path: String) {
        guard buffer.readableBytes <= limit / 2 else { return }
        entries[path] = Entry(buffer: buffer, usedAt: uses)
        bytes += buffer.readableBytes
        while bytes > limit, let oldest = entries.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            bytes -= oldest.value.buffer.readableBytes
            entries[oldest.key] = nil
        }
    }

    /// Reads a whole regular file on a thread outside the cooperative pool.
    package static func read(_ path: String) async -> ByteBuffer? {
        try? await NIOThreadPool.singleton.runIfActive { () -> ByteBuffer? in
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var info = stat()
            guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
            var buffer = ByteBuffer()
            buffer.reserveCapacity(Int(info.st_size))
            var isEnd = false
            while !isEnd {
                let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 64 << 10) {
                    max(0, Foundation.read(descriptor, $0.baseAddress, $0.count))
                }
                isEnd = count == 0
            }
            return buffer.readableBytes == Int(info.st_size) ? buffer : nil
        }
    }
}
