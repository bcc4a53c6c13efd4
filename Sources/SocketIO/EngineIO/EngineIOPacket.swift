import Foundation

/// A message of the protocol above Engine.IO.
public enum EngineIOMessage: Hashable, Sendable {
    case text(String)
    case binary([UInt8])
}

/// A packet of Engine.IO.
public enum EngineIOPacket: Hashable, Sendable {
    /// The handshake, JSON.
    case open(String)
    case close
    /// A ping. Its data is `probe` during the change to a WebSocket, otherwise empty.
    case ping(String)
    case pong(String)
    case message(EngineIOMessage)
    case upgrade
    case noop

    /// Parses a packet's text: a digit for its type followed by its data, or `b` and a binary message in Base64.
    public init(text: Substring, version: EngineIOVersion) throws(EngineIOFailure) {
        let data = text.utf8.dropFirst()
        switch text.utf8.first {
        case UInt8(ascii: "0"): self = .open(String(Substring(data)))
        case UInt8(ascii: "1"): self = .close
        case UInt8(ascii: "2"): self = .ping(String(Substring(data)))
        case UInt8(ascii: "3"): self = .pong(String(Substring(data)))
        case UInt8(ascii: "4"): self = .message(.text(String(Substring(data))))
        case UInt8(ascii: "5"): self = .upgrade
        case UInt8(ascii: "6"): self = .noop
        case UInt8(ascii: "b"):
            var encoded = data
            if version == .three {
                guard encoded.popFirst() == UInt8(ascii: "4") else { throw .unknownType }
            }
            guard let bytes = Data(base64Encoded: Data(encoded)) else { throw .badBase64 }
            self = .message(.binary([UInt8](bytes)))
        default: throw .unknownType
        }
    }

    /// Parses a packet of a binary WebSocket message.
    public init(binary bytes: [UInt8], version: EngineIOVersion) throws(EngineIOFailure) {
        switch version {
        case .four: self = .message(.binary(bytes))
        case .three:
            guard bytes.first == Self.binaryType else { throw .unknownType }
            self = .message(.binary([UInt8](bytes.dropFirst())))
        }
    }

    /// First byte of binary messages in version 3.
    static let binaryType: UInt8 = 4

    /// The digit of the type.
    var type: Unicode.Scalar {
        switch self {
        case .open: "0"
        case .close: "1"
        case .ping: "2"
        case .pong: "3"
        case .message: "4"
        case .upgrade: "5"
        case .noop: "6"
        }
    }

    /// The data after the type; `nil` for a binary message.
    var data: String? {
        switch self {
        case .open(let text), .ping(let text), .pong(let text), .message(.text(let text)): text
        case .close, .upgrade, .noop: ""
        case .message(.binary): nil
        }
    }

    /// Returns the packet as text, as in payloads.
    public func text(_ version: EngineIOVersion) -> String {
        if case .message(.binary(let bytes)) = self {
            return (version == .three ? "b4" : "b") + Data(bytes).base64EncodedString()
        }
        return "\(type)\(data ?? "")"
    }

    /// Returns the packet as a WebSocket message.
    ///
    /// - Parameter isTextOnly: Whether a client of version 3 does not accept binary messages.
    public func frame(_ version: EngineIOVersion, isTextOnly: Bool) -> EngineIOMessage {
        guard case .message(.binary(let bytes)) = self, !isTextOnly else { return .text(text(version)) }
        return .binary(version == .three ? [Self.binaryType] + bytes : bytes)
    }

    /// Approximate size in memory and on the wire, in bytes.
    var size: Int {
        switch self {
        case .message(.binary(let bytes)): bytes.count + 1
        default: (data?.utf8.count ?? 0) + 1
        }
    }
}
