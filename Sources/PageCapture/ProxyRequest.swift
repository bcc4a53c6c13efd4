import TextFormats

/// The head of a request that a browser sends to its proxy. Pure.
struct ProxyRequest: Hashable, Sendable {
    /// Longest head in bytes.
    static let longest = 32 << 10

    /// Whether the connection becomes a tunnel (`CONNECT`). Otherwise the request goes to the server as `head`.
    var isTunnel: Bool
    /// Host name or address; IPv6 addresses have no brackets.
    var host: String
    var port: Int
    /// The head to send to the server for a request that is not a tunnel: in origin form, for one request on the
    /// connection.
    var head: [UInt8]
    /// Length in bytes of the head that was read. The bytes after it belong to the request's body or the tunnel.
    var length: Int

    /// The result of reading a request so far.
    enum Reading: Hashable, Sendable {
        /// The end of the head has not arrived yet.
        case incomplete
        case request(ProxyRequest)
        /// The bytes are not a request, or the head is too long.
        case malformed
    }

    static func read(_ bytes: [UInt8]) -> Reading {
        guard let end = end(of: bytes) else { return bytes.count < longest ? .incomplete : .malformed }
        guard end <= longest, let text = String(validating: bytes[..<end], as: UTF8.self) else { return .malformed }
        var lines = text.components(separatedByLineEnds: ())
        guard !lines.isEmpty else { return .malformed }
        let first = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard first.count == 3, first[2].hasPrefix("HTTP/1."), isWord(first[0]) else { return .malformed }
        if first[0] == "CONNECT" {
            guard let (host, port) = place(first[1], standard: nil) else { return .malformed }
            return .request(ProxyRequest(isTunnel: true, host: host, port: port, head: [], length: end))
        }
        guard first[1].lowercased().hasPrefix("http://") else { return .malformed }
        let rest = first[1].dropFirst(7)
        let split = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        guard let (host, port) = place(rest[..<split], standard: 80) else { return .malformed }
        let path = rest[split...]
        var head = "\(first[0]) \(path.hasPrefix("/") ? "" : "/")\(path) HTTP/1.1\r\n"
        for line in lines where !line.isEmpty && !isHopByHop(line) { head += line + "\r\n" }
        head += "Connection: close\r\n\r\n"
        return .request(
            ProxyRequest(isTunnel: false, host: host, port: port, head: Array(head.utf8), length: end))
    }

    /// Returns the number of bytes up to and including the empty line.
    private static func end(of bytes: [UInt8]) -> Int? {
        var index = 3
        while index < bytes.count {
            if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    private static func isWord(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
    }

    private static func isHopByHop(_ line: Substring) -> Bool {
        let name = line.prefix { $0 != ":" }.lowercased()
        return ["connection", "proxy-connection", "proxy-authorization", "keep-alive", "upgrade"].contains(name)
    }

    private static func place(_ text: Substring, standard: Int?) -> (host: String, port: Int)? {
        var host = text
        var port: Substring?
        if host.first == "[" {
            guard let close = host.firstIndex(of: "]") else { return nil }
            let behind = host[host.index(after: close)...]
            guard behind.isEmpty || behind.first == ":" else { return nil }
            port = behind.isEmpty ? nil : behind.dropFirst()
            host = host[host.index(after: host.startIndex)..<close]
        } else if let colon = host.lastIndex(of: ":") {
            port = host[host.index(after: colon)...]
            host = host[..<colon]
        }
        // However a resolver interprets the name, the check applies to the resulting address.
        let isHost =
            1...253 ~= host.utf8.count
            && host.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-._:".utf8.contains(byte)
            }
        guard isHost else { return nil }
        guard let port else { return standard.map { (host.lowercased(), $0) } }
        guard !port.isEmpty, port.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let number = Int(port), 1...65_535 ~= number
        else { return nil }
        return (host.lowercased(), number)
    }
}

extension String {
    /// Returns the lines of a head. Swift treats CR LF as one character.
    fileprivate func components(separatedByLineEnds: Void) -> [Substring] {
        split(separator: "\r\n", omittingEmptySubsequences: false)
    }
}
