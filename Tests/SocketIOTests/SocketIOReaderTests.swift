import TestSupport
import TextFormats
import Testing

@testable import SocketIO

struct SocketIOReaderTests {
    private static let placeholder = JSONValue.object(["_placeholder": .boolean(true), "num": .number(0)])

    @Test(arguments: [
        ("0", SocketIOPacket(.connect)),
        (
            "0/admin,{\"token\":\"123\"}",
            SocketIOPacket(.connect, namespace: "/admin", data: .object(["token": .string("123")]))
        ),
        ("1/admin,", SocketIOPacket(.disconnect, namespace: "/admin")),
        ("2[\"foo\"]", SocketIOPacket(event: "foo")),
        ("2/admin,[\"bar\"]", SocketIOPacket(event: "bar", namespace: "/admin")),
        ("212[\"foo\"]", SocketIOPacket(.event, id: 12, data: .array([.string("foo")]))),
        ("3/admin,13[\"bar\"]", SocketIOPacket(.ack, namespace: "/admin", id: 13, data: .array([.string("bar")]))),
    ])
    func packetsAreReadAndWritten(text: String, packet: SocketIOPacket) throws {
        var reader = SocketIOReader()
        #expect(try reader.take(.text(text)) == packet)
        #expect(packet.messages == [.text(packet.kind == .disconnect ? "1/admin," : text)])
    }

    @Test func attachmentsAreWaitedFor() throws {
        var reader = SocketIOReader()
        #expect(try reader.take(.text(#"51-["baz",{"_placeholder":true,"num":0}]"#)) == nil)
        let packet = try #require(try reader.take(.binary([1, 2, 3])))
        #expect(packet == SocketIOPacket(event: "baz", [Self.placeholder], attachments: [[1, 2, 3]]))
        #expect(
            packet.messages == [.text(#"51-["baz",{"_placeholder":true,"num":0}]"#), .binary([1, 2, 3])])
        let event = SocketIOEvent(name: "baz", arguments: [Self.placeholder], attachments: [[1, 2, 3]])
        #expect(event.attachment(of: Self.placeholder) == [1, 2, 3])
        #expect(event.attachment(of: .number(0)) == nil)
        #expect(try reader.take(.text("2[\"next\"]")) == SocketIOPacket(event: "next"))
    }

    @Test(arguments: [
        ("", SocketIOFailure.unknownType), ("abc", .unknownType), ("7", .unknownType), ("4{}", .unknownType),
        ("2", .badData), ("2{}", .badData), ("2[]", .badData), ("2[1]", .badData), ("2abc[\"a\"]", .badJSON),
        ("2[\"a\"", .badJSON), ("3[]", .badID), ("31{}", .badData), ("0[]", .badData), ("1{}", .badData),
        ("01", .badID),
        ("2[\"connect\"]", .reservedName), ("21234567890123456[\"a\"]", .badID), ("5[\"a\"]", .badAttachments),
        ("511-[\"a\"]", .badAttachments), ("51-[\"a\",{\"_placeholder\":true,\"num\":1}]", .badAttachments),
        ("51-[\"a\",{\"_placeholder\":true,\"num\":0.5}]", .badAttachments),
        ("51-[\"a\",[{\"_placeholder\":true}]]", .badAttachments),
    ])
    func brokenPacketsAreRefused(text: String, failure: SocketIOFailure) {
        var reader = SocketIOReader()
        #expect(throws: failure) { try reader.take(.text(text)) }
    }

    @Test func boundsAreReached() throws {
        var limits = SocketIOLimits()
        (limits.bytes, limits.attachments, limits.namespace) = (60, 2, 8)
        var reader = SocketIOReader(limits: limits)
        #expect(throws: SocketIOFailure.tooLarge) {
            try reader.take(.text("2[\"" + String(repeating: "a", count: 60) + "\"]"))
        }
        #expect(throws: SocketIOFailure.badAttachments) { try reader.take(.text("53-[\"a\"]")) }
        #expect(try reader.take(.text("0/1234567,"))?.namespace == "/1234567")
        #expect(throws: SocketIOFailure.badNamespace) { try reader.take(.text("0/12345678,")) }
        #expect(throws: SocketIOFailure.unexpectedMessage) { try reader.take(.binary([1])) }
        #expect(try reader.take(.text("52-[\"a\"]")) == nil)
        #expect(throws: SocketIOFailure.unexpectedMessage) { try reader.take(.text("2[\"a\"]")) }
        #expect(try reader.take(.binary([UInt8](repeating: 0, count: 40))) == nil)
        #expect(throws: SocketIOFailure.tooLarge) { try reader.take(.binary([UInt8](repeating: 0, count: 40))) }
        #expect(throws: SocketIOFailure.badJSON) {
            try SocketIOReader().takenOnce(
                "2[\"a\"," + String(repeating: "[", count: 100) + String(repeating: "]", count: 101))
        }
    }

    /// A packet that was read is the same after it was written and read again.
    @Test func anyTextIsSurvived() throws {
        var random = SeededGenerator(announcedFor: "SocketIOReaderTests")
        let seeds = [
            #"51-/ns,12["baz",{"_placeholder":true,"num":0},{"é😀":[1.5,null,true]}]"#, #"2["a",-1e3,"\u0000\n"]"#,
            #"0/admin,{"token":"123"}"#, "41", "312[]",
        ]
        var read = 0
        for round in 0..<TestLength.of(short: 20_000, long: 1_000_000) {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[place] = UInt8.random(in: 0...127, using: &random)
                } else {
                    bytes.remove(at: place)
                }
            }
            guard let packet = try? Self.packet(String(decoding: bytes, as: UTF8.self)) else { continue }
            read += 1
            guard case .text(let again)? = packet.messages.first else { continue }
            #expect(try Self.packet(again) == packet, "\(bytes)")
        }
        #expect(read > 1000)
    }

    /// Returns a packet, with as many attachments as it needs.
    private static func packet(_ text: String) throws -> SocketIOPacket? {
        var reader = SocketIOReader()
        if let packet = try reader.take(.text(text)) { return packet }
        for _ in 0..<20 {
            if let packet = try reader.take(.binary([1])) { return packet }
        }
        return nil
    }
}

extension SocketIOReader {
    fileprivate func takenOnce(_ text: String) throws {
        var reader = self
        _ = try reader.take(.text(text))
    }
}
