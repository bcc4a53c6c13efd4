/// Scalars of every grapheme break class (UAX #29), for names that break code which compares characters.
public enum GraphemeClasses {
    /// One or more scalars of each class.
    public static let samples: KeyValuePairs<String, [Unicode.Scalar]> = [
        "CR": ["\r"], "LF": ["\n"], "Control": ["\u{0}", "\u{7F}", "\u{85}", "\u{200B}", "\u{2028}", "\u{E0001}"],
        "Extend": ["\u{301}", "\u{338}", "\u{FE0F}", "\u{1F3FB}", "\u{E0041}", "\u{200C}", "\u{3099}", "\u{E0100}"],
        "ZWJ": ["\u{200D}"], "Regional_Indicator": ["\u{1F1E9}"], "Prepend": ["\u{600}", "\u{110BD}", "\u{D4E}"],
        "SpacingMark": ["\u{903}", "\u{E33}"], "L": ["\u{1100}"], "V": ["\u{1161}"], "T": ["\u{11A8}"],
        "LV": ["\u{AC00}"], "LVT": ["\u{AC01}"], "Extended_Pictographic": ["\u{1F600}", "\u{A9}"],
        "InCB_Consonant": ["\u{915}"], "InCB_Linker": ["\u{94D}"],
        // Some of these are equal to their decompositions: K, Å, é, ; and `.
        "Other": ["e", "\u{E9}", "\u{212A}", "\u{212B}", "\u{37E}", "\u{1FEF}", "\u{10FFFF}", "/", "#", "@", "."],
    ]

    /// Returns names of each scalar by itself and around letters, then random combinations, each name once.
    public static func names(random count: Int, using generator: inout SeededGenerator) -> [String] {
        let scalars = samples.flatMap(\.value)
        var names = scalars.flatMap { ["\($0)", "\($0)x", "x\($0)", "x\($0)y", "e\($0)\($0)"] }
        for _ in 0..<count {
            let length = Int.random(in: 2...5, using: &generator)
            names.append(
                (0..<length).map { _ in "\(scalars.randomElement(using: &generator) ?? "x")" }.joined())
        }
        // A random name may be one that is there already, and no set of strings tells names of the same characters apart.
        var bytes: Set<[UInt8]> = []
        return names.filter { bytes.insert(Array($0.utf8)).inserted }
    }

    /// Returns the UTF-8 of a text with every byte percent-encoded.
    public static func percentEncoded(_ text: String) -> String {
        text.utf8.map { ($0 < 16 ? "%0" : "%") + String($0, radix: 16) }.joined()
    }
}
