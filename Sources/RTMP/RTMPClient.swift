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
        case handshake, connect, createStream
        /// The server has given a stream, on which `publish()` begins.
        case prepared
        case start, running, ended

        package static func < (one: Step, other: Step) -> Bool { one.rawValue < other.rawValue }
    }

    package enum Event: Hashable, Sendable {
        /// A client that waits to publish is ready for `publish()`.
        case prepared
        /// The server plays the stream, or accepts the published one.
        case began
        /// An audio, video or script message of the stream being played.
        case media(RTMPMessage)
        /// The server has acknowledged more of the bytes sent to it.
        case acknowledged
        /// A player of the published stream needs a keyframe (`KeyframeRequest`).
        case keyframeRequested
        /// The server of the published stream asks the client to reconnect.
        case reconnectRequested(ReconnectRequest)
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
    package internal(set) var takesKeyframeRequests: Bool
    /// Whether a publishing client announces that it follows requests to reconnect.
    let takesReconnectRequests: Bool
    /// Whether a publishing client does not name its stream before `publish()`.
    let waitsToPublish: Bool
    /// The newest request that came before the server accepted the stream.
    var earlyReconnectRequest: ReconnectRequest?
    package internal(set) var step = Step.handshake
    /// Bytes received so far.
    package private(set) var received: Int64 = 0

    var output: [UInt8]
    private var handshake: RTMPHandshake
    private var reader: RTMPChunkReader
    /// The writer with the chunk size agreed with the server.
    package internal(set) var writer = RTMPChunkWriter()
    /// The message stream that the server assigned; 0 before that.
    package internal(set) var stream: UInt32 = 0
    private var acknowledgeEvery: Int64 = 2_500_000
    private var acknowledged: Int64 = 0
    /// The last window size that the server was sent, in bytes.
    private var sentWindow: UInt32?
    /// Whether the server has sent a valid message.
    private var isProven = false

    /// - Parameters:
    ///   - takesKeyframeRequests: Whether a publisher can be asked for keyframes.
    ///   - takesReconnectRequests: Whether a publisher follows requests to reconnect.
    ///   - waitsToPublish: Whether a publisher connects, but publishes only once `publish()` is called.
    ///   - random: Source of the handshake's random numbers, which need not be secure.
    package init(
        _ purpose: Purpose, _ address: RTMPAddress, takesKeyframeRequests: Bool = false,
        takesReconnectRequests: Bool = false, waitsToPublish: Bool = false,
        limits: RTMPChunkReader.Limits = RTMPChunkReader.Limits(), using random: inout some RandomNumberGenerator
    ) {
        self.takesKeyframeRequests = purpose == .publish && takesKeyframeRequests
        self.takesReconnectRequests = purpose == .publish && takesReconnectRequests
        self.waitsToPublish = purpose == .publish && waitsToPublish
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
}
