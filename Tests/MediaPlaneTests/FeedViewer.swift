import EncodedMedia
import MediaFormats
import MixModel
import Synchronization

@testable import RTMP

/// A viewer of a program at its relay's socket, in the role of a worker.
final class FeedViewer: Sendable {
    struct Tag: Sendable {
        var tag: FLVTag
        var arrival: Int64
    }

    private let shared = Shared()
    private let feed: ProgramFeed

    private final class Shared: Sendable { let tags = Mutex<[Tag]>([]) }

    init(_ socket: String) throws {
        feed = ProgramFeed(
            path: socket, request: try RelayCommand.viewFLV(keyframeRequests: true).document(),
            keyframeRequest: try RelayCommand.requestKeyframe.document()
        ) { [shared] event in
            guard case .tags(let tags) = event else { return }
            let now = MonotonicClock.now()
            shared.tags.withLock { $0 += tags.map { Tag(tag: $0, arrival: now) } }
        }
        SocketLoop.shared.perform { [feed] in feed.open() }
    }

    var tags: [Tag] { shared.tags.withLock { $0 } }
    var keyframes: [Tag] { tags.filter(\.tag.isIDR) }
    var pictures: [Tag] { tags.filter { if case .frame(.video, _) = $0.tag.role { true } else { false } } }

    /// - Returns: The time of the request.
    @discardableResult func requestKeyframe() -> Int64 {
        let now = MonotonicClock.now()
        SocketLoop.shared.perform { [feed] in feed.requestKeyframe() }
        return now
    }

    func stop() { SocketLoop.shared.perform { [feed] in feed.close() } }
}
