import CGStreamer
import Foundation
import TextFormats

/// Digests of certificates, as session descriptions name them.
enum CertificateDigest {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// Returns the digest of the binary form (DER) of the first certificate in a PEM text (RFC 7468 §5).
    ///
    /// - Parameter algorithm: `sha-256`, `sha-384` or `sha-512`.
    /// - Returns: `nil` if there is no certificate, and for other algorithms.
    static func of(pem: String, algorithm: String) -> [UInt8]? {
        guard let type = checksumType(of: algorithm), let der = binaryForm(of: pem) else { return nil }
        let text: String? = der.withUnsafeBufferPointer { bytes in
            consumingText(of: g_compute_checksum_for_data(type, bytes.baseAddress, gsize(bytes.count)))
        }
        return text.flatMap { Hexadecimal.bytes($0) }
    }

    /// Returns whether a PEM text has the beginning of a certificate without its end. GStreamer 1.22 reads at most 4096
    /// bytes of it, which is about 2980 of the binary form.
    static func isCutOff(_ pem: String) -> Bool {
        let rows = lines(of: pem)
        return rows.contains { $0.elementsEqual(begin.utf8) } && !rows.contains { $0.elementsEqual(end.utf8) }
    }

    private static func checksumType(of algorithm: String) -> GChecksumType? {
        switch algorithm {
        case "sha-256": G_CHECKSUM_SHA256
        case "sha-384": G_CHECKSUM_SHA384
        case "sha-512": G_CHECKSUM_SHA512
        default: nil
        }
    }

    private static func binaryForm(of pem: String) -> [UInt8]? {
        let rows = lines(of: pem)
        guard let first = rows.firstIndex(where: { $0.elementsEqual(begin.utf8) }),
            let last = rows[first...].firstIndex(where: { $0.elementsEqual(end.utf8) }),
            let bytes = Data(base64Encoded: Data(rows[(first + 1)..<last].joined())), !bytes.isEmpty
        else { return nil }
        return Array(bytes)
    }

    private static func lines(of pem: String) -> [Substring.UTF8View] {
        pem.utf8.split { $0 == 0x0A || $0 == 0x0D }
    }
}
