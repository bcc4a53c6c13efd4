import EncodedMedia
import MediaFormats
import MixModel
import Synchronization

@testable import RTMP

/// A viewer of a program at its relay's socket, in the role of a worker.
final class ProgramViewer: Sendable {
    struct Tag: Sendable {
        var tag: FLVTag
        var arrival: Int64
    }

    private let shared = Shared()
    private let client: ProgramClient

    private final class Shared: Sendable {
        let tags = Mutex<[Tag]>([])
        let news = Mutex((begun: 0, hasEnded: false))
    }

    init(_ socket: String, detour: ProgramClient.Detour? = nil) throws {
        client = ProgramClient(
            path: socket, request: try RelayCommand.viewFLV(keyframeRequests: true).document(),
            keyframeRequest: try RelayCommand.requestKeyframe.document(), detour: detour
        ) { [shared] event in
            switch event {
            case .began: shared.news.withLock { $0.begun += 1 }
            case .tags(let tags):
                let now = MonotonicClock.now()
                shared.tags.withLock { $0 += tags.map { Tag(tag: $0, arrival: now) } }
            case .ended: shared.news.withLock { $0.hasEnded = true }
            }
        }
        SocketLoop.shared.perform { [client] in client.open() }
    }

    /// Number of times that the program has begun.
    var begun: Int { shared.news.withLock { $0.begun } }
    var hasEnded: Bool { shared.news.withLock { $0.hasEnded } }
    var tags: [Tag] { shared.tags.withLock { $0 } }
    var keyframes: [Tag] { tags.filter(\.tag.isIDR) }
    var pictures: [Tag] { tags.filter { if case .frame(.video, _) = $0.tag.role { true } else { false } } }

    /// - Returns: The time of the request.
    @discardableResult func requestKeyframe() -> Int64 {
        let now = MonotonicClock.now()
        SocketLoop.shared.perform { [client] in client.requestKeyframe() }
        return now
    }

    func stop() { SocketLoop.shared.perform { [client] in client.close() } }
}
