import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramRelay

/// Responses of HTTP servers, and the pacing of frames that arrive in segments.
@Suite struct HTTPResponseTests {
    private func read(_ text: String, limit: Int = 100, by size: Int = .max) throws -> HTTPResponse {
        var response = HTTPResponse(limit: limit)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            try response.push(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        return response
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX-A:  b \r\n\r\nhello world",
        "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\nx-a: b\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 11\r\nX-A: b\r\n\r\nhello worldand more",
    ])
    func bodiesAreReadHoweverTheyAreCut(text: String) throws {
        for size in [1, 2, 3, 7, 50, Int.max] {
            let response = try read(text, by: size)
            #expect(response.isComplete && response.status == 200 && response.field("x-a") == "b")
            #expect(String(decoding: response.body, as: UTF8.self) == "hello world", "\(size)")
        }
    }

    /// Another request may follow only on a complete response with nothing behind it.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", true),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nhi", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n", false),
    ])
    func aConnectionIsUsedAgainIfItMayBe(text: String, isUsable: Bool) throws {
        #expect(try read(text).leavesConnectionUsable == isUsable)
    }

    @Test func howLongAResourceHasNotChanged() throws {
        func seconds(_ lines: String) throws -> Double? {
            try read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(lines)\r\n\r\n").secondsUnchanged
        }
        let changed = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(try seconds("\(changed)\r\nDate: Sun, 06 Nov 1994 08:50:00 GMT") == 23)
        #expect(try seconds("\(changed)\r\nDate: Sun, 06 Nov 1994 08:50:00 GMT\r\nAge: 7") == 30)
        #expect(try seconds(changed) == nil && seconds("Date: Sun, 06 Nov 1994 08:50:00 GMT") == nil)
        for bad in ["", "now", "Sun, 06 Nov 99999 08:50:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"] {
            #expect(try seconds("\(changed)\r\nDate: \(bad)") == nil, "\(bad)")
        }
    }

    @Test func aBodyWithoutALengthEndsWithItsConnection() throws {
        var response = try read("HTTP/1.0 200 OK\r\n\r\nhello")
        let isWhole = response.closed()
        #expect(isWhole && response.body == Array("hello".utf8))
        var short = try read("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello")
        let isShortWhole = short.closed()
        #expect(!isShortWhole)
    }

    @Test(arguments: [
        ("SSH-2.0\r\n\r\n", HTTPResponse.Failure.malformed), ("HTTP/1.1 999 No\r\n\r\n", .malformed),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .malformed),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .malformed),
        ("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", .tooLong),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", .malformed),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", .tooLong),
        ("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 101), .tooLong),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 20_000), .malformed),
    ])
    func whatIsWrongOrTooLongIsRefused(text: String, failure: HTTPResponse.Failure) {
        #expect(throws: failure) { _ = try read(text) }
    }

    @Test func framesOfPiecesAreDueAtTheirRate() {
        var pacer = SegmentPacer(lead: .milliseconds(300))
        func expect(_ time: MediaTime, at now: MediaTime, due expected: MediaTime) {
            let due = pacer.due(time, now: now)
            #expect(due == expected)
        }
        expect(.seconds(1000), at: .seconds(5), due: .milliseconds(5300))
        expect(.seconds(1001), at: .seconds(5), due: .milliseconds(6300))
        // The other track begins slightly earlier, and a small delay is made up.
        expect(.milliseconds(999_900), at: .seconds(5), due: .milliseconds(5200))
        expect(.seconds(1002), at: .milliseconds(7400), due: .milliseconds(7300))
        // A long delay moves everything.
        expect(.seconds(1003), at: .seconds(10), due: .milliseconds(10_300))
        expect(.seconds(1004), at: .seconds(10), due: .milliseconds(11_300))
        // A jump is a new timeline.
        expect(.seconds(5000), at: .seconds(11), due: .milliseconds(11_300))
        expect(.zero, at: .seconds(11), due: .milliseconds(11_300))
    }

    /// Fetching pauses while the buffer is full.
    @Test(arguments: [(1, 9), (12 << 20, 3), (64 << 20, 1)]) func whatWaitsIsBounded(size: Int, most: Int) {
        let buffer = SegmentBuffer()
        var count = 0
        while !buffer.isFull {
            buffer.append(HLSReader.Piece(bytes: [UInt8](repeating: 0, count: size), map: [], beginsAnew: false))
            count += 1
        }
        #expect(count == most)
        _ = buffer.take()
        #expect(!buffer.isFull)
    }
}
