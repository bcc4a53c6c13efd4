import EncodedMedia
import TestSupport

@testable import MediaFormats

/// Makes FLV tags like an attacker who wants to crash every reader: valid headers with arbitrary times, offsets and
/// sizes, codecs that change, bodies that end early, and meaningless bytes.
package struct HostileStream {
    package private(set) var timestamp: UInt32
    private var random: SeededGenerator

    /// The shortest body that RTMP's client passes on: it is not a frame, but its time is read.
    package static let emptySound: [UInt8] = [0xAF, 0x01]

    package init(using random: inout SeededGenerator) {
        self.random = SeededGenerator(seed: random.next())
        timestamp = 0
        timestamp =
            [0, 5000, 0x7FFF_FFFF, 0xFFFF_FFF0, .random(in: 0 ... .max, using: &self.random)]
            .randomElement(using: &self.random) ?? 0
    }

    /// Returns several tags, mostly in succession like those of a publisher. The first ones begin the stream correctly.
    package mutating func tags() -> [UInt8] {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: return Self.repeated(Self.emptySound, step: delta(), count: 40, from: &timestamp)
        case 1: return bytes(.random(in: 0..<40, using: &random))
        default: return tag()
        }
    }

    /// Returns sequence headers of pictures and sound.
    package mutating func beginning() -> [UInt8] {
        let pictures = HLSProgram.video(UInt8.random(in: 0...3, using: &random)).bytes
        return Self.tag(9, [0x17, 0, 0, 0, 0] + pictures, at: timestamp)
            + Self.tag(8, [0xAF, 0] + HLSProgram.audio.bytes, at: timestamp)
    }

    /// Returns the same body `count` times, each `step` ms later than the previous one.
    package static func repeated(_ body: [UInt8], step: UInt32, count: Int, from timestamp: inout UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count {
            timestamp &+= step
            bytes += tag(8, body, at: timestamp)
        }
        return bytes
    }

    package static func tag(_ kind: UInt8, _ body: [UInt8], at timestamp: UInt32, size: Int? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        FLVTagHeader(kind: kind, size: size ?? body.count, timestamp: timestamp).append(to: &bytes)
        bytes += body
        bytes.appendBigEndian(UInt32(body.count + FLVTag.headerLength))
        return bytes
    }

    private mutating func tag() -> [UInt8] {
        timestamp &+= delta()
        var (kind, body) = body()
        switch Int.random(in: 0..<60, using: &random) {
        case 0: body = Array(body.prefix(.random(in: 0...body.count, using: &random)))
        case 1: kind = .random(in: 0...255, using: &random)
        // The following bytes are read out of step, until that is detected.
        case 2: return Self.tag(kind, body, at: timestamp, size: .random(in: 0...200, using: &random))
        case 3 where !body.isEmpty:
            body[.random(in: 0..<body.count, using: &random)] = .random(in: 0...255, using: &random)
        default: break
        }
        return Self.tag(kind, body, at: timestamp)
    }

    /// Returns a step in ms, mostly that of frames.
    private mutating func delta() -> UInt32 {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: 0
        case 1:
            [1, 900, 1000, 2999, 3001, 0xFF_FFFF, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, .max, .max - 1000, .max - 20]
                .randomElement(using: &random) ?? 0
        case 2: .random(in: 0 ... .max, using: &random)
        default: .random(in: 10...50, using: &random)
        }
    }

    private mutating func body() -> (kind: UInt8, bytes: [UInt8]) {
        switch Int.random(in: 0..<16, using: &random) {
        case 0: (9, [0x17, 0, 0, 0, 0] + mutated(HLSProgram.video(UInt8.random(in: 0...3, using: &random)).bytes))
        case 1: (8, [0xAF, 0] + sound())
        case 2: (9, [[0x90, 0x91, 0xA3, 0xD0].randomElement(using: &random) ?? 0] + FLVTag.hevcFourCC + bytes(40))
        case 3: (8, Self.emptySound)
        case 4: (18, FLVCue(name: "onSwitch", text: "{}").tag(at: 0).body)
        case 5: (18, bytes(30))
        case 6: ([8, 9].randomElement(using: &random) ?? 8, bytes(.random(in: 0...9, using: &random)))
        case 7...10: (8, [0xAF, 1] + bytes(.random(in: 1...9, using: &random)))
        default: (9, picture())
        }
    }

    private mutating func picture() -> [UInt8] {
        let isIDR = Int.random(in: 0..<4, using: &random) == 0
        let offset: [UInt8] =
            [[0, 0, 0], [0, 0, 0], [0, 0, 40], [0x7F, 0xFF, 0xFF], [0x80, 0, 0], bytes(3)].randomElement(using: &random)
            ?? []
        let unit = [isIDR ? 0x65 : 0x41] + bytes(5)
        return [isIDR ? 0x17 : 0x27, 1] + offset + [0, 0, 0, UInt8(unit.count)] + unit
    }

    /// Returns any rate and number of channels that five bytes can express.
    private mutating func sound() -> [UInt8] {
        [
            HLSProgram.audio.bytes, HLSProgram.mono.bytes, [0x17, 0x80, 0, 0, 0x90], [0x17, 0xFF, 0xFF, 0xFF, 0x98],
            bytes(5),
        ]
        .randomElement(using: &random) ?? []
    }

    private mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        return bytes
    }

    private mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
}
