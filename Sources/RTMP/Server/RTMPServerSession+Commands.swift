import MediaFormats

/// The commands of clients and their responses (Adobe RTMP 1.0, §7.2).
extension RTMPServerSession {
    mutating func take(command body: [UInt8], stream: UInt32, into events: inout [Event]) throws(RTMPServerEnd) {
        guard body.count <= limits.commandBytes else { throw .malformed("a command of \(body.count) bytes") }
        let values = AMF0.decodeAll(body)
        guard let name = values.first?.text else { throw .malformed("a command without a name") }
        var transaction = 0.0
        if case .number(let number)? = values.dropFirst().first { transaction = number }
        let arguments = Array(values.dropFirst(2))
        switch (name, phase) {
        case ("connect", .connect): try connect(transaction, arguments.first)
        case (_, .connect): throw .malformed("a command before connect")
        case ("createStream", _):
            guard streams < limits.streams else { throw .malformed("more than \(limits.streams) streams") }
            streams += 1
            answer(transaction, .number(Double(streams)))
        case ("publish", .idle): try request(.publish, arguments, on: stream, into: &events)
        case ("play", .idle): try request(.play, arguments, on: stream, into: &events)
        case ("publish", _), ("play", _): throw .malformed("a second stream on one connection")
        case ("FCUnpublish", .publishing), ("FCUnpublish", .asking(.publish)): unpublish(transaction, into: &events)
        case ("closeStream", _): if stream == self.stream { unpublish(transaction, into: &events) }
        case ("deleteStream", _):
            if case .number(let number)? = arguments.last, number != Double(self.stream) { break }
            unpublish(transaction, into: &events)
        case (KeyframeRequest.command, _): if phase == .playing { events.append(.keyframeWanted) }
        // Requests whose answers do not matter, but for which a client may wait.
        case ("getStreamLength", _), ("_checkbw", _): answer(transaction, .number(0))
        default: answer(transaction, .null)
        }
    }

    private mutating func connect(_ transaction: Double, _ argument: AMF0?) throws(RTMPServerEnd) {
        application = argument?["app"]?.text ?? ""
        isOwnClient = argument?["flashVer"]?.text == RTMPClient.publisherName
        takesKeyframeRequests = argument?[KeyframeRequest.property] == .boolean(true)
        takesReconnectRequests = ReconnectRequest.isAnnounced(by: argument?[ReconnectRequest.capabilities])
        control(.windowSize, Self.window)
        // Dynamic: the client may keep a limit of its own (§5.4.5).
        var bandwidth: [UInt8] = []
        bandwidth.appendBigEndian(Self.window)
        writer.append(.peerBandwidth, on: 2, body: (bandwidth + [2])[...], to: &output)
        control(.setChunkSize, UInt32(Self.chunkSize))
        writer.chunkSize = Self.chunkSize
        command(
            "_result", transaction,
            [
                .object([
                    // Players compare the number.
                    .init(name: "fmsVer", value: .string("FMS/3,5,1,525")),
                    .init(name: "capabilities", value: .number(31)),
                    .init(name: "mode", value: .number(1)),
                ]),
                .object([
                    .init(name: "level", value: .string("status")),
                    .init(name: "code", value: .string("NetConnection.Connect.Success")),
                    .init(name: "description", value: .string("connected")),
                    .init(name: "objectEncoding", value: .number(0)),
                    // Enhanced RTMP v2, "Enhancing NetConnection connect Command".
                    .init(name: "fourCcList", value: .array(PublishedTag.fourCCs.map { AMF0.string($0) })),
                    .init(
                        name: ReconnectRequest.capabilities, value: .number(Double(ReconnectRequest.capability))),
                ]),
            ])
        phase = .idle
    }

    private mutating func request(
        _ kind: RTMPStreamRequest.Kind, _ arguments: [AMF0], on stream: UInt32, into events: inout [Event]
    ) throws(RTMPServerEnd) {
        // Some clients use a stream without creating it.
        self.stream = stream == 0 ? 1 : stream
        // The first argument is null.
        let name = arguments.dropFirst().first?.text ?? arguments.first?.text ?? ""
        var request = RTMPStreamRequest(kind, application: application, stream: name)
        request.isOwnClient = isOwnClient
        guard request.application.utf8.count <= limits.applicationBytes,
            1...limits.nameBytes ~= request.name.utf8.count, request.query.utf8.count <= limits.queryBytes
        else {
            let words =
                "the stream key has to have 1 to \(limits.nameBytes) bytes, the application at most "
                + "\(limits.applicationBytes), and the parameters at most \(limits.queryBytes)"
            status(kind == .publish ? .badName(words) : .playFailed(words), isError: true)
            throw .malformed("a stream name that is empty or too long")
        }
        beginAsking(kind)
        events.append(.requested(request))
    }

    private mutating func unpublish(_ transaction: Double, into events: inout [Event]) {
        if phase == .publishing {
            status(RTMPStatus("NetStream.Unpublish.Success", "the stream is no longer published"), isError: false)
        }
        leave(into: &events)
        answer(transaction, .null)
    }

    // MARK: - Sending

    mutating func status(_ status: RTMPStatus, isError: Bool, and properties: [AMF0.Property] = []) {
        command("onStatus", 0, [.null, status.information(isError: isError, and: properties)], stream: stream)
    }

    func streamEvent(_ event: UInt8) -> [UInt8] {
        var body: [UInt8] = [0, event]
        body.appendBigEndian(stream)
        return body
    }

    mutating func streamBegins() { writer.append(.userControl, on: 2, body: streamEvent(0)[...], to: &output) }
    mutating func streamEnds() { writer.append(.userControl, on: 2, body: streamEvent(1)[...], to: &output) }

    /// Answers a command that has a transaction.
    private mutating func answer(_ transaction: Double, _ value: AMF0) {
        guard transaction != 0 else { return }
        command("_result", transaction, [.null, value])
    }

    mutating func command(_ name: String, _ transaction: Double, _ values: [AMF0], stream: UInt32 = 0) {
        var body: [UInt8] = []
        for value in [AMF0.string(name), .number(transaction)] + values { value.encode(into: &body) }
        writer.append(.command, on: stream == 0 ? 3 : 5, stream: stream, body: body[...], to: &output)
    }

    mutating func control(_ kind: RTMPMessage.Kind, _ value: UInt32) {
        var body: [UInt8] = []
        body.appendBigEndian(value)
        writer.append(kind, on: 2, body: body[...], to: &output)
    }
}

/// Delivery of tags to an accepted player.
extension RTMPServerSession {
    /// The message stream of nearly every client with only one stream.
    package static let usualStream: UInt32 = 1

    /// Returns the bytes of a tag for a player on this message stream.
    package static func encode(_ tag: FLVTag, stream: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        var writer = RTMPChunkWriter()
        writer.chunkSize = chunkSize
        let kind = RTMPMessage.Kind(rawValue: tag.kind.rawValue)
        // Audio and video have chunk streams of their own, as with other servers.
        writer.append(
            kind, on: kind == .video ? 6 : 4, timestamp: tag.timestamp, stream: stream, body: tag.body[...], to: &bytes)
        return bytes
    }
}
