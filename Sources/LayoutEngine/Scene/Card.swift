/// The generated picture of somebody without one: initials on a colour of their own, and the name.
public struct Card: Hashable, Codable, Sendable {
    /// For people; may be empty.
    public var name: String
    /// At most two characters; may be empty.
    public var initials: String
    /// The same for a user in every scene.
    public var colour: RGB

    public init(name: String, initials: String, colour: RGB) {
        self.name = name
        self.initials = initials
        self.colour = colour
    }
}

extension Card {
    /// The card of a user.
    ///
    /// - Parameters:
    ///   - name: For people, whatever they call themselves.
    ///   - user: Chooses the colour: one of twelve that white letters can be read on.
    public init(name: String, user: String) {
        self.init(
            name: name, initials: Self.initials(of: name), colour: Self.colours[Int(Self.hash(user) % 12)])
    }

    /// The first character of the first and of the last word; of a name of one word its first character.
    static func initials(of name: String) -> String {
        if let letters = asciiInitials(of: name) { return letters }
        var (first, last): (Character?, Character?) = (nil, nil)
        var isInWord = false
        for character in name {
            let isPart = character.isLetter || character.isNumber
            if isPart, !isInWord {
                if first == nil { first = character } else { last = character }
            }
            isInWord = isPart
        }
        return (first?.uppercased() ?? "") + (last?.uppercased() ?? "")
    }

    /// The same for most names, without asking Unicode's tables; `nil` for others. A scene has many cards.
    private static func asciiInitials(of name: String) -> String? {
        var (first, last): (UInt8?, UInt8?) = (nil, nil)
        var isInWord = false
        for byte in name.utf8 {
            guard byte < 0x80 else { return nil }
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

    /// FNV-1a: `Hasher` has another seed in each process.
    private static func hash(_ user: String) -> UInt32 {
        user.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }

    private static let colours: [RGB] = [
        "#B53A3A", "#B15A1E", "#8F6B14", "#5E7A1A", "#2F7D32", "#1F7A5C", "#1A7480", "#2B66A8", "#4657B5", "#6A4BB0",
        "#8E3F9C", "#A83B72",
    ].compactMap(RGB.init(hex:))
}
