import COpenSSL

/// OpenSSL's decryption, for segments of HLS.
package enum TLSCipher {
    /// Length of a key, of a vector and of a block, in bytes.
    package static let length = 16

    /// Returns the plaintext of bytes encrypted with AES-128 in CBC mode with padding (RFC 8216 §4.3.2.4, RFC 5652
    /// §6.3).
    ///
    /// - Returns: `nil` if the key, the vector or the bytes do not have the right length, or the padding is wrong.
    package static func decrypted(_ bytes: [UInt8], key: [UInt8], vector: [UInt8]) -> [UInt8]? {
        guard key.count == length, vector.count == length, !bytes.isEmpty, bytes.count % length == 0,
            let count = Int32(exactly: bytes.count), let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var plain = [UInt8](repeating: 0, count: bytes.count + length)
        var written: Int32 = 0
        var last: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), nil, key, vector) == 1,
            EVP_DecryptUpdate(context, &plain, &written, bytes, count) == 1
        else { return nil }
        let isPadded = plain.withUnsafeMutableBufferPointer { buffer in
            EVP_DecryptFinal_ex(context, buffer.baseAddress?.advanced(by: Int(written)), &last) == 1
        }
        guard isPadded else {
            ERR_clear_error()
            return nil
        }
        return Array(plain.prefix(Int(written + last)))
    }
}
