import Crypto
import Foundation
import HTTPTypes
import Hummingbird

/// A page for people: one HTML document with its script and its styles, which browsers run only as they are here.
package struct WebPage: Sendable {
    let bytes: [UInt8]
    /// `Content-Security-Policy` (CSP Level 3): scripts and styles by their hashes, connections to this service only.
    let policy: String

    /// - Parameter bytes: HTML in UTF-8 with one `<style>` and one `<script>` element without attributes.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let text = String(decoding: bytes, as: UTF8.self)
        policy = [
            "default-src 'none'",
            "script-src \(Self.hash(of: "script", in: text))",
            "style-src \(Self.hash(of: "style", in: text))",
            "connect-src 'self'", "media-src 'self' blob: mediastream:",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'",
        ].joined(separator: "; ")
    }

    private static func hash(of element: String, in text: String) -> String {
        guard let start = text.range(of: "<\(element)>")?.upperBound,
            let end = text.range(of: "</\(element)>", range: start..<text.endIndex)?.lowerBound
        else { return "'none'" }
        return "'sha256-\(Data(SHA256.hash(data: Data(text[start..<end].utf8))).base64EncodedString())'"
    }

    /// The answer to a browser that asks for the page.
    var response: Response {
        var headers: HTTPFields = [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-cache", .contentSecurityPolicy: policy,
            .xContentTypeOptions: "nosniff",
        ]
        for (name, value) in Self.more { if let name = HTTPField.Name(name) { headers[name] = value } }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private static let more = [
        ("Permissions-Policy", "camera=(self), microphone=(self), display-capture=(self), autoplay=(self)"),
        ("Referrer-Policy", "no-referrer"),
    ]
}
