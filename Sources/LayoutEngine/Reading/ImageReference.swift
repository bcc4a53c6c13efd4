/// Checks references to images in templates.
enum ImageReference {
    private static let longest = 1024

    /// Returns whether `text` is an http or https URL with a host, or a relative path that stays inside its directory.
    static func isValid(_ text: String) -> Bool {
        guard 1...longest ~= text.utf8.count,
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") })
        else { return false }
        let folded = text.lowercased()
        // Compares bytes: a combining mark after a separator would form another character with it.
        for scheme in ["http://", "https://"] where folded.utf8.starts(with: scheme.utf8) {
            guard let host = folded.utf8.dropFirst(scheme.utf8.count).first else { return false }
            return !"/?#:@".utf8.contains(host) && !folded.utf8.contains(UInt8(ascii: " "))
        }
        guard !text.utf8.contains(UInt8(ascii: ":")) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
    }
}
