/// Cuts text from outside by its UTF-8, so that neither its length in an answer nor the work on it depends on how many
/// marks a stranger piles onto one letter.
extension String {
    /// The text itself if its UTF-8 has at most `limit` bytes; otherwise the whole Unicode scalars of its first bytes.
    ///
    /// - Parameter limit: In bytes of UTF-8, 0 or more.
    public func prefix(bytes limit: Int) -> Substring {
        let bytes = utf8
        guard var end = bytes.index(bytes.startIndex, offsetBy: limit, limitedBy: bytes.endIndex), end < bytes.endIndex
        else { return self[...] }
        // Continuation bytes are 10xxxxxx.
        while bytes[end] & 0xC0 == 0x80 { end = bytes.index(before: end) }
        return self[..<end]
    }

    /// The text cut to at most `limit` bytes of UTF-8, of which the last three are an ellipsis where something is missing.
    ///
    /// - Parameter limit: 3 or more.
    public func shortened(toBytes limit: Int) -> String {
        utf8.count <= limit ? self : prefix(bytes: limit - 3) + "…"
    }
}
