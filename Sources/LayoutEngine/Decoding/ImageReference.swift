/// How an image is named in a template.
enum ImageReference {
    private static let longest = 1024

    /// An http or https URL with a host, or a relative path that does not leave its directory.
    static func isValid(_ text: String) -> Bool {
        guard 1...longest ~= text.utf8.count,
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") })
        else { return false }
        let folded = text.lowercased()
        for scheme in ["http://", "https://"] where folded.hasPrefix(scheme) {
            guard let host = folded.dropFirst(scheme.count).first else { return false }
            return !"/?#:@".contains(host) && !folded.contains(" ")
        }
        guard !text.contains(":") else { return false }
        return text.split(separator: "/", omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}
