import Foundation
import TextFormats

/// The fields of an ICE candidate that decide whether it is sent (RFC 8839 §5.1): `candidate:foundation component
/// transport priority address port typ type …`.
struct ICECandidate: Hashable, Sendable {
    private var words: [String]

    /// - Parameter text: A candidate with or without `a=`. The result is `nil` if it is not a candidate.
    init?(_ text: String) {
        let text = text.hasPrefix("a=") ? String(text.dropFirst(2)) : text
        guard text.hasPrefix("candidate:"), text.utf8.count <= 1024,
            text.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
        else { return nil }
        words = text.split(separator: " ").map { String($0) }
        guard words.count >= 8, words[6] == "typ", UInt16(words[5]) != nil else { return nil }
    }

    var isUDP: Bool { words[2].lowercased() == "udp" }
    /// Whether the candidate is an address of the machine itself.
    var isHost: Bool { words[7] == "host" }
    var address: String { words[4] }
    /// The address; `nil` if it is a name.
    var internetAddress: InternetAddress? { InternetAddress(text: address) }
    /// The candidate in the notation of `webrtcbin`.
    var text: String { words.joined(separator: " ") }

    func replacingAddress(with address: String) -> String {
        var copy = self
        copy.words[4] = address
        return copy.text
    }

    /// Returns the candidate without the address from which it was derived: that of a machine behind NAT is private. RFC
    /// 8839 §5.1 defines what stands in its place.
    func hidingRelatedAddress() -> String {
        var copy = self
        // Names and values follow the type.
        for index in stride(from: 8, to: words.count - 1, by: 2) {
            switch words[index] {
            case "raddr": copy.words[index + 1] = internetAddress?.bytes.count == 16 ? "::" : "0.0.0.0"
            case "rport": copy.words[index + 1] = "9"
            default: break
            }
        }
        return copy.text
    }

    /// Returns the candidates in a fragment of a session description, or in a description, at most `limit`. Others are
    /// ignored.
    static func all(in fragment: String, limit: Int) -> [ICECandidate] {
        Array(
            fragment.utf8.split { $0 == 0x0A || $0 == 0x0D }.lazy.compactMap { line in
                let line = String(Substring(line))
                return line.hasPrefix("a=") ? ICECandidate(line) : nil
            }.prefix(limit))
    }
}

extension InternetAddress {
    /// Whether it is valid on one link only: 169.254.0.0/16, fe80::/10.
    var isLinkLocal: Bool {
        bytes.count == 4
            ? bytes[0] == 169 && bytes[1] == 254
            : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }
}
