import Crypto
import Foundation
import TextFormats

/// The signed URL of an asset's file, with which any client may fetch it for a while. Pure.
enum HMSFileURL {
    /// Seconds for which a URL is valid unless the caller names another time.
    static let validity = 3600
    /// Seconds for which a URL may be valid: as long as those of a storage.
    static let validities = 1...604_800

    /// Returns the query that lets its holder fetch the asset.
    ///
    /// - Parameter end: Seconds since 1970.
    static func query(of asset: String, until end: Int, _ key: SymmetricKey) -> String {
        let code = Data(HMAC<SHA256>.authenticationCode(for: signed(asset, end), using: key))
        return "expires=\(end)&signature=\(Hexadecimal.text(code))"
    }

    /// Returns whether a query lets its holder fetch the asset now. Takes the same time for every signature of the
    /// right length.
    static func isValid(
        expires: String?, signature: String?, of asset: String, _ key: SymmetricKey, now: Double
    ) -> Bool {
        guard let end = expires.flatMap({ Int($0) }), "\(end)" == expires, Double(end) >= now,
            let code = signature.flatMap({ Hexadecimal.bytes($0) }), code.count == 32
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed(asset, end), using: key)
    }

    private static func signed(_ asset: String, _ end: Int) -> [UInt8] {
        Array("GET /v2/recording-assets/\(asset)/file \(end)".utf8)
    }
}
