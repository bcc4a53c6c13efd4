/// Matching of patterns in which `*` stands for any number of characters, including none.
public enum Wildcard {
    /// Returns whether the whole text matches the pattern. Greedy with a single backtracking point: linear in practice,
    /// and hosts have at most 253 bytes.
    public static func matches(_ pattern: String, _ text: String) -> Bool {
        let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
        var (p, t) = (0, 0)
        var retry: (pattern: Int, text: Int)?
        while t < text.count {
            if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
                retry = (p + 1, t)
                p += 1
            } else if p < pattern.count, pattern[p] == text[t] {
                (p, t) = (p + 1, t + 1)
            } else if let (afterStar, from) = retry {
                retry = (afterStar, from + 1)
                (p, t) = (afterStar, from + 1)
            } else {
                return false
            }
        }
        return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
