import TestSupport

@testable import MediaFormats
@testable import RTMP

/// The bytes that an RTMP server could send: chunks of every header type, written without the code under test.
struct RTMPPeer {
    /// The fields that a later header of a chunk stream may omit.
    private struct Previous {
        var timestamp: UInt32
        var field: UInt32
        var kind: UInt8
        var length: Int
        var stream: UInt32
    }

    /// A message that is being split, on its chunk stream.
    private struct Writing {
        var id: UInt32
        var rest: ArraySlice<UInt8>
        /// The extended timestamp in every further chunk.
        var extended: UInt32?
    }

    var chunkSize = 128
    /// Whether chunks after the first repeat an extended timestamp, as the specification demands.
    var repeatsExtended = true
    private var previous: [UInt32: Previous] = [:]
    private var writing: [Writing] = []

    static func number(_ value: UInt32, _ count: Int) -> [UInt8] {
        bigEndianBytes(value, count)
    }

    var isIdle: Bool { writing.isEmpty }
    func isBusy(_ id: UInt32) -> Bool { writing.contains { $0.id == id } }

    /// Returns the header types with which this message can begin on `id`.
    func formats(for message: RTMPMessage, on id: UInt32) -> [UInt8] {
        guard let before = previous[id] else { return [0] }
        guard before.stream == message.stream else { return [0] }
        var formats: [UInt8] = [0, 1]
        guard before.kind == message.kind.rawValue, before.length == message.body.count else { return formats }
        formats.append(2)
        if message.timestamp &- before.timestamp == before.field { formats.append(3) }
        return formats
    }

    /// Returns the first chunk of a message; more follow from `further`.
    mutating func begin(_ message: RTMPMessage, on id: UInt32, format: UInt8) -> [UInt8] {
        let field =
            switch format {
            case 0: message.timestamp
            case 3: previous[id]?.field ?? 0
            default: message.timestamp &- (previous[id]?.timestamp ?? 0)
            }
        let isExtended = field >= 0xFF_FFFF
        var bytes = Self.basic(format, id)
        if format < 3 { bytes += Self.number(isExtended ? 0xFF_FFFF : field, 3) }
        if format < 2 { bytes += Self.number(UInt32(message.body.count), 3) + [message.kind.rawValue] }
        if format == 0 { bytes += Self.number(message.stream, 4).reversed() }
        if isExtended, format < 3 || repeatsExtended { bytes += Self.number(field, 4) }
        bytes += message.body.prefix(chunkSize)
        previous[id] = Previous(
            timestamp: message.timestamp, field: field, kind: message.kind.rawValue, length: message.body.count,
            stream: message.stream)
        if message.body.count > chunkSize {
            writing.append(
                Writing(id: id, rest: message.body.dropFirst(chunkSize), extended: isExtended ? field : nil))
        } else {
            completed.append(id)
        }
        return bytes
    }

    /// Returns the next chunk of one of the incomplete messages.
    mutating func further(_ index: Int) -> [UInt8] {
        var bytes = Self.basic(3, writing[index].id)
        if repeatsExtended, let extended = writing[index].extended { bytes += Self.number(extended, 4) }
        bytes += writing[index].rest.prefix(chunkSize)
        writing[index].rest = writing[index].rest.dropFirst(chunkSize)
        if writing[index].rest.isEmpty { completed.append(writing.remove(at: index).id) }
        return bytes
    }

    var unfinished: Int { writing.count }
    /// Chunk streams in the order in which their messages were completed.
    private(set) var completed: [UInt32] = []

    /// Returns a whole message with a full header.
    mutating func message(
        _ kind: RTMPMessage.Kind, _ body: [UInt8], timestamp: UInt32 = 0, stream: UInt32 = 0, on id: UInt32 = 3
    ) -> [UInt8] {
        var bytes = begin(
            RTMPMessage(kind: kind, timestamp: timestamp, stream: stream, body: body), on: id, format: 0)
        while let index = writing.firstIndex(where: { $0.id == id }) { bytes += further(index) }
        return bytes
    }

    mutating func command(_ values: [AMF0], stream: UInt32 = 0) -> [UInt8] {
        var body: [UInt8] = []
        for value in values { value.encode(into: &body) }
        return message(.command, body, stream: stream)
    }

    mutating func status(_ code: String, level: String = "status", description: String = "") -> [UInt8] {
        command(
            [
                .string("onStatus"), .number(0), .null,
                .object([
                    .init(name: "level", value: .string(level)), .init(name: "code", value: .string(code)),
                    .init(name: "description", value: .string(description)),
                ]),
            ], stream: 1)
    }

    private static func basic(_ format: UInt8, _ id: UInt32) -> [UInt8] {
        switch id {
        case ..<64: [format << 6 | UInt8(id)]
        case ..<320: [format << 6, UInt8(id - 64)]
        default: [format << 6 | 1, UInt8((id - 64) & 0xFF), UInt8((id - 64) >> 8)]
        }
    }
}

/// Splits bytes at random places.
func rtmpPieces(_ bytes: [UInt8], longest: Int, using random: inout some RandomNumberGenerator) -> [ArraySlice<UInt8>] {
    var pieces: [ArraySlice<UInt8>] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let piece = rest.prefix(.random(in: 1...longest, using: &random))
        pieces.append(piece)
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}

extension RTMPMessage {
    /// The message as an FLV tag.
    var flvTag: [UInt8] {
        var bytes: [UInt8] = []
        appendTag(to: &bytes)
        return bytes
    }
}
