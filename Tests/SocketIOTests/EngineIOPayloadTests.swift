import SocketIO
import TestSupport
import Testing

struct EngineIOPayloadTests {
    private static func decode(
        _ text: String, _ version: EngineIOVersion, _ limits: EngineIOLimits = EngineIOLimits()
    ) throws -> [EngineIOPacket] {
        try EngineIOPayload.decode(Array(text.utf8), isBinary: false, version: version, limits: limits)
    }

    private static func encode(_ packets: [EngineIOPacket], _ version: EngineIOVersion, isTextOnly: Bool = true)
        -> String
    {
        let (bytes, isBinary) = EngineIOPayload.encode(packets, version: version, isTextOnly: isTextOnly)
        #expect(!isBinary)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The examples of the protocol's specification, in both directions.
    @Test(arguments: [
        (EngineIOVersion.four, "4hello\u{1E}2\u{1E}4world"),
        (.four, "4hello\u{1E}bAQIDBA=="), (.three, "6:4hello10:b4AQIDBA=="), (.four, "4"), (.three, "1:4"),
    ])
    func payloadsComeBack(version: EngineIOVersion, text: String) throws {
        #expect(Self.encode(try Self.decode(text, version), version) == text)
    }

    /// Lengths in version 3 count UTF-16 units. Sent texts have equally many units, characters and code points, since
    /// some clients count those.
    @Test func lengthsOfThreeAreTheSameHoweverTheyAreCounted() throws {
        #expect(try Self.decode("6:4hello2:4€4:4😀a", .three) == ["hello", "€", "😀a"].map { .message(.text($0)) })
        #expect(Self.encode([.message(.text("é😀"))], .three) == #"19:4\u00e9\ud83d\ude00"#)
    }

    @Test func binaryFormOfThreeComesBack() throws {
        let packets: [EngineIOPacket] = [.message(.text("€")), .message(.binary([1, 2, 3, 4])), .noop]
        let (bytes, isBinary) = EngineIOPayload.encode(packets, version: .three, isTextOnly: false)
        #expect(isBinary)
        #expect(bytes == [0, 4, 255, 0x34, 0xE2, 0x82, 0xAC, 1, 5, 255, 4, 1, 2, 3, 4, 0, 1, 255, 0x36])
        let read = try EngineIOPayload.decode(bytes, isBinary: true, version: .three, limits: EngineIOLimits())
        #expect(read == packets)
        // Without binary data, the binary form is not needed.
        #expect(!EngineIOPayload.encode([.noop], version: .three, isTextOnly: false).isBinary)
    }

    /// Some clients count characters in lengths: 👩‍👩‍👧 is one character and eight UTF-16 units.
    @Test func lengthsThatAreTooShortAreMended() throws {
        #expect(
            try Self.decode("6:4👩‍👩‍👧abc10:4👍🏽after b1:2", .three) == [
                .message(.text("👩‍👩‍👧abc")), .message(.text("👍🏽after b")), .ping(""),
            ])
    }

    @Test(arguments: [
        (EngineIOVersion.four, "abc", EngineIOFailure.unknownType), (.four, "", .unknownType),
        (.four, "4a\u{1E}", .unknownType), (.four, "b!", .badBase64), (.three, "abc", .badLength),
        (.three, "", .badLength),
        (.three, ":4a", .badLength), (.three, "-1:4a", .badLength), (.three, "9:4a", .badLength),
        (.three, "9999999999:4a", .badLength), (.three, "2:bA", .unknownType), (.three, "3:b4!", .badBase64),
        (.three, "1:7", .unknownType),
    ])
    func brokenPayloadsAreRefused(version: EngineIOVersion, text: String, failure: EngineIOFailure) {
        #expect(throws: failure) { try Self.decode(text, version) }
    }

    @Test(arguments: [
        ([] as [UInt8], EngineIOFailure.badLength), ([2, 1, 255, 0x36], .unknownType), ([0, 255], .badLength),
        ([0, 10, 255], .badLength), ([0, 2, 255, 0x36], .badLength), ([1, 1, 255, 3], .unknownType),
        ([0, 2, 255, 0x34, 0xFF], .notUTF8), ([0] + [UInt8](repeating: 9, count: 10) + [255], .badLength),
        ([0, 1], .badLength),
    ])
    func brokenBinaryPayloadsAreRefused(bytes: [UInt8], failure: EngineIOFailure) {
        #expect(throws: failure) {
            try EngineIOPayload.decode(bytes, isBinary: true, version: .three, limits: EngineIOLimits())
        }
    }

    @Test func versionFourHasNoBinaryForm() {
        #expect(throws: EngineIOFailure.binaryPayload) {
            try EngineIOPayload.decode([0, 1, 255, 0x36], isBinary: true, version: .four, limits: EngineIOLimits())
        }
        #expect(throws: EngineIOFailure.notUTF8) {
            try EngineIOPayload.decode([0x34, 0xFF], isBinary: false, version: .four, limits: EngineIOLimits())
        }
    }

    @Test func packetsOfAPayloadAreLimited() throws {
        var limits = EngineIOLimits()
        limits.packets = 3
        #expect(try Self.decode("6\u{1E}6\u{1E}6", .four, limits).count == 3)
        #expect(throws: EngineIOFailure.tooManyPackets) { try Self.decode("6\u{1E}6\u{1E}6\u{1E}6", .four, limits) }
        #expect(try Self.decode("1:61:61:6", .three, limits).count == 3)
        #expect(throws: EngineIOFailure.tooManyPackets) { try Self.decode("1:61:61:61:6", .three, limits) }
        let frame: [UInt8] = [0, 1, 255, 0x36]
        #expect(throws: EngineIOFailure.tooManyPackets) {
            try EngineIOPayload.decode(
                frame + frame + frame + frame, isBinary: true, version: .three, limits: limits)
        }
    }

    /// Any bytes give packets or an error, and packets that were read are written unchanged.
    @Test func anyBytesAreSurvived() throws {
        var random = SeededGenerator(announcedFor: "EngineIOPayloadTests")
        let seeds = ["4hello\u{1E}bAQIDBA==\u{1E}2probe", "6:4hello2:4€4:4😀a10:b4AQIDBA==", "\u{0}\u{1}"]
        var read = 0
        for round in 0..<TestLength.of(short: 20_000, long: 1_000_000) {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[place...].prefix(5), at: place)
                }
            }
            for version in [EngineIOVersion.three, .four] {
                for isBinary in [false, true] {
                    guard
                        let packets = try? EngineIOPayload.decode(
                            bytes, isBinary: isBinary, version: version, limits: EngineIOLimits())
                    else { continue }
                    read += 1
                    for isTextOnly in [false, true] {
                        let (again, isBinary) = EngineIOPayload.encode(
                            packets, version: version, isTextOnly: isTextOnly)
                        let back = try EngineIOPayload.decode(
                            again, isBinary: isBinary, version: version, limits: EngineIOLimits())
                        #expect(version == .four || isBinary ? back == packets : !back.isEmpty, "\(bytes)")
                    }
                }
            }
        }
        #expect(read > 1000)
    }
}
