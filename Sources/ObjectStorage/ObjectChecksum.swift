import Crypto
import Foundation
import TextFormats

/// The checksums of an object or of one of its parts.
package struct ObjectChecksum: Hashable, Codable, Sendable {
    /// SHA-256 in Base64. For an object made of parts: SHA-256 of the parts' digests, followed by `-` and their number.
    package var sha256: String
    /// MD5 in hexadecimal, as in entity tags. For an object made of parts: MD5 of the parts' digests, followed by `-`
    /// and their number.
    package var md5: String

    /// Creates the checksums of a body. Takes some milliseconds per MiB.
    package init(_ bytes: some DataProtocol) {
        sha256 = Data(SHA256.hash(data: bytes)).base64EncodedString()
        md5 = Hexadecimal.text(Insecure.MD5.hash(data: bytes))
    }

    /// Creates the checksums of an object made of these parts, in order.
    init(parts: [ObjectChecksum]) {
        let hash = SHA256.hash(data: Data(parts.flatMap { Data(base64Encoded: $0.sha256) ?? Data() }))
        sha256 = "\(Data(hash).base64EncodedString())-\(parts.count)"
        let digest = Insecure.MD5.hash(data: Data(parts.flatMap { Hexadecimal.bytes($0.md5) ?? [] }))
        md5 = "\(Hexadecimal.text(digest))-\(parts.count)"
    }

    /// SHA-256 of a body, in hexadecimal.
    var hexadecimalSHA256: String { Hexadecimal.text(Data(base64Encoded: sha256) ?? Data()) }
    /// MD5 of a body, in Base64.
    var base64MD5: String { Data(Hexadecimal.bytes(md5) ?? []).base64EncodedString() }

    /// SHA-256 of an empty body, in hexadecimal.
    static let ofNothing = ObjectChecksum(Data()).hexadecimalSHA256
}
