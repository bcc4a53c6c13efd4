import EncodedMedia
import MixModel

/// Decides which streams may be taken over. Programs that reconnect by themselves, such as two OBS with one stream key, would
/// otherwise replace each other every few seconds for as long as they run. Pure: times are arguments, in ns of a monotonic
/// clock.
///
/// A publisher that takes a stream over from one that was sending holds it for `duration`, and only while it sends itself. One
/// that takes the place of a silent publisher, whose connection may be half-open, holds nothing, as does one of which the
/// ingest does not report whether it sends.
struct TakeoverHolds: Sendable {
    /// Time in ns, from the takeover on, for which a stream is held.
    static let duration: Int64 = 30_000_000_000
    /// Seconds without audio and video after which a publisher counts as silent.
    static let silence = 1.0
    /// Time in ns for which a publisher waits that meets a hold. Longer than the ingest takes to report that the holder is
    /// silent: the holder may be the page that was just reloaded, or the same phone in another network.
    static let patience: Int64 = 1_300_000_000
    /// Maximum number of publishers that are known: twice as many as an ingest has streams.
    static let most = 2048
    /// Maximum number of publishers that wait, in all, of one app and for one stream, so that nobody takes the places of others.
    /// Further ones are refused at once.
    static let mostWaiting = (all: 64, ofApp: 16, ofStream: 4)

    /// The explanation for logs and timelines, which repeat no line with the same words.
    static let held =
        "this stream key was taken over less than \(duration / 1_000_000_000) s ago and is being published"

    private struct Publisher: Sendable {
        let session: String
        var isSending = false
        /// Time at which it took the stream over from a publisher that was sending; `nil` if it did not.
        var tookAt: Int64?
    }

    /// A publisher that waits for the second decision.
    struct Waiting: Sendable {
        let key: IngestStreamKey
        let request: IngestRequest
        /// Process identifier of the ingest that asked.
        let process: Int32
    }

    private var publishers: [IngestStreamKey: Publisher] = [:]
    /// The publishers that wait, by session, with the times of their second decisions.
    private var waiting: [String: (entry: Waiting, until: Int64)] = [:]

    // MARK: - Publishers

    /// Records what the ingest says of a publisher. Reports about one that has been replaced have no effect.
    mutating func heard(_ key: IngestStreamKey, session: String, isSending: Bool) {
        if let known = publishers[key] {
            guard known.session == session else { return }
            publishers[key]?.isSending = isSending
        } else if isSending, publishers.count < Self.most {
            // The service was restarted beside the publisher. How it got the stream is not known.
            publishers[key] = Publisher(session: session, isSending: true)
        }
    }

    /// Records that a publisher has got a stream.
    ///
    /// - Parameter fromSender: Whether it has replaced one that was sending.
    mutating func began(_ key: IngestStreamKey, session: String, fromSender: Bool, now: Int64) {
        if let known = publishers[key] {
            guard known.session != session else { return }
        } else {
            guard publishers.count < Self.most else { return }
        }
        // It counts as sending until the ingest says otherwise: the one that it has replaced may be back before.
        publishers[key] = Publisher(session: session, isSending: fromSender, tookAt: fromSender ? now : nil)
    }

    /// Records that a publisher has ended, or has lost its connection.
    ///
    /// - Parameter present: The publisher that still has the stream, if the one that has left never replaced it.
    mutating func left(_ key: IngestStreamKey, session: String, present: IngestStream? = nil) {
        if publishers[key]?.session == session { publishers[key] = nil }
        // Since when it has the stream is not known any more.
        if let present { heard(key, session: present.session, isSending: present.isSending ?? false) }
    }

    /// Records that the ingest is gone, and with it what it has reported. One that is found again reports it again.
    mutating func lost() { publishers = [:] }

    /// Ends all holds. The publishers are about to be asked to reconnect, and take their own streams over.
    mutating func release() {
        for key in publishers.keys { publishers[key]?.tookAt = nil }
    }

    // MARK: - Decisions

    /// Returns what is known of the stream's publisher.
    func activity(of key: IngestStreamKey, now: Int64) -> PublisherActivity {
        var activity = PublisherActivity()
        guard let publisher = publishers[key], publisher.isSending else { return activity }
        activity.isSending = true
        if let tookAt = publisher.tookAt {
            let age = max(now.saturatingDifference(tookAt), 0)
            if age < Self.duration { activity.hold = TakeoverHold(age: age, left: Self.duration - age) }
        }
        return activity
    }

    /// Has a publisher wait that has met a hold.
    ///
    /// - Returns: Whether it waits; `false` if too many do.
    mutating func wait(_ entry: Waiting, now: Int64) -> Bool {
        // After a reconnection, the ingest repeats its pending requests.
        if waiting[entry.request.session] != nil { return true }
        let keys = waiting.values.map(\.entry.key)
        guard keys.count < Self.mostWaiting.all,
            keys.count(where: { $0.names.room.app == entry.key.names.room.app }) < Self.mostWaiting.ofApp,
            keys.count(where: { $0 == entry.key }) < Self.mostWaiting.ofStream
        else { return false }
        waiting[entry.request.session] = (entry, now.saturatingSum(Self.patience))
        return true
    }

    /// Removes a publisher that has left while it waited, and with it its claim to a second decision.
    mutating func withdrew(_ session: String) { waiting[session] = nil }

    /// Removes and returns the publishers that have waited, in the order of their requests.
    mutating func due(now: Int64) -> [Waiting] {
        let due = waiting.filter { now >= $0.value.until }
        for session in due.keys { waiting[session] = nil }
        return due.values.map(\.entry).sorted { $0.request.request < $1.request.request }
    }
}
