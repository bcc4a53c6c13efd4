/// Truncates untrusted text by its UTF-8, so that neither its length in an answer nor the work on it depends on the
/// number of combining marks of a letter.
extension String {
    /// Returns the text itself if its UTF-8 has at most `limit` bytes, otherwise the whole Unicode scalars among its
    /// first bytes.
    ///
    /// - Parameter limit: Maximum number of bytes of UTF-8, 0 or more.
    public func prefix(bytes limit: Int) -> Substring {
        let bytes = utf8
        guard var end = bytes.index(bytes.startIndex, offsetBy: limit, limitedBy: bytes.endIndex), end < bytes.endIndex
        else { return self[...] }
        // Continuation bytes are 10xxxxxx.
        while bytes[end] & 0xC0 == 0x80 { end = bytes.index(before: end) }
        return self[..<end]
    }

    /// Returns the text truncated to at most `limit` bytes of UTF-8. If anything is removed, the last three bytes are
    /// an ellipsis.
    ///
    /// - Parameter limit: Maximum number of bytes of UTF-8, 3 or more.
    public func shortened(toBytes limit: Int) -> String {
        utf8.count <= limit ? self : prefix(bytes: limit - 3) + "…"
    }
}
