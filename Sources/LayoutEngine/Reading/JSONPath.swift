import TextFormats

/// Formats positions and choices for issues.
enum JSONPath {
    static func member(_ key: String, of path: String) -> String {
        let isPlain = key.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        // Longer keys are shortened by quoting.
        return isPlain && 1...40 ~= key.utf8.count ? "\(path).\(key)" : "\(path)[\(JSONNode.quoted(key))]"
    }

    /// Formats choices as `"a", "b" or "c"`.
    static func list(_ words: [String]) -> String {
        let quoted = words.map(JSONNode.quoted)
        guard let last = quoted.last, quoted.count > 1 else { return quoted.first ?? "nothing" }
        return quoted.dropLast().joined(separator: ", ") + " or \(last)"
    }
}
