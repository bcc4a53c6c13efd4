import COpenSSL

/// OpenSSL's message authentication, for RTMP's digest handshake.
enum TLSDigest {
    /// Length of a code in bytes.
    static let length = 32

    /// Returns the HMAC-SHA256 of `bytes` (RFC 2104).
    static func authenticationCode(of bytes: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        let message = Array(bytes)
        var code = [UInt8](repeating: 0, count: length)
        var written = UInt32(length)
        _ = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &written)
        return code
    }
}
