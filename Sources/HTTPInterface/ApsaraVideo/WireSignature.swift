import Crypto
import Foundation
import TextFormats

/// The two signature methods of the SDKs. Pure: the inputs are the signed content and a key.
enum WireSignature {
    /// HMAC-SHA1 over the parameters, which the SDKs call RPC.
    enum RPC {
        /// - Parameter parameters: Parameters of query and form. `Signature` is excluded here.
        static func stringToSign(method: String, _ parameters: WireParameters) -> String {
            let canonical = WireParameters.canonical(parameters.pairs.filter { $0.name != "Signature" })
            var bytes = Array("\(method)&%2F&".utf8)
            bytes.reserveCapacity(bytes.count + canonical.count * 2)
            PercentEncoding.append(canonical, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }

        /// - Parameter shown: The signature as received, in Base64.
        /// - Parameter key: The secret followed by an ampersand.
        static func isRight(_ shown: String, _ stringToSign: String, key: SymmetricKey) -> Bool {
            guard let code = base64(shown) else { return false }
            return HMAC<Insecure.SHA1>.isValidAuthenticationCode(
                code, authenticating: Array(stringToSign.utf8), using: key)
        }
    }

    /// ACS3-HMAC-SHA256 over the query, chosen headers and the body.
    enum ACS3 {
        static let algorithm = "ACS3-HMAC-SHA256"

        /// The content of an `Authorization` header.
        struct Authorization: Hashable, Sendable {
            var algorithm: String
            var accessKey: String
            /// Names of the signed headers, in lower case and in the order of signing.
            var signedHeaders: [String]
            var signature: String

            /// Parses a header. `nil` if a part is missing.
            init?(_ text: String) {
                guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
                var accessKey: String?
                var headers: Substring.UTF8View?
                var signature: String?
                for part in Substring(text).utf8[space...].split(separator: UInt8(ascii: ",")) {
                    let part = part.drop { $0 == UInt8(ascii: " ") }
                    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
                    let value = part[part.index(after: equals)...]
                    switch Substring(part[..<equals]) {
                    case "Credential": accessKey = Substring(value).trimmed
                    case "SignedHeaders": headers = value
                    case "Signature": signature = Substring(value).trimmed
                    default: break
                    }
                }
                guard let accessKey, let headers, let signature else { return nil }
                algorithm = String(text[..<space])
                self.accessKey = accessKey
                signedHeaders = Substring(headers).trimmed.utf8.split(separator: UInt8(ascii: ";")).map {
                    Substring($0).lowercased()
                }
                self.signature = signature
            }
        }

        /// Returns the SHA-256 of the body in hexadecimal, the expected value of `x-acs-content-sha256`.
        static func digest(of body: [UInt8]) -> String {
            body.isEmpty ? emptyDigest : Hexadecimal.text(SHA256.hash(data: body))
        }
        private static let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

        static func canonicalRequest(_ request: WireRequest, _ signedHeaders: [String], bodyDigest: String) -> [UInt8] {
            var bytes = Array("\(request.method)\n/\n".utf8)
            bytes.reserveCapacity(4096)
            bytes += WireParameters.canonical(request.query.pairs)
            bytes.append(UInt8(ascii: "\n"))
            for name in signedHeaders {
                bytes += name.utf8
                bytes.append(UInt8(ascii: ":"))
                bytes += (request.headers[name] ?? "").utf8
                bytes.append(UInt8(ascii: "\n"))
            }
            bytes.append(UInt8(ascii: "\n"))
            bytes += signedHeaders.joined(separator: ";").utf8
            bytes.append(UInt8(ascii: "\n"))
            bytes += bodyDigest.utf8
            return bytes
        }

        static func stringToSign(_ canonicalRequest: [UInt8]) -> String {
            "\(algorithm)\n\(Hexadecimal.text(SHA256.hash(data: canonicalRequest)))"
        }

        /// - Parameter shown: The signature as received, in hexadecimal digits.
        static func isRight(_ shown: String, _ stringToSign: String, key: SymmetricKey) -> Bool {
            guard let code = Hexadecimal.bytes(shown) else { return false }
            return HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Array(stringToSign.utf8), using: key)
        }
    }

    /// Returns the decoded bytes, or `nil` if the text is not their canonical encoding. Foundation's decoder alone
    /// accepts others.
    private static func base64(_ text: String) -> Data? {
        guard let bytes = Data(base64Encoded: text), bytes.base64EncodedString() == text else { return nil }
        return bytes
    }
}
