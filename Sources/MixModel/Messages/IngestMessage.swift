/// A message from the orchestrator to the ingest: one JSON object per line on the ingest's Unix socket.
public enum IngestCommand: Hashable, Codable, Sendable {
    /// The first line of a connection, which replaces any earlier one. An ingest of another version answers `.refused`.
    case hello(version: Int)
    /// Listens as the settings say. May come again with others.
    case configure(IngestSettings)
    /// Lets a publisher begin, or a person play.
    ///
    /// - Parameter stream: Identifier of the stream. A publisher takes the place of one that has it.
    case allow(request: Int, session: String, stream: String)
    /// Lets a person play a program.
    ///
    /// - Parameters:
    ///   - task: Identifier of the task.
    ///   - socket: Path of the relay's Unix socket.
    case allowProgram(request: Int, session: String, task: String, socket: String)
    /// - Parameters:
    ///   - isName: Whether the name is the reason, not who asks.
    ///   - reason: Words for the person who asked, with the cure, without secrets.
    case refuse(request: Int, isName: Bool, reason: String)
    /// Ends a stream, because its publisher or another one is at the ingest of another node by now. Ingests of earlier releases
    /// do not know it.
    case takenOver(stream: String, session: String)
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
    /// A stream that is published, or whose publisher may come back.
    case live(IngestStream)
    case synced
    /// - Parameter port: The port that is listened on.
    case listening(port: Int)
    case notListening(reason: String)
    /// The same for RTMPS; only if the settings have it.
    case listeningSecurely(port: Int)
    case notListeningSecurely(reason: String)
    /// Somebody wants to publish or to play. `.allow` or `.refuse` has to follow.
    case ask(IngestRequest)
    /// The publisher was lost and may come back within the grace.
    ///
    /// - Parameter reason: Words for operators; `nil` from earlier releases.
    case interrupted(stream: String, session: String, reason: String? = nil)
    case ended(stream: String, session: String, reason: String)
    /// Comes every few seconds.
    case figures(IngestFigures)
}

/// The settings of an ingest.
public struct IngestSettings: Hashable, Codable, Sendable {
    /// Address in digits, or `localhost`.
    public var host: String
    /// 0 = any free port.
    public var port: Int
    /// Seconds for which the place of a lost publisher is kept, 0…300.
    public var grace: Double
    /// The key of the codes by which relays may play, one for each stream. Never shown.
    public var secret: String
    /// Where RTMPS is listened for; `nil` = nowhere.
    public var rtmps: IngestTLS?

    public init(host: String, port: Int, grace: Double, secret: String, rtmps: IngestTLS? = nil) {
        self.host = host
        self.port = port
        self.grace = grace
        self.secret = secret
        self.rtmps = rtmps
    }
}

/// The settings of RTMPS.
public struct IngestTLS: Hashable, Codable, Sendable {
    /// As for RTMP.
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
    /// Name of the publisher's connection, which no other has had.
    public var session: String
    /// Whether the publisher is connected.
    public var isConnected: Bool

    public init(stream: String, session: String, isConnected: Bool) {
        self.stream = stream
        self.session = session
        self.isConnected = isConnected
    }
}

/// A wish to publish or to play. Every text is a stranger's and has a bounded length.
public struct IngestRequest: Hashable, Codable, Sendable {
    /// Number of the request, unique in the life of the process.
    public var request: Int
    public var isPublish: Bool
    public var application: String
    /// The stream's name. May be a secret.
    public var name: String
    /// Query behind name or application. May hold secrets.
    public var query: String
    /// Address of the client.
    public var address: String
    /// Name of this connection's wish, which no other has had.
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

/// What an ingest has counted since it began.
public struct IngestFigures: Hashable, Codable, Sendable {
    public var publishers = 0
    public var players = 0
    public var connections = 0
    /// Connections that ended before they published or played anything, or that were not let in.
    public var refused = 0
    /// Players of programs, by task; `nil` from ingests that play none.
    public var viewers: [String: Int]?

    public init() {}
}
