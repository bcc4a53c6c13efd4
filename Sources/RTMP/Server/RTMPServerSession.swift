import EncodedMedia
import MediaFormats

/// The server side of one RTMP connection (Adobe RTMP 1.0), over which a client publishes or plays one stream.
///
/// Pure: bytes and times go in, events and bytes to send come out; the owner has the socket and the clock, and decides
/// about requests. Input may be arbitrary and split anywhere: bytes that violate the protocol or its limits end the
/// connection.
package struct RTMPServerSession: Sendable {
    package enum Event: Hashable, Sendable {
        /// A request that the owner has to answer with `accept`, `refuse(_:)` or, later, `end(_:)`.
        case requested(RTMPStreamRequest)
        /// Metadata, a sequence header or a frame of the published stream. The stream's first metadata may come after
        /// its first frames.
        case tag(FLVTag)
        /// A player needs a keyframe (`KeyframeRequest`).
        case keyframeWanted
        /// The client has ended its stream and may request another one.
        case left
        /// The last event.
        case over(RTMPServerEnd)
    }

    /// The current step of the connection.
    package enum Phase: Hashable, Sendable {
        case handshake, connect, idle
        /// A request waits for its answer.
        case asking(RTMPStreamRequest.Kind)
        case publishing, playing, over
    }

    package let limits: RTMPServerLimits
    package internal(set) var phase = Phase.handshake
    /// Time in ns at which `passDeadline` has to be called; `.max` if there is none.
    package private(set) var deadline: Int64
    /// Bytes received so far.
    package private(set) var received: Int64 = 0

    private let beganAt: Int64
    /// Time of the last bytes.
    private var time: Int64
    private var handshake = RTMPServerHandshake()
    var reader: RTMPChunkReader
    var writer = RTMPChunkWriter()
    var output: [UInt8] = []
    private var acknowledgeEvery = Int64(Self.window)
    private var acknowledged: Int64 = 0
    /// Commands and control messages since `countedSince`.
    private var commands = 0
    private var countedSince: Int64
    private var metadataAt: Int64?
    /// Number of consecutive forwarded metadata, up to the last, that came within the interval after the one before.
    private var earlyMetadata = 0
    /// Whether the publisher has said with its last forwarded metadata that it shows nothing for now.
    private var isPaused = false
    /// The newest metadata and sequence headers that came while the request to publish waits for its answer. Not every
    /// publisher waits: nginx-rtmp's `push` and SRS's `forward` send at once, and their headers only once.
    private var early: [FLVTag] = []

    /// The application of the connect command, with its query.
    var application = ""
    /// Whether the client has said that it is a publisher of this service.
    var isOwnClient = false
    /// Whether a publisher has said that it can be asked for keyframes.
    package internal(set) var takesKeyframeRequests = false
    /// Whether the client has announced that it follows requests to reconnect.
    var takesReconnectRequests = false
    /// Number of message streams created so far.
    var streams = 0
    /// The message stream that a request, a publisher or a player uses.
    package internal(set) var stream: UInt32 = 0

    /// Interval in bytes at which either side acknowledges.
    static let window: UInt32 = 2_500_000
    /// Chunk size of sent messages.
    package static let chunkSize = 1 << 15

    /// - Parameter now: Time in ns, as in every call.
    package init(limits: RTMPServerLimits = RTMPServerLimits(), now: Int64) {
        self.limits = limits
        beganAt = now
        time = now
        countedSince = now
        deadline = now.saturatingSum(limits.handshake)
        reader = RTMPChunkReader(limits: limits.ofCommands)
    }

    /// Returns and removes the bytes to send, in order.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Reads these bytes and returns the events that they cause; none after `over`.
    ///
    /// - Parameter random: Source of the handshake's random numbers, which need not be secure.
    package mutating func read(
        _ bytes: ArraySlice<UInt8>, now: Int64, using random: inout some RandomNumberGenerator
    ) -> [Event] {
        guard phase != .over else { return [] }
        received += Int64(bytes.count)
        time = now
        var events: [Event] = []
        if phase == .publishing, !early.isEmpty {
            events = early.map { .tag($0) }
            early = []
        }
        do throws(RTMPServerEnd) {
            var rest = bytes
            if phase == .handshake {
                do throws(RTMPError) {
                    output += try handshake.read(&rest, using: &random)
                } catch { throw .notRTMP }
                guard handshake.isDone else { return [] }
                phase = .connect
                deadline = beganAt.saturatingSum(limits.request)
            }
            let messages: [RTMPMessage]
            do throws(RTMPError) { messages = try reader.read(rest) } catch { throw RTMPServerEnd(error) }
            for message in messages { try take(message, now, into: &events) }
            acknowledge()
        } catch {
            end(as: error, into: &events)
        }
        return events
    }

    /// Ends a connection that took too long. Returns the events as `read` does.
    package mutating func passDeadline(now: Int64) -> [Event] {
        guard phase != .over, now >= deadline else { return [] }
        var events: [Event] = []
        let fault: RTMPServerEnd =
            switch phase {
            case .handshake: .tooSlow("the handshake")
            case .connect: .tooSlow("connect")
            case .publishing: .silent(seconds: Int(limits.silence / 1_000_000_000))
            case .idle, .asking, .playing, .over: .tooSlow("publish or play")
            }
        end(as: fault, into: &events)
        return events
    }

    private mutating func end(as fault: RTMPServerEnd, into events: inout [Event]) {
        if case .unsupported(let failure) = fault { status(.denied(failure.description), isError: true) }
        phase = .over
        deadline = .max
        events.append(.over(fault))
    }

    private mutating func acknowledge() {
        guard received - acknowledged >= acknowledgeEvery else { return }
        acknowledged = received
        control(.acknowledgement, UInt32(truncatingIfNeeded: received))
    }

    // MARK: - Answers of the owner

    /// Accepts the request.
    package mutating func accept(now: Int64) {
        switch phase {
        case .asking(.publish):
            phase = .publishing
            reader.limits = limits.ofMedia
            deadline = now.saturatingSum(limits.silence)
            streamBegins()
            status(RTMPStatus("NetStream.Publish.Start", "the stream is published"), isError: false)
        case .asking(.play):
            phase = .playing
            streamBegins()
            status(RTMPStatus("NetStream.Play.Reset", "the stream is played from now on"), isError: false)
            status(
                RTMPStatus("NetStream.Play.Start", "the stream is played"), isError: false,
                and: [.init(name: KeyframeRequest.property, value: .boolean(true))])
        default: break
        }
    }

    /// Asks a publisher for a keyframe, if it accepts such requests.
    package mutating func requestKeyframe() {
        guard phase == .publishing, takesKeyframeRequests else { return }
        command(KeyframeRequest.command, 0, [.null], stream: stream)
    }

    /// Whether the client publishes and can be asked to reconnect.
    package var canBeAskedToReconnect: Bool { phase == .publishing && takesReconnectRequests }

    /// Asks a publisher to reconnect, if it follows such requests. It continues here until it has another connection.
    package mutating func requestReconnect(_ request: ReconnectRequest) {
        guard canBeAskedToReconnect else { return }
        // A request belongs to the connection, not to a stream.
        command("onStatus", 0, [.null, request.information])
    }

    /// Tells the client that it may not, or no longer, publish or play. The owner then sends the output and closes the
    /// connection.
    package mutating func refuse(_ reason: RTMPStatus) {
        guard phase != .over else { return }
        if phase == .playing, reason == .unpublished {
            streamEnds()
            status(reason, isError: false)
        } else {
            status(reason, isError: true)
        }
        phase = .over
        deadline = .max
    }

    // MARK: - Messages

    private mutating func take(
        _ message: RTMPMessage, _ now: Int64, into events: inout [Event]
    ) throws(RTMPServerEnd) {
        switch message.kind {
        case .audio, .video: try take(media: message, now, into: &events)
        case .script: takeScript(message.body[...], message.timestamp, now, into: &events)
        case .extendedScript:
            guard message.body.first == 0 else { break }
            takeScript(message.body.dropFirst(), message.timestamp, now, into: &events)
        case .aggregate:
            guard phase == .publishing || phase == .asking(.publish) else { break }
            let parts: [RTMPMessage]
            do throws(RTMPError) { parts = try message.parts() } catch { throw RTMPServerEnd(error) }
            for part in parts where part.kind != .aggregate { try take(part, now, into: &events) }
        case .command:
            try count(now)
            try take(command: message.body, stream: message.stream, into: &events)
        case .extendedCommand:
            try count(now)
            guard message.body.first == 0 else { break }
            try take(command: Array(message.body.dropFirst()), stream: message.stream, into: &events)
        case .userControl:
            try count(now)
            // Ping: send the same 4 bytes back (§7.1.7).
            if message.body.bigEndian(UInt16.self, at: 0) == 6, message.body.count >= 6 {
                writer.append(.userControl, on: 2, body: ([0, 7] + message.body[2..<6])[...], to: &output)
            }
        case .windowSize:
            try count(now)
            guard let window = message.body.bigEndian(Int64.self, at: 0, bytes: 4) else { break }
            acknowledgeEvery = max(1 << 16, window / 2)
        default: try count(now)
        }
    }

    /// Counts a message that causes a response or a change.
    private mutating func count(_ now: Int64) throws(RTMPServerEnd) {
        if now.saturatingDifference(countedSince) > limits.commandWindow { (commands, countedSince) = (0, now) }
        commands += 1
        guard commands <= limits.commands else {
            throw .malformed("more than \(limits.commands) commands in \(limits.commandWindow / 1_000_000_000) s")
        }
    }

    private mutating func take(
        media message: RTMPMessage, _ now: Int64, into events: inout [Event]
    ) throws(RTMPServerEnd) {
        guard phase == .publishing || phase == .asking(.publish),
            let kind = FLVTag.Kind(rawValue: message.kind.rawValue)
        else { return }
        let published = PublishedTag(kind, timestamp: message.timestamp, body: message.body)
        guard phase == .publishing else {
            if case .tag(let tag) = published, case .sequenceHeader = tag.role { keep(tag) }
            return
        }
        deadline = now.saturatingSum(limits.silence)
        switch published {
        case .tag(let tag): events.append(.tag(tag))
        case .nothing: break
        case .unsupported(let failure): throw .unsupported(failure)
        }
    }

    /// `@setDataFrame` in AMF0, and the name that follows it.
    private static let setDataFrame: [UInt8] = [2, 0, 13] + "@setDataFrame".utf8
    private static let metadataName: [UInt8] = [2, 0, 10] + "onMetaData".utf8

    private mutating func takeScript(
        _ body: ArraySlice<UInt8>, _ timestamp: UInt32, _ now: Int64, into events: inout [Event]
    ) {
        guard phase == .publishing || phase == .asking(.publish), body.count <= limits.metadataBytes else { return }
        let body = body.starts(with: Self.setDataFrame) ? body.dropFirst(Self.setDataFrame.count) : body
        guard body.starts(with: Self.metadataName) else { return }
        guard phase == .publishing else {
            return keep(FLVTag(role: .metadata, timestamp: timestamp, body: Array(body)))
        }
        // Any number of them may come, and all connections share the thread that reads them.
        let isPaused = body.count <= limits.noticeBytes && FLVMetadata.isPaused(Array(body))
        // A publisher that has nothing to show is not lost.
        if isPaused { deadline = now.saturatingSum(limits.silence) }
        if let last = metadataAt, now.saturatingDifference(last) < limits.metadataInterval {
            // Viewers would notice a pause that is forwarded late. Nothing is lost for good with those that are dropped:
            // pages repeat the notice every 5 s, and the next picture ends a pause.
            guard isPaused != self.isPaused, earlyMetadata < limits.earlyMetadata else { return }
            earlyMetadata += 1
        } else {
            earlyMetadata = 0
        }
        (metadataAt, self.isPaused) = (now, isPaused)
        events.append(.tag(FLVTag(role: .metadata, timestamp: timestamp, body: Array(body))))
    }

    /// Keeps a tag until the publisher is accepted, in place of an earlier one of its role.
    private mutating func keep(_ tag: FLVTag) {
        early.removeAll { $0.role == tag.role }
        early.append(tag)
    }

    // MARK: - Phases that commands change

    mutating func beginAsking(_ kind: RTMPStreamRequest.Kind) {
        phase = .asking(kind)
        early = []
        // The owner has its own limit for its answer.
        deadline = .max
    }

    /// Ends the client's stream, if it has or has requested one.
    mutating func leave(into events: inout [Event]) {
        guard phase == .publishing || phase == .playing || phase == .asking(.publish) || phase == .asking(.play) else {
            return
        }
        phase = .idle
        // Another stream gets as much time as the first.
        deadline = time.saturatingSum(limits.request)
        reader.limits = limits.ofCommands
        (metadataAt, earlyMetadata, isPaused) = (nil, 0, false)
        events.append(.left)
    }
}
