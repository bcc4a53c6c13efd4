import NIOCore
import TestSupport
import Testing

@testable import HTTPInterface

/// The cases of the public conformance suite for WebSockets, first without a connection.
struct WebSocketCasesTests {
    @Test func messagesPingsAndEndsAreThoseOfTheSuite() {
        for one in WebSocketCase.all {
            var reader = WebSocketReader(largest: 70_000)
            var answers: [WebSocketCase.Answer] = []
            var end = WebSocketCase.End.open
            for frame in one.frames {
                switch reader.take(Self.read(frame)) {
                case .message(.text(let text)): answers.append(.text(text))
                case .message(.binary(let bytes)): answers.append(.binary(bytes))
                case .ping(let payload): answers.append(.pong(payload))
                case .closed(let code): end = .closed(code)
                case .broken(let reason): end = .broken(reason.code)
                case .pong, nil: break
                }
            }
            #expect(answers == one.answers && end == one.end, "case \(one.number): \(end)")
        }
    }

    private static func read(_ frame: WebSocketCase.Sent) -> WebSocketReader.Frame {
        WebSocketReader.Frame(
            isFinal: frame.first & 0x80 != 0, hasReservedBits: frame.first & 0x70 != 0, opcode: frame.first & 15,
            payload: frame.payload)
    }

    /// The suite's cases 6.5 to 6.23, from Markus Kuhn's test of UTF-8 decoders.
    private static let sequences: [(number: String, isUTF8: Bool, bytes: String)] = [
        ("6.5", true, "68656c6c6f24 68656c6c6fc2a2 68656c6c6fe282ac 68656c6c6ff0a4ada2 cebae1bdb9cf83cebcceb5"),
        ("6.6", true, "ceba cebae1bdb9 cebae1bdb9cf83 cebae1bdb9cf83cebc"),
        ("6.6", false, "ce cebae1 cebae1bd cebae1bdb9cf cebae1bdb9cf83ce cebae1bdb9cf83cebcce"),
        ("6.7", true, "00 c280 e0a080 f0908080"),
        ("6.8", false, "f888808080 fc8480808080"),
        ("6.9", true, "7f dfbf efbfbf f48fbfbf"),
        ("6.10", false, "f7bfbfbf fbbfbfbfbf fdbfbfbfbfbf"),
        ("6.11", true, "ed9fbf ee8080 efbfbd f48fbfbf"),
        ("6.11", false, "f4908080"),
        ("6.12", false, "80 bf 80bf 80bf80 80bf80bf 80bf80bf80 80bf80bf80bf"),
        ("6.13", false, "c020 df20 e020 ef20 f020 f720 f820 fb20 fc20 fd20"),
        ("6.14", false, "c0 e080 f08080 f8808080 fc80808080 df efbf f7bfbf fbbfbfbf fdbfbfbfbf"),
        ("6.15", false, "c0e080f08080f8808080fc80808080dfefbff7bfbffbbfbfbffdbfbfbfbf"),
        ("6.16", false, "fe ff fefeffff"),
        ("6.17", false, "c0af e080af f08080af f8808080af fc80808080af"),
        ("6.18", false, "c1bf e09fbf f08fbfbf f887bfbfbf fc83bfbfbfbf"),
        ("6.19", false, "c080 e08080 f0808080 f880808080 fc8080808080"),
        ("6.20", false, "eda080 edadbf edae80 edafbf edb080 edbe80 edbfbf"),
        (
            "6.21", false,
            "eda080edb080 eda080edbfbf edadbfedb080 edadbfedbfbf edae80edb080 edae80edbfbf edafbfedb080 edafbfedbfbf"
        ),
        ("6.22", true, "efbfbe efbfbf f09fbfbe f09fbfbf f0afbfbe f0bfbfbf f18fbfbe f3bfbfbf f48fbfbe f48fbfbf"),
        ("6.23", true, "efbfb9 efbfba efbfbb efbfbc efbfbd"),
    ]

    @Test(arguments: [false, true]) func textsAreUTF8(areDivided: Bool) {
        for (number, isUTF8, list) in Self.sequences {
            for word in list.split(separator: " ") {
                let bytes = Self.bytes(word)
                var reader = WebSocketReader(largest: 1000)
                var last: WebSocketReader.Event?
                if areDivided {
                    for (index, byte) in bytes.enumerated() {
                        last = reader.take(
                            WebSocketReader.Frame(
                                isFinal: index == bytes.count - 1, opcode: index == 0 ? 1 : 0, payload: [byte]))
                    }
                } else {
                    last = reader.take(WebSocketReader.Frame(opcode: 1, payload: bytes))
                }
                switch last {
                case .message(.text(let text)):
                    #expect(isUTF8 && Array(text.utf8) == bytes, "case \(number): \(word)")
                case .broken(let reason): #expect(!isUTF8 && reason.code == 1007, "case \(number): \(word)")
                default: Issue.record("case \(number): \(word) is \(String(describing: last))")
                }
            }
        }
    }

    private static func bytes(_ word: Substring) -> [UInt8] {
        let digits = Array(word)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
    }
}

extension WebSocketServerTests {
    /// The same cases on connections that send every message back, each in one packet, and byte by byte.
    @Test(arguments: [false, true]) func aConnectionPassesTheSuite(byteByByte: Bool) async throws {
        try await withServer { _, _, _ in
        } serve: { socket in
            await socket.forEach { message in
                switch message {
                case .text(let text): socket.send(text)
                case .binary(let bytes): socket.send(ByteBuffer(bytes: bytes), isText: false)
                }
            }
        } _: { stage in
            for one in WebSocketCase.all {
                let bytes = one.frames.flatMap { WebSocketClient.frame($0.first, $0.payload) }
                // The large ones are long enough to arrive in several reads anyway.
                if byteByByte, bytes.count > 500 { continue }
                let client = try await stage.open()
                if byteByByte {
                    for byte in bytes { await client.send(raw: [byte]) }
                } else {
                    await client.send(raw: bytes)
                }
                try await Self.expectTheEnd(of: one, client)
                await client.disconnect()
            }
        }
    }

    private static func expectTheEnd(of one: WebSocketCase, _ client: WebSocketClient) async throws {
        var answers: [WebSocketCase.Answer] = []
        if one.end == .open {
            while answers.count < one.answers.count, let frame = await client.next() {
                answers.append(try #require(answer(frame), "case \(one.number): \(frame)"))
            }
            #expect(answers == one.answers, "case \(one.number)")
            await client.send(0x88, [3, 232])
            #expect(
                await client.rest() == [WebSocketClient.Frame(first: 0x88, payload: [3, 232])], "case \(one.number)")
            return
        }
        var close: WebSocketClient.Frame?
        while close == nil, let frame = await client.next() {
            if frame.opcode == 8 {
                close = frame
            } else {
                answers.append(try #require(answer(frame), "case \(one.number): \(frame)"))
            }
        }
        // The close frame is sent at once, so that earlier answers may be missing.
        #expect(one.answers.starts(with: answers), "case \(one.number): \(answers.count) answers")
        let expected: UInt16? =
            switch one.end {
            case .open: nil
            case .closed(let code): code
            case .broken(let code): code
            }
        #expect(close?.first == 0x88 && close?.code == expected, "case \(one.number): \(String(describing: close))")
    }

    private static func answer(_ frame: WebSocketClient.Frame) -> WebSocketCase.Answer? {
        switch frame.first {
        case 0x81: .text(frame.text)
        case 0x82: .binary(frame.payload)
        case 0x8A: .pong(frame.payload)
        default: nil
        }
    }
}
