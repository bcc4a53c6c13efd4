import Crypto
import Foundation
import TextFormats

/// The checksums of an object or of a part of one.
package struct ObjectChecksum: Hashable, Codable, Sendable {
    /// SHA-256 in Base64. For an object of parts: of the parts' digests, and `-` with their number.
    package var sha256: String
    /// MD5 in hexadecimal, as entity tags have it. For an object of parts: of the parts' digests, and `-` with their
    /// number.
    package var md5: String

    /// Creates the checksums of a body. Takes some milliseconds for each MiB.
    package init(_ bytes: some DataProtocol) {
        sha256 = Data(SHA256.hash(data: bytes)).base64EncodedString()
        md5 = Hexadecimal.text(Insecure.MD5.hash(data: bytes))
    }

    /// Creates the checksums of the object that is made of parts, in their order.
    init(parts: [ObjectChecksum]) {
        let hash = SHA256.hash(data: Data(parts.flatMap { Data(base64Encoded: $0.sha256) ?? Data() }))
        sha256 = "\(Data(hash).base64EncodedString())-\(parts.count)"
        let digest = Insecure.MD5.hash(data: Data(parts.flatMap { Hexadecimal.bytes($0.md5) ?? [] }))
        md5 = "\(Hexadecimal.text(digest))-\(parts.count)"
    }

    /// SHA-256 in hexadecimal, of a body.
    var hexadecimalSHA256: String { Hexadecimal.text(Data(base64Encoded: sha256) ?? Data()) }
    /// MD5 in Base64, of a body.
    var base64MD5: String { Data(Hexadecimal.bytes(md5) ?? []).base64EncodedString() }

    /// SHA-256 of nothing, in hexadecimal.
    static let ofNothing = ObjectChecksum(Data()).hexadecimalSHA256
}
