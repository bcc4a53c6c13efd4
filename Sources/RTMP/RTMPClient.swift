import EncodedMedia
import MediaFormats

/// The client of one RTMP connection (Adobe RTMP 1.0) that plays or publishes one stream.
///
/// Pure: received bytes go in, events and bytes to send come out; the owner has the socket and the clock.
///
/// Input may be arbitrary and split anywhere: bytes that violate the protocol or its limits end the connection with an
/// error.
package struct RTMPClient: Sendable {
    package enum Purpose: Hashable, Sendable {
        case play
        case publish
    }

    /// The step that the connection is waiting for. Only moves forward.
    package enum Step: Int, Hashable, Comparable, Sendable {
        case handshake, connect, createStream, start, running, ended

        package static func < (one: Step, other: Step) -> Bool { one.rawValue < other.rawValue }
    }

    package enum Event: Hashable, Sendable {
        /// The server plays the stream, or accepts the published one.
        case began
        /// An audio, video or script message of the stream being played.
        case media(RTMPMessage)
        /// The server has acknowledged more of the bytes sent to it.
        case acknowledged
        /// A player of the published stream needs a keyframe (`KeyframeRequest`).
        case keyframeRequested
        /// The last event.
        case ended(RTMPError)
    }

    /// Largest size of a command or a control message, in bytes; the largest in use have less than 1 KiB.
    package static let longestCommand = 1 << 16
    /// Chunk size of a publishing client, in bytes: a frame of 4 KiB is one piece.
    package static let publishedChunkSize = 4096
    /// Interval in bytes at which a server is asked to acknowledge a published stream.
    package static let publishedWindow: UInt32 = 1 << 15
    /// Length of the player's buffer, in ms, which some servers fill first.
    package static let bufferLength: UInt32 = 100

    package let address: RTMPAddress
    package let purpose: Purpose
    /// Whether a publishing client announces that it can be asked for keyframes; for a playing client, whether its
    /// server has announced that it forwards requests.
    package private(set) var takesKeyframeRequests: Bool
    package private(set) var step = Step.handshake
    /// Bytes received so far.
    package private(set) var received: Int64 = 0

    private var output: [UInt8]
    private var handshake: RTMPHandshake
    private var reader: RTMPChunkReader
    /// The writer with the chunk size agreed with the server.
    package private(set) var writer = RTMPChunkWriter()
    /// The message stream that the server assigned; 0 before that.
    package private(set) var stream: UInt32 = 0
    private var acknowledgeEvery: Int64 = 2_500_000
    private var acknowledged: Int64 = 0
    /// The last window size that the server was sent, in bytes.
    private var sentWindow: UInt32?
    /// Whether the server has sent a valid message.
    private var isProven = false

    /// - Parameters:
    ///   - takesKeyframeRequests: Whether a publisher can be asked for keyframes.
    ///   - random: Source of the handshake's random numbers, which need not be secure.
    package init(
        _ purpose: Purpose, _ address: RTMPAddress, takesKeyframeRequests: Bool = false,
        limits: RTMPChunkReader.Limits = RTMPChunkReader.Limits(), using random: inout some RandomNumberGenerator
    ) {
        self.takesKeyframeRequests = purpose == .publish && takesKeyframeRequests
        self.purpose = purpose
        self.address = address
        handshake = RTMPHandshake(using: &random)
        output = handshake.greeting
        reader = RTMPChunkReader(limits: limits)
    }

    /// Returns and removes the bytes to send, in order.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Reads these bytes and returns the events that they cause; none after `ended`.
    package mutating func read(_ bytes: ArraySlice<UInt8>) -> [Event] {
        guard step != .ended else { return [] }
        received += Int64(bytes.count)
        var events: [Event] = []
        do throws(RTMPError) {
            try read(bytes, into: &events)
        } catch {
            step = .ended
            if case .malformed = error, !isProven {
                events.append(.ended(.notRTMP))
            } else {
                events.append(.ended(error))
            }
        }
        return events
    }

    private mutating func read(_ bytes: ArraySlice<UInt8>, into events: inout [Event]) throws(RTMPError) {
        var rest = bytes
        if step == .handshake {
            output += try handshake.read(&rest)
            guard handshake.isDone else { return }
            step = .connect
            sendConnect()
        }
        for message in try reader.read(rest) { try take(message, into: &events) }
        if received - acknowledged >= acknowledgeEvery {
            acknowledged = received
            control(.acknowledgement, UInt32(truncatingIfNeeded: received))
        }
    }

    // MARK: - Messages

    private mutating func take(_ message: RTMPMessage, into events: inout [Event]) throws(RTMPError) {
        switch message.kind {
        case .audio, .video, .script: takeMedia(message, into: &events)
        case .extendedScript:
            guard message.body.first == 0 else { break }
            var message = message
            message.kind = .script
            message.body.removeFirst()
            takeMedia(message, into: &events)
        case .aggregate:
            for part in try message.parts() where [.audio, .video, .script].contains(part.kind) {
                takeMedia(part, into: &events)
            }
        case .command: try take(command: message.body, into: &events)
        case .extendedCommand:
            guard message.body.first == 0 else { break }
            try take(command: Array(message.body.dropFirst()), into: &events)
        case .userControl: try take(control: message.body)
        case .acknowledgement: if purpose == .publish { events.append(.acknowledged) }
        case .windowSize:
            guard let window = message.body.bigEndian(Int64.self, at: 0, bytes: 4) else {
                throw .malformed("a window of \(message.body.count) bytes")
            }
            // Half of it, because the server stops when a whole window is not acknowledged.
            acknowledgeEvery = max(1024, window / 2)
        case .peerBandwidth:
            guard let window = message.body.bigEndian(UInt32.self, at: 0) else {
                throw .malformed("a bandwidth of \(message.body.count) bytes")
            }
            // A publisher sends a window of its own choice.
            guard window != sentWindow, purpose == .play else { break }
            sentWindow = window
            control(.windowSize, window)
        default: break
        }
        isProven = true
    }

    /// Adds a media message. Messages of other streams, and messages too short for any content, are ignored, as in
    /// `rtmp2src`.
    private func takeMedia(_ message: RTMPMessage, into events: inout [Event]) {
        guard purpose == .play, stream != 0, message.stream == stream else { return }
        let shortest =
            switch message.kind {
            case .video: 6
            case .audio: 2
            default: 1
            }
        if message.body.count >= shortest { events.append(.media(message)) }
    }

    private mutating func take(control body: [UInt8]) throws(RTMPError) {
        guard body.count <= Self.longestCommand else {
            throw .malformed("a control message of \(body.count) bytes")
        }
        // Servers send events of their own, of any length. No event that matters here is shorter (§7.1.7).
        guard body.count >= 6 else { return }
        switch body.bigEndian(UInt16.self, at: 0) {
        // The end of the stream.
        case 1 where step == .running && purpose == .play && body.bigEndian(UInt32.self, at: 2) == stream:
            throw .unpublished
        // Ping: send the same 4 bytes back.
        case 6: writer.append(.userControl, on: 2, body: ([0, 7] + body[2..<6])[...], to: &output)
        default: break
        }
    }

    // MARK: - Commands

    /// The transactions whose answers matter.
    private static let connectTransaction = 1.0
    /// The `flashVer` of a publisher, in the form of other programs' (FFmpeg's is `FMLE/3.0 (compatible; Lavf…)`). An ingest of
    /// this service asks only about such publishers whether they send a room's program.
    package static let publisherName = "FMLE/3.0 (compatible; mixworker)"
    private static let createTransaction = 4.0

    private mutating func take(command body: [UInt8], into events: inout [Event]) throws(RTMPError) {
        guard body.count <= Self.longestCommand else { throw .malformed("a command of \(body.count) bytes") }
        let values = AMF0.decodeAll(body)
        guard let name = values.first?.text else { throw .malformed("a command without a name") }
        let information = values.dropFirst().last { $0["code"] != nil }
        switch (name, values.dropFirst().first) {
        case ("_result", .number(Self.connectTransaction)?) where step == .connect:
            if let information, information.isError { throw refused(.application, "connect to", information) }
            step = .createStream
            sendCreateStream()
        case ("_error", .number(Self.connectTransaction)?) where step == .connect:
            throw refused(.application, "connect to", information)
        case ("_result", .number(Self.createTransaction)?) where step == .createStream:
            guard case .number(let number)? = values.dropFirst(2).last, let stream = UInt32(exactly: number), stream > 0
            else { throw .malformed("it gave no stream number") }
            self.stream = stream
            step = .start
            sendStart()
        case ("_error", .number(Self.createTransaction)?) where step == .createStream:
            throw refused(.stream, "create a stream in", information)
        case ("onStatus", _): try take(status: information, into: &events)
        case (KeyframeRequest.command, _) where step == .running && purpose == .publish && takesKeyframeRequests:
            events.append(.keyframeRequested)
        case ("close", _): throw .closed
        default: break
        }
    }

    private mutating func take(status: AMF0?, into events: inout [Event]) throws(RTMPError) {
        guard let status, let code = status["code"]?.text else { return }
        if status.isError {
            throw refused(.stream, purpose == .play ? "play a stream of" : "accept a stream into", status)
        }
        switch (purpose, code) {
        case (.play, "NetStream.Play.Start"), (.play, "NetStream.Play.Reset"), (.play, "NetStream.Play.PublishNotify"),
            (.publish, "NetStream.Publish.Start"):
            if purpose == .play, status[KeyframeRequest.property] == .boolean(true) { takesKeyframeRequests = true }
            guard step == .start else { break }
            step = .running
            events.append(.began)
        case (.play, "NetStream.Play.StreamNotFound"), (.play, "NetStream.Play.Failed"),
            (.publish, "NetStream.Publish.BadName"), (.publish, "NetStream.Publish.Denied"):
            throw refused(.stream, purpose == .play ? "play a stream of" : "accept a stream into", status)
        case (.play, "NetStream.Play.UnpublishNotify"), (.play, "NetStream.Play.Stop"),
            (.play, "NetStream.Play.Complete"):
            throw .unpublished
        case (_, "NetConnection.Connect.Closed"), (.publish, "NetStream.Unpublish.Success"): throw .closed
        default: break
        }
    }

    private func refused(_ gate: RTMPError.Gate, _ wish: String, _ information: AMF0?) -> RTMPError {
        let words = [information?["code"]?.text, information?["description"]?.text].compactMap { $0 }
        let answer = words.filter { !$0.isEmpty }.joined(separator: ": ")
        // Text from a server is shown to operators on one line: short, and without control characters.
        let clean = String(answer.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(200))
        return .refused(
            gate, "\(wish) application \(address.application)", answer: clean.isEmpty ? "no reason given" : clean)
    }

    // MARK: - Sending

    private mutating func sendConnect() {
        var properties: [AMF0.Property] = [.init(name: "app", value: .string(address.application))]
        if purpose == .publish { properties.append(.init(name: "type", value: .string("nonprivate"))) }
        if takesKeyframeRequests { properties.append(.init(name: KeyframeRequest.property, value: .boolean(true))) }
        properties += [
            .init(name: "flashVer", value: .string(purpose == .play ? "LNX 9,0,124,2" : Self.publisherName)),
            .init(name: "tcUrl", value: .string(address.connectURL)),
        ]
        // Codecs in addition to H.264: Enhanced RTMP v1, "Extending NetConnection connect Command".
        if purpose == .publish { properties.append(.init(name: "fourCcList", value: .array([.string("hvc1")]))) }
        if purpose == .play {
            // Every codec that Flash knew; 15 and 1 are what other players send.
            properties += [
                .init(name: "fpad", value: .boolean(false)), .init(name: "capabilities", value: .number(15)),
                .init(name: "audioCodecs", value: .number(0xFFF)), .init(name: "videoCodecs", value: .number(0xFF)),
                .init(name: "videoFunction", value: .number(1)),
            ]
        }
        command("connect", Self.connectTransaction, [.object(properties)])
    }

    private mutating func sendCreateStream() {
        if purpose == .publish {
            control(.setChunkSize, UInt32(Self.publishedChunkSize))
            writer.chunkSize = Self.publishedChunkSize
            control(.windowSize, Self.publishedWindow)
            // Not in the specification; servers expect them to release the name of a lost connection.
            command("releaseStream", 2, [.null, .string(address.stream)])
            command("FCPublish", 3, [.null, .string(address.stream)])
        }
        command("createStream", Self.createTransaction, [.null])
    }

    private mutating func sendStart() {
        switch purpose {
        case .play:
            // −2: the live stream, or a recorded one of this name.
            command("play", 0, [.null, .string(address.stream), .number(-2)], stream: stream)
            var body: [UInt8] = [0, 3]
            body.appendBigEndian(stream)
            body.appendBigEndian(Self.bufferLength)
            writer.append(.userControl, on: 2, body: body[...], to: &output)
        case .publish:
            command("publish", 0, [.null, .string(address.stream), .string("live")], stream: stream)
        }
    }

    /// Asks the server for a keyframe of the stream that is played, if the server forwards such requests.
    mutating func requestKeyframe() {
        guard step == .running, purpose == .play, takesKeyframeRequests else { return }
        command(KeyframeRequest.command, 0, [.null], stream: stream)
    }

    /// Tells the server that the stream is over. The connection stays open.
    mutating func leave() {
        guard step == .running else { return }
        if purpose == .publish { command("FCUnpublish", 5, [.null, .string(address.stream)]) }
        command("deleteStream", 6, [.null, .number(Double(stream))])
    }

    private mutating func command(_ name: String, _ transaction: Double, _ values: [AMF0], stream: UInt32 = 0) {
        var body: [UInt8] = []
        for value in [AMF0.string(name), .number(transaction)] + values { value.encode(into: &body) }
        writer.append(.command, on: stream == 0 ? 3 : 8, stream: stream, body: body[...], to: &output)
    }

    private mutating func control(_ kind: RTMPMessage.Kind, _ value: UInt32) {
        var body: [UInt8] = []
        body.appendBigEndian(value)
        writer.append(kind, on: 2, body: body[...], to: &output)
    }
}

extension AMF0 {
    fileprivate var isError: Bool { self["level"]?.text == "error" }
}
