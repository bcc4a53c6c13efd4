import Crypto

/// The secret that a media server shares with the service. Never shown: its descriptions are `***`.
package struct HookSecret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// Key for signatures.
    package let bytes: [UInt8]
    private let digest: [UInt8]

    package init(_ text: String) {
        bytes = Array(text.utf8)
        digest = Self.digest(text)
    }

    /// Returns whether the text is the secret. Takes the same time for all texts of the same length.
    package func matches(_ text: String) -> Bool { HookSignature.areEqual(Self.digest(text), digest) }

    private static func digest(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
