import EncodedMedia

/// Assembles the frames of one client into messages and checks them (RFC 6455, sections 5 and 8.1).
///
/// A value without a socket: frames in, events out. Nothing is read after a close frame or an error.
struct WebSocketReader {
    /// A frame as it arrived, with its mask removed.
    struct Frame {
        var isFinal = true
        /// Whether a bit is set that only extensions use. None is offered.
        var hasReservedBits = false
        var opcode: UInt8
        var isMasked = true
        var payload: [UInt8]
    }

    enum Event: Hashable {
        case message(WebSocketMessage)
        /// A ping, whose payload the pong repeats.
        case ping([UInt8])
        case pong
        /// The client closes the connection, with a code if it gave one.
        case closed(UInt16?)
        /// The client broke a rule. The connection is closed with this.
        case broken(WebSocketClose)
    }

    private enum Opcode {
        static let continuation: UInt8 = 0
        static let text: UInt8 = 1
        static let binary: UInt8 = 2
        static let close: UInt8 = 8
        static let ping: UInt8 = 9
        static let pong: UInt8 = 10
    }

    /// Maximum size of a message, in bytes.
    let largest: Int
    private(set) var isOver = false
    /// Opcode of the message whose fragments are arriving.
    private var opcode: UInt8?
    private var fragments: [UInt8] = []

    init(largest: Int) { self.largest = largest }

    /// Number of bytes of the incomplete message, at most `largest`.
    var heldBytes: Int { fragments.count }

    /// Returns the event that results from a frame, or `nil` if its message continues.
    mutating func take(_ frame: Frame) -> Event? {
        guard !isOver else { return nil }
        let event = read(frame)
        switch event {
        case .closed, .broken:
            isOver = true
            fragments = []
        case .message, .ping, .pong, nil: break
        }
        return event
    }

    private mutating func read(_ frame: Frame) -> Event? {
        guard !frame.hasReservedBits else {
            return .broken(.protocolError("a reserved bit is set, and no extension was agreed on"))
        }
        guard frame.isMasked else { return .broken(.protocolError("a client's frame must be masked")) }
        switch frame.opcode {
        case Opcode.continuation, Opcode.text, Opcode.binary: return data(frame)
        case Opcode.close, Opcode.ping, Opcode.pong: return control(frame)
        default: return .broken(.protocolError("the opcode \(frame.opcode) is not defined"))
        }
    }

    private mutating func data(_ frame: Frame) -> Event? {
        let isContinuation = frame.opcode == Opcode.continuation
        guard isContinuation == (opcode != nil) else {
            return .broken(
                .protocolError(
                    isContinuation ? "a continuation without a beginning" : "a message within another one's fragments"))
        }
        guard frame.payload.count <= largest - fragments.count else { return .broken(.tooLarge(largest)) }
        let kind = opcode ?? frame.opcode
        guard frame.isFinal else {
            opcode = kind
            fragments += frame.payload
            return nil
        }
        let whole = isContinuation ? fragments + frame.payload : frame.payload
        (opcode, fragments) = (nil, [])
        guard kind == Opcode.text else { return .message(.binary(whole)) }
        guard let text = String(validating: whole, as: UTF8.self) else {
            return .broken(.notUTF8("a text is not UTF-8"))
        }
        return .message(.text(text))
    }

    private func control(_ frame: Frame) -> Event {
        guard frame.isFinal, frame.payload.count <= 125 else {
            return .broken(.protocolError("a control frame must be whole and have at most 125 bytes"))
        }
        switch frame.opcode {
        case Opcode.ping: return .ping(frame.payload)
        case Opcode.pong: return .pong
        default: return close(frame.payload)
        }
    }

    private func close(_ payload: [UInt8]) -> Event {
        if payload.isEmpty { return .closed(nil) }
        guard let code = payload.bigEndian(UInt16.self, at: 0) else {
            return .broken(.protocolError("a close code has two bytes"))
        }
        guard WebSocketClose.isValid(code) else {
            return .broken(.protocolError("the close code \(code) must not be sent"))
        }
        guard String(validating: payload[2...], as: UTF8.self) != nil else {
            return .broken(.notUTF8("the reason of a close frame is not UTF-8"))
        }
        return .closed(code)
    }
}
