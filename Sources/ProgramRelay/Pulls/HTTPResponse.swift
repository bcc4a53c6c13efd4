/// A response of an HTTP/1.1 server, parsed as its bytes arrive (RFC 9112).
struct HTTPResponse: Sendable {
    /// Largest head in bytes.
    static let longestHead = 16 << 10

    /// The reason why the bytes are not a valid response.
    enum Failure: Error, Hashable {
        case malformed
        /// The body is larger than the limit.
        case tooLong
    }

    /// The way to find the end of the body (RFC 9112 §6.3).
    private enum Body {
        case length(Int)
        case chunk(left: Int)
        case untilClosed
    }

    /// Bytes up to and including the empty line.
    private(set) var head: [UInt8] = []
    private(set) var status = 0
    private(set) var body: [UInt8] = []
    /// Whether everything has arrived.
    private(set) var isComplete = false
    /// Whether the head has arrived.
    private(set) var hasHead = false
    /// Whether anything has arrived.
    var hasBegun: Bool { !head.isEmpty || !rest.isEmpty }
    /// Whether bytes have arrived beyond the end of the response.
    private var hasMore = false

    private let limit: Int
    private var form = Body.untilClosed
    /// Bytes that have arrived and have not been parsed.
    private var rest: [UInt8] = []

    /// - Parameter limit: Largest size of the body in bytes.
    init(limit: Int) { self.limit = limit }

    mutating func push(_ bytes: ArraySlice<UInt8>) throws(Failure) {
        guard !isComplete else {
            hasMore = true
            return
        }
        if hasHead, case .chunk = form {
            rest += bytes
        } else if hasHead {
            return try append(bytes)
        } else {
            rest += bytes
            guard try readHead() else { return }
        }
        if case .chunk = form { return try readChunks() }
        let bytes = rest
        rest = []
        try append(bytes[...])
    }

    /// Handles the end of the connection.
    ///
    /// - Returns: Whether the response is complete.
    mutating func closed() -> Bool {
        if hasHead, case .untilClosed = form { isComplete = true }
        return isComplete
    }

    /// Whether another request may be sent on the connection (RFC 9112 §9.3).
    var leavesConnectionUsable: Bool {
        guard isComplete, !hasMore, head.starts(with: Array("HTTP/1.1".utf8)) else { return false }
        if case .untilClosed = form { return false }
        return field("connection")?.lowercased() != "close"
    }

    /// Returns the value of a header field; of several with the same name the first.
    func field(_ name: String) -> String? {
        for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n").dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { continue }
            let value = line[line.index(after: colon)...].drop { " \t".contains($0) }
            return String(value.reversed().drop { " \t".contains($0) }.reversed())
        }
        return nil
    }

    private mutating func readHead() throws(Failure) -> Bool {
        repeat {
            guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else {
                if rest.count > Self.longestHead { throw .malformed }
                return false
            }
            guard end.upperBound <= Self.longestHead else { throw .malformed }
            head = Array(rest[..<end.upperBound])
            rest.removeSubrange(..<end.upperBound)
            let words = String(decoding: head.prefix { $0 != 0x0D }, as: UTF8.self).split(separator: " ")
            guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let number = Int(words[1]), 100...599 ~= number
            else { throw .malformed }
            status = number
            // Interim responses announce the real one.
        } while status < 200
        hasHead = true
        if let coding = field("transfer-encoding") {
            guard coding.lowercased() == "chunked" else { throw .malformed }
            form = .chunk(left: 0)
        } else if let text = field("content-length") {
            guard let length = Int(text), length >= 0 else { throw .malformed }
            form = .length(length)
            if status < 300, length > limit { throw .tooLong }
            if length == 0 { isComplete = true }
        }
        if status == 204 || status == 304 { isComplete = true }
        return true
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(Failure) {
        guard !isComplete else {
            hasMore = hasMore || !bytes.isEmpty
            return
        }
        switch form {
        case .length(let length):
            hasMore = bytes.count > length - body.count
            body += bytes.prefix(length - body.count)
            isComplete = body.count == length
        case .untilClosed, .chunk: body += bytes
        }
        if body.count > limit { throw .tooLong }
    }

    /// Reads chunks (RFC 9112 §7.1). After the last chunk, only an empty line leaves the connection usable.
    private mutating func readChunks() throws(Failure) {
        var position = rest.startIndex
        defer { rest.removeSubrange(..<position) }
        while !isComplete, case .chunk(let left) = form {
            if left > 0 {
                let part = rest[position...].prefix(left)
                guard !part.isEmpty else { return }
                position += part.count
                try append(part)
                form = .chunk(left: left - part.count)
                continue
            }
            // The line end after a chunk's data precedes the next size.
            var start = position
            if !body.isEmpty {
                guard rest.count - position >= 2 else { return }
                start += 2
            }
            guard let end = rest[start...].firstIndex(of: 0x0A) else {
                if rest.count - start > 1024 { throw .malformed }
                return
            }
            let digits = rest[start..<end].prefix { $0 != UInt8(ascii: ";") && $0 != 0x0D && $0 != 0x20 }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else {
                throw .malformed
            }
            position = end + 1
            if size == 0 {
                isComplete = true
                hasMore = !rest[position...].elementsEqual([0x0D, 0x0A])
            }
            if size > limit { throw .tooLong }
            form = .chunk(left: size)
        }
    }
}
