import TextFormats

/// A rule of Socket.IO that a client's packet violates. Its connection is closed.
public enum SocketIOFailure: Error, Hashable, Sendable {
    case unknownType
    case badAttachments
    case badNamespace
    case badID
    case badJSON
    case badData
    case reservedName
    /// Bytes for which no packet is waiting, or a text in their place.
    case unexpectedMessage
    case tooLarge
}

/// Assembles packets from a client's messages: `<type>[<attachments>-][<namespace>,][<id>][<JSON>]`, and bytes.
public struct SocketIOReader: Sendable {
    /// Event names that clients and servers reserve for themselves.
    static let reserved: Set<String> = [
        "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
    ]

    private static let json = JSONLimits(deepest: 64, longestKey: 256, mostMembers: 1000)

    private let limits: SocketIOLimits
    /// A packet that waits for attachments.
    private var waiting: (packet: SocketIOPacket, count: Int, bytes: Int)?

    public init(limits: SocketIOLimits = SocketIOLimits()) { self.limits = limits }

    /// Returns the packet that a message completes; `nil` while attachments are missing.
    public mutating func take(_ message: EngineIOMessage) throws(SocketIOFailure) -> SocketIOPacket? {
        switch message {
        case .text(let text):
            guard waiting == nil else { throw .unexpectedMessage }
            guard text.utf8.count <= limits.bytes else { throw .tooLarge }
            let (packet, count) = try read(text)
            guard count > 0 else { return packet }
            waiting = (packet, count, text.utf8.count)
            return nil
        case .binary(let bytes):
            guard var waiting else { throw .unexpectedMessage }
            waiting.bytes += bytes.count
            guard waiting.bytes <= limits.bytes else { throw .tooLarge }
            waiting.packet.attachments.append(bytes)
            let isWhole = waiting.packet.attachments.count == waiting.count
            self.waiting = isWhole ? nil : waiting
            return isWhole ? waiting.packet : nil
        }
    }

    /// Parses a packet without its attachments, and their number.
    private func read(_ text: String) throws(SocketIOFailure) -> (SocketIOPacket, count: Int) {
        var rest = Array(text.utf8)[...]
        guard let digit = rest.popFirst(), (UInt8(ascii: "0")...UInt8(ascii: "6")).contains(digit) else {
            throw .unknownType
        }
        let type = Int(digit - UInt8(ascii: "0"))
        guard let kind = SocketIOPacket.Kind(rawValue: type < 5 ? type : type - 3) else { throw .unknownType }
        var count = 0
        if type >= 5 {
            guard let number = Self.number(&rest, mostDigits: 4), rest.popFirst() == UInt8(ascii: "-"),
                number <= limits.attachments
            else { throw .badAttachments }
            count = number
        }
        var packet = SocketIOPacket(kind)
        if rest.first == UInt8(ascii: "/") {
            let end = rest.prefix(limits.namespace + 1).firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            guard end - rest.startIndex <= limits.namespace,
                let name = String(validating: rest[..<end], as: UTF8.self)
            else { throw .badNamespace }
            packet.namespace = name
            rest = rest[min(end + 1, rest.endIndex)...]
        }
        if let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
            guard let id = Self.number(&rest, mostDigits: 15) else { throw .badID }
            packet.id = id
        }
        if !rest.isEmpty { packet.data = try Self.value(rest) }
        try Self.check(packet, count)
        return (packet, count)
    }

    /// Takes a number from the front; `nil` if there are no digits, or too many.
    private static func number(_ rest: inout ArraySlice<UInt8>, mostDigits: Int) -> Int? {
        var (number, digits) = (0, 0)
        while let digit = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) {
            digits += 1
            guard digits <= mostDigits else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
            rest.removeFirst()
        }
        return digits > 0 ? number : nil
    }

    private static func value(_ bytes: ArraySlice<UInt8>) throws(SocketIOFailure) -> JSONValue {
        let result = bytes.withUnsafeBufferPointer { buffer in
            Result { () throws(JSONFailure) in try JSONValue.parse(buffer, limits: json) }
        }
        guard case .success(let value) = result else { throw .badJSON }
        return value
    }

    private static func check(_ packet: SocketIOPacket, _ count: Int) throws(SocketIOFailure) {
        switch (packet.kind, packet.data) {
        case (.connect, nil), (.connect, .object), (.disconnect, nil): break
        case (.event, .array(let elements)):
            guard case .string(let name)? = elements.first else { throw .badData }
            guard !reserved.contains(name) else { throw .reservedName }
        case (.ack, .array):
            guard packet.id != nil else { throw .badID }
        // Only servers refuse connections.
        case (.connectError, _): throw .unknownType
        default: throw .badData
        }
        guard packet.kind == .event || packet.kind == .ack || packet.id == nil else { throw .badID }
        guard count > 0, let data = packet.data else { return }
        guard placeholders(in: data).allSatisfy({ (0..<count).contains($0) }) else { throw .badAttachments }
    }

    /// Returns the number of the attachment that a placeholder represents; -1 for an invalid placeholder, `nil` for all
    /// other values.
    static func placeholder(_ value: JSONValue) -> Int? {
        guard case .object(let members) = value, members["_placeholder"] == .boolean(true) else { return nil }
        guard case .number(let number)? = members["num"] else { return -1 }
        return Int(exactly: number) ?? -1
    }

    private static func placeholders(in value: JSONValue) -> [Int] {
        if let number = placeholder(value) { return [number] }
        return switch value {
        case .array(let elements): elements.flatMap { placeholders(in: $0) }
        case .object(let members): members.values.flatMap { placeholders(in: $0) }
        case .null, .boolean, .number, .string: []
        }
    }
}
