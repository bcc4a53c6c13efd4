import Foundation
import RoomService
import TextFormats

/// The address on which HTTP is served.
struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    var host: String
    var port: Int

    /// Creates an address from `host:port` or `[ipv6]:port`.
    ///
    /// - Parameter hasTokens: Whether tokens are configured. Without tokens every client is accepted, so the address
    ///   has to be a loopback address.
    /// - Throws: `StartupError` when the text cannot be read, or when nothing would protect the address.
    init(_ text: String, key: String, hasTokens: Bool) throws(StartupError) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            0...65_535 ~= port
        else { throw StartupError("\(key): found \"\(text)\"; expected host:port, as in 127.0.0.1:8080") }
        host = text[..<colon].trimmingCharacters(in: ["[", "]"])
        self.port = port
        guard hasTokens || isLoopback else {
            throw StartupError(
                "\(key): refusing to listen on \(text): without tokens anyone who reaches that address could control "
                    + "every program. Configure tokens under apps, or listen on 127.0.0.1 or [::1]")
        }
    }

    /// Whether only processes of this machine can reach the address.
    var isLoopback: Bool { host == "localhost" || host == "::1" || (host.hasPrefix("127.") && isNumeric) }

    /// Whether the host consists of characters of IP addresses.
    var isNumeric: Bool {
        host.contains(":")
            ? host.utf8.allSatisfy { Hexadecimal.value($0) != nil || ":.".utf8.contains($0) }
            : !host.isEmpty && host.utf8.allSatisfy { 0x30...0x39 ~= $0 || $0 == UInt8(ascii: ".") }
    }

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
