/// A message from the orchestrator to a worker that sends one stream to viewers over WebRTC: one JSON object per line on
/// the worker's Unix socket.
///
/// Viewers of one stream share a worker, so that its sound is encoded once. Each has an identifier of the service's.
public enum PlayCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. A worker of another version answers `.failed`.
    case hello(version: Int)
    /// Tells the worker what it plays; once in its life, before any viewer.
    case play(PlaySource)
    /// Takes a viewer's offer. `.answered` or `.refused` follows.
    case view(PlayViewer, offer: String)
    /// Adds candidates that the viewer has found since its offer (RFC 8840 §9), at most `WebRTCCommand.longestFragment`
    /// bytes.
    case candidates(viewer: String, fragment: String)
    /// Ends a viewer. `.ended` follows, also for one that is not there.
    case close(viewer: String)
    /// Ends all viewers and then the process.
    case terminate

    public static let version = 1
    /// Longest line in either direction, in bytes.
    public static let longestLine = WebRTCCommand.longestLine
    /// Viewers that a worker takes at most, whatever the service asks for.
    public static let mostViewers = 256
}

/// A message from such a worker to the orchestrator: one JSON object per line.
public enum PlayReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`: what the worker plays, if it knows yet, and for whom.
    case hello(version: Int, process: Int32, stream: String?, viewers: [PlayViewer])
    /// - Parameter answer: The session description of the answer, with all candidates of this side.
    case answered(viewer: String, answer: String)
    /// - Parameter reason: Words for the viewer, with the cure, without secrets.
    case refused(viewer: String, reason: String)
    /// Media flow to the viewer: ICE and DTLS are up.
    case connected(viewer: String)
    /// - Parameter reason: Words for the log, without secrets.
    case ended(viewer: String, reason: String)
    /// The worker ends, and all its viewers with it: it speaks another version, or the stream is gone for good.
    case failed(reason: String)
    /// Comes every few seconds while there are viewers.
    case figures(PlayFigures)
}

/// The stream that a worker plays.
public struct PlaySource: Hashable, Codable, Sendable {
    /// The service's name of the stream, which `.hello` repeats; a worker does not read it.
    public var stream: String
    public var origin: PlayOrigin
    public var network: WebRTCNetwork
    /// Seconds without a packet of a connected viewer, RTCP included, after which it counts as gone.
    public var silence: Double
    /// Seconds for which the stream may be away before its viewers are ended; the worker keeps trying until then.
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

/// Where a worker gets the stream that it plays.
public enum PlayOrigin: Hashable, Codable, Sendable {
    /// A program, from its relay.
    ///
    /// - Parameter socket: Path of the relay's Unix socket, where `RelayCommand.viewFLV` asks for it.
    case program(socket: String)
    /// A publisher of the built-in ingest.
    ///
    /// - Parameter url: RTMP URL to play. Holds a code.
    case publisher(url: String)
}

/// A viewer of a stream.
public struct PlayViewer: Hashable, Codable, Sendable {
    /// Identifier of the service's, which cannot be guessed.
    public var id: String
    /// What the service has to know of the viewer in a later run, at most 256 bytes; a worker does not read it.
    public var note: String

    public init(id: String, note: String = "") {
        self.id = id
        self.note = note
    }
}

/// What a worker has counted since its start, over all viewers.
public struct PlayFigures: Hashable, Codable, Sendable {
    /// Viewers to whom media flow now.
    public var connected = 0
    /// Packets of media that were sent, and those that viewers reported as lost.
    public var packets = 0
    public var lost = 0
    /// Keyframes that viewers asked for.
    public var keyframeRequests = 0

    public init() {}
}
