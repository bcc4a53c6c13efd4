import EncodedMedia
import MediaFormats
import RTMP

/// A stream with its players and the tags for them. Belongs to the socket loop.
///
/// A class, because tags change it in place many times a second.
final class RelayedStream {
    private(set) var cache: TagCache
    private var times = StreamTimes()
    private var players: [Int: Player] = [:]
    /// Tags that have not been sent to players yet; empty if there are no players.
    private var waiting: [OutputTag] = []
    /// Whether a player has needed a keyframe since the last request to the publisher, and none has come.
    private var isKeyframeWanted = false
    /// Time in ns before which the publisher receives no further keyframe request.
    private var quietUntil: Int64 = 0
    /// Time in ns before which it need not be noted that the publisher sends.
    private var knownUntil: Int64 = 0

    /// Shortest time in ns between two keyframe requests, regardless of the number of players that need one.
    static let keyframePause: Int64 = 250_000_000
    /// Shortest time in ns between two notes that the publisher sends.
    static let noticePause: Int64 = 100_000_000

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

    /// Prepares for another publisher.
    func restart() {
        times.restart()
        cache = TagCache()
        for player in players.values { player.flow.restart() }
    }

    /// Adds an accepted player, and sends it what it needs to start.
    func add(_ client: IngestClient, now: Int64) {
        let preamble = cache.preamble(at: times.timestamp(at: now))
        players[client.id] = Player(client, PlayerFlow(waitsForKeyframe: cache.hasPictures && cache.group.isEmpty))
        client.send(Self.joined(preamble, stream: client.session.stream))
    }

    func remove(_ client: IngestClient) { players[client.id] = nil }

    /// Records that a player needs a keyframe. The next one serves all players.
    func wantKeyframe() { isKeyframeWanted = true }

    /// Returns whether the publisher must be asked for a keyframe now. A request that comes too soon after another one
    /// waits: call this again after the publisher's next tags.
    func passesKeyframeRequest(now: Int64) -> Bool {
        guard isKeyframeWanted, now >= quietUntil else { return false }
        isKeyframeWanted = false
        quietUntil = now.saturatingSum(Self.keyframePause)
        return true
    }

    /// Returns whether it must be noted now that audio or video has arrived. Not at each read, of which a publisher causes a
    /// hundred in a second: what is noted is up to `noticePause` older than the last frame.
    func passesNotice(now: Int64) -> Bool {
        guard now >= knownUntil else { return false }
        knownUntil = now.saturatingSum(Self.noticePause)
        return true
    }

    /// Accepts a tag of the publisher. Call `flush` once all tags of one read are accepted.
    ///
    /// - Parameter cacheBytes: Largest size in bytes of the cached group of pictures.
    func take(_ tag: FLVTag, cacheBytes: Int, now: Int64) {
        var tag = tag
        let isFrame = if case .frame = tag.role { true } else { false }
        tag.timestamp = times.map(tag.timestamp, isFrame: isFrame, now: now)
        cache.limits.bytes = cacheBytes
        cache.append(tag)
        if tag.isIDR { isKeyframeWanted = false }
        if !players.isEmpty { waiting.append(OutputTag(tag)) }
    }

    /// Tells the players that nothing comes until a publisher returns. Call `flush` afterwards.
    func pause(now: Int64) {
        var metadata = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
        metadata.isPaused = true
        let tag = FLVTag(role: .metadata, timestamp: times.timestamp(at: now), body: metadata.body)
        cache.append(tag)
        if !players.isEmpty { waiting.append(OutputTag(tag)) }
    }

    /// Sends the accepted tags to the players.
    ///
    /// - Returns: Players to disconnect because they read too slowly.
    func flush(now: Int64) -> [IngestClient] {
        guard !waiting.isEmpty else { return [] }
        let tags = waiting
        waiting = []
        var lost: [IngestClient] = []
        // All players that keep up get the same bytes, in one write.
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

    /// Returns the tags as RTMP messages. Each common message is encoded once for all players.
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
