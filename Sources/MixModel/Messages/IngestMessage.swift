/// A message from the orchestrator to the ingest: one JSON object per line on the ingest's Unix socket.
public enum IngestCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. An ingest of another version answers `.refused`.
    case hello(version: Int)
    /// Listens as configured. May be sent again with other settings.
    case configure(IngestSettings)
    /// Lets a publisher publish, or a client play.
    ///
    /// - Parameter stream: Identifier of the stream. A publisher replaces the current publisher of the stream.
    case allow(request: Int, session: String, stream: String)
    /// Lets a client play a program.
    ///
    /// - Parameters:
    ///   - task: Identifier of the task.
    ///   - socket: Path of the relay's Unix socket.
    ///   - detour: Where the program is read while no relay listens there; `nil` if it is nowhere else. Ingests of earlier
    ///     releases do not know it.
    case allowProgram(request: Int, session: String, task: String, socket: String, detour: ProgramDetour? = nil)
    /// - Parameters:
    ///   - isName: Whether the stream's name is the reason, and not the client.
    ///   - reason: Explanation for the client, with the remedy, without secrets.
    case refuse(request: Int, isName: Bool, reason: String)
    /// Ends a stream, because its publisher or another one is at the ingest of another node by now. Ingests of earlier releases
    /// do not know it.
    case takenOver(stream: String, session: String)
    /// Asks the publishers that follow such requests to reconnect, because this ingest is about to end. `.reconnecting`
    /// follows. Ingests of earlier releases do not know it.
    ///
    /// - Parameter reason: Explanation for the publishers' programs, without secrets.
    case reconnect(reason: String)
    /// Ends all connections, then the process.
    case terminate

    public static let version = 1
    /// Longest line in either direction, in bytes.
    public static let longestLine = 1 << 15
}

/// A message from the ingest to the orchestrator: one JSON object per line.
public enum IngestReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`. Every live stream, `.synced` and the waiting requests follow.
    case hello(version: Int, process: Int32)
    case refused(reason: String)
    /// A stream that is being published, or whose publisher may come back.
    case live(IngestStream)
    case synced
    /// - Parameter port: The port on which the ingest listens.
    case listening(port: Int)
    case notListening(reason: String)
    /// The same for RTMPS; only sent if the settings include it.
    case listeningSecurely(port: Int)
    case notListeningSecurely(reason: String)
    /// A client wants to publish or to play. `.allow` or `.refuse` must follow.
    case ask(IngestRequest)
    /// The publisher was lost and may come back within the grace period.
    ///
    /// - Parameter reason: Explanation for operators; `nil` from earlier releases.
    case interrupted(stream: String, session: String, reason: String? = nil)
    /// A connected publisher has begun to send audio or video, or has sent neither for `IngestSettings.silence`. Only sent if
    /// the settings include that.
    case sending(stream: String, session: String, isSending: Bool)
    /// A publisher that was allowed will not come back, or left before the answer.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the ingest ended the stream, because it does not support what the publisher sends; `nil` if it
    ///     did not, and from earlier releases.
    ///   - present: The publisher that still has the stream, if the one that has left never replaced it; `nil` if none has,
    ///     and from earlier releases.
    case ended(
        stream: String, session: String, reason: String, isRefused: Bool? = nil, present: IngestStream? = nil)
    /// A client that wants to publish waits no longer for its answer. Only sent if the settings include it.
    case withdrawn(session: String)
    /// The answer to `.reconnect`, which is repeated when one of them has left.
    ///
    /// - Parameter publishers: Number of publishers that follow the request and are still connected.
    case reconnecting(publishers: Int)
    /// Sent every few seconds.
    case figures(IngestFigures)
}

/// The settings of an ingest.
public struct IngestSettings: Hashable, Codable, Sendable {
    /// Address to listen on: an IP address or `localhost`.
    public var host: String
    /// Port; 0 = any free port.
    public var port: Int
    /// Seconds for which the place of a lost publisher is kept, 0…300.
    public var grace: Double
    /// The key of the codes with which relays may play, one code for each stream. Never shown.
    public var secret: String
    /// Settings of the RTMPS listener; `nil` = none.
    public var rtmps: IngestTLS?
    /// Seconds without audio and video after which a publisher is reported as silent, up to 0.1 s too early; `nil` = this is
    /// not reported. Ingests of earlier releases do not know it.
    public var silence: Double?
    /// Whether `.withdrawn` is reported; `nil` = it is not. Ingests of earlier releases do not know it.
    public var withdrawals: Bool?

    public init(
        host: String, port: Int, grace: Double, secret: String, rtmps: IngestTLS? = nil, silence: Double? = nil,
        withdrawals: Bool? = nil
    ) {
        self.withdrawals = withdrawals
        self.silence = silence
        self.host = host
        self.port = port
        self.grace = grace
        self.secret = secret
        self.rtmps = rtmps
    }
}

/// The settings of RTMPS.
public struct IngestTLS: Hashable, Codable, Sendable {
    /// The host and port to listen at, as for RTMP.
    public var host: String
    public var port: Int
    /// Paths of PEM files: the certificate with its chain, and the key.
    public var certificate: String
    public var key: String

    public init(host: String, port: Int, certificate: String, key: String) {
        self.host = host
        self.port = port
        self.certificate = certificate
        self.key = key
    }
}

/// A stream at the ingest.
public struct IngestStream: Hashable, Codable, Sendable {
    /// The words for a publisher whose place another one has taken.
    public static let takenOver = "another publisher has taken over this stream key"

    /// Identifier that the orchestrator has given.
    public var stream: String
    /// Name of the publisher's connection, never reused.
    public var session: String
    /// Whether the publisher is connected.
    public var isConnected: Bool
    /// Whether the publisher sends audio or video; `nil` = not known, and from earlier releases.
    public var isSending: Bool?

    public init(stream: String, session: String, isConnected: Bool, isSending: Bool? = nil) {
        self.isSending = isSending
        self.stream = stream
        self.session = session
        self.isConnected = isConnected
    }
}

/// A request to publish or to play. All texts are untrusted and have a bounded length.
public struct IngestRequest: Hashable, Codable, Sendable {
    /// Number of the request, unique in the life of the process.
    public var request: Int
    public var isPublish: Bool
    public var application: String
    /// The stream's name. May be a secret.
    public var name: String
    /// Query after the stream's name or the application. May contain secrets.
    public var query: String
    /// Address of the client.
    public var address: String
    /// Name of this connection's request, never reused.
    public var session: String
    /// Whether a publisher says that it is a worker of this service, whose stream may be a program; `nil` = it does not.
    public var isOutput: Bool?

    public init(
        request: Int, isPublish: Bool, application: String, name: String, query: String, address: String,
        session: String, isOutput: Bool? = nil
    ) {
        self.isOutput = isOutput
        self.request = request
        self.isPublish = isPublish
        self.application = application
        self.name = name
        self.query = query
        self.address = address
        self.session = session
    }
}

/// The counters of an ingest since its start.
public struct IngestFigures: Hashable, Codable, Sendable {
    public var publishers = 0
    public var players = 0
    public var connections = 0
    /// Connections that ended before they published or played anything, or that were refused.
    public var refused = 0
    /// Players of programs, by task; `nil` from ingests that do not play programs.
    public var viewers: [String: Int]?

    public init() {}
}
