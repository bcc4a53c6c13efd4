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
            let edits = edits(from: folded, to: fold(candidate))
            guard edits <= max(1, candidate.utf8.count / 4), edits < best?.edits ?? Int.max else { continue }
            best = (candidate, edits)
        }
        return best?.word
    }

    /// Removes case and separators: `pictureInPicture` and `picture_in_picture` are the same word.
    private static func fold(_ word: String) -> [UInt8] {
        word.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: " ") }
    }

    /// Returns the Levenshtein distance, in which a swap of two neighbours counts as one edit.
    private static func edits(from left: [UInt8], to right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[right.count]
    }
}
