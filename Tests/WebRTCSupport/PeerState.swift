import GStreamerKit

/// The state of a peer's signalling and connection, from its events.
package struct PeerState: Sendable {
    /// The local description without candidates; `nil` before it is in force.
    package private(set) var described: String?
    /// Local candidates so far.
    package private(set) var candidates: [String] = []
    /// Whether no further candidate follows.
    package private(set) var isGathered = false
    package private(set) var isConnected = false
    /// Reason of the latest failure, if any.
    package private(set) var failure: String?

    package init() {}

    /// Takes the next event of the peer.
    package mutating func note(_ event: WebRTCPeer.Event) {
        switch event {
        case .described(let text): described = text
        case .candidate(_, let text): candidates.append(text)
        case .gathered: isGathered = true
        case .connection(let connection): isConnected = connection == .connected
        case .untrusted: failure = "the other side has another certificate"
        case .keyframeRequested: break
        case .failed(let reason): failure = reason
        }
    }

    /// Returns the local description, followed by the candidates so far if these are to be named.
    package func description(namingCandidates namesCandidates: Bool = true) -> String {
        (described ?? "") + (namesCandidates ? candidates.map { "a=\($0)\r\n" }.joined() : "")
    }
}
