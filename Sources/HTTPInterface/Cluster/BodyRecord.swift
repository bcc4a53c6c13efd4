import Hummingbird
import NIOCore
import Synchronization

/// The body of a request, recorded while it is read, so that the request can be passed on afterwards.
///
/// `@unchecked Sendable` is not needed: the state locks itself. The reader bounds the size of the body.
final class BodyRecord: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private struct State {
        var pieces: [ByteBuffer] = []
        var hasBegun = false
        var hasEnded = false
    }
    private let body: RequestBody
    private let state = Mutex(State())

    init(_ body: RequestBody) { self.body = body }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let record: BodyRecord
        fileprivate var base: RequestBody.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            let piece = try await base.next()
            record.state.withLock { state in
                if let piece { state.pieces.append(piece) } else { state.hasEnded = true }
            }
            return piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        state.withLock { $0.hasBegun = true }
        return AsyncIterator(record: self, base: body.makeAsyncIterator())
    }

    /// Returns the whole body: the recorded one, or the one read now if nothing has been read.
    ///
    /// - Throws: `HTTPProblem` if it is longer than `limit` bytes, or was read in part.
    func whole(upTo limit: Int) async throws -> ByteBuffer {
        let read = state.withLock { $0 }
        guard read.hasBegun else {
            do {
                return try await body.collect(upTo: limit)
            } catch is NIOTooManyBytesError {
                throw HTTPProblem.bodyTooLarge(limit)
            }
        }
        guard read.hasEnded else { throw HTTPProblem.bodyTooLarge(limit) }
        var whole = ByteBuffer()
        for var piece in read.pieces { whole.writeBuffer(&piece) }
        return whole
    }
}
