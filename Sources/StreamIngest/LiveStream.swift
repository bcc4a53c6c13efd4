import EncodedMedia
import MediaFormats
import RTMP

/// One stream: what its players get, and who they are. Belongs to the socket loop.
///
/// A class, because tags change it in place many times a second.
final class LiveStream {
    private(set) var cache: TagCache
    private var times = StreamTimes()
    private var players: [Int: Player] = [:]
    /// What players have not been sent yet; nothing is kept where there are none.
    private var waiting: [OutputTag] = []
    /// Time in ns before which the publisher is not asked for another keyframe.
    private var quietUntil: Int64 = 0

    /// Shortest time in ns between two requests for a keyframe, however many players need one.
    static let keyframePause: Int64 = 250_000_000

    private final class Player {
        let client: IngestClient
        var flow: PlayerFlow

        init(_ client: IngestClient, _ flow: PlayerFlow) {
            self.client = client
            self.flow = flow
        }
    }

    init() { cache = TagCache() }

    var isUnwatched: Bool { players.isEmpty }
    var playerCount: Int { players.count }
    var clients: [IngestClient] { players.values.map(\.client) }

    /// Begins with another publisher.
    func restart() {
        times.restart()
        cache = TagCache()
        for player in players.values { player.flow.restart() }
    }

    /// Adds an accepted player and sends it what it needs to begin.
    func add(_ client: IngestClient, now: Int64) {
        let preamble = cache.preamble(at: times.timestamp(at: now))
        players[client.id] = Player(client, PlayerFlow(waitsForKeyframe: cache.hasPictures && cache.group.isEmpty))
        client.send(Self.joined(preamble, stream: client.session.stream))
    }

    func remove(_ client: IngestClient) { players[client.id] = nil }

    /// Returns whether the publisher is to be asked for a keyframe that a player needs now.
    func passesKeyframeRequest(now: Int64) -> Bool {
        guard now >= quietUntil else { return false }
        quietUntil = now.saturatingSum(Self.keyframePause)
        return true
    }

    /// Takes a tag of the publisher. `flush` has to follow when all that one read has brought is taken.
    ///
    /// - Parameter cacheBytes: Most bytes of the group of pictures that is kept.
    func take(_ tag: FLVTag, cacheBytes: Int, now: Int64) {
        var tag = tag
        let isFrame = if case .frame = tag.role { true } else { false }
        tag.timestamp = times.map(tag.timestamp, isFrame: isFrame, now: now)
        cache.limits.bytes = cacheBytes
        cache.append(tag)
        if !players.isEmpty { waiting.append(OutputTag(tag)) }
    }

    /// Passes on what was taken.
    ///
    /// - Returns: Players that read too slowly to be kept.
    func flush(now: Int64) -> [IngestClient] {
        guard !waiting.isEmpty else { return [] }
        let tags = waiting
        waiting = []
        var lost: [IngestClient] = []
        // Players that read all get the same bytes, in one write.
        var shared: [UInt8]?
        for player in players.values {
            let queued = player.client.queued
            if player.flow.isPlain, queued == 0, player.client.session.stream == RTMPServerSession.usualStream {
                if shared == nil { shared = Self.joined(tags, stream: RTMPServerSession.usualStream) }
                if let shared { player.client.send(shared) }
            } else if !push(tags, to: player, queued, now) {
                lost.append(player.client)
            }
        }
        return lost
    }

    /// - Returns: Whether the player is kept.
    private func push(_ tags: [OutputTag], to player: Player, _ queued: Int, _ now: Int64) -> Bool {
        var chosen: [OutputTag] = []
        for tag in tags {
            switch player.flow.decide(tag, queued: queued, hasVideo: cache.hasPictures, now: now) {
            case .send: chosen.append(tag)
            case .sendWithHeaders: chosen += cache.headers(at: tag.timestamp) + [tag]
            case .leaveOut: break
            case .disconnect: return false
            }
        }
        player.client.send(Self.joined(chosen, stream: player.client.session.stream))
        return true
    }

    /// Returns the tags as RTMP messages. Each usual message is made once for all players.
    private static func joined(_ tags: [OutputTag], stream: UInt32) -> [UInt8] {
        func bytes(_ tag: OutputTag) -> [UInt8] {
            stream == RTMPServerSession.usualStream
                ? tag.message { RTMPServerSession.encode(tag.tag, stream: stream) }
                : RTMPServerSession.encode(tag.tag, stream: stream)
        }
        if tags.count == 1, let only = tags.first { return bytes(only) }
        return tags.reduce(into: []) { $0 += bytes($1) }
    }
}
