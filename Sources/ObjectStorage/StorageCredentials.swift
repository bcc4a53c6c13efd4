/// The key pair that signs requests to a storage, and the session token of a temporary one. Its descriptions contain
/// neither the secret nor the token.
package struct StorageCredentials: Hashable, Sendable {
    /// Name of the key, which is visible in signed links.
    package let accessKey: String
    let secretKey: String
    /// Token of temporary keys, sent with each request; `nil` = the keys are not temporary.
    let sessionToken: String?

    /// Permitted lengths, in bytes.
    package static let accessKeyLengths = 1...128
    package static let secretKeyLengths = 8...128
    package static let tokenLengths = 1...4096

    package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// Returns whether a text can be the name of a key: ASCII characters without spaces and without `/ , =`, which signatures
    /// use.
    package static func isAccessKey(_ text: String) -> Bool {
        accessKeyLengths ~= text.utf8.count
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"/,=".utf8.contains($0) }
    }

    /// Parses a file in the format of Amazon's tools: `aws_access_key_id`, `aws_secret_access_key` and, for temporary
    /// keys, `aws_session_token`, each with `=` and its value on a line, in the section `[default]` or before all
    /// sections.
    ///
    /// - Returns: `nil` if a key is missing or invalid.
    package init?(file text: String) {
        var values: [String: String] = [:]
        var isMine = true
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmed
            if line.hasPrefix("["), line.hasSuffix("]") { isMine = line.dropFirst().dropLast().trimmed == "default" }
            guard isMine, !line.hasPrefix("#"), !line.hasPrefix(";"), let sign = line.firstIndex(of: "=") else {
                continue
            }
            values[line[..<sign].trimmed.lowercased()] = String(line[line.index(after: sign)...].trimmed)
        }
        guard let accessKey = values["aws_access_key_id"], Self.isAccessKey(accessKey),
            let secretKey = values["aws_secret_access_key"], Self.isWord(secretKey, Self.secretKeyLengths)
        else { return nil }
        let token = values["aws_session_token"].flatMap { $0.isEmpty ? nil : $0 }
        if let token, !Self.isWord(token, Self.tokenLengths) { return nil }
        self.init(accessKey: accessKey, secretKey: secretKey, sessionToken: token)
    }

    private static func isWord(_ text: String, _ lengths: ClosedRange<Int>) -> Bool {
        lengths ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }
}

extension StorageCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "StorageCredentials(\(accessKey))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    fileprivate var trimmed: SubSequence {
        let start = firstIndex { !$0.isWhitespace } ?? endIndex
        let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? start
        return self[start..<Swift.max(start, end)]
    }
}
