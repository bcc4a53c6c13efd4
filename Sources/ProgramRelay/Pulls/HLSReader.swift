import EncodedMedia
import Foundation
import MediaFormats
import RTMP
import TextFormats

/// Fetches the segments of an HLS playlist one after another.
///
/// Every address (of the playlist, its variant, segments, keys and redirects) is checked before a connection, and
/// connections go to exactly the checked address.
struct HLSReader {
    /// A piece of the stream for the demuxer.
    struct Piece: Sendable {
        var bytes: [UInt8]
        /// The initialization section, for a demuxer that begins with the piece; empty for MPEG-TS.
        var map: [UInt8]
        /// Whether the demuxer of the previous piece cannot read this one.
        var beginsAnew: Bool
    }

    /// Largest segment in bytes: 10 s of 50 Mbit/s.
    static let longestSegment = 64 << 20
    /// Pause after a request that failed, in seconds.
    static let pause = 0.5

    /// Faults that may be temporary. An unreadable playlist may have been read while it was being written.
    private static let passing: Set<PullEnd.Kind> = [.unreachable, .timedOut, .lost, .refused, .protocolViolation]

    /// Called with a fault that is retried, and with `nil` once it is over.
    let onTrouble: @Sendable (PullEnd?) -> Void

    private let limits: Destination.Limits?
    private let redaction: URLRedaction
    private var follower = PlaylistFollower()
    /// URL of the playlist.
    private var url: String
    /// URL from which its newest version was loaded.
    private var base = ""
    private var isVariant = false
    private var hasPlaylist = false
    private var loadedAt: Int64?
    private var key: (url: String, bytes: [UInt8])?
    private var map: (resource: ReceivedSegment.Resource, bytes: [UInt8])?
    /// URL of the playlist that contains the audio; `nil` if this one contains it.
    private var sound: String?
    private let connections = HTTPConnections()

    init(_ url: String, limits: Destination.Limits?, onTrouble: @escaping @Sendable (PullEnd?) -> Void) {
        (self.url, self.limits, self.onTrouble) = (url, limits, onTrouble)
        redaction = URLRedaction(url)
    }

    /// Loads the playlist for the first time.
    ///
    /// - Returns: URL of the playlist that contains the audio; `nil` if this one contains it.
    /// - Throws: `PullEnd` if there is no playable playlist.
    mutating func begin() async throws(PullEnd) -> String? {
        loadedAt = MonotonicClock.now()
        try await load()
        return sound
    }

    /// Returns the next piece; `nil` at the end of the playlist, or when its task is cancelled.
    ///
    /// - Throws: `PullEnd` if the playlist cannot be played. Temporary faults, such as an unreachable server, are
    ///   retried.
    mutating func next() async throws(PullEnd) -> Piece? {
        while !Task.isCancelled {
            do throws(PullEnd) {
                switch follower.step() {
                case .ended: return nil
                case .load(let seconds):
                    if let loadedAt { await Self.sleep(until: loadedAt + Int64(seconds * 1e9)) }
                    loadedAt = MonotonicClock.now()
                    try await load()
                    onTrouble(nil)
                case .fetch(let segment, let beginsAnew):
                    let piece = try await fetch(segment, beginsAnew)
                    follower.fetched(segment)
                    onTrouble(nil)
                    return piece
                }
            } catch {
                guard hasPlaylist, Self.passing.contains(error.kind) else { throw error }
                onTrouble(error)
                await Self.sleep(until: MonotonicClock.now() + Int64(Self.pause * 1e9))
                try await recover(from: error)
            }
        }
        return nil
    }

    /// Reloads the playlist after a failure, in case it no longer contains the missing segment.
    private mutating func recover(from error: PullEnd) async throws(PullEnd) {
        if error.kind == .refused, case .fetch = follower.step() { follower.refused() }
        do throws(PullEnd) {
            loadedAt = MonotonicClock.now()
            try await load()
            if case .load = follower.step() { onTrouble(nil) }
        } catch {
            guard Self.passing.contains(error.kind) else { throw error }
        }
    }

    private static func sleep(until time: Int64) async {
        try? await Task.sleep(for: .nanoseconds(max(0, time - MonotonicClock.now())))
    }

    private mutating func load() async throws(PullEnd) {
        let (response, final) = try await get(url, limit: ReceivedPlaylist.longest, "the playlist")
        let playlist: ReceivedPlaylist
        do throws(ReceivedPlaylist.Failure) { playlist = try ReceivedPlaylist(response.body) } catch {
            throw PullEnd(.protocolViolation, "the playlist \(error)")
        }
        switch playlist {
        case .media(let segments):
            // A redirect may lead elsewhere the next time, but segments are relative to its current target.
            base = final
            hasPlaylist = true
            follower.took(segments, secondsUnchanged: response.secondsUnchanged)
        case .master(let variants):
            guard !isVariant else { throw PullEnd(.protocolViolation, "a variant of the playlist has variants itself") }
            guard let variant = ReceivedVariant.choose(variants) else {
                throw PullEnd(.protocolViolation, "the playlist has no variants")
            }
            url = try resolve(variant.uri, against: final)
            if let reference = variant.sound { sound = try resolve(reference, against: final) }
            isVariant = true
            try await load()
        }
    }

    private mutating func fetch(_ segment: ReceivedSegment, _ beginsAnew: Bool) async throws(PullEnd) -> Piece {
        if let wanted = segment.map, map?.resource != wanted {
            map = (wanted, try await fetch(wanted, vector: segment.vector))
        }
        let bytes = try await fetch(segment.resource, vector: segment.vector)
        return Piece(bytes: bytes, map: segment.map == nil ? [] : map?.bytes ?? [], beginsAnew: beginsAnew)
    }

    private mutating func fetch(
        _ resource: ReceivedSegment.Resource, vector: [UInt8]
    ) async throws(PullEnd) -> [UInt8] {
        let url = try resolve(resource.uri, against: base)
        let bytes = try await get(url, limit: Self.longestSegment, range: resource.range, "a segment").response.body
        guard let wanted = resource.key else { return bytes }
        let place = try resolve(wanted.uri, against: base)
        if key?.url != place {
            key = (place, try await get(place, limit: 1024, "the key of a segment").response.body)
        }
        guard let key = key?.bytes, let plain = TLSCipher.decrypted(bytes, key: key, vector: vector) else {
            self.key = nil
            throw PullEnd(.refused, "a segment cannot be decrypted with the key that the server gave")
        }
        return plain
    }

    /// Returns a reference with everything percent-encoded that URLs cannot have. Playlists name files as they are, also with
    /// spaces and in UTF-8.
    static func encoded(_ reference: String) -> String {
        let blank: [UInt8] = [0x20, 0x09]
        var bytes = Array(reference.utf8)[...].drop { blank.contains($0) }
        while let last = bytes.last, blank.contains(last) { bytes = bytes.dropLast() }
        return bytes.reduce(into: "") { text, byte in
            if 0x21...0x7E ~= byte {
                text.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                text += "%" + Hexadecimal.text([byte])
            }
        }
    }

    private func resolve(_ reference: String, against base: String) throws(PullEnd) -> String {
        guard let url = HTTPRedirect.resolve(Self.encoded(reference), against: base) else {
            throw PullEnd(.protocolViolation, "the playlist names an address that is not one of HTTP")
        }
        return url
    }

    private func get(
        _ url: String, limit: Int, range: Range<Int64>? = nil, _ what: String
    ) async throws(PullEnd) -> (response: HTTPResponse, url: String) {
        try await HTTPExchange.get(
            url, limits: limits, limit: limit, range: range, what, redaction, connections: connections)
    }
}
