import MediaFormats

/// The commands of servers, and those of the client (Adobe RTMP 1.0, §7.2).
extension RTMPClient {
    /// The transactions whose answers matter.
    private static let connectTransaction = 1.0
    /// The `flashVer` of a publisher, in the form of other programs' (FFmpeg's is `FMLE/3.0 (compatible; Lavf…)`). An ingest of
    /// this service asks only about such publishers whether they send a room's program.
    package static let publisherName = "FMLE/3.0 (compatible; mixworker)"
    private static let createTransaction = 4.0

    mutating func take(command body: [UInt8], into events: inout [Event]) throws(RTMPError) {
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
            if waitsToPublish {
                step = .prepared
                events.append(.prepared)
            } else {
                step = .start
                sendStart()
            }
        case ("_error", .number(Self.createTransaction)?) where step == .createStream:
            throw refused(.stream, "create a stream in", information)
        case ("onStatus", _): try take(status: information, into: &events)
        case (KeyframeRequest.command, _) where step == .running && purpose == .publish && takesKeyframeRequests:
            events.append(.keyframeRequested)
        case ("close", _): throw .closed
        default: break
        }
    }

    mutating func take(status: AMF0?, into events: inout [Event]) throws(RTMPError) {
        guard let status, let code = status["code"]?.text else { return }
        if code == ReconnectRequest.code { return take(reconnect: status, into: &events) }
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
            if let request = earlyReconnectRequest {
                events.append(.reconnectRequested(request))
                earlyReconnectRequest = nil
            }
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

    /// A server may ask at any time after `connect`. Until it has accepted the stream, there is nothing to move.
    private mutating func take(reconnect status: AMF0, into events: inout [Event]) {
        guard takesReconnectRequests, step > .connect, let request = ReconnectRequest(status) else { return }
        if step == .running {
            events.append(.reconnectRequested(request))
        } else {
            earlyReconnectRequest = request
        }
    }

    private func refused(_ gate: RTMPError.Gate, _ wish: String, _ information: AMF0?) -> RTMPError {
        let words = [information?["code"]?.text, information?["description"]?.text].compactMap { $0 }
        let answer = words.filter { !$0.isEmpty }.joined(separator: ": ")
        let clean = answer.inOneLine
        return .refused(
            gate, "\(wish) application \(address.application)", answer: clean.isEmpty ? "no reason given" : clean)
    }

    // MARK: - Sending

    mutating func sendConnect() {
        var properties: [AMF0.Property] = [.init(name: "app", value: .string(address.application))]
        if purpose == .publish { properties.append(.init(name: "type", value: .string("nonprivate"))) }
        if takesKeyframeRequests { properties.append(.init(name: KeyframeRequest.property, value: .boolean(true))) }
        properties += [
            .init(name: "flashVer", value: .string(purpose == .play ? "LNX 9,0,124,2" : Self.publisherName)),
            .init(name: "tcUrl", value: .string(address.connectURL)),
        ]
        // Codecs in addition to H.264: Enhanced RTMP v1, "Extending NetConnection connect Command".
        if purpose == .publish { properties.append(.init(name: "fourCcList", value: .array([.string("hvc1")]))) }
        if takesReconnectRequests {
            let bits = Double(ReconnectRequest.capability)
            properties.append(.init(name: ReconnectRequest.capabilities, value: .number(bits)))
        }
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

    mutating func sendCreateStream() {
        if purpose == .publish {
            control(.setChunkSize, UInt32(Self.publishedChunkSize))
            writer.chunkSize = Self.publishedChunkSize
            control(.windowSize, Self.publishedWindow)
            if !waitsToPublish { sendName() }
        }
        command("createStream", Self.createTransaction, [.null])
    }

    /// Not in the specification; servers expect these commands to release the name of a lost connection.
    private mutating func sendName() {
        command("releaseStream", 2, [.null, .string(address.stream)])
        command("FCPublish", 3, [.null, .string(address.stream)])
    }

    /// Publishes the stream of a client that waits. Until then the server does not know its name, which another
    /// connection may have.
    mutating func publish() {
        guard step == .prepared else { return }
        step = .start
        sendName()
        sendStart()
    }

    mutating func sendStart() {
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

    mutating func command(_ name: String, _ transaction: Double, _ values: [AMF0], stream: UInt32 = 0) {
        var body: [UInt8] = []
        for value in [AMF0.string(name), .number(transaction)] + values { value.encode(into: &body) }
        writer.append(.command, on: stream == 0 ? 3 : 8, stream: stream, body: body[...], to: &output)
    }

    mutating func control(_ kind: RTMPMessage.Kind, _ value: UInt32) {
        var body: [UInt8] = []
        body.appendBigEndian(value)
        writer.append(kind, on: 2, body: body[...], to: &output)
    }
}

extension AMF0 {
    fileprivate var isError: Bool { self["level"]?.text == "error" }
}
