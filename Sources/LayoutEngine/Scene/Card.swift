/// The generated picture of a participant who has none: initials and the name, on a colour specific to the user.
public struct Card: Hashable, Codable, Sendable {
    /// Display name; may be empty.
    public var name: String
    /// Initials: at most two characters of the name, in upper case; may be empty.
    public var initials: String
    /// Background colour, the same for a user in every scene.
    public var colour: RGB
    /// The look; `nil` means `flat`.
    public var style: Style?

    public enum Style: String, Hashable, Codable, Sendable, CaseIterable {
        /// A single colour.
        case flat
        /// A dark gradient in the user's colour, with the initials in a bright circle.
        case gradient
    }

    public init(name: String, initials: String, colour: RGB, style: Style? = nil) {
        self.style = style
        self.name = name
        self.initials = initials
        self.colour = colour
    }
}

extension Card {
    /// Creates the card of a user.
    ///
    /// - Parameters:
    ///   - name: Display name, as chosen by the user.
    ///   - user: Identifier of the user. It determines the colour: one of twelve on which white letters are legible.
    public init(name: String, user: String, style: Style? = nil) {
        self.init(
            name: name, initials: Self.initials(of: name), colour: Self.colours[Int(Self.hash(user) % 12)],
            style: style)
    }

    /// Returns the first character of the first and of the last word, or of the only word.
    static func initials(of name: String) -> String {
        if let letters = asciiInitials(of: name) { return letters }
        var (first, last): (Character?, Character?) = (nil, nil)
        var isInWord = false
        for character in name {
            // An apostrophe does not start another word.
            if isInWord, character == "'" || character == "’" { continue }
            let isPart = (character.isLetter || character.isNumber) && !character.isKeycap
            if isPart, !isInWord {
                if first == nil { first = character } else { last = character }
            }
            isInWord = isPart
        }
        return (first?.uppercased() ?? "") + (last?.uppercased() ?? "")
    }

    /// Returns the initials of an ASCII name without a look-up in Unicode's tables; `nil` for others. Most names are
    /// ASCII, and a scene has many cards.
    private static func asciiInitials(of name: String) -> String? {
        var (first, last): (UInt8?, UInt8?) = (nil, nil)
        var isInWord = false
        for byte in name.utf8 {
            guard byte < 0x80 else { return nil }
            if isInWord, byte == UInt8(ascii: "'") { continue }
            let folded = byte | 0x20
            let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= folded
            let isPart = isLetter || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            if isPart, !isInWord {
                let letter = isLetter ? byte & ~0x20 : byte
                if first == nil { first = letter } else { last = letter }
            }
            isInWord = isPart
        }
        return String(unsafeUninitializedCapacity: 2) { buffer in
            var count = 0
            for letter in [first, last] {
                guard let letter else { continue }
                buffer[count] = letter
                count += 1
            }
            return count
        }
    }

    /// Returns the FNV-1a hash. `Hasher` has a different seed in each process.
    private static func hash(_ user: String) -> UInt32 {
        user.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }

    private static let colours: [RGB] = [
        "#B53A3A", "#B15A1E", "#8F6B14", "#5E7A1A", "#2F7D32", "#1F7A5C", "#1A7480", "#2B66A8", "#4657B5", "#6A4BB0",
        "#8E3F9C", "#A83B72",
    ].compactMap(RGB.init(hex:))
}

extension Character {
    /// Whether the character is an emoji made of a digit, such as 1️⃣.
    fileprivate var isKeycap: Bool {
        isNumber && unicodeScalars.contains { $0.properties.isVariationSelector || $0.value == 0x20E3 }
    }
}
