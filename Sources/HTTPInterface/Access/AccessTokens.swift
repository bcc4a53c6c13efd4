import Crypto
import MixModel

/// The tokens that callers may present. Only their SHA-256 digests are kept.
package struct AccessTokens: Sendable {
    private struct Entry: Sendable {
        var digest: [UInt8]
        var caller: Caller
    }
    private var entries: [Entry] = []

    package var isEmpty: Bool { entries.isEmpty }

    /// Minimum length of a token, in characters.
    package static let shortest = 16

    /// - Parameter user: The only user for whom its holder acts in channels; `nil` means any.
    /// - Returns: False if the token has been added before.
    package mutating func add(_ token: String, app: AppID, scopes: Set<Scope>, user: UserID? = nil) -> Bool {
        let digest = Self.digest(token)
        guard !entries.contains(where: { $0.digest == digest }) else { return false }
        entries.append(
            Entry(digest: digest, caller: Caller(app: app, scopes: scopes, token: entries.count, user: user)))
        return true
    }

    /// Returns the caller who holds the token, or `nil` for an unknown token.
    ///
    /// The comparison takes the same time for every token: it compares all digests to the last byte.
    func caller(showing token: String) -> Caller? {
        let shown = Self.digest(token)
        var match = -1
        for (index, entry) in entries.enumerated() {
            var difference: UInt8 = 0
            for (left, right) in zip(entry.digest, shown) { difference |= left ^ right }
            // 1 if all bytes are equal, without a branch.
            let isSame = Int((UInt16(difference) &- 1) >> 15)
            match += isSame * (index - match)
        }
        return match < 0 ? nil : entries[match].caller
    }

    private static func digest(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Array(token.utf8))) }
}
