/// A message from the orchestrator to a WebRTC worker: one JSON object per line on the worker's Unix socket.
public enum WebRTCCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. A worker of another version answers `.refused`.
    case hello(version: Int)
    /// Processes a publisher's offer; only once in the life of a worker. `.answered` or `.refused` follows.
    case publish(WebRTCPublisher)
    /// Adds candidates found by the client since its offer.
    ///
    /// - Parameter fragment: A fragment of a session description (RFC 8840 §9), at most `longestFragment` bytes long.
    case candidates(fragment: String)
    /// Restarts ICE with the client's new name and password. `.restarted` or `.refused` follows.
    ///
    /// - Parameter fragment: As for `.candidates`; contains `a=ice-ufrag` and `a=ice-pwd`.
    case restart(fragment: String)
    /// Closes the connection and unpublishes the stream, then ends the process.
    case terminate

    public static let version = 1
    /// Longest line in either direction, in bytes: a session description whose every byte is escaped.
    public static let longestLine = 1 << 19
    /// Largest session description, in bytes.
    public static let longestDescription = 64 << 10
    /// Largest fragment, in bytes.
    public static let longestFragment = 16 << 10
}

/// A message from a WebRTC worker to the orchestrator: one JSON object per line.
public enum WebRTCReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`. The worker's current state follows: nothing before its offer, otherwise `.connected` if
    /// it is.
    case hello(version: Int, process: Int32)
    /// - Parameter reason: Explanation for the publisher, with the remedy, without secrets.
    case refused(reason: String)
    /// - Parameter answer: The session description of the answer, with all candidates of this side.
    case answered(answer: String)
    /// - Parameter fragment: The new name and password of this side, with its candidates.
    case restarted(fragment: String)
    /// Media can flow: ICE and DTLS are up.
    case connected
    /// The worker ends: the client left, was silent for too long, or its stream was refused.
    ///
    /// - Parameters:
    ///   - reason: Explanation for the timeline, without secrets.
    ///   - cause: The kind of end; `nil` from workers of earlier releases, whose words say it.
    case ended(reason: String, cause: WebRTCEndCause? = nil)
    /// Sent every few seconds while media flow.
    case figures(WebRTCFigures)

    /// The beginning of the reason of `ended` if the ingest refused the stream, or gave its place to another publisher.
    /// The ingest's words follow. Services of earlier releases tell these ends from others by it.
    public static let notTaken = "the stream was not taken: "
}

/// The kind of end of a publication. Open-ended: a worker may be of a later release than its reader.
public struct WebRTCEndCause: RawRepresentable, Hashable, Codable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Another publisher has taken the stream.
    public static let streamReplaced = WebRTCEndCause(rawValue: "stream_replaced")
    /// The ingest has not accepted the stream.
    public static let streamRefused = WebRTCEndCause(rawValue: "stream_refused")
    /// The end has nothing to do with the ingest's decision.
    public static let other = WebRTCEndCause(rawValue: "other")
}

/// A publisher's offer, and the destination of its stream.
public struct WebRTCPublisher: Hashable, Codable, Sendable {
    /// The session description of the offer, at most `WebRTCCommand.longestDescription` bytes long.
    public var offer: String
    /// RTMP URL to which the stream is published. Contains a code.
    public var target: String
    public var network: WebRTCNetwork
    /// Bit rate in bit/s at which a sender is asked to start; `nil` = up to the sender.
    public var startBitRate: Int?
    /// Seconds without a packet after which a connected publisher counts as gone.
    public var silence: Double

    public init(
        offer: String, target: String, network: WebRTCNetwork, startBitRate: Int? = 2_500_000, silence: Double = 3
    ) {
        self.offer = offer
        self.target = target
        self.network = network
        self.startBitRate = startBitRate
        self.silence = silence
    }
}

/// The addresses at which WebRTC clients can reach a machine.
public struct WebRTCNetwork: Hashable, Codable, Sendable {
    /// IP addresses of this machine on which it listens and which its answers contain; empty = the public ones, and
    /// see `namesPrivateAddresses`.
    public var addresses: [String]
    /// IP address that answers contain in place of this machine's own of the same family, behind a 1:1 NAT.
    public var publicAddress: String?
    /// Smallest and largest UDP port; `nil` = chosen by the system.
    public var ports: Ports?
    /// URL of a STUN server, `stun://host:port`.
    public var stun: String?
    /// URLs of TURN servers, `turn://user:password@host:port`. Secret.
    public var turn: [String]
    /// Whether descriptions contain the machine's private addresses if it has no public ones; `nil`, in messages of
    /// earlier releases, means false.
    public var namesPrivateAddresses: Bool?

    public struct Ports: Hashable, Codable, Sendable {
        public var lowest: Int
        public var highest: Int

        public init(lowest: Int, highest: Int) {
            self.lowest = lowest
            self.highest = highest
        }
    }

    public init(
        addresses: [String] = [], publicAddress: String? = nil, ports: Ports? = nil, stun: String? = nil,
        turn: [String] = [], namesPrivateAddresses: Bool? = nil
    ) {
        self.namesPrivateAddresses = namesPrivateAddresses
        self.addresses = addresses
        self.publicAddress = publicAddress
        self.ports = ports
        self.stun = stun
        self.turn = turn
    }
}

/// The counters of a WebRTC worker since its client connected.
public struct WebRTCFigures: Hashable, Codable, Sendable {
    /// Media packets that arrived, and those that never did.
    public var packets = 0
    public var lost = 0
    /// Bit rate over the last seconds, in bit/s.
    public var bitRate = 0
    /// Number of requested keyframes.
    public var keyframeRequests = 0

    public init() {}
}
