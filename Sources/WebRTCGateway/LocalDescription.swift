import GStreamerKit
import MediaFormats
import MixModel

/// The description of this side while its candidates are gathered. It is sent with all of them, because nothing can
/// follow it. Pure; times are in ns of a monotonic clock.
struct LocalDescription: Sendable {
    /// Time for gathering candidates: those of the machine's own addresses are available at once, those from servers
    /// take a round trip or more.
    private static let limit: Int64 = 250_000_000
    private static let limitWithServers: Int64 = 1_000_000_000
    /// Time after which a machine without any candidate counts as having no address.
    private static let patience: Int64 = 5_000_000_000

    enum Outcome: Hashable, Sendable {
        case ready(String)
        /// No candidate makes this machine reachable.
        case noAddress

        static let words =
            "This machine has no address that the client may be told: set webrtc.publicAddress to the address that "
            + "clients connect to, or webrtc.turn, or webrtc.privateAddresses: all if clients reach its private ones, or "
            + "webrtc.addresses: [127.0.0.1] if it has no network and all clients are on it."
    }

    private let limit: Int64
    private let complete: @Sendable (String, [LocalCandidates.Candidate]) -> String?
    private var made: (text: String, time: Int64)?
    private var candidates: [LocalCandidates.Candidate] = []
    private var isDone = false
    private var isTold = false

    /// - Parameter complete: Returns the text to send, from the created one and the candidates; `nil` if none of them
    ///   makes this machine reachable.
    init(network: WebRTCNetwork, complete: @escaping @Sendable (String, [LocalCandidates.Candidate]) -> String?) {
        limit = network.stun != nil || !network.turn.isEmpty ? Self.limitWithServers : Self.limit
        self.complete = complete
    }

    /// Whether the description exists, so that remote candidates can be added.
    var isMade: Bool { made != nil }

    mutating func take(_ event: WebRTCPeer.Event, now: Int64) {
        switch event {
        case .described(let text): made = (text, now)
        case .candidate(let section, let text):
            guard candidates.count < LocalCandidates.most else { break }
            candidates.append(LocalCandidates.Candidate(section: section, text: text))
        case .gathered: isDone = true
        case .connection, .untrusted, .keyframeRequested, .failed: break
        }
    }

    /// Returns the outcome, once; `nil` before it is known. Call it after each event and about every 50 ms.
    mutating func outcome(now: Int64) -> Outcome? {
        guard let made, !isTold, isDone || now - made.time >= limit else { return nil }
        if let text = complete(made.text, candidates) {
            isTold = true
            return .ready(text)
        }
        guard isDone || now - made.time >= Self.patience else { return nil }
        isTold = true
        return .noAddress
    }
}
