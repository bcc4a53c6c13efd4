/// A case of the public conformance suite for WebSockets (Autobahn), with the suite's number: what a client sends, and
/// what it gets from a service that sends every message back.
struct WebSocketCase {
    enum Answer: Hashable {
        case text(String)
        case binary([UInt8])
        case pong([UInt8])
    }

    enum End: Hashable {
        /// The connection stays open.
        case open
        /// The client closes it, and its code comes back; `nil` if it gave none.
        case closed(UInt16?)
        /// The client has broken a rule.
        case broken(UInt16)
    }

    /// A frame: its first byte, with FIN, reserved bits and opcode, and its payload.
    typealias Sent = (first: UInt8, payload: [UInt8])

    let number: String
    let frames: [Sent]
    let answers: [Answer]
    let end: End

    private init(_ number: String, _ frames: [Sent], _ answers: [Answer] = [], end: End = .open) {
        self.number = number
        self.frames = frames
        self.answers = answers
        self.end = end
    }

    /// Cases that differ only in how the bytes are divided among packets are listed once. Not listed: 9 (speed, with
    /// messages of up to 16 MiB, more than the service accepts), 12 and 13 (compression, which it does not offer).
    static let all: [WebSocketCase] = [
        sizes, pings, reservedBits, opcodes, fragments, texts, closes, closeFrames, closeCodes,
    ].flatMap { $0 }

    // MARK: Frames

    private static func frame(_ first: UInt8, _ text: String = "") -> Sent { (first, Array(text.utf8)) }
    private static func code(_ code: UInt16, _ reason: [UInt8] = []) -> Sent {
        (0x88, [UInt8(code >> 8), UInt8(code & 255)] + reason)
    }
    /// Returns the frames of a message whose fragments have this many bytes.
    private static func divided(_ bytes: [UInt8], by size: Int) -> [Sent] {
        stride(from: 0, to: bytes.count, by: size).map { start -> Sent in
            let end = min(start + size, bytes.count)
            let opcode: UInt8 = start == 0 ? 1 : 0
            let fin: UInt8 = end == bytes.count ? 0x80 : 0
            return (first: opcode | fin, payload: Array(bytes[start..<end]))
        }
    }

    private static let hello = "Hello, world!"
    private static let notText: [UInt8] = [0, 255, 254, 253, 252, 251, 0, 255]
    /// A Greek word.
    private static let greek: [UInt8] = [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5]
    /// The same word, then a surrogate, which UTF-8 does not have.
    private static let notUTF8: [UInt8] = greek + [0xED, 0xA0, 0x80] + Array("edited".utf8)

    // MARK: Cases

    private static var sizes: [WebSocketCase] {
        var cases: [WebSocketCase] = []
        for (index, count) in [0, 125, 126, 127, 128, 65_535, 65_536].enumerated() {
            let text = String(repeating: "*", count: count)
            let bytes = [UInt8](repeating: 0xFE, count: count)
            cases.append(WebSocketCase("1.1.\(index + 1)", [frame(0x81, text)], [.text(text)]))
            cases.append(WebSocketCase("1.2.\(index + 1)", [(0x82, bytes)], [.binary(bytes)]))
        }
        let large = String(repeating: "*", count: 65_536)
        cases.append(WebSocketCase("10.1.1", divided(Array(large.utf8), by: 1300), [.text(large)]))
        return cases
    }

    private static var pings: [WebSocketCase] {
        let most = [UInt8](repeating: 0xFE, count: 125)
        let ten: [[UInt8]] = (0..<10).map { Array("payload-\($0)".utf8) }
        return [
            WebSocketCase("2.1", [frame(0x89)], [.pong([])]),
            WebSocketCase("2.2", [frame(0x89, hello)], [.pong(Array(hello.utf8))]),
            WebSocketCase("2.3", [(0x89, notText)], [.pong(notText)]),
            WebSocketCase("2.4", [(0x89, most)], [.pong(most)]),
            WebSocketCase("2.5", [(0x89, most + [0xFE])], end: .broken(1002)),
            WebSocketCase("2.7", [frame(0x8A)]),
            WebSocketCase("2.8", [frame(0x8A, "unsolicited")]),
            WebSocketCase("2.9", [frame(0x8A, "unsolicited"), (0x89, notText)], [.pong(notText)]),
            WebSocketCase("2.10", ten.map { (first: 0x89, payload: $0) }, ten.map { Answer.pong($0) }),
        ]
    }

    private static var reservedBits: [WebSocketCase] {
        [
            WebSocketCase("3.1", [frame(0x91, hello)], end: .broken(1002)),
            WebSocketCase(
                "3.2", [frame(0x81, hello), frame(0xA1, hello), frame(0x89)], [.text(hello)], end: .broken(1002)),
            WebSocketCase(
                "3.3", [frame(0x81, hello), frame(0xB1, hello), frame(0x89)], [.text(hello)], end: .broken(1002)),
            WebSocketCase(
                "3.4", [frame(0x81, hello), frame(0xC1, hello), frame(0x89)], [.text(hello)], end: .broken(1002)),
            WebSocketCase("3.5", [(0xD2, notText)], end: .broken(1002)),
            WebSocketCase("3.6", [frame(0xE2, hello)], end: .broken(1002)),
            WebSocketCase("3.7", [frame(0xF8)], end: .broken(1002)),
        ]
    }

    private static var opcodes: [WebSocketCase] {
        [1, 2].flatMap { (group: Int) -> [WebSocketCase] in
            let first: UInt8 = group == 1 ? 3 : 11
            return [
                WebSocketCase("4.\(group).1", [frame(0x80 | first)], end: .broken(1002)),
                WebSocketCase("4.\(group).2", [frame(0x80 | first + 1, "reserved")], end: .broken(1002)),
                WebSocketCase(
                    "4.\(group).3", [frame(0x81, hello), frame(0x80 | first + 2), frame(0x89)], [.text(hello)],
                    end: .broken(1002)),
                WebSocketCase(
                    "4.\(group).4", [frame(0x81, hello), frame(0x80 | first + 3, hello), frame(0x89)], [.text(hello)],
                    end: .broken(1002)),
                WebSocketCase(
                    "4.\(group).5", [frame(0x81, hello), frame(0x80 | first + 4, hello), frame(0x89)], [.text(hello)],
                    end: .broken(1002)),
            ]
        }
    }

    private static var fragments: [WebSocketCase] {
        let (first, second) = (frame(0x01, "fragment1"), frame(0x80, "fragment2"))
        let whole = Answer.text("fragment1fragment2")
        let ping = frame(0x89, "ping payload")
        let pong = Answer.pong(Array("ping payload".utf8))
        return [
            WebSocketCase("5.1", [frame(0x09, "fragment1"), second], end: .broken(1002)),
            WebSocketCase("5.2", [frame(0x0A, "fragment1"), second], end: .broken(1002)),
            WebSocketCase("5.3", [first, second], [whole]),
            WebSocketCase("5.6", [first, ping, second], [pong, whole]),
            WebSocketCase("5.9", [frame(0x80, "nothing before"), frame(0x81, hello)], end: .broken(1002)),
            WebSocketCase("5.12", [frame(0x00, "nothing before"), frame(0x81, hello)], end: .broken(1002)),
            WebSocketCase(
                "5.15", [first, second, frame(0x00, "fragment3"), frame(0x81, "fragment4")], [whole],
                end: .broken(1002)),
            WebSocketCase("5.16", [frame(0x00, "fragment1"), first, second], end: .broken(1002)),
            WebSocketCase("5.17", [frame(0x80, "fragment1"), first, second], end: .broken(1002)),
            WebSocketCase("5.18", [first, frame(0x81, "fragment2")], end: .broken(1002)),
            WebSocketCase(
                "5.19",
                [first, frame(0x00, "2"), ping, frame(0x00, "3"), frame(0x00, "4"), ping, frame(0x80, "5")],
                [pong, pong, .text("fragment12345")]),
        ]
    }

    private static var texts: [WebSocketCase] {
        let accents = "Hello-µ@ßöäüàá-UTF-8!!"
        let tooHigh: [UInt8] = [0xF4, 0x90, 0x80, 0x80]
        return [
            WebSocketCase("6.1.1", [frame(0x81)], [.text("")]),
            WebSocketCase("6.1.2", [frame(0x01), frame(0x00), frame(0x80)], [.text("")]),
            WebSocketCase("6.1.3", [frame(0x01), frame(0x00, "middle"), frame(0x80)], [.text("middle")]),
            WebSocketCase("6.2.1", [frame(0x81, accents)], [.text(accents)]),
            WebSocketCase("6.2.2", [frame(0x01, "Hello-µ@ßöä"), frame(0x80, "üàá-UTF-8!!")], [.text(accents)]),
            WebSocketCase("6.2.3", divided(Array(accents.utf8), by: 1), [.text(accents)]),
            WebSocketCase("6.2.4", divided(greek, by: 1), [.text(String(decoding: greek, as: UTF8.self))]),
            WebSocketCase("6.3.1", [(0x81, notUTF8)], end: .broken(1007)),
            WebSocketCase("6.3.2", divided(notUTF8, by: 1), end: .broken(1007)),
            // The suite also accepts that the error is found when the message is complete.
            WebSocketCase("6.4.1", [(0x01, greek), (0x00, tooHigh), frame(0x80, "edited")], end: .broken(1007)),
            WebSocketCase(
                "6.4.2", [(0x01, greek + tooHigh.prefix(1)), (0x00, [0x90]), (0x80, [0x80, 0x80])],
                end: .broken(1007)),
            WebSocketCase("6.4.3", [(0x81, greek + tooHigh + Array("edited".utf8))], end: .broken(1007)),
        ]
    }

    private static var closes: [WebSocketCase] {
        let large = String(repeating: "*", count: 65_536)
        return [
            WebSocketCase("7.1.1", [frame(0x81, hello)], [.text(hello)]),
            WebSocketCase("7.1.2", [code(1000), frame(0x88)], end: .closed(1000)),
            WebSocketCase("7.1.3", [code(1000), frame(0x89)], end: .closed(1000)),
            WebSocketCase("7.1.4", [code(1000), frame(0x81, hello)], end: .closed(1000)),
            WebSocketCase(
                "7.1.5", [frame(0x01, "fragment1"), code(1000), frame(0x80, "fragment2")], end: .closed(1000)),
            WebSocketCase(
                "7.1.6", [frame(0x81, large), frame(0x81, hello), code(1000), frame(0x89)],
                [.text(large), .text(hello)], end: .closed(1000)),
        ]
    }

    private static var closeFrames: [WebSocketCase] {
        [
            WebSocketCase("7.3.1", [frame(0x88)], end: .closed(nil)),
            WebSocketCase("7.3.2", [frame(0x88, "a")], end: .broken(1002)),
            WebSocketCase("7.3.3", [code(1000)], end: .closed(1000)),
            WebSocketCase("7.3.4", [code(1000, Array(hello.utf8))], end: .closed(1000)),
            WebSocketCase("7.3.5", [code(1000, [UInt8](repeating: 42, count: 123))], end: .closed(1000)),
            WebSocketCase("7.3.6", [code(1000, [UInt8](repeating: 42, count: 124))], end: .broken(1002)),
            WebSocketCase("7.5.1", [code(1000, notUTF8)], end: .broken(1007)),
        ]
    }

    private static var closeCodes: [WebSocketCase] {
        let valid: [UInt16] = [
            1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
        ]
        let invalid: [UInt16] = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999]
        var cases: [WebSocketCase] = []
        for (index, number) in valid.enumerated() {
            cases.append(WebSocketCase("7.7.\(index + 1)", [code(number)], end: .closed(number)))
        }
        for (index, number) in invalid.enumerated() {
            cases.append(WebSocketCase("7.9.\(index + 1)", [code(number)], end: .broken(1002)))
        }
        cases.append(WebSocketCase("7.13.1", [code(5000)], end: .broken(1002)))
        cases.append(WebSocketCase("7.13.2", [code(65_535)], end: .broken(1002)))
        return cases
    }
}
