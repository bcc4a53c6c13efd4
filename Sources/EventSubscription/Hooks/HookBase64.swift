import Foundation
import TextFormats

/// Decodes the Base64 of signatures and tokens (RFC 4648).
enum HookBase64 {
    /// Returns the bytes, or `nil` if the text is not standard Base64 with its padding (§4).
    static func decoded(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= longest else { return nil }
        guard let data = Data(base64Encoded: text), data.base64EncodedString().hasSameUTF8(as: text) else { return nil }
        return Array(data)
    }

    /// Returns the bytes of the URL-safe form (§5), with or without its padding.
    static func decodedForURLs(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count <= longest, !text.utf8.contains(where: { "+/".utf8.contains($0) }) else { return nil }
        var standard = text.utf8.filter { $0 != UInt8(ascii: "=") }.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(standard)).map { Array($0) }
    }

    /// Maximum length of a text that is decoded, in bytes.
    static let longest = 8192
}
