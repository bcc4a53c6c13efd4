import TextFormats

/// Reads an object key by key and collects every issue instead of stopping at the first.
struct JSONObjectReader {
    let path: String
    let position: JSONPosition
    private var members: [String: JSONMember] = [:]
    private var keys: [JSONMember] = []
    private var known: [String] = []
    private var missing: [(key: String, expected: String)] = []

    /// Creates a reader. Returns `nil`, after adding an issue, if the node is not an object.
    init?(_ node: JSONNode, path: String, issues: inout [LayoutIssue]) {
        self.path = path
        position = node.position
        guard case .object(let all) = node.value else {
            issues.append(LayoutIssue(node, path, expected: "an object"))
            return nil
        }
        for member in all {
            if let first = members[member.key] {
                issues.append(
                    LayoutIssue(
                        path: JSONPath.member(member.key, of: path), at: member.keyPosition, found: "a duplicate key",
                        expected: "each key once (first on line \(first.keyPosition.line))"))
            } else {
                members[member.key] = member
                keys.append(member)
            }
        }
    }

    func has(_ key: String) -> Bool { members[key] != nil }

    /// Returns whether the key's value is `false`, which disables the setting.
    mutating func isFalse(_ key: String) -> Bool {
        if case .boolean(false) = optional(key)?.value { return true }
        return false
    }

    func path(of key: String) -> String { JSONPath.member(key, of: path) }

    /// Returns the position of the key's value, or of the object if the key is missing.
    func position(of key: String) -> JSONPosition { members[key]?.node.position ?? position }

    /// Returns the value of an optional key.
    mutating func optional(_ key: String) -> JSONNode? {
        known.append(key)
        return members[key]?.node
    }

    /// Returns the value of a required key; `finish` reports its absence.
    mutating func required(_ key: String, expected: String) -> JSONNode? {
        if let node = optional(key) { return node }
        missing.append((key, expected))
        return nil
    }

    /// Adds an issue for every unknown key and for every required key that is missing. Call it last.
    func finish(issues: inout [LayoutIssue]) {
        let allowed = Set(known)
        let unknown = keys.filter { !allowed.contains($0.key) }
        let words = allowed.sorted()
        let expected = unknown.isEmpty ? "" : JSONPath.list(words)
        let unused = words.filter { members[$0] == nil }
        var meant: Set<String> = []
        for (index, member) in unknown.enumerated() {
            let nearest = index < Self.mostCompared ? Spelling.nearest(to: member.key, in: unused) : nil
            if let nearest { meant.insert(nearest) }
            issues.append(
                LayoutIssue(
                    path: self.path(of: member.key), at: member.keyPosition, found: "an unknown key",
                    expected: expected, suggestion: nearest.map(JSONNode.quoted)))
        }
        // A misspelt key is one mistake, and the issue for the unknown key describes it better.
        for (key, expected) in missing where !meant.contains(key) {
            issues.append(LayoutIssue(path: self.path(of: key), at: position, found: "nothing", expected: expected))
        }
    }

    /// Maximum number of unknown keys for which suggestions are sought. Suggestions cost time, and a larger number of
    /// unknown keys is not a matter of typing errors.
    private static let mostCompared = 64
}

// MARK: - Typed values
extension JSONObjectReader {
    /// The description of an image reference in error messages.
    static let imageReference =
        "an http or https URL, or a path inside the layouts directory such as \"images/logo.png\""

    /// Returns a reader for the object of an optional key.
    ///
    /// - Parameter other: Another value that is allowed there, for the message.
    mutating func object(_ key: String, or other: String? = nil, issues: inout [LayoutIssue]) -> JSONObjectReader? {
        guard let node = optional(key) else { return nil }
        guard case .object = node.value else {
            issues.append(
                LayoutIssue(node, path(of: key), expected: "an object" + (other.map { " or \($0)" } ?? "")))
            return nil
        }
        return JSONObjectReader(node, path: path(of: key), issues: &issues)
    }

    /// Returns the elements of an optional array.
    mutating func array(
        _ key: String, of things: String, atMost limit: Int, issues: inout [LayoutIssue]
    ) -> [JSONNode] {
        guard let node = optional(key) else { return [] }
        if case .array(let elements) = node.value, elements.count <= limit { return elements }
        issues.append(LayoutIssue(node, path(of: key), expected: "an array of at most \(limit) \(things)"))
        return []
    }

    mutating func boolean(_ key: String, issues: inout [LayoutIssue]) -> Bool? {
        guard let node = optional(key) else { return nil }
        if case .boolean(let value) = node.value { return value }
        issues.append(LayoutIssue(node, path(of: key), expected: "true or false"))
        return nil
    }

    mutating func colour(_ key: String, issues: inout [LayoutIssue]) -> RGB? {
        guard let node = optional(key) else { return nil }
        if case .string(let text) = node.value, let colour = RGB(hex: text) { return colour }
        issues.append(LayoutIssue(node, path(of: key), expected: "a colour like \"#1A2B3C\""))
        return nil
    }

    /// Returns a reference to an image, without checking that the image can be fetched.
    mutating func image(_ key: String, issues: inout [LayoutIssue]) -> String? {
        guard let node = optional(key) else { return nil }
        if case .string(let text) = node.value, ImageReference.isValid(text) { return text }
        issues.append(LayoutIssue(node, path(of: key), expected: Self.imageReference))
        return nil
    }

    /// Returns a reference to an image; `nil` also for an empty text, which means none.
    mutating func optionalImage(_ key: String, issues: inout [LayoutIssue]) -> String? {
        if case .string("") = optional(key)?.value { return nil }
        return image(key, issues: &issues)
    }

    /// Returns the address of a web page, without checking that the page exists.
    mutating func page(_ key: String, issues: inout [LayoutIssue]) -> PageAddress? {
        guard let node = optional(key) else { return nil }
        if case .string(let text) = node.value, let address = PageAddress(text) { return address }
        issues.append(LayoutIssue(node, path(of: key), expected: "an http or https URL of printable ASCII"))
        return nil
    }

    mutating func number(_ key: String, in range: ClosedRange<Double>, issues: inout [LayoutIssue]) -> Double? {
        guard let node = optional(key) else { return nil }
        if case .number(let number) = node.value, range.contains(number) { return number }
        let limits = "\(JSONNode.text(of: range.lowerBound)) to \(JSONNode.text(of: range.upperBound))"
        issues.append(LayoutIssue(node, path(of: key), expected: "a number from \(limits)"))
        return nil
    }

    mutating func text(_ key: String, issues: inout [LayoutIssue]) -> String? {
        guard let node = optional(key) else { return nil }
        guard case .string(let text) = node.value, !text.isEmpty, text.utf8.count <= 256 else {
            issues.append(LayoutIssue(node, path(of: key), expected: "a text of 1 to 256 bytes"))
            return nil
        }
        return text
    }

    /// Returns a text that may be empty.
    mutating func line(_ key: String, issues: inout [LayoutIssue]) -> String? {
        guard let node = optional(key) else { return nil }
        guard case .string(let text) = node.value, text.utf8.count <= 256 else {
            issues.append(LayoutIssue(node, path(of: key), expected: "a text of at most 256 bytes"))
            return nil
        }
        return text
    }

    /// Returns a point in time in seconds since 1970, rounded down; `nil` also for an empty text, which means none.
    mutating func time(_ key: String, issues: inout [LayoutIssue]) -> Int? {
        guard let node = optional(key) else { return nil }
        if case .string(let text) = node.value {
            if text.isEmpty { return nil }
            if let seconds = Timestamp.seconds(text) { return Int(seconds.rounded(.down)) }
        }
        issues.append(
            LayoutIssue(node, path(of: key), expected: "a time like \"2026-01-31T20:00:00Z\" (RFC 3339), or \"\""))
        return nil
    }

    mutating func integer(
        _ key: String, in range: ClosedRange<Int>, multipleOf unit: Int = 1, issues: inout [LayoutIssue]
    ) -> Int? {
        guard let node = optional(key) else { return nil }
        if case .number(let number) = node.value, let value = Int(exactly: number), range.contains(value),
            value.isMultiple(of: unit)
        {
            return value
        }
        let kind =
            switch unit {
            case 1: "a whole number"
            case 2: "an even whole number"
            default: "a multiple of \(unit)"
            }
        issues.append(
            LayoutIssue(
                node, path(of: key), expected: "\(kind) from \(range.lowerBound) to \(range.upperBound)"))
        return nil
    }

    mutating func fraction(
        _ key: String, in range: ClosedRange<Double>, issues: inout [LayoutIssue]
    ) -> UnitFraction? {
        number(key, in: range, issues: &issues).map { UnitFraction($0) }
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of _: Choice.Type, issues: inout [LayoutIssue]
    ) -> Choice? where Choice.RawValue == String {
        word(key, of: Choice.allCases.map(\.rawValue), issues: &issues).flatMap { Choice(rawValue: $0) }
    }

    /// Returns the value of a key that takes one of several words.
    mutating func word(_ key: String, of allowed: [String], issues: inout [LayoutIssue]) -> String? {
        guard let node = optional(key) else { return nil }
        guard case .string(let text) = node.value else {
            issues.append(LayoutIssue(node, path(of: key), expected: JSONPath.list(allowed)))
            return nil
        }
        if allowed.contains(text) { return text }
        issues.append(
            LayoutIssue(
                node, path(of: key), expected: JSONPath.list(allowed),
                suggestion: Spelling.nearest(to: text, in: allowed).map(JSONNode.quoted)))
        return nil
    }

    /// Returns the value of a key that takes a ratio of sides.
    mutating func aspect(_ key: String, issues: inout [LayoutIssue]) -> Aspect? {
        guard let node = optional(key) else { return nil }
        if case .string(let text) = node.value, let aspect = Aspect(text) { return aspect }
        issues.append(LayoutIssue(node, path(of: key), expected: "a shape like \"16:9\", both sides 1 to 100"))
        return nil
    }
}

extension LayoutIssue {
    init(
        path: String, at position: JSONPosition, found: String, expected: String, suggestion: String? = nil
    ) {
        self.init(
            path: path, line: position.line, column: position.column, found: found, expected: expected,
            suggestion: suggestion)
    }

    init(_ node: JSONNode, _ path: String, expected: String, suggestion: String? = nil) {
        self.init(
            path: path, at: node.position, found: node.summary, expected: expected, suggestion: suggestion)
    }
}
