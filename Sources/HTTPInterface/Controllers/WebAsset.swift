import Crypto
import HTTPTypes
import Hummingbird
import TextFormats

/// A file that pages load: a script, a style sheet or a picture.
package struct WebAsset: Sendable {
    /// Name below `/assets/`.
    let name: String
    private let content: WebContent

    /// - Parameter name: Name with one of the extensions of `types`.
    package init(name: String, bytes: [UInt8]) {
        let ending = name.splitAtLast(".")?.tail ?? ""
        guard let type = Self.types[String(ending)] else { preconditionFailure("\(name) has an unknown extension") }
        self.name = name
        content = WebContent(bytes, type: type)
    }

    private static let types = [
        "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png", "json": "application/json",
    ]

    /// Returns an entity tag that changes with the content (RFC 9110 §8.8.3).
    static func tag(of bytes: [UInt8]) -> String {
        "\"" + Hexadecimal.text(SHA256.hash(data: bytes).prefix(16)) + "\""
    }

    /// Returns the answer to a request. A browser revalidates its copy each time, because scripts of two releases do
    /// not work together.
    ///
    /// - Parameter headers: Further headers, such as those for pages of other origins.
    func response(to request: Request, headers: HTTPFields) -> Response {
        content.response(to: request, headers: headers)
    }
}
