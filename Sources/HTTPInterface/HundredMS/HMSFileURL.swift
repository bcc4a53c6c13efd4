import Crypto
import Foundation

/// The signed URL of an asset's file, with which anybody may fetch it for a while. Pure.
enum HMSFileURL {
    /// Seconds for which a URL is valid.
    static let validity = 3600

    /// Returns the query that lets its holder fetch the asset.
    ///
    /// - Parameter end: Seconds since 1970.
    static func query(of asset: String, until end: Int, _ key: SymmetricKey) -> String {
        let code = Data(HMAC<SHA256>.authenticationCode(for: signed(asset, end), using: key))
        let digits = code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return "expires=\(end)&signature=\(digits)"
    }

    /// Whether a query lets its holder fetch the asset now. Takes the same time for every signature of the right length.
    static func isValid(
        expires: String?, signature: String?, of asset: String, _ key: SymmetricKey, now: Double
    ) -> Bool {
        guard let end = expires.flatMap({ Int($0) }), "\(end)" == expires, Double(end) >= now,
            let code = signature.flatMap(bytes)
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed(asset, end), using: key)
    }

    private static func signed(_ asset: String, _ end: Int) -> [UInt8] {
        Array("GET /v2/recording-assets/\(asset)/file \(end)".utf8)
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
