import MixModel

extension ChannelRules {
    /// The parts of a draft in the form in which they are sent.
    struct Checked: Hashable {
        var name: String?
        var text: String?
        var count: Int?
    }

    /// Checks the fields, lengths and words of a draft.
    func check(_ draft: ChannelDraft, from sender: ChannelSender) throws(ChannelRefusal) -> Checked {
        let text = try draft.text.map { text throws(ChannelRefusal) in
            try Self.checked(text, mostCharacters, mostBytes) {
                ChannelRefusal.tooLong(characters: mostCharacters, bytes: mostBytes)
            }
        }
        let name = try sender.name.map { name throws(ChannelRefusal) in try checkName(name) } ?? nil
        switch draft.kind {
        case .comment:
            guard draft.count == nil, draft.gift == nil, let text else { throw .wrongFields(.comment) }
            guard Self.isVisible(text) else { throw .empty }
        case .like:
            guard text == nil, draft.gift == nil else { throw .wrongFields(.like) }
        case .gift:
            guard draft.gift != nil else { throw .wrongFields(.gift) }
        }
        let most = draft.kind == .like ? Self.mostLikes : Self.mostGifts
        if let count = draft.count, !(1...most ~= count) { throw .badCount(most: most) }
        if let text, words.matches(text) { throw .forbiddenWord }
        return Checked(name: name, text: text, count: draft.kind == .comment ? nil : draft.count ?? 1)
    }

    /// Returns a name or a title in the form in which it is shown; `nil` if it is empty.
    func checkName(_ name: String) throws(ChannelRefusal) -> String? {
        let (characters, bytes) = Self.longestName
        let name = try Self.checked(name, characters, bytes) { .nameTooLong(characters: characters, bytes: bytes) }
        if words.matches(name) { throw .forbiddenWord }
        return Self.isVisible(name) ? name : nil
    }

    /// Returns the text without white space around it.
    private static func checked(
        _ text: String, _ characters: Int, _ bytes: Int, _ tooLong: () -> ChannelRefusal
    ) throws(ChannelRefusal) -> String {
        // Bytes are checked first, because counting characters takes time.
        guard text.utf8.count <= bytes, text.count <= characters else { throw tooLong() }
        let hasControls = text.unicodeScalars.contains {
            $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\r" && $0 != "\t"
        }
        if hasControls { throw .controlCharacters }
        var trimmed = text.unicodeScalars[...]
        while trimmed.first?.properties.isWhitespace == true { trimmed.removeFirst() }
        while trimmed.last?.properties.isWhitespace == true { trimmed.removeLast() }
        return String(trimmed)
    }

    /// Returns whether the text has visible characters.
    private static func isVisible(_ text: String) -> Bool {
        text.unicodeScalars.contains { !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint }
    }
}
