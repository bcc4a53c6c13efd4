import Crypto
import Foundation
import HTTPTypes
import Hummingbird

/// A page for people: one HTML document. Browsers run only its own script and those of `/assets/`.
package struct WebPage: Sendable {
    private let content: WebContent
    /// `Content-Security-Policy` (CSP Level 3): scripts and styles of this service, and those in the document by their
    /// hashes; connections to this service only.
    let policy: String

    /// - Parameters:
    ///   - bytes: HTML in UTF-8 that begins its document with `<html `, with at most one `<style>` and one `<script>`
    ///     element without attributes.
    ///   - framers: Origins, besides the service's own, whose pages may show this one in a frame.
    ///   - facts: The service's settings for the page's script, which are the same for every client: attributes `data-…`
    ///     of the document's element. Names and values need no escaping.
    package init(_ bytes: [UInt8], framers: PlaybackOrigins = .none, facts: [String: String] = [:]) {
        let attributes = facts.sorted { $0.key < $1.key }.map { "data-\($0.key)=\"\($0.value)\" " }.joined()
        let text = String(decoding: bytes, as: UTF8.self)
            .replacing("<html ", with: "<html \(attributes)", maxReplacements: 1)
        content = WebContent(Array(text.utf8), type: "text/html; charset=utf-8")
        policy = [
            "default-src 'none'",
            "script-src 'self'\(Self.hash(of: "script", in: text))",
            "style-src 'self'\(Self.hash(of: "style", in: text))",
            "img-src 'self' data: blob:", "connect-src 'self'", "media-src 'self' blob: mediastream:",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors \(framers.sourceList)",
        ].joined(separator: "; ")
    }

    private static func hash(of element: String, in text: String) -> String {
        guard let start = text.range(of: "<\(element)>")?.upperBound,
            let end = text.range(of: "</\(element)>", range: start..<text.endIndex)?.lowerBound
        else { return "" }
        return " 'sha256-\(Data(SHA256.hash(data: Data(text[start..<end].utf8))).base64EncodedString())'"
    }

    /// Returns the answer to a browser's request for the page.
    func response(to request: Request) -> Response {
        var headers: HTTPFields = [.contentSecurityPolicy: policy]
        for (name, value) in Self.more { if let name = HTTPField.Name(name) { headers[name] = value } }
        return content.response(to: request, headers: headers)
    }

    private static let more = [
        ("Permissions-Policy", "camera=(self), microphone=(self), display-capture=(self), autoplay=(self)"),
        ("Referrer-Policy", "no-referrer"),
    ]
}

extension PlaybackOrigins {
    /// The value of `frame-ancestors` (CSP Level 3 §6.4.2).
    fileprivate var sourceList: String {
        switch self {
        case .any: "*"
        case .only(let origins): (["'self'"] + origins.sorted()).joined(separator: " ")
        }
    }
}
