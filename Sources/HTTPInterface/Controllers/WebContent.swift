import HTTPTypes
import Hummingbird
import Synchronization

/// Content that is the same for all clients, sent compressed to those that accept it (RFC 9110 §12.5.3).
final class WebContent: Sendable {
    private let plain: [UInt8]
    private let tag: String
    private let type: String
    /// The compressed content, made on first request.
    private let known = Mutex<ByteBuffer?>(nil)

    /// - Parameter type: Media type of the content.
    init(_ bytes: [UInt8], type: String) {
        plain = bytes
        tag = WebAsset.tag(of: bytes)
        self.type = type
    }

    private static let textTypes = ["text/", "application/json", "image/svg+xml"]
    /// Smallest size that is compressed, in bytes. Fewer bytes fit into one packet anyway.
    private static let leastBytes = 1000

    /// Returns the answer to a request: the content, or 304 if the client has it.
    ///
    /// - Parameter headers: Further headers of the answer.
    func response(to request: Request, headers: HTTPFields) -> Response {
        let isText = Self.textTypes.contains { type.hasPrefix($0) } && plain.count >= Self.leastBytes
        let compressed = isText && AcceptedEncodings.takesGzip(request.headers[.acceptEncoding]) ? compressed() : nil
        var headers = headers
        if isText { headers[.vary] = headers[.vary].map { "\($0), Accept-Encoding" } ?? "Accept-Encoding" }
        // Another form of the content has another tag (RFC 9110 §8.8.3.3).
        let tag = compressed != nil ? "\(tag.dropLast())-gzip\"" : tag
        headers[.eTag] = tag
        headers[.cacheControl] = "no-cache"
        headers[.xContentTypeOptions] = "nosniff"
        if EntityTags.isKnown(tag, ifNoneMatch: request.headers[.ifNoneMatch]) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = type
        if compressed != nil { headers[.contentEncoding] = "gzip" }
        let body = compressed ?? ByteBuffer(bytes: plain)
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
    }

    /// Returns the compressed content; `nil` if compression fails, so that the content is sent uncompressed.
    private func compressed() -> ByteBuffer? {
        known.withLock { known in
            if known == nil { known = Gzip.compressed(plain).map { ByteBuffer(bytes: $0) } }
            return known
        }
    }
}

/// The header `Accept-Encoding` (RFC 9110 §12.5.3).
enum AcceptedEncodings {
    /// Returns whether gzip is accepted. A client that does not name it gets the content uncompressed.
    static func takesGzip(_ header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",").contains { element in
            let parts = element.split(separator: ";").map { $0.trimmed.lowercased() }
            guard parts.first == "gzip" else { return false }
            // A weight of zero means refusal.
            return !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) ?? 0 == 0 }
        }
    }
}
