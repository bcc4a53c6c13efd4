import Crypto
import Foundation
import TextFormats

/// AWS Signature Version 4 for S3, in headers and in links.
struct SignatureV4: Sendable {
    /// The signed components of a request.
    struct Request: Sendable {
        var method: String
        /// Path as sent: percent-encoded, with `/` between its components.
        var path: String
        /// Names and values, not encoded.
        var query: [(name: String, value: String)] = []
        /// Signed headers, including `host`.
        var headers: [(name: String, value: String)]
        /// SHA-256 of the body in hexadecimal, or `UNSIGNED-PAYLOAD`.
        var payload: String
    }

    var credentials: StorageCredentials
    var region: String
    var service = "s3"

    static let algorithm = "AWS4-HMAC-SHA256"
    static let unsigned = "UNSIGNED-PAYLOAD"

    /// Returns the headers that authorise a request, including the additional ones that must be sent with it.
    func headers(for request: Request, at time: SigningTime) -> [(name: String, value: String)] {
        var signed = request
        let added: [(name: String, value: String)] =
            [("x-amz-content-sha256", request.payload), ("x-amz-date", time.text)]
            + (credentials.sessionToken.map { [("x-amz-security-token", $0)] } ?? [])
        signed.headers += added
        let names = Self.canonicalHeaders(signed.headers).names
        let value =
            "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope(time)), SignedHeaders=\(names), "
            + "Signature=\(signature(of: signed, at: time))"
        return added + [("authorization", value)]
    }

    /// Returns the query of a link to an object that is valid from `time` on.
    ///
    /// - Parameter seconds: Validity, at most a week (604,800 s).
    func query(host: String, path: String, at time: SigningTime, seconds: Int) -> String {
        let query: [(name: String, value: String)] =
            [
                ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(time))"),
                ("X-Amz-Date", time.text), ("X-Amz-Expires", "\(seconds)"), ("X-Amz-SignedHeaders", "host"),
            ] + (credentials.sessionToken.map { [("X-Amz-Security-Token", $0)] } ?? [])
        let request = Request(
            method: "GET", path: path, query: query, headers: [("host", host)], payload: Self.unsigned)
        return Self.canonicalQuery(query) + "&X-Amz-Signature=\(signature(of: request, at: time))"
    }

    func signature(of request: Request, at time: SigningTime) -> String {
        let digest = SHA256.hash(data: Data(Self.canonical(request).utf8))
        let text = "\(Self.algorithm)\n\(time.text)\n\(scope(time))\n\(Hexadecimal.text(digest))"
        return Hexadecimal.text(Self.code(of: text, key: signingKey(day: time.day)))
    }

    /// Returns the key that signs all requests of a day.
    func signingKey(day: String) -> SymmetricKey {
        [region, service, "aws4_request"].reduce(
            SymmetricKey(data: Self.code(of: day, key: SymmetricKey(data: Data("AWS4\(credentials.secretKey)".utf8))))
        ) { SymmetricKey(data: Self.code(of: $1, key: $0)) }
    }

    private func scope(_ time: SigningTime) -> String { "\(time.day)/\(region)/\(service)/aws4_request" }

    private static func code(of text: String, key: SymmetricKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
    }

    // MARK: Canonical form

    static func canonical(_ request: Request) -> String {
        let headers = canonicalHeaders(request.headers)
        return [
            request.method, request.path.isEmpty ? "/" : request.path, canonicalQuery(request.query), headers.lines,
            headers.names, request.payload,
        ].joined(separator: "\n")
    }

    /// Returns the query with everything encoded and sorted. It is also sent in this form.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encoded($0.name), PercentEncoding.encoded($0.value)) }.sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    private static func canonicalHeaders(
        _ headers: [(name: String, value: String)]
    ) -> (lines: String, names: String) {
        let sorted = headers.map { header in
            // Consecutive spaces count as one.
            (header.name.lowercased(), header.value.split(separator: " ").joined(separator: " "))
        }.sorted { $0.0 < $1.0 }
        return (sorted.map { "\($0.0):\($0.1)\n" }.joined(), sorted.map(\.0).joined(separator: ";"))
    }
}
