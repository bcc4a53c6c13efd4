import Foundation
import Synchronization
import TestSupport

@testable import MediaFormats
@testable import RTMP

/// A tag that is sent at a time which need not be that of its timestamp.
struct PacedTag: Sendable {
    var tag: FLVTag
    /// Time from the beginning of a connection until the tag is sent, in ms.
    var due: UInt32

    /// Creates a tag that is sent at its timestamp.
    init(_ tag: FLVTag) {
        self.tag = tag
        due = tag.timestamp
    }
}

/// Serves streams as HTTP-FLV on loopback, each from its beginning and in real time.
final class HTTPFLVServer: Sendable {
    private let acceptor: LoopbackAcceptor
    private let accepting: Task<Void, Never>

    var port: Int { acceptor.port }

    /// - Parameter tags: Tags of a name, requested for each connection.
    init(tags: @escaping @Sendable (String) -> [PacedTag]) throws {
        acceptor = LoopbackAcceptor(try LoopbackListener())
        let (connections, arrived) = AsyncStream.makeStream(of: Int32.self)
        accepting = Task {
            await withDiscardingTaskGroup { group in
                for await connection in connections {
                    group.addTask { await Self.serve(connection, tags) }
                }
                group.cancelAll()
            }
        }
        acceptor.start { arrived.yield($0) }
    }

    func stop() {
        accepting.cancel()
        acceptor.stop()
    }

    private static func serve(_ descriptor: Int32, _ tags: @Sendable (String) -> [PacedTag]) async {
        let (bytes, arrived) = AsyncStream.makeStream(of: [UInt8].self)
        let client = Client()
        let channel = SocketChannel(
            descriptor: descriptor, onBytes: { arrived.yield($0) },
            onClosed: {
                client.isGone.store(true, ordering: .relaxed)
                arrived.finish()
            })
        defer { channel.close() }
        var request: [UInt8] = []
        for await more in bytes {
            request += more
            if String(decoding: request, as: UTF8.self).contains("\r\n\r\n") { break }
        }
        let path = String(decoding: request, as: UTF8.self).split(separator: " ").dropFirst().first ?? "/"
        let playing = tags(String(path.dropFirst()))
        let head = "HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\nConnection: close\r\n\r\n"
        channel.send(Array(head.utf8) + FLVTag.fileHeader)
        let start = ContinuousClock.now
        for tag in playing {
            try? await Task.sleep(until: start + .milliseconds(tag.due))
            guard !Task.isCancelled, !client.isGone.load(ordering: .relaxed) else { return }
            channel.send(tag.tag.encoded)
        }
    }

    private final class Client: Sendable {
        let isGone = Atomic(false)
    }
}
