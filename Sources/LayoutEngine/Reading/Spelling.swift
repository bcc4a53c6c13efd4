import TextFormats

/// Suggestions for misspelt words.
enum Spelling {
    /// Returns the candidate with the smallest edit distance to `word`, or `nil` if none is close enough to be a typing
    /// error.
    static func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
        // A word longer than every key is not a misspelling, and comparing it would waste time.
        guard word.utf8.count <= 40 else { return nil }
        let folded = fold(word)
        var best: (word: String, edits: Int)?
        for candidate in candidates {
            let edits = EditDistance.between(folded, fold(candidate))
            guard edits <= max(1, candidate.utf8.count / 4), edits < best?.edits ?? Int.max else { continue }
            best = (candidate, edits)
        }
        return best?.word
    }

    /// Removes case and separators: `pictureInPicture` and `picture_in_picture` are the same word.
    private static func fold(_ word: String) -> [UInt8] {
        word.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: " ") }
    }
}
