import Foundation
import MediaFormats

/// A viewer of an HTTP-FLV stream over plain HTTP/1.1.
///
/// Blocking; used by one thread.
final class HTTPFLVPlayer {
    private let socket: StreamSocket
    private let isChunked: Bool
    /// Remaining bytes of the current chunk, if the body is chunked.
    private var chunkLeft = 0
    private var body: [UInt8] = []

    /// Connects and reads up to the end of the FLV header; tags follow from `next()`.
    init(url: String, isCancelled: @escaping () -> Bool) throws(ProbeError) {
        guard let parts = URLComponents(string: url), parts.scheme == "http", let host = parts.host else {
            throw .badURL(url)
        }
        let port = parts.port ?? 80
        let target =
            (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
            + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
        socket = try StreamSocket(host: host, port: port, isCancelled: isCancelled)
        let request =
            "GET \(target) HTTP/1.1\r\nHost: \(host):\(port)\r\nUser-Agent: mixworker-probe\r\nConnection: close\r\n\r\n"
        try socket.write(Array(request.utf8))
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            head += try socket.read(1)
            if head.count > 65536 { throw .malformed("the header of the HTTP response does not end") }
        }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let status = lines.first.map(String.init) ?? ""
        guard status.split(separator: " ").dropFirst().first == "200" else {
            throw .refused("the server answered \(status)")
        }
        isChunked = lines.contains { $0.lowercased().filter { $0 != " " } == "transfer-encoding:chunked" }
        let header = try read(13)
        guard header.starts(with: [0x46, 0x4C, 0x56]) else { throw .malformed("the response is not an FLV stream") }
    }

    /// Returns the next tag with its header and its back pointer.
    func next() throws(ProbeError) -> [UInt8] {
        let bytes = try read(FLVTag.headerLength)
        guard let header = FLVTagHeader(bytes, at: 0), FLVTag.Kind(rawValue: header.kind & 0x1F) != nil else {
            throw .malformed("the stream is out of step: no FLV tag has type \(bytes.first ?? 0)")
        }
        return bytes + (try read(header.size + 4))
    }

    private func read(_ count: Int) throws(ProbeError) -> [UInt8] {
        guard isChunked else { return try socket.read(count) }
        while body.count < count {
            if chunkLeft == 0 {
                var line: [UInt8] = []
                while line.last != 10 {
                    line += try socket.read(1)
                    if line.count > 4096 { throw .malformed("the line before a chunk of an HTTP body does not end") }
                }
                let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
                guard let size = Int(text.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                    throw .malformed("not a chunk of an HTTP body: \(text)")
                }
                if size == 0 { throw .ended }
                chunkLeft = size
            }
            let part = try socket.read(min(chunkLeft, 1 << 16))
            body += part
            chunkLeft -= part.count
            if chunkLeft == 0 { _ = try socket.read(2) }
        }
        defer { body.removeFirst(count) }
        return Array(body[..<count])
    }
}
