import Testing
import TestSupport

@testable import HTTPInterface

/// Messages assembled from frames, with the cases of RFC 6455 that test suites for servers have.
struct WebSocketReaderTests {
    private typealias Frame = WebSocketReader.Frame

    private func events(_ frames: [WebSocketReader.Frame], largest: Int = 1000) -> [WebSocketReader.Event] {
        var reader = WebSocketReader(largest: largest)
        return frames.compactMap { reader.take($0) }
    }

    private func text(_ text: String, _ opcode: UInt8 = 1, isFinal: Bool = true) -> WebSocketReader.Frame {
        Frame(isFinal: isFinal, opcode: opcode, payload: Array(text.utf8))
    }

    private func code(of event: WebSocketReader.Event?) -> UInt16? {
        if case .broken(let close)? = event { close.code } else { nil }
    }

    @Test func wholeMessages() {
        #expect(events([text(""), text("héllo")]) == [.message(.text("")), .message(.text("héllo"))])
        #expect(events([Frame(opcode: 2, payload: [0, 255])]) == [.message(.binary([0, 255]))])
    }

    @Test func fragmentsWithControlFramesBetween() {
        let frames = [
            text("a", isFinal: false), Frame(opcode: 9, payload: [1]), text("", 0, isFinal: false),
            Frame(opcode: 10, payload: []), text("b", 0), text("c"),
        ]
        #expect(events(frames) == [.ping([1]), .pong, .message(.text("ab")), .message(.text("c"))])
    }

    /// A character whose bytes are in two fragments is one character.
    @Test func aCharacterMayBeDivided() {
        let bytes = Array("€".utf8)
        let frames = [
            Frame(isFinal: false, opcode: 1, payload: Array(bytes[..<1])),
            Frame(opcode: 0, payload: Array(bytes[1...])),
        ]
        #expect(events(frames) == [.message(.text("€"))])
    }

    @Test func brokenFrames() {
        let cases: [(frames: [WebSocketReader.Frame], code: UInt16)] = [
            ([Frame(hasReservedBits: true, opcode: 1, payload: [])], 1002),
            ([Frame(opcode: 1, isMasked: false, payload: [])], 1002),
            ([text("", 0)], 1002),
            ([text("a", isFinal: false), text("b")], 1002),
            ([text("a", isFinal: false), text("b", 0), text("c", 0)], 1002),
            ([Frame(isFinal: false, opcode: 9, payload: [])], 1002),
            ([Frame(opcode: 9, payload: [UInt8](repeating: 0, count: 126))], 1002),
            ([Frame(opcode: 8, payload: [3])], 1002),
            ([Frame(opcode: 1, payload: [0xC0, 0x80])], 1007),
            ([Frame(opcode: 1, payload: [0xED, 0xA0, 0x80])], 1007),
            ([Frame(opcode: 1, payload: [0xF4, 0x90, 0x80, 0x80])], 1007),
            ([Frame(opcode: 1, payload: [0xE2, 0x82])], 1007),
            ([Frame(opcode: 8, payload: [3, 232, 0xFF])], 1007),
            ([text(String(repeating: "a", count: 1001))], 1009),
            (
                [
                    text(String(repeating: "a", count: 600), isFinal: false),
                    text(String(repeating: "a", count: 401), 0),
                ], 1009
            ),
        ]
        for (index, (frames, expected)) in cases.enumerated() {
            #expect(code(of: events(frames).last) == expected, "case \(index)")
        }
        for opcode: UInt8 in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
            #expect(code(of: events([Frame(opcode: opcode, payload: [])]).last) == 1002, "opcode \(opcode)")
        }
    }

    @Test func closeCodes() {
        #expect(events([Frame(opcode: 8, payload: [])]) == [.closed(nil)])
        for code: UInt16 in [1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
            #expect(events([close(code)]) == [.closed(code)])
        }
        for code: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 1100, 2000, 2999, 5000, 65535] {
            #expect(self.code(of: events([close(code)]).last) == 1002, "\(code)")
        }
    }

    private func close(_ code: UInt16) -> WebSocketReader.Frame {
        Frame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 255)])
    }

    @Test func nothingIsReadAfterTheEnd() {
        #expect(events([close(1000), text("a"), close(1001)]) == [.closed(1000)])
        #expect(events([text("", 0), text("a"), close(1000)]).count == 1)
    }

    /// With arbitrary frames, the memory stays within the limit, and so does the length of messages.
    @Test func arbitraryFrames() {
        var random = SeededGenerator(announcedFor: "WebSocketReaderTests")
        for _ in 0..<2000 {
            var reader = WebSocketReader(largest: 64)
            for _ in 0..<20 {
                let payload = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    Bool.random(using: &random) ? UInt8(ascii: "a") : UInt8.random(in: 0...255, using: &random)
                }
                let event = reader.take(
                    Frame(
                        isFinal: Bool.random(using: &random),
                        hasReservedBits: Int.random(in: 0..<50, using: &random) == 0,
                        opcode: [0, 0, 1, 2, 8, 9, 10, UInt8.random(in: 0...15, using: &random)].randomElement(
                            using: &random) ?? 0,
                        payload: payload))
                switch event {
                case .message(.text(let text)): #expect(text.utf8.count <= 64)
                case .message(.binary(let bytes)): #expect(bytes.count <= 64)
                default: break
                }
                #expect(reader.heldBytes <= 64)
            }
        }
    }
}
