import NIOCore
import TestSupport

@testable import MixOrchestrator
@testable import RoomService

/// FLV as a relay writes it, tag by tag, and functions to read it back.
enum ScriptedProgram {
    static func fileHeader(tracks: UInt8 = 0b101) -> [UInt8] { [0x46, 0x4C, 0x56, 1, tracks, 0, 0, 0, 9, 0, 0, 0, 0] }

    static func metadata(_ name: String = "a", at timestamp: UInt32 = 0) -> [UInt8] {
        tag(18, timestamp, [2, 0, 10] + Array("onMetaData".utf8) + Array(name.utf8))
    }
    /// - Parameter text: One character.
    static func layout(_ text: String, at timestamp: UInt32 = 0) -> [UInt8] {
        tag(18, timestamp, [2, 0, 8] + Array("onLayout".utf8) + [12, 0, 0, 0, 1] + Array(text.utf8))
    }
    static func videoHeader(_ number: UInt8 = 1, at timestamp: UInt32 = 0) -> [UInt8] {
        tag(9, timestamp, [0x17, 0, 0, 0, 0, number])
    }
    static func audioHeader(_ number: UInt8 = 1, at timestamp: UInt32 = 0) -> [UInt8] {
        tag(8, timestamp, [0xAF, 0, number])
    }
    static func picture(_ timestamp: UInt32, isIDR: Bool = false, size: Int = 20) -> [UInt8] {
        tag(9, timestamp, [isIDR ? 0x17 : 0x27, 1, 0, 0, 0] + [UInt8](repeating: 7, count: size))
    }
    static func sound(_ timestamp: UInt32, size: Int = 9) -> [UInt8] {
        tag(8, timestamp, [0xAF, 1] + [UInt8](repeating: 8, count: size))
    }

    /// Returns the first bytes that a relay sends.
    static func opening(at timestamp: UInt32 = 0) -> [UInt8] {
        fileHeader() + metadata(at: timestamp) + videoHeader(at: timestamp) + audioHeader(at: timestamp)
            + picture(timestamp, isIDR: true)
    }

    static func tag(_ kind: UInt8, _ timestamp: UInt32, _ body: [UInt8]) -> [UInt8] {
        let size = UInt32(body.count)
        return [kind] + bigEndianBytes(size, 3) + bigEndianBytes(timestamp, 3) + [UInt8(timestamp >> 24), 0, 0, 0]
            + body
            + bigEndianBytes(size + 11, 4)
    }

    static func scanned(_ bytes: [UInt8]) throws -> [ViewedTag] {
        var scanner = FLVTagScanner()
        scanner.push(ByteBuffer(bytes: bytes))
        var tags: [ViewedTag] = []
        while let tag = try scanner.next() { tags.append(tag) }
        return tags
    }

    /// Returns one tag without a file header.
    static func one(_ bytes: [UInt8]) throws -> ViewedTag {
        guard let tag = try scanned(fileHeader() + bytes).first else { throw TimedOut() }
        return tag
    }

    /// Returns the content of a sequence of HTTP chunks.
    static func content(ofChunks bytes: [UInt8]) -> [UInt8]? {
        var content: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard let size = Int(String(decoding: rest.prefix(8), as: UTF8.self), radix: 16), size > 0 else {
                return nil
            }
            guard rest.dropFirst(8).starts(with: "\r\n".utf8), rest.count >= size + 12 else { return nil }
            content += rest.dropFirst(10).prefix(size)
            guard rest.dropFirst(10 + size).starts(with: "\r\n".utf8) else { return nil }
            rest = rest.dropFirst(12 + size)
        }
        return content
    }
}

extension ViewedTag {
    /// A word that describes the tag, for comparisons.
    var name: String {
        switch role {
        case .metadata: "m@\(timestamp)"
        case .layout: "L\(Unicode.Scalar(body[body.index(body.startIndex, offsetBy: 16)]))@\(timestamp)"
        case .videoHeader: "V\(body.last.map { _ in body[body.index(body.startIndex, offsetBy: 5)] } ?? 0)@\(timestamp)"
        case .audioHeader: "A\(body[body.index(body.startIndex, offsetBy: 2)])@\(timestamp)"
        case .picture(let isIDR): "\(isIDR ? "I" : "P")\(timestamp)"
        case .sound: "s\(timestamp)"
        }
    }
}
