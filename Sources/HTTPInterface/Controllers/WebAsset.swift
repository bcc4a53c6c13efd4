import Crypto
import HTTPTypes
import Hummingbird

/// A file that pages load: a script, a style sheet or a picture.
package struct WebAsset: Sendable {
    /// Name below `/assets/`.
    let name: String
    private let body: ByteBuffer
    /// `ETag` of the content, with its quotes.
    let tag: String
    private let type: String

    /// - Parameter name: Name with one of the extensions of `types`.
    package init(name: String, bytes: [UInt8]) {
        let ending = name.splitAtLast(".")?.tail ?? ""
        guard let type = Self.types[String(ending)] else { preconditionFailure("\(name) has an unknown extension") }
        self.name = name
        self.type = type
        body = ByteBuffer(bytes: bytes)
        tag = Self.tag(of: bytes)
    }

    private static let types = [
        "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png", "json": "application/json",
    ]

    /// Returns an entity tag that changes with the content (RFC 9110 §8.8.3).
    static func tag(of bytes: [UInt8]) -> String {
        "\""
            + SHA256.hash(data: bytes).prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            .joined() + "\""
    }

    /// Returns the answer to a request. A browser asks each time whether its copy is the current one, because scripts of
    /// two releases do not fit together.
    ///
    /// - Parameters:
    ///   - known: `If-None-Match` of the request.
    ///   - headers: Further headers, such as those for pages of other origins.
    func response(known: String?, headers: HTTPFields) -> Response {
        var headers = headers
        headers[.eTag] = tag
        headers[.cacheControl] = "no-cache"
        headers[.xContentTypeOptions] = "nosniff"
        if EntityTags.isKnown(tag, ifNoneMatch: known) { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = type
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
