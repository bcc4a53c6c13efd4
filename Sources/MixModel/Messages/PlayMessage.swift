import TextFormats

/// A message from the orchestrator to a worker that sends one stream to viewers over WebRTC: one JSON object per line
/// on the worker's Unix socket.
///
/// Viewers of one stream share a worker, so that its audio is encoded once. Each viewer has an identifier assigned by
/// the service.
public enum PlayCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. A worker of another version answers `.failed`.
    case hello(version: Int)
    /// Sets the stream to play; only once in the worker's life, before any viewer.
    case play(PlaySource)
    /// Processes a viewer's offer. `.answered` or `.refused` follows.
    case view(PlayViewer, offer: String)
    /// Adds candidates found by the viewer since its offer (RFC 8840 §9), at most `WebRTCCommand.longestFragment`
    /// bytes.
    case candidates(viewer: String, fragment: String)
    /// Ends a viewer. `.ended` follows, even for an unknown viewer.
    case close(viewer: String)
    /// Ends all viewers, and then the process.
    case terminate

    public static let version = 1
    /// Longest line in either direction, in bytes.
    public static let longestLine = WebRTCCommand.longestLine
    /// Maximum number of viewers that a worker accepts, regardless of the service's requests.
    public static let mostViewers = 256
}

/// A message from such a worker to the orchestrator: one JSON object per line.
public enum PlayReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`: the stream that the worker plays, if it has one, and its viewers.
    case hello(version: Int, process: Int32, stream: String?, viewers: [PlayViewer])
    /// - Parameter answer: The session description of the answer, with all candidates of this side.
    case answered(viewer: String, answer: String)
    /// - Parameter reason: Explanation for the viewer, with the remedy, without secrets.
    case refused(viewer: String, reason: String)
    /// Media can flow to the viewer: ICE and DTLS are up.
    case connected(viewer: String)
    /// - Parameter reason: Explanation for the log, without secrets.
    case ended(viewer: String, reason: String)
    /// The worker ends, and with it all its viewers: it speaks another version, or the stream is permanently gone.
    case failed(reason: String)
    /// Sent every few seconds while there are viewers.
    case figures(PlayFigures)
}

/// The stream that a worker plays.
public struct PlaySource: Hashable, Codable, Sendable {
    /// The service's name of the stream, which `.hello` repeats; opaque to the worker.
    public var stream: String
    public var origin: PlayOrigin
    public var network: WebRTCNetwork
    /// Seconds without a packet from a connected viewer, RTCP included, after which the viewer counts as gone.
    public var silence: Double
    /// Seconds for which the stream may be missing before its viewers are ended; the worker keeps trying until then.
    public var patience: Double

    public init(
        stream: String, origin: PlayOrigin, network: WebRTCNetwork, silence: Double = 10, patience: Double = 30
    ) {
        self.stream = stream
        self.origin = origin
        self.network = network
        self.silence = silence
        self.patience = patience
    }
}

/// The origin from which a worker reads the stream.
public enum PlayOrigin: Hashable, Codable, Sendable {
    /// A program, from its relay.
    ///
    /// - Parameters:
    ///   - socket: Path of the relay's Unix socket, where the worker sends `RelayCommand.viewFLV`.
    ///   - detour: Where the program is read while no relay listens there; `nil` if it is nowhere else.
    case program(socket: String, detour: ProgramDetour? = nil)
    /// A publisher of the built-in ingest.
    ///
    /// - Parameter url: RTMP URL to play. Contains a code.
    case publisher(url: String)
    /// A stream at another server.
    ///
    /// - Parameters:
    ///   - url: RTMP or RTMPS URL to play. May contain a secret.
    ///   - reach: Addresses to which the worker may connect; `nil` allows any.
    case server(url: String, reach: Reach?)

    /// Returns whether a worker can play the stream at a pull URL, which it does over RTMP or RTMPS.
    ///
    /// The worker may not start other processes, which pulls of all other kinds need for demuxing or transcoding.
    public static func plays(_ url: String) -> Bool {
        guard let end = url.firstRange(of: "://")?.lowerBound else { return false }
        return ["rtmp", "rtmps"].contains(url[..<end].lowercased())
    }
}

/// A viewer of a stream.
public struct PlayViewer: Hashable, Codable, Sendable {
    /// Identifier assigned by the service, which cannot be guessed.
    public var id: String
    /// Data that a later run of the service requires about the viewer, at most 256 bytes; opaque to the worker.
    public var note: String
    /// Whether the viewer's answer may contain private addresses; `nil`, in messages of earlier releases, leaves that to
    /// the source's network.
    public var namesPrivateAddresses: Bool?

    public init(id: String, note: String = "", namesPrivateAddresses: Bool? = nil) {
        self.id = id
        self.note = note
        self.namesPrivateAddresses = namesPrivateAddresses
    }
}

/// The counters of a worker since its start, over all viewers.
public struct PlayFigures: Hashable, Codable, Sendable {
    /// Number of viewers that currently receive media.
    public var connected = 0
    /// Media packets that were sent, and those that viewers reported as lost.
    public var packets = 0
    public var lost = 0
    /// Number of keyframes requested by viewers.
    public var keyframeRequests = 0

    public init() {}
}
